"""What all figures share: settings, panels with one legend, files.

Figures are built without pyplot, which would need a display and keeps global state.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pllbench.reports.styles import LineStyle, LineStyles

SUFFIXES = (".pdf", ".png", ".svg")
"""Kinds of files that `save` writes."""

_THIN = "P*X"
"""Markers of little area, which are drawn larger."""
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
        [Line2D([], [], **line_options(style)) for style in styles],
        [style.label for style in styles],
        loc="outside lower center",
        ncols=math.ceil(len(styles) / down),
        frameon=False,
    )
    figure.set_figheight(figure.get_figheight() + 0.2 * down)
