"""`pllbench plot`."""

from pathlib import Path

import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from pllbench.reports.plots import figure as figures
from tests.commands import Answer, pllbench
from tests.factories import make_records, of_benchmark, store


@pytest.mark.parametrize("kind", ["accuracy", "noise", "curves"])
def test_plots(grid_results: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "plot.png"
    answer = pllbench("plot", kind, "--output", path, "--results", grid_results)
    assert answer == Answer(0, f"{path}\n", "")
    assert path.read_bytes().startswith(b"\x89PNG")


def drawn(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Figure:
    """The figure that a command saves."""
    saved: list[Figure] = []
    monkeypatch.setattr(figures, "save", lambda figure, path: saved.append(figure))
    answer = pllbench("plot", *arguments)
    assert (answer.code, answer.err) == (0, "")
    [figure] = saved
    return figure


def test_ranks_over_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The q of digits are one block: CC wins it though it loses at q = 0.7."""
    values = {"cc": (90, 80, 70), "rc": (85, 81, 72), "proden": (84, 79, 69)}
    records = []
    for method, (low, high, real) in values.items():
        records += make_records([low], method=method, q=0.3)
        records += make_records([high], method=method, q=0.7)
        records += make_records([real], method=method, dataset="birdsong", q=None)
    results = store(tmp_path, records)
    figure = drawn(monkeypatch, "ranks", "--results", results)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert {"CC  1.50", "RC  1.50", "3.00  PRODEN", "CD = 2.34, longer than the axis"} <= set(texts)
    assert "N is too small" in figure.texts[0].get_text()


def test_accuracy_against_a_hyperparameter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accuracies: dict[tuple[str, float | None], list[float]] = {
        (f"asyco-tau-{tau}", q): [level - 1, level, level + 1]
        for tau, level in ((1, 70), (10, 80), (30, 75))
        for q in (0.1, 0.7)
    }
    results = store(tmp_path, of_benchmark("tau", accuracies))
    figure = drawn(monkeypatch, "hparam", "--benchmark", "tau", "--results", results)
    [axes] = figure.axes
    assert (axes.get_title(), axes.get_xlabel()) == ("CIFAR-10", "tau")
    for container in axes.containers:
        line, _, [bars] = container.lines  # type: ignore[attr-defined]
        assert list(line.get_xdata()) == [1, 10, 30]
        assert list(line.get_ydata()) == pytest.approx([70, 80, 75])
        assert [top - low for (_, low), (_, top) in bars.get_segments()] == pytest.approx([2] * 3)
    assert len(axes.containers) == 2


@pytest.mark.parametrize("kind", ["noise", "curves"])
def test_a_rule_is_refused_where_all_epochs_are_shown(kind: str) -> None:
    answer = pllbench("plot", kind, "--select", "last")
    message = f"pllbench: --select last: a plot of {kind} shows all epochs, so it takes no rule\n"
    assert answer == Answer(2, "", message)


def test_letters_that_no_font_has_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    path = tmp_path / "plot.png"
    results = store(tmp_path, make_records([90, 91], method="鸟类"))
    answer = pllbench("plot", "accuracy", "--output", path, "--results", results)
    line = "no font here has 类鸟, drawn as boxes: install one that has, as Noto Sans CJK"
    assert answer == Answer(0, f"{path}\n", f"pllbench: {line}\n")
