"""Rates and accuracy over epochs."""

import numpy as np
import pytest

from pllbench.reports.aggregate import build_table
from pllbench.reports.plots.epochs import plot_curves, plot_noise_rates
from pllbench.spec import CandidateSpec
from tests.factories import PROTOCOL, RELATIVE, make_records
from tests.reports.plots.drawings import caption, example_records, flat_curves, legend, titles


def test_noise_leaves_out_methods_without_pseudo_labels() -> None:
    runs = example_records()
    figure = plot_noise_rates(build_table(runs, PROTOCOL), flat_curves(runs))
    assert titles(figure)[:2] == ["Digits, q = 0.1"] * 2
    assert titles(figure)[-2:] == ["BirdSong"] * 2
    assert legend(figure) == ["CC", "RC"]
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx([20.0] * 20)
    assert figure.axes[1].lines[0].get_ydata() == pytest.approx([5.0] * 20)
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (([90], [80]), "Lines are single runs (n = 1)."),
        (
            ([90, 91], [80, 81]),
            "Lines are means over n = 2 seeds, bands their sample std (ddof = 1).",
        ),
        (
            ([90, 91, 92], [80]),
            "Lines are means over n = 1 to 3 seeds, bands their sample std (ddof = 1).",
        ),
    ],
)
def test_the_caption_says_what_bands_are_and_of_how_many_seeds(
    values: tuple[list[float], list[float]], note: str
) -> None:
    cc, rc = values
    runs = [*make_records(cc, method="cc"), *make_records(rc, method="rc")]
    for draw in (plot_curves, plot_noise_rates):
        figure = draw(build_table(runs, PROTOCOL), flat_curves(runs))
        assert caption(figure).startswith(note)


def test_noise_without_pseudo_labels_is_refused() -> None:
    runs = make_records([99], method="supervised")
    with pytest.raises(ValueError, match="no run here has pseudo labels"):
        plot_noise_rates(build_table(runs, PROTOCOL), flat_curves(runs))


def test_curves_are_means_over_seeds_with_a_band() -> None:
    runs = example_records()
    figure = plot_curves(build_table(runs, PROTOCOL), flat_curves(runs))
    assert titles(figure) == [
        "Digits, q = 0.1",
        "Digits, q = 0.3",
        "Digits, q = 0.7",
        "BirdSong",
    ]
    panel = figure.axes[0]
    assert [len(line.get_xdata()) for line in panel.lines] == [20] * 3  # type: ignore[arg-type]
    assert panel.lines[1].get_ydata() == pytest.approx([85.0] * 20)
    assert len(panel.collections) == 3


def test_curves_have_a_panel_a_process() -> None:
    runs = [
        *make_records([90, 91], method="cc"),
        *make_records([80, 81], method="cc", candidates=RELATIVE),
        *make_records([70, 71], method="cc", candidates=CandidateSpec(process="uniform-set")),
    ]
    assert titles(plot_curves(build_table(runs, PROTOCOL), flat_curves(runs))) == [
        "Digits, instance candidate sets,\nrule=max",
        "Digits, uniform, q = 0.3",
        "Digits, uniform-set candidate sets",
    ]


def test_the_axis_of_curves_begins_where_the_first_epochs_are_over() -> None:
    [run] = make_records([90])
    accuracies = np.array([0.1, 0.2] + [0.8] * 38)
    figure = plot_curves(build_table([run], PROTOCOL), {run.run_id: {"accuracy": accuracies}})
    low, high = figure.axes[0].get_ylim()
    assert 70 < low < 80 < high


def test_runs_of_unequal_length_meet_at_equal_shares_of_their_epochs() -> None:
    runs = [*make_records([90]), *make_records([80], method="rc", train={"epochs": 40})]
    table = build_table(runs, PROTOCOL)
    lengths = {cell.run_ids[0]: cell.epochs for _, cell in table.cells}
    figure = plot_curves(table, {run: {"accuracy": np.ones(n)} for run, n in lengths.items()})
    [panel] = figure.axes
    assert panel.get_xlabel() == "share of the epochs (%)"
    assert [np.asarray(line.get_xdata())[-1] for line in panel.lines] == [100, 100]
