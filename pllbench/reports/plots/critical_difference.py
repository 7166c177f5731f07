"""The critical-difference diagram of average ranks (Demsar, JMLR 2006, figure 1)."""

import textwrap
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pllbench.reports.plots.figure import SETTINGS, ShownFigure
from pllbench.reports.statistics import Ranks, cliques

_AXIS = 4.0
"""Width of the axis in inches."""

_LINE = 0.24
"""Height of a label in inches."""

_LETTER = 0.075
"""Width of a label's letter in inches."""

_NOTE = 0.17
"""Height of a line of notes in inches."""


def plot_ranks(ranks: Ranks, notes: Sequence[str] = ()) -> Figure:
    """Average ranks on an axis, best on the left; bars join those that do not differ at 5 %."""
    averages = sorted(ranks.average.items(), key=lambda item: item[1])
    bars = cliques([average for _, average in averages], ranks.critical_difference)
    lines = (len(averages) + 1) // 2
    margin = 0.7 + _LETTER * max(len(label) for label, _ in averages)
    width = _AXIS + 2 * margin
    text = textwrap.wrap(" ".join(notes), int(width * 14))
    top, bottom = 3.0, 1.0 + 0.5 * len(bars) + lines  # in label heights, above and below the axis
    below, tall = _NOTE * len(text), (top + bottom) * _LINE
    with mpl.rc_context(SETTINGS | {"axes.grid": False}):
        figure = ShownFigure(figsize=(width, below + tall))
        box = (margin / width, below / (below + tall), _AXIS / width, tall / (below + tall))
        axes = figure.add_axes(box)
        axes.set_axis_off()
        axes.set_xlim(1, len(averages))
        axes.set_ylim(-bottom, top)
        _draw_axis(axes, len(averages), ranks.critical_difference)
        _draw_bars(axes, bars)
        first = -1.0 - 0.5 * len(bars)
        for i, (label, average) in enumerate(averages):
            left = i < lines
            y = first - (i if left else len(averages) - 1 - i)
            _draw_label(axes, label, average, y, left=left)
        figure.text(0.02, 0.02, "\n".join(text), fontsize=7.5, color="0.25", va="bottom")
    return figure


def _draw_axis(axes: Axes, num_methods: int, distance: float) -> None:
    axes.plot([1, num_methods], [0, 0], color="0", linewidth=1, clip_on=False)
    for rank in range(1, num_methods + 1):
        axes.plot([rank, rank], [0, 0.3], color="0", linewidth=1, clip_on=False)
        axes.text(rank, 0.45, str(rank), ha="center", va="bottom")
    y = 2.0
    longer = distance > num_methods - 1
    end = float(num_methods) if longer else 1 + distance
    axes.plot([1, end], [y, y], color="0", linewidth=1, clip_on=False)
    for x in (1.0,) if longer else (1.0, end):
        axes.plot([x, x], [y - 0.2, y + 0.2], color="0", linewidth=1, clip_on=False)
    if longer:  # an arrow: it goes on
        axes.plot([end], [y], color="0", marker=">", markersize=5, clip_on=False)
    text = f"CD = {distance:.2f}" + (", longer than the axis" if longer else "")
    axes.text((1 + end) / 2, y + 0.15, text, ha="center", va="bottom")


def _draw_bars(axes: Axes, bars: Sequence[tuple[float, float]]) -> None:
    low, high = axes.get_xlim()
    past = 0.006 * (high - low)
    for i, (first, last) in enumerate(bars):
        y = -0.4 - 0.5 * i
        axes.plot([first - past, last + past], [y, y], color="0", linewidth=3.5, clip_on=False)


def _draw_label(axes: Axes, label: str, average: float, y: float, *, left: bool) -> None:
    """A method and its average rank beside the axis, joined to that rank by a line."""
    low, high = axes.get_xlim()
    gap = 0.02 * (high - low)
    edge = low - gap if left else high + gap
    axes.plot([average, average, edge], [0, y, y], color="0.3", linewidth=0.8, clip_on=False)
    if left:
        axes.text(edge - gap / 2, y, f"{label}  {average:.2f}", ha="right", va="center")
    else:
        axes.text(edge + gap / 2, y, f"{average:.2f}  {label}", ha="left", va="center")
