"""Letters that the default font lacks: a font of the machine, or one line."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text

from pllbench.reports.aggregate import build_table
from pllbench.reports.plots.accuracy import plot_accuracy
from pllbench.reports.plots.critical_difference import plot_ranks, rank_diagrams
from pllbench.reports.plots.figure import boxes_note, save
from pllbench.reports.table import Table
from tests.factories import PROTOCOL, make_records
from tests.reports.plots.drawings import legend

DRAWINGS = [plot_accuracy, lambda table: plot_ranks(rank_diagrams(table))]


def write_font(path: Path, family: str, letters: str) -> str:
    """A font in which each of `letters` is a full square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for point in ((0, 1000), (1000, 1000), (1000, 0)):
        pen.lineTo(point)
    pen.closePath()
    square = pen.glyph()
    names = {ord(letter): f"u{ord(letter)}" for letter in letters}
    order = [".notdef", *names.values()]
    font = FontBuilder(1000)
    font.setupGlyphOrder(order)
    font.setupCharacterMap(names)
    font.setupGlyf(dict.fromkeys(order, square))
    font.setupHorizontalMetrics(dict.fromkeys(order, (1000, 0)))
    font.setupHorizontalHeader(ascent=1000, descent=0)
    font.setupNameTable({"familyName": family, "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save(path)
    return str(path)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes these files all fonts of the machine, but for those that matplotlib brings along."""
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist])

    def installed(*paths: str) -> None:
        monkeypatch.setattr(font_manager, "findSystemFonts", lambda: list(paths))

    return installed


def labelled(*names: str) -> Table:
    """Rows of these names on two data sets."""
    runs = [
        record
        for name in names
        for dataset in ("digits", "cnae9")
        for record in make_records([90, 91], method=name, dataset=dataset)
    ]
    return build_table(runs, PROTOCOL)


def families(figure: Figure) -> set[tuple[str, ...]]:
    return {tuple(text.get_fontfamily()) for text in figure.findobj(Text)}


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_label_has_the_fonts_of_the_machine_that_have_its_letters(
    tmp_path: Path, install: Callable[..., None], draw: Callable[[Table], Figure]
) -> None:
    install(
        write_font(tmp_path / "han.ttf", "Test Han", "鸟类"),
        write_font(tmp_path / "hangul.ttf", "Test Hangul", "새"),
        write_font(tmp_path / "thai.ttf", "Test Thai", "ก"),
    )
    figure = draw(labelled("cc", "鸟类", "새"))
    assert families(figure) == {("DejaVu Sans", "Test Han", "Test Hangul")}
    assert boxes_note(figure) == ""
    save(figure, tmp_path / "plot.png")  # a warning of matplotlib would be an error


def test_a_regular_font_comes_before_a_bold_one(
    tmp_path: Path, install: Callable[..., None]
) -> None:
    install(
        write_font(tmp_path / "A-Bold.ttf", "Test Bold", "鸟"),
        write_font(tmp_path / "A-Regular.ttf", "Test Regular", "鸟"),
    )
    assert families(plot_accuracy(labelled("鸟"))) == {("DejaVu Sans", "Test Regular")}


@pytest.mark.parametrize("draw", DRAWINGS)
def test_letters_that_no_font_has_are_said_once(
    tmp_path: Path, install: Callable[..., None], draw: Callable[[Table], Figure]
) -> None:
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"no font")
    install(str(broken), write_font(tmp_path / "han.ttf", "Test Han", "鸟"))
    figure = draw(labelled("cc", "鸟类새"))
    save(figure, tmp_path / "plot.png")  # a warning of matplotlib would be an error
    assert boxes_note(figure) == (
        "no font here has 类새, drawn as boxes: install one that has, as Noto Sans CJK"
    )


def test_a_note_lists_ten_letters(install: Callable[..., None]) -> None:
    install()
    figure = plot_accuracy(labelled("一丁七万丈三上下不与丑专"))
    assert boxes_note(figure).startswith("no font here has 一丁七万丈三上下不与…, drawn as")


def test_no_font_is_looked_for_where_the_default_has_all_letters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: pytest.fail("looked for"))
    assert families(plot_accuracy(labelled("cc", "αβ_é"))) == {("DejaVu Sans",)}


def test_a_legend_of_wide_letters_stays_in_the_picture(
    tmp_path: Path, install: Callable[..., None]
) -> None:
    install(write_font(tmp_path / "han.ttf", "Test Han", "鸟类"))
    figure = plot_accuracy(labelled(*("鸟" * 70 + "类" * i for i in range(1, 4))))
    figure.draw_without_rendering()
    assert len(legend(figure)) == 3
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
