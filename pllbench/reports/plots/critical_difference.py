"""The critical-difference diagram of average ranks (Demsar, JMLR 2006, figure 1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from rich.cells import cell_len

from pllbench.reports.plots.figure import FIGURE_STYLE, ShownFigure, wrap
from pllbench.reports.ranks import line_label, rank_rows, ranks_title
from pllbench.reports.statistics import Ranks, cliques
from pllbench.reports.styles import LineStyle, LineStyles, style_rows
from pllbench.reports.table import Table

_AXIS = 4.0
"""Width of the axis in inches."""

_LINE = 0.24
"""Height of a label in inches."""

_LETTER = 0.075
"""Width of a label's letter in inches."""

_GAP = 0.02
"""Between the axis and a label, as a share of the axis."""

_GREY = "0.3"
"""Of lines that no method has."""

_NUM_NUMBERS = 20
"""Ranks that have room for their number on the axis."""

_NOTE = 0.17
"""Height of a line of notes in inches."""


@dataclass(frozen=True, slots=True)
class Diagram:
    """One diagram of a figure: ranks, the notes below it, its title, if it needs one, and looks."""

    ranks: Ranks
    notes: Sequence[str] = ()
    title: str = ""
    styles: LineStyles = field(default_factory=dict)


def rank_diagrams(table: Table) -> list[Diagram]:
    """A diagram for each budget of search in a table, with a title where there are several.

    Raises:
        ValueError: as `rank_rows`.
    """
    several = len(table.budgets) > 1
    looks = style_rows(table)
    styles = {style.label: style for style in looks.values()}
    for rows in table.lines().values():  # one that has another label on every data set
        label, row = line_label(rows), next(iter(rows.values()))
        styles.setdefault(label, replace(looks[row.label], label=label))
    return [
        Diagram(*rank_rows(table, budget), ranks_title(table, budget) if several else "", styles)
        for budget in table.budgets
    ]


def plot_ranks(diagrams: Sequence[Diagram]) -> Figure:
    """Average ranks on an axis, best on the left; bars join those that do not differ at 5 %.

    Several diagrams stand one below the other.
    """
    labels = [label for diagram in diagrams for label in diagram.ranks.average]
    margin = 0.7 + _LETTER * max(map(cell_len, labels))
    width = _AXIS + 2 * margin
    placed = [_Placed(diagram, int(width * 14)) for diagram in diagrams]
    height = sum(one.height for one in placed)
    with mpl.rc_context(FIGURE_STYLE | {"axes.grid": False}):
        figure = ShownFigure(figsize=(width, height))
        y = height
        for one in placed:
            y -= one.height
            box = (margin / width, (y + one.below) / height, _AXIS / width, one.tall / height)
            _draw(figure.add_axes(box), one)
            at = (0.02, (y + 0.02 * one.height) / height)
            figure.text(*at, "\n".join(one.text), fontsize=7.5, color="0.25", va="bottom")
        return figure.finish()


class _Placed:
    """A diagram and how much room it takes, in inches.

    Attributes:
        diagram: what is drawn.
        text: its notes, in lines.
        bars: ends of its bars.
        top: label heights above the axis.
        bottom: those below it.
        below: height of the notes.
        tall: height of the diagram.
    """

    def __init__(self, diagram: Diagram, letters: int) -> None:
        averages = sorted(diagram.ranks.average.values())
        self.diagram = diagram
        self.text = wrap(" ".join(diagram.notes), letters).splitlines()
        self.bars = cliques(averages, diagram.ranks.critical_difference)
        lines = (len(averages) + 1) // 2
        self.top, self.bottom = 3.0 + 1.5 * bool(diagram.title), 1.0 + 0.5 * len(self.bars) + lines
        self.below, self.tall = _NOTE * len(self.text), (self.top + self.bottom) * _LINE

    @property
    def height(self) -> float:
        return self.below + self.tall


def _draw(axes: Axes, placed: _Placed) -> None:
    diagram, bars = placed.diagram, placed.bars
    averages = sorted(diagram.ranks.average.items(), key=lambda item: item[1])
    axes.set_axis_off()
    axes.set_xlim(1, len(averages))
    axes.set_ylim(-placed.bottom, placed.top)
    if diagram.title:
        centre = (1 + len(averages)) / 2
        axes.text(centre, placed.top - 0.5, diagram.title, ha="center", va="top", clip_on=False)
    _draw_axis(axes, len(averages), diagram.ranks.critical_difference)
    _draw_bars(axes, bars)
    first, lines = -1.0 - 0.5 * len(bars), (len(averages) + 1) // 2
    for i, (label, average) in enumerate(averages):
        left = i < lines
        y = first - (i if left else len(averages) - 1 - i)
        style = diagram.styles.get(label, LineStyle(label, _GREY, "", "-"))
        _draw_label(axes, style, average, y, left=left)


def _draw_axis(axes: Axes, num_methods: int, distance: float) -> None:
    axes.plot([1, num_methods], [0, 0], color="0", linewidth=1, clip_on=False)
    numbered = MaxNLocator(_NUM_NUMBERS, steps=[1, 5, 10], integer=True).tick_values(1, num_methods)
    for rank in range(1, num_methods + 1):
        axes.plot([rank, rank], [0, 0.3], color="0", linewidth=1, clip_on=False)
        if rank == 1 or rank in numbered:
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


def _draw_label(axes: Axes, style: LineStyle, average: float, y: float, *, left: bool) -> None:
    """A method and its average rank beside the axis, joined to that rank by its line and marker."""
    low, high = axes.get_xlim()
    gap = _GAP * (high - low)
    edge = low - gap if left else high + gap
    axes.plot([average, average], [0, y], color=_GREY, linewidth=0.8, clip_on=False)
    colour, dashes = style.colour, style.dashes
    axes.plot([average, edge], [y, y], color=colour, linestyle=dashes, clip_on=False)
    axes.plot([edge], [y], color=colour, marker=style.marker, markersize=5, clip_on=False)
    if left:
        axes.text(edge - gap, y, f"{style.label}  {average:.2f}", ha="right", va="center")
    else:
        axes.text(edge + gap, y, f"{average:.2f}  {style.label}", ha="left", va="center")
