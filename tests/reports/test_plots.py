from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from pydantic import JsonValue

from pllbench.grid.plan import PlannedRun
from pllbench.reports.aggregate import build
from pllbench.reports.plots.accuracy import CurvesById, accuracy, curves, hparam, noise
from pllbench.reports.plots.figure import save
from pllbench.results.records import Record
from pllbench.spec import CandidateSpec
from tests.records_factory import PROTOCOL, RELATIVE, make_plan, make_records


def records() -> list[Record]:
    return [
        *make_records([97, 98], method="supervised"),
        *(r for q in (0.1, 0.3, 0.7) for r in make_records([90, 94], method="cc", q=q)),
        *(r for q in (0.1, 0.3) for r in make_records([91, 92], method="rc", q=q)),
        *make_records([71, 72], method="cc", dataset="birdsong", q=None),
    ]


def columns(found: list[Record]) -> CurvesById:
    """Columns in which seed 0 stays 10 percent below seed 1."""
    return {
        r.run_id: {
            "accuracy": np.full(20, 0.8 + 0.1 * r.spec.seed),
            "class_noise": np.full(20, np.nan if r.spec.labels == "true" else 0.2),
            "pairwise_noise": np.full(20, np.nan if r.spec.labels == "true" else 0.05),
        }
        for r in found
    }


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for found in figure.legends for text in found.get_texts()]


def titles(figure: Figure) -> list[str]:
    return [axes.get_title() for axes in figure.axes]


def test_accuracy_has_a_panel_a_data_set() -> None:
    figure = accuracy(build(records(), PROTOCOL))
    assert titles(figure) == ["Digits", "BirdSong"]
    assert legend(figure) == ["Fully supervised", "CC", "RC"]
    digits, birdsong = figure.axes
    assert [t.get_text() for t in digits.get_xticklabels()] == ["0.1", "0.3", "0.7"]
    assert [t.get_text() for t in birdsong.get_yticklabels()] == ["CC"]


def test_accuracy_has_a_panel_a_process_with_the_rows_of_that_alone() -> None:
    found = [
        *make_records([90, 91], method="cc"),
        *make_records([80, 81], method="cc", candidates=RELATIVE),
        *make_records([82, 83], method="rc", candidates=RELATIVE),
        *make_records([70, 71], method="cc", candidates=CandidateSpec(process="uniform-set")),
    ]
    figure = accuracy(build(found, PROTOCOL))
    assert titles(figure) == [
        "Digits, instance, rule=max",
        "Digits, uniform",
        "Digits, uniform-set",
    ]
    relative, _, sets = figure.axes
    assert [t.get_text() for t in relative.get_yticklabels()] == ["CC", "RC"]
    assert [t.get_text() for t in sets.get_yticklabels()] == ["CC"]
    run_ids = columns(found)
    assert titles(curves(build(found, PROTOCOL), run_ids)) == [
        "Digits, instance candidate sets, rule=max",
        "Digits, uniform, q = 0.3",
        "Digits, uniform-set candidate sets",
    ]


def test_error_bars_are_sample_std_and_points_do_not_overlap() -> None:
    digits = accuracy(build(records(), PROTOCOL)).axes[0]
    cc, rc = (container for container in digits.containers)
    x_cc, y_cc = cc.lines[0].get_data()  # type: ignore[attr-defined]
    x_rc, _ = rc.lines[0].get_data()  # type: ignore[attr-defined]
    assert y_cc == pytest.approx([92.0] * 3)
    [bars] = cc.lines[2]  # type: ignore[attr-defined]
    low, high = bars.get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(np.std([90, 94], ddof=1))
    assert not set(x_cc) & set(x_rc)
    assert np.mean([x_cc[0], x_rc[0]]) == pytest.approx(0.1)


def test_dots_alone_need_no_legend() -> None:
    figure = accuracy(build(make_records([71, 72], dataset="birdsong", q=None), PROTOCOL))
    assert legend(figure) == []


