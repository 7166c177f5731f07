"""The critical-difference diagram."""

from pathlib import Path

import numpy as np

from pllbench.grid.protocol import default_protocol
from pllbench.reports.aggregate import build_table
from pllbench.reports.plots.critical_difference import Diagram, plot_ranks, rank_diagrams
from pllbench.reports.plots.figure import save
from pllbench.reports.statistics import rank
from pllbench.reports.styles import style_rows
from tests.factories import PROTOCOL, make_records, of_benchmark
from tests.reports.examples import three_data_sets


def test_every_method_is_named_with_its_rank(tmp_path: Path) -> None:
    names = [f"method {i}" for i in range(8)]
    ranks = rank({name: [90.0 - i, 80.0 - i, 70.0 - i, 60.0 - i] for i, name in enumerate(names)})
    figure = plot_ranks([Diagram(ranks, ["A note."])])
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "CD = 5.25" in texts
    assert "method 0  1.00" in texts
    assert "8.00  method 7" in texts
    assert figure.texts[0].get_text() == "A note."
    save(figure, tmp_path / "ranks.png")


def test_a_difference_that_is_longer_than_the_axis_stays_in_the_picture() -> None:
    """Three methods on one data set."""
    ranks = rank({"a": [3.0], "b": [2.0], "c": [1.0]})
    [axes] = plot_ranks([Diagram(ranks)]).axes
    assert "CD = 3.31, longer than the axis" in [text.get_text() for text in axes.texts]
    arrow = [line for line in axes.lines if line.get_marker() == ">"]
    assert [np.asarray(line.get_xdata()).tolist() for line in arrow] == [[3]]
    low, high = axes.get_xlim()
    assert low <= 1 < 3 <= high


def test_equal_diagrams_are_equal_files(tmp_path: Path) -> None:
    ranks = rank({"a": [3.0, 3.0], "b": [2.0, 3.0], "c": [1.0, 1.0]})
    paths = [tmp_path / f"{i}.svg" for i in range(2)]
    for path in paths:
        save(plot_ranks([Diagram(ranks)]), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_methods_have_the_looks_of_the_other_figures() -> None:
    accuracies: dict[tuple[str, float | None], list[float]] = {
        ("cc", None): [70.0, 71, 72, 73, 74],
        ("asyco", None): [71.0, 72, 73, 74, 75],
    }
    runs = of_benchmark("birdsong", accuracies)
    table = build_table(runs, default_protocol())
    [axes] = plot_ranks(rank_diagrams(table)).axes
    for label in ("CC", "AsyCo"):
        style = style_rows(table)[label]
        [marked] = [line for line in axes.lines if line.get_marker() == style.marker]
        assert marked.get_color() == style.colour


def test_a_line_with_other_settings_on_every_data_set_has_the_look_of_its_method() -> None:
    records = [record for record in three_data_sets() if record.spec.method != "rc"]
    for dataset, lr in ("digits", 0.02), ("lost", 0.03), ("birdsong", 0.04):
        for q in (0.3, 0.7) if dataset == "digits" else (None,):
            records += make_records([50, 51], method="rc", dataset=dataset, q=q, train={"lr": lr})
    [diagram] = rank_diagrams(build_table(records, PROTOCOL))
    assert {"CC", "RC", "PRODEN"} == set(diagram.ranks.average)
    assert diagram.styles["RC"].marker
    assert diagram.styles["RC"].label == "RC"


def test_numbers_of_many_ranks_stand_apart() -> None:
    ranks = rank({f"method {i}": [90.0 - i, 80.0 - i] for i in range(49)})
    [axes] = plot_ranks([Diagram(ranks)]).axes
    numbers = [text.get_text() for text in axes.texts if text.get_text().isdecimal()]
    assert numbers == ["1", *(str(number) for number in range(5, 50, 5))]
