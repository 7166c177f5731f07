"""What all figures share: settings, panels with one legend, files.

Figures are built without pyplot, which would need a display and keeps global state.
"""

import math
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.cells import cell_len

from pllbench.reports.plots.fonts import DEFAULT, MISSING_GLYPH, choose_fonts
from pllbench.reports.styles import LineStyle, LineStyles

SUFFIXES = (".pdf", ".png", ".svg")
"""Kinds of files that `save` writes."""

_THIN = "P*X"
"""Markers of little area, which are drawn larger."""
_PANEL = (3.3, 2.6)
"""Width and height of a panel in inches."""
_LETTERS = 14
"""Letters of a legend that fit in an inch."""
_LINE = 0.19
"""Height of a line of text in inches."""
_NOTE = 0.17
"""Height of a line of notes in inches."""
_SMALL, _GREY = 7.5, "0.25"
"""Size and colour of notes."""
_SHOWN_BOXES = 10
"""Letters that a note lists."""
_HANDLE = 9
"""Width of the line beside a legend's label, in letters."""
FIGURE_STYLE: dict[Any, Any] = {
    "font.family": [DEFAULT],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.92",
    "axes.axisbelow": True,
    "font.size": 9,
    "lines.linewidth": 1.3,
    "lines.markersize": 5,
    "text.parse_math": False,  # a name may hold a dollar sign
    "svg.hashsalt": "pllbench",  # equal figures are equal files
}
"""Matplotlib settings of all figures."""


def line_options(style: LineStyle) -> dict[str, Any]:
    """Arguments of matplotlib; a white rim separates the markers of coinciding lines."""
    return {
        "color": style.colour,
        "marker": style.marker,
        "linestyle": style.dashes,
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
        "markersize": 7.5 if style.marker in _THIN else 5.5,
    }


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a figure.

    Attributes:
        draw: draws it; returns the labels of the rows that the legend must explain.
        names: texts at the y axis, one a line; none where it has numbers.
    """

    draw: Callable[[Axes, LineStyles], set[str]]
    names: Sequence[str] = ()

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches, texts at the y axis included."""
        lines = [line for name in self.names for line in name.split("\n")]
        letters = max(map(cell_len, lines), default=0)
        return _PANEL[0] + letters / _LETTERS, max(_PANEL[1], 0.8 + _LINE * len(lines))


def wrap(text: str, width: int) -> str:
    """`text` in lines of at most about `width` letters; an East Asian one takes two."""
    return textwrap.fill(text, max(1, width * len(text) // max(1, cell_len(text))))


def wrap_title(text: str) -> str:
    """A title of a panel, in lines that are no wider than the panel."""
    return wrap(text, round(_LETTERS * _PANEL[0] * 0.8))


class ShownFigure(Figure):
    """A figure that a notebook shows, whether it has imported pyplot or not.

    Attributes:
        boxes: letters that no font here has, drawn as boxes.
    """

    boxes = ""

    def finish(self) -> Self:
        """This figure, whose texts are all there, in fonts that have their letters."""
        self.boxes = choose_fonts(self)
        return self

    def _repr_png_(self) -> bytes:
        if note := boxes_note(self):
            warnings.warn(note, stacklevel=1)
        content = BytesIO()
        with _drawing():
            self.savefig(content, format="png", dpi=100)
        return content.getvalue()


def boxes_note(figure: Figure) -> str:
    """Which letters of a figure are boxes, and what helps; empty where none are."""
    letters = figure.boxes if isinstance(figure, ShownFigure) else ""
    if not letters:
        return ""
    shown = letters if len(letters) <= _SHOWN_BOXES else f"{letters[:_SHOWN_BOXES]}…"
    return f"no font here has {shown}, drawn as boxes: install one that has, as Noto Sans CJK"


@contextmanager
def _drawing() -> Iterator[None]:
    """The settings of all figures; a letter without font is said once, not by matplotlib."""
    with mpl.rc_context(FIGURE_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", MISSING_GLYPH, UserWarning)
        yield


def save(figure: Figure, path: Path, description: str = "") -> None:
    """Write `figure` as PNG, PDF or SVG, by the suffix of `path`; missing folders are made.

    A PNG carries a `description`, if there is one, as its metadata of that name.

    Raises:
        ValueError: another suffix, or `path` cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{path}: cannot write {suffix or 'no suffix'!r}, use {' '.join(SUFFIXES)}"
        )
    metadata: dict[str, dict[str, str | None]] = {
        ".png": {"Description": description} if description else {},
        ".pdf": {"CreationDate": None},
        ".svg": {"Date": None},
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _drawing():
            figure.savefig(path, dpi=200, metadata=metadata[suffix])
    except OSError as error:
        raise ValueError(f"{path}: cannot be written ({error.strerror})") from error


def draw_panels(
    panels: Sequence[Panel], styles: LineStyles, across: int, notes: Sequence[str] = ()
) -> Figure:
    """Panels in lines of `across`, with one legend below for the rows that they draw, and notes."""
    across = min(across, len(panels))
    lines = [panels[i : i + across] for i in range(0, len(panels), across)]
    widths = [max(line[i].size[0] for line in lines if i < len(line)) for i in range(across)]
    heights = [max(panel.size[1] for panel in line) for line in lines]
    with mpl.rc_context(FIGURE_STYLE):
        figure = ShownFigure(figsize=(sum(widths), sum(heights)), layout="constrained")
        grid = list(figure.subplots(len(lines), across, squeeze=False, height_ratios=heights).flat)
        drawn: set[str] = set()
        for axes, panel in zip(grid, panels, strict=False):
            drawn |= panel.draw(axes, styles)
        for axes in grid[len(panels) :]:
            axes.remove()
        explained = [style for label, style in styles.items() if label in drawn]
        if explained:
            _add_legend(figure, explained, _wrap_notes(figure, notes))
        elif notes:
            text = _wrap_notes(figure, notes)
            figure.supxlabel(text, fontsize=_SMALL, color=_GREY)
            _add_height(figure, _NOTE * (text.count("\n") + 1))
        return figure.finish()


def _wrap_notes(figure: Figure, notes: Sequence[str]) -> str:
    """What the numbers are, in lines of small letters as wide as the figure."""
    return wrap(" ".join(notes), max(40, int(figure.get_figwidth() * _LETTERS * 1.15)))


def _add_height(figure: Figure, inches: float) -> None:
    figure.set_figheight(figure.get_figheight() + inches)


def _add_legend(figure: Figure, styles: Sequence[LineStyle], notes: str) -> None:
    """Add notes and a legend below the panels, in as many columns as fit; the figure grows."""
    room = int(figure.get_figwidth() * _LETTERS)
    texts = [wrap(style.label, max(20, room - _HANDLE)) for style in styles]
    widths = [max(map(cell_len, text.split("\n"))) + _HANDLE for text in texts]

    def needed(across: int) -> int:
        return sum(int(column.max()) for column in np.array_split(widths, across))

    across = next((n for n in range(len(styles), 1, -1) if needed(n) <= room), 1)
    down = math.ceil(len(styles) / across)
    figure.legend(
        [Line2D([], [], **line_options(style)) for style in styles],
        texts,
        loc="outside lower center",
        ncols=math.ceil(len(styles) / down),
        frameon=False,
        title=notes or None,
        title_fontproperties={"size": _SMALL},
    )
    wrapped = max(text.count("\n") for text in texts)
    lines = notes.count("\n") + 1 if notes else 0
    _add_height(figure, 0.2 * (down + wrapped) + _NOTE * lines)