def test_one_q_one_seed_and_references_alone_are_drawn(tmp_path: Path) -> None:
    for found in (make_records([90]), make_records([99], method="supervised")):
        save(accuracy(build(found, PROTOCOL)), tmp_path / "one.png")


def test_the_legend_names_what_is_drawn() -> None:
    done = records()
    planned = make_plan([r.spec for r in (*done, *make_records([1], method="proden", q=0.1))])
    assert legend(accuracy(build(done, PROTOCOL, planned=planned))) == [
        "Fully supervised",
        "CC",
        "RC",
    ]


def test_a_method_looks_the_same_on_all_data_sets() -> None:
    """Also where its label adds a setting on one of them."""
    found = [
        record
        for dataset, train in (("digits", {"lr": 0.05}), ("cnae9", {}))
        for method in ("cc", "rc")
        for record in make_records([90, 91], method=method, dataset=dataset, train=train)
    ]
    figure = accuracy(build(found, PROTOCOL))
    styles = {
        text: (line.get_color(), line.get_marker(), line.get_linestyle())
        for text, line in zip(legend(figure), figure.legends[0].get_lines(), strict=True)
    }
    assert set(styles) == {"CC", "RC", "CC (lr=0.05)", "RC (lr=0.05)"}
    assert styles["CC"] == styles["CC (lr=0.05)"] != styles["RC"] == styles["RC (lr=0.05)"]


@pytest.mark.parametrize("num_panels", [1, 2, 3])
@pytest.mark.parametrize("setting", [{}, {"lr": 0.05}])
def test_a_legend_fits_below_the_panels(num_panels: int, setting: dict[str, float]) -> None:
    found = [
        record
        for dataset in ("digits", "cnae9", "svhn")[:num_panels]
        for method in ("supervised", "cc", "rc", "proden", "pico", "dpll", "ncpd", "asyco")
        for record in make_records([90], method=method, dataset=dataset, train=setting)
    ]
    figure = accuracy(build(found, PROTOCOL))
    figure.draw_without_rendering()
    [shown] = figure.legends
    assert len(shown.get_texts()) == 8
    inside = shown.get_window_extent()
    assert 0 <= inside.x0 < inside.x1 <= figure.bbox.x1
    assert inside.y0 >= 0
    columns = {round(text.get_window_extent().x0) for text in shown.get_texts()}
    assert len(columns) >= (1 if setting else 2)


def test_rows_differ_without_colour() -> None:
    many = [r for lr in range(1, 11) for r in make_records([90, 91], train={"lr": lr / 100})]
    figure = accuracy(build(many, PROTOCOL))
    lines = figure.legends[0].get_lines()
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 10


def test_noise_leaves_out_methods_without_pseudo_labels() -> None:
    found = records()
    figure = noise(build(found, PROTOCOL), columns(found))
    assert titles(figure)[:2] == ["Digits, q = 0.1"] * 2
    assert titles(figure)[-2:] == ["BirdSong"] * 2
    assert legend(figure) == ["CC", "RC"]
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx([20.0] * 20)
    assert figure.axes[1].lines[0].get_ydata() == pytest.approx([5.0] * 20)
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_noise_without_pseudo_labels_is_refused() -> None:
    found = make_records([99], method="supervised")
    with pytest.raises(ValueError, match="no run here has pseudo labels"):
        noise(build(found, PROTOCOL), columns(found))


def test_curves_are_means_over_seeds_with_a_band() -> None:
    found = records()
    figure = curves(build(found, PROTOCOL), columns(found))
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


def test_the_axis_of_curves_begins_where_the_first_epochs_are_over() -> None:
    [found] = make_records([90])
    accuracies = np.array([0.1, 0.2] + [0.8] * 38)
    figure = curves(build([found], PROTOCOL), {found.run_id: {"accuracy": accuracies}})
    low, high = figure.axes[0].get_ylim()
    assert 70 < low < 80 < high


