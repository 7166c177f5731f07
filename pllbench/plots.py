"""Figures of finished runs: accuracy against q, noise rates and training curves over epochs.

Figures are built without pyplot, so that neither a display nor global state is involved. Rows
differ by colour, marker and line style at once, so that they stay apart in grey.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pllbench.cells import Block, Cell, Column, Row, Table
from pllbench.records import Curves

SUFFIXES = (".pdf", ".png", ".svg")
"""Kinds of files that `save` writes."""

CurvesById = Mapping[str, Curves]
"""Per-epoch columns of runs, by run_id."""

# Okabe and Ito's palette: its colours stay apart under the common kinds of colour blindness.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKERS = "osD^vP*X<>"
LineStyle = Literal["-", "--", "-.", ":"]
_LINES: tuple[LineStyle, ...] = ("-", "--", "-.", ":")
_PANEL = (3.3, 2.6)
"""Width and height of a panel in inches."""
_STYLE: dict[Any, Any] = {
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


@dataclass(frozen=True, slots=True)
class Look:
    """How a row is drawn, in all panels of a figure."""

    label: str
    colour: str
    marker: str
    line: LineStyle

    def handle(self) -> Line2D:
        """Its entry in the legend."""
        return Line2D([], [], color=self.colour, marker=self.marker, linestyle=self.line)


Looks = Mapping[str, Look]
"""Looks by the label of the row."""

Draw = Callable[[Axes, Looks], set[str]]
"""Draws one panel; gives the labels of the rows that the legend must explain."""


def accuracy(table: Table) -> Figure:
    """Accuracy against q with the sample std as error bars: a panel a data set and process.

    A method that learns from true labels is a horizontal line with its std as a band. Without a q,
    rows are dots on a line each.
    """
    panels: list[Draw] = []
    for block in table.blocks:
        for process in dict.fromkeys(column.candidates for column in block.columns) or [None]:
            columns = [c for c in block.columns if c.candidates == process and c.q is not None]
            panels.append(_against_q(block, columns) if columns else _dots(block))
    return _figure(panels, table, across=3)


def noise(table: Table, columns: CurvesById) -> Figure:
    """Class and pairwise noise rate of the pseudo labels over epochs: a line of panels a column.

    Lines are means over seeds, bands their sample std.

    Raises:
        ValueError: no method here guesses labels.
    """
    named = (("class_noise", "class noise rate (%)"), ("pairwise_noise", "pairwise noise rate (%)"))
    panels = []
    for block in table.blocks:
        for column in block.columns:
            rows = _rows(block, column)
            if any(_stack(cell, columns, "class_noise") is not None for _, cell in rows):
                title = f"{block.title}, {block.heading(column)}" if column.q else block.title
                panels += [
                    _over_epochs(title, rows, columns, (name, words)) for name, words in named
                ]
    if not panels:
        raise ValueError("no run here has pseudo labels, so there are no noise rates to plot")
    return _figure(panels, table, across=2)


def curves(table: Table, columns: CurvesById) -> Figure:
    """Test accuracy over epochs: a panel a column, lines the mean over seeds, bands their std."""
    panels = []
    for block in table.blocks:
        for column in block.columns or [None]:
            title = block.title
            if column and column.q is not None:
                title = f"{block.title}, {block.heading(column)}"
            rows = _rows(block, column)
            panels.append(_over_epochs(title, rows, columns, ("accuracy", "test accuracy (%)")))
    return _figure(panels, table, across=3)


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
        with mpl.rc_context(_STYLE):
            figure.savefig(path, dpi=200, metadata=dates.get(suffix))
    except OSError as error:
        raise ValueError(f"{path}: cannot be written ({error.strerror})") from error


def _figure(panels: Sequence[Draw], table: Table, across: int) -> Figure:
    looks = _looks((row.label, row.reference) for block in table.blocks for row in block.rows)
    across = min(across, len(panels))
    down = math.ceil(len(panels) / across)
    with mpl.rc_context(_STYLE):
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
    room = int(figure.get_figwidth() * 13)  # characters in a line
    widths = [len(look.label) + 8 for look in looks]
    across = len(looks) if sum(widths) <= room else max(1, room // max(widths))
    figure.legend(
        [look.handle() for look in looks],
        [look.label for look in looks],
        loc="outside lower center",
        ncols=across,
        frameon=False,
    )
    figure.set_figheight(figure.get_figheight() + 0.2 * math.ceil(len(looks) / across))


def _looks(rows: Iterable[tuple[str, bool]]) -> dict[str, Look]:
    rows = list(dict.fromkeys(rows))
    references = [label for label, reference in rows if reference]
    rivals = [label for label, reference in rows if not reference]
    return {
        label: Look(label, "0.35", "", _LINES[1 + i % 3]) for i, label in enumerate(references)
    } | {
        label: Look(
            label,
            _COLOURS[i % len(_COLOURS)],
            _MARKERS[i % len(_MARKERS)],
            _LINES[i % len(_LINES)],
        )
        for i, label in enumerate(rivals)
    }


def _rows(block: Block, column: Column | None) -> list[tuple[Row, Cell]]:
    """Rows with runs in `column`, references included."""
    return [
        (row, cell)
        for row in block.rows
        for cell in row.cells
        if cell and cell.run_ids and (row.reference or cell.column == column)
    ]


def _against_q(block: Block, columns: Sequence[Column]) -> Draw:
    rates = [column.q for column in columns if column.q is not None]
    gap = min(np.diff(rates), default=0.2)

    def draw(axes: Axes, looks: Looks) -> set[str]:
        lines = [row for row in block.rows if not row.reference]
        step = gap * min(0.12, 0.6 / max(1, len(lines)))  # no two error bars on one another
        for i, row in enumerate(lines):
            shift = step * (i - (len(lines) - 1) / 2)
            _draw_line(
                axes,
                row,
                looks[row.label],
                {c: q + shift for c, q in zip(columns, rates, strict=True)},
            )
        for row in block.rows:
            if row.reference:
                _draw_level(axes, row, looks[row.label])
        several = len({column.candidates for column in block.columns}) > 1
        axes.set_title(f"{block.title}, {columns[0].candidates}" if several else block.title)
        axes.set_xticks(rates, [f"{q:g}" for q in rates])
        axes.set_xlim(min(rates) - gap / 2, max(rates) + gap / 2)
        axes.set_xlabel("q")
        axes.set_ylabel("test accuracy (%)")
        return {row.label for row in block.rows}

    return draw


def _draw_line(axes: Axes, row: Row, look: Look, places: Mapping[Column, float]) -> None:
    """The cells of a row that have a place on the x axis, joined by a line."""
    cells = [(places.get(cell.column), cell.summary) for cell in row.cells if cell]
    points = [(x, s.mean, s.std or 0.0) for x, s in cells if x is not None and s]
    if points:
        x, mean, std = zip(*points, strict=True)
        axes.errorbar(
            x,
            mean,
            yerr=std,
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            capsize=2,
            elinewidth=0.8,
        )


def _draw_level(axes: Axes, row: Row, look: Look) -> None:
    """A reference: one line over all q, its std as a band."""
    for cell in row.cells:
        if cell and (found := cell.summary):
            std = found.std or 0.0
            axes.axhline(found.mean, color=look.colour, linestyle=look.line)
            axes.axhspan(found.mean - std, found.mean + std, color="0.5", alpha=0.2, linewidth=0)


def _dots(block: Block) -> Draw:
    def draw(axes: Axes, looks: Looks) -> set[str]:
        rows = [(r, c, c.summary) for r in block.rows for c in r.cells if c and c.summary]
        for y, (row, _, found) in enumerate(rows):
            look = looks[row.label]
            axes.errorbar(
                found.mean,
                y,
                xerr=found.std or 0.0,
                color=look.colour,
                marker=look.marker or "|",
                linestyle="none",
                capsize=2,
            )
        axes.set_title(block.title)
        axes.set_yticks(range(len(rows)), [looks[row.label].label for row, *_ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("test accuracy (%)")
        return set()  # the dots are labelled where they are

    return draw


def _over_epochs(
    title: str, rows: Sequence[tuple[Row, Cell]], columns: CurvesById, what: tuple[str, str]
) -> Draw:
    name, words = what

    def draw(axes: Axes, looks: Looks) -> set[str]:
        drawn = set()
        for i, (row, cell) in enumerate(rows):
            runs = _stack(cell, columns, name)
            if runs is None:
                continue
            drawn.add(row.label)
            look = looks[row.label]
            epochs, mean = np.arange(1, runs.shape[1] + 1), runs.mean(axis=0)
            every = max(1, len(epochs) // 6)
            start = every * i // max(1, len(rows))  # markers of different lines do not meet
            axes.plot(
                epochs,
                mean,
                color=look.colour,
                marker=look.marker,
                linestyle=look.line,
                markevery=(start, every),
            )
            if len(runs) > 1:
                std = runs.std(axis=0, ddof=1)
                axes.fill_between(
                    epochs, mean - std, mean + std, color=look.colour, alpha=0.15, linewidth=0
                )
        axes.set_title(title)
        axes.set_xlabel("epoch")
        axes.set_ylabel(words)
        return drawn

    return draw


def _stack(cell: Cell, columns: CurvesById, name: str) -> npt.NDArray[np.float64] | None:
    """A column of a cell's runs in percent, [n, epochs]; None where it has no values."""
    found = [columns[run_id].get(name) for run_id in cell.run_ids]
    runs = [100 * run for run in found if run is not None]
    if len(runs) < len(found) or all(np.isnan(run).all() for run in runs):
        return None
    return np.stack(runs)
