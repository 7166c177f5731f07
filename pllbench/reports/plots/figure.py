"""What all figures share: style, the looks of lines, panels with one legend, files.

Figures are built without pyplot, so that neither a display nor global state is involved. Lines
differ by colour, marker and line style at once, so that they stay apart in grey.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

SUFFIXES = (".pdf", ".png", ".svg")
"""Kinds of files that `save` writes."""

# Okabe and Ito's palette: its colours stay apart under the common kinds of colour blindness.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKERS = "osD^vP*X<>"
_THIN = "P*X"
"""Markers of little area, which are drawn larger."""
LineStyle = Literal["-", "--", "-.", ":"]
_LINES: tuple[LineStyle, ...] = ("-", "--", "-.", ":")
_PANEL = (3.3, 2.6)
"""Width and height of a panel in inches."""
_LETTERS = 14
"""Letters to an inch of a legend."""
_HANDLE = 9
"""Letters that a line's picture in a legend takes."""
STYLE: dict[Any, Any] = {
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


@dataclass(frozen=True, slots=True)
class Look:
    """How a row is drawn, in all panels of a figure."""

    label: str
    colour: str
    marker: str
    line: LineStyle

    @property
    def style(self) -> dict[str, Any]:
        """Arguments of matplotlib; a white rim keeps markers apart where lines coincide."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.line,
            "markeredgecolor": "white",
            "markeredgewidth": 0.5,
            "markersize": 7.5 if self.marker in _THIN else 5.5,
        }

    def handle(self) -> Line2D:
        """Its entry in the legend."""
        return Line2D([], [], **self.style)


Looks = Mapping[str, Look]
"""Looks by the label of the row."""

Draw = Callable[[Axes, Looks], set[str]]
"""Draws one panel; gives the labels of the rows that the legend must explain."""


def save(figure: Figure, path: Path) -> None:
    """Write `figure` as PNG, PDF or SVG, by the suffix of `path`; missing folders are made.

    Raises:
        ValueError: another suffix, or `path` cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{path}: cannot write {suffix or 'no suffix'!r}, use {' '.join(SUFFIXES)}"
        )
    dates: dict[str, dict[str, None]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(STYLE):
            figure.savefig(path, dpi=200, metadata=dates.get(suffix))
    except OSError as error:
        raise ValueError(f"{path}: cannot be written ({error.strerror})") from error


def figure_of(panels: Sequence[Draw], looks: Looks, across: int) -> Figure:
    """Panels in lines of `across`, and one legend below for what they have drawn."""
    across = min(across, len(panels))
    down = math.ceil(len(panels) / across)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_PANEL[0] * across, _PANEL[1] * down), layout="constrained")
        grid = list(figure.subplots(down, across, squeeze=False).flat)
        drawn: set[str] = set()
        for axes, draw in zip(grid, panels, strict=False):
            drawn |= draw(axes, looks)
        for axes in grid[len(panels) :]:
            axes.remove()
        shown = [look for label, look in looks.items() if label in drawn]
        if shown:
            _add_legend(figure, shown)
    return figure


def _add_legend(figure: Figure, looks: Sequence[Look]) -> None:
    """Below the panels, in as many columns as fit; the figure grows by its lines."""
    room = figure.get_figwidth() * _LETTERS
    widths = [len(look.label) + _HANDLE for look in looks]

    def needed(across: int) -> int:
        return sum(int(column.max()) for column in np.array_split(widths, across))

    across = next((n for n in range(len(looks), 1, -1) if needed(n) <= room), 1)
    down = math.ceil(len(looks) / across)
    figure.legend(
        [look.handle() for look in looks],
        [look.label for look in looks],
        loc="outside lower center",
        ncols=math.ceil(len(looks) / down),
        frameon=False,
    )
    figure.set_figheight(figure.get_figheight() + 0.2 * down)


def looks_of(rows: Iterable[tuple[str, bool, str]]) -> dict[str, Look]:
    """How rows are drawn, by label.

    Args:
        rows: label of each, whether it is a reference, and a key; equal keys are drawn alike.
    """
    rows = list(rows)
    references = list(dict.fromkeys(key for _, reference, key in rows if reference))
    rivals = list(dict.fromkeys(key for _, reference, key in rows if not reference))
    looks = {}
    for label, reference, key in sorted(rows, key=lambda row: not row[1]):
        i = (references if reference else rivals).index(key)
        if reference:
            looks[label] = Look(label, "0.35", "", _LINES[1 + i % 3])
        else:
            colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
            looks[label] = Look(label, colour, marker, _LINES[i % len(_LINES)])
    return looks