def test_runs_of_unequal_length_meet_at_equal_shares_of_their_epochs() -> None:
    found = [*make_records([90]), *make_records([80], method="rc", train={"epochs": 40})]
    table = build(found, PROTOCOL)
    lengths = {cell.run_ids[0]: cell.epochs for _, cell in table.cells}
    figure = curves(table, {run: {"accuracy": np.ones(n)} for run, n in lengths.items()})
    [panel] = figure.axes
    assert panel.get_xlabel() == "share of the epochs (%)"
    assert [np.asarray(line.get_xdata())[-1] for line in panel.lines] == [100, 100]


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg", "PNG"])
def test_equal_figures_are_equal_files(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for path in paths:
        save(accuracy(build(records(), PROTOCOL)), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("name", ["plot.jpg", "plot"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"use \.pdf \.png \.svg") as caught:
        save(accuracy(build(records(), PROTOCOL)), tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot be written"):
        save(Figure(), tmp_path / "file" / "figure.png")


def test_a_label_is_neither_mathematics_nor_hidden(tmp_path: Path) -> None:
    found = make_records([90], method="_a$b$", q=0.1) + make_records([90], method="x_{", q=0.1)
    figure = accuracy(build(found, PROTOCOL))
    save(figure, tmp_path / "plot.png")
    assert legend(figure) == ["_a$b$", "x_{"]


def test_missing_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "figure.png"
    save(Figure(), path)
    assert path.stat().st_size > 0


def taus(values: Sequence[object] = (1.0, 5.0, 30.0)) -> list[Record]:
    return [
        record
        for tau in values
        for q in (0.1, 0.7)
        for record in make_records(
            [90 - q, 92], method="asyco", q=q, hparams={"tau": tau, "a": 1}, changed=("tau",)
        )
    ]


def hparams(found: list[Record]) -> dict[str, dict[str, JsonValue]]:
    return {record.run_id: record.spec.hparams for record in found}


def against_tau(found: list[Record]) -> Figure:
    taus = {r.run_id: r.spec.hparams["tau"] for r in found}
    planned = [PlannedRun(f"tau-{taus[r.run_id]}", "AsyCo", r.spec) for r in found]
    return hparam(build(found, PROTOCOL, planned=planned), hparams(found))


def test_accuracy_against_a_hyperparameter_is_a_line_a_column() -> None:
    figure = against_tau(taus())
    [axes] = figure.axes
    assert legend(figure) == ["q = 0.1", "q = 0.7"]
    assert axes.get_xlabel() == "tau"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "5", "30"]
    x, y = axes.containers[1].lines[0].get_data()  # type: ignore[attr-defined]
    assert list(x) == [1, 5, 30]
    assert y == pytest.approx([90.65] * 3)


def test_a_data_set_without_runs_has_no_panel() -> None:
    found = taus()
    missing = make_records([1], method="asyco", dataset="cnae9", hparams={"tau": 1.0})
    plans = [PlannedRun(f"{r.spec.hparams['tau']}", "AsyCo", r.spec) for r in [*found, *missing]]
    figure = hparam(build(found, PROTOCOL, planned=plans), hparams(found))
    assert titles(figure) == ["Digits"]


def test_data_sets_may_differ_in_another_hyperparameter() -> None:
    found = taus() + [
        record
        for tau in (1.0, 5.0)
        for record in make_records(
            [90], method="asyco", dataset="cnae9", q=0.1, hparams={"tau": tau, "a": 2}
        )
    ]
    assert titles(against_tau(found)) == ["Digits", "CNAE-9"]


def test_rows_must_differ_in_one_hyperparameter_which_is_a_number() -> None:
    with pytest.raises(ValueError, match=r"one hyperparameter must differ .*, found: none"):
        against_tau(taus([1.0]))
    with pytest.raises(ValueError, match="tau = 'high' of AsyCo: no number"):
        against_tau(taus(["high", 1.0]))
