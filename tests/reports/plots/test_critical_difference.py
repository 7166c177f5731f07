"""The critical-difference diagram."""

from pathlib import Path

import numpy as np

from pllbench.grid.protocol import default_protocol
from pllbench.reports.aggregate import build_table
from pllbench.reports.plots.critical_difference import Diagram, plot_ranks, rank_diagrams
from pllbench.reports.plots.figure import save
from pllbench.reports.statistics import rank
from pllbench.reports.styles import style_rows
from tests.factories import of_benchmark


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
