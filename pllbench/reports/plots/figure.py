"""What all figures share: settings, styles of lines, panels with one legend, files.

Figures are built without pyplot, which would need a display and keeps global state. Lines differ in
colour, marker and dashes at once, so that they can be told apart in grey.
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

from pllbench.reports.table import Table

SUFFIXES = (".pdf", ".png", ".svg")
"""Kinds of files that `save` writes."""

# Okabe and Ito's palette: its colours stay apart under the common kinds of colour blindness.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKERS = "osD^vP*X<>"
_THIN = "P*X"
"""Markers of little area, which are drawn larger."""
Dashes = Literal["-", "--", "-.", ":"]
_DASHES: tuple[Dashes, ...] = ("-", "--", "-.", ":")
_PANEL = (3.3, 2.6)
"""Width and height of a panel in inches."""
_LETTERS = 14
"""Letters of a legend that fit in an inch."""
_HANDLE = 9
"""Width of the line beside a legend's label, in letters."""
SETTINGS: dict[Any, Any] = {
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
class LineStyle:
    """How a row is drawn, in all panels of a figure."""

    label: str
    colour: str
    marker: str
    dashes: Dashes

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of matplotlib; a white rim separates the markers of coinciding lines."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.dashes,
            "markeredgecolor": "white",
            "markeredgewidth": 0.5,
            "markersize": 7.5 if self.marker in _THIN else 5.5,
        }

    def handle(self) -> Line2D:
        """Its entry in the legend."""
        return Line2D([], [], **self.options)


LineStyles = Mapping[str, LineStyle]
"""Styles by the label of the row."""

DrawPanel = Callable[[Axes, LineStyles], set[str]]
"""Draws one panel; returns the labels of the rows that the legend must explain."""


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
        with mpl.rc_context(SETTINGS):
            figure.savefig(path, dpi=200, metadata=dates.get(suffix))
    except OSError as error:
        raise ValueError(f"{path}: cannot be written ({error.strerror})") from error


def draw_panels(panels: Sequence[DrawPanel], styles: LineStyles, across: int) -> Figure:
    """Panels in lines of `across`, with one legend below for the rows that they draw."""
    across = min(across, len(panels))
    down = math.ceil(len(panels) / across)
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(_PANEL[0] * across, _PANEL[1] * down), layout="constrained")
        grid = list(figure.subplots(down, across, squeeze=False).flat)
        drawn: set[str] = set()
        for axes, draw in zip(grid, panels, strict=False):
            drawn |= draw(axes, styles)
        for axes in grid[len(panels) :]:
            axes.remove()
        explained = [style for label, style in styles.items() if label in drawn]
        if explained:
            _add_legend(figure, explained)
    return figure


def _add_legend(figure: Figure, styles: Sequence[LineStyle]) -> None:
    """Add a legend below the panels, in as many columns as fit; the figure grows by its lines."""
    room = figure.get_figwidth() * _LETTERS
    widths = [len(style.label) + _HANDLE for style in styles]

    def needed(across: int) -> int:
        return sum(int(column.max()) for column in np.array_split(widths, across))

    across = next((n for n in range(len(styles), 1, -1) if needed(n) <= room), 1)
    down = math.ceil(len(styles) / across)
    figure.legend(
        [style.handle() for style in styles],
        [style.label for style in styles],
        loc="outside lower center",
        ncols=math.ceil(len(styles) / down),
        frameon=False,
    )
    figure.set_figheight(figure.get_figheight() + 0.2 * down)


def style_rows(table: Table) -> LineStyles:
    """Styles of the rows of a table.

    A method has one style on all data sets, even where its label adds a setting on one of them;
    except where a data set has several rows of one name.
    """
    unique = all(len({row.name for row in b.rows}) == len(b.rows) for b in table.blocks)
    rows = [row for block in table.blocks for row in block.rows]
    return assign_styles((r.label, r.reference, r.name if unique else r.label) for r in rows)


def assign_styles(rows: Iterable[tuple[str, bool, str]]) -> LineStyles:
    """Styles of rows, by label.

    Args:
        rows: label of each, whether it is a reference, and a key; equal keys are drawn alike.
    """
    rows = list(rows)
    references = list(dict.fromkeys(key for _, reference, key in rows if reference))
    rivals = list(dict.fromkeys(key for _, reference, key in rows if not reference))
    styles = {}
    for label, reference, key in sorted(rows, key=lambda row: not row[1]):
        i = (references if reference else rivals).index(key)
        if reference:
            styles[label] = LineStyle(label, "0.35", "", _DASHES[1 + i % 3])
        else:
            colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
            styles[label] = LineStyle(label, colour, marker, _DASHES[i % len(_DASHES)])
    return styles
