"""Plots of accuracy: against q, or against a hyperparameter."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import JsonValue

from pllbench.reports.plots.figure import Panel, draw_panels, line_options, wrap, wrap_title
from pllbench.reports.statistics import MeanStd
from pllbench.reports.styles import LineStyle, LineStyles, assign_styles, style_rows
from pllbench.reports.table import Block, Cell, Column, Row, Table, section_titles
from pllbench.results.metrics import DEFAULT_METRIC, Metric, axis_label


def plot_accuracy(table: Table) -> Figure:
    """Accuracy against q with the sample std as error bars: a panel a data set and process.

    A method that learns from true labels is a horizontal line with its std as a band. A process
    without q has a dot for each row, one below the other.
    """
    panels: list[Panel] = []
    styles = style_rows(table)
    for block in table.blocks:
        sections: dict[tuple[str, str | None], list[Column]] = {}
        for column in block.columns:
            sections.setdefault((column.data_title, column.candidates), []).append(column)
        titles = section_titles(sections or [(block.title, None)])
        for section, title in titles.items():
            columns = sections.get(section, [])
            panels.append(
                _against_q(block, columns, title)
                if columns and columns[0].q is not None
                else _dots(block, columns, title, styles)
            )
    return draw_panels(panels, styles, across=3, notes=table.notes)


def plot_hparam(table: Table, hparams: Mapping[str, Mapping[str, JsonValue]]) -> Figure:
    """Accuracy against the one hyperparameter that differs between rows; std as error bars.

    A panel a data set and metric, a line a column.

    Args:
        table: its rows are variants of one method.
        hparams: hyperparameters of its runs, by run_id.

    Raises:
        ValueError: not exactly one hyperparameter differs, or it is no number.
    """
    hparam = _varied_hparam(table, hparams)
    values: dict[Column, dict[float, Cell]] = {}
    for row, cell in _rivals(table.cells):
        value = hparams[cell.run_ids[0]].get(hparam)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{hparam} = {value!r} of {row.label}: no number")
        values.setdefault(cell.column, {})[value] = cell
    panels, names = [], []
    for block in table.blocks:
        drawn: dict[tuple[str, Metric], dict[str, Mapping[float, Cell]]] = {}
        for column in block.columns:
            if column in values:
                lines = drawn.setdefault((column.data_title, column.metric), {})
                lines[_name_column(block, column)] = values[column]
        names += [name for lines in drawn.values() for name in lines]
        panels += [
            _against_hparam(hparam, title, axis_label(metric), lines)
            for (title, metric), lines in drawn.items()
        ]
    return draw_panels(panels, assign_styles(names), across=3, notes=table.notes)


def _rivals(cells: Iterable[tuple[Row, Cell]]) -> list[tuple[Row, Cell]]:
    return [(row, cell) for row, cell in cells if cell.run_ids and not row.reference]


def _varied_hparam(table: Table, hparams: Mapping[str, Mapping[str, JsonValue]]) -> str:
    """The hyperparameter that differs between the cells of a column; columns may differ in more."""
    settings: dict[Column, list[Mapping[str, JsonValue]]] = {}
    for _, cell in _rivals(table.cells):
        settings.setdefault(cell.column, []).append(hparams[cell.run_ids[0]])
    varied = {
        name
        for of_column in settings.values()
        for name in set().union(*of_column)
        if len({repr(one.get(name)) for one in of_column}) > 1
    }
    if len(varied) != 1:
        listed = ", ".join(sorted(varied)) or "none"
        raise ValueError(f"one hyperparameter must differ between the rows here, found: {listed}")
    return varied.pop()


def _name_column(block: Block, column: Column) -> str:
    """A column in a legend."""
    return ", ".join(block.header(column)) or f"{column.candidates} candidate sets"


def _against_hparam(
    hparam: str, title: str, label: str, lines: Mapping[str, Mapping[float, Cell]]
) -> Panel:
    def draw(axes: Axes, styles: LineStyles) -> set[str]:
        for name, cells in lines.items():
            points = [(x, cell.mean_std) for x, cell in sorted(cells.items())]
            _draw_points(axes, styles[name], points)
        ticks = sorted({x for cells in lines.values() for x in cells})
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.set_title(wrap_title(title))
        axes.set_xlabel(hparam.replace("_", " "))
        axes.set_ylabel(label)
        return set(lines)

    return Panel(draw)


def _against_q(block: Block, columns: Sequence[Column], title: str) -> Panel:
    rates = [column.q for column in columns if column.q is not None]
    gap = min(np.diff(rates), default=0.2)

    def draw(axes: Axes, styles: LineStyles) -> set[str]:
        lines = [row for row in block.rows if not row.reference]
        width = max(rates) - min(rates) + gap
        step = min(0.03 * width, 0.6 * gap / max(1, len(lines)))  # no two error bars coincide
        for i, row in enumerate(lines):
            shift = step * (i - (len(lines) - 1) / 2)
            x = {column: q + shift for column, q in zip(columns, rates, strict=True)}
            cells = [cell for cell in row.cells if cell and cell.column in x]
            points = [(x[cell.column], cell.mean_std) for cell in cells]
            _draw_points(axes, styles[row.label], points)
        for row in block.rows:
            if row.reference:
                _draw_level(axes, row, styles[row.label])
        axes.set_title(wrap_title(title))
        axes.set_xticks(rates, [f"{q:g}" for q in rates])
        axes.set_xlim(min(rates) - gap / 2, max(rates) + gap / 2)
        axes.set_xlabel("q")
        axes.set_ylabel(axis_label(DEFAULT_METRIC))
        return {
            row.label
            for row in block.rows
            for cell in row.cells
            if cell and cell.values and (row.reference or cell.column in columns)
        }

    return Panel(draw)


def _draw_points(
    axes: Axes, style: LineStyle, points: Sequence[tuple[float, MeanStd | None]]
) -> None:
    """Means with their std, joined by a line; points without a mean are left out."""
    drawn = [(x, accuracy) for x, accuracy in points if accuracy]
    if drawn:
        axes.errorbar(
            [x for x, _ in drawn],
            [accuracy.mean for _, accuracy in drawn],
            yerr=[accuracy.std or 0.0 for _, accuracy in drawn],
            **line_options(style),
            capsize=2,
            elinewidth=0.8,
        )


def _draw_level(axes: Axes, row: Row, style: LineStyle) -> None:
    """A reference: one line over all q, its std as a band."""
    for cell in row.cells:
        if cell and (accuracy := cell.mean_std):
            low, high = (accuracy.mean + sign * (accuracy.std or 0.0) for sign in (-1, 1))
            axes.axhline(accuracy.mean, color=style.colour, linestyle=style.dashes)
            axes.axhspan(low, high, color="0.5", alpha=0.2, linewidth=0)


def _dots(block: Block, columns: Sequence[Column], title: str, styles: LineStyles) -> Panel:
    metric = columns[0].metric if columns else DEFAULT_METRIC
    rows = [
        (styles[row.label], cell.mean_std)
        for row in block.rows
        for cell in row.cells
        if cell and cell.mean_std and (row.reference or cell.column in columns)
    ]
    names = [wrap(style.label, 30) for style, _ in rows]
    heights = np.array([name.count("\n") + 1 for name in names])
    bottoms = np.cumsum(heights)
    places = bottoms - heights / 2

    def draw(axes: Axes, styles: LineStyles) -> set[str]:  # noqa: ARG001 - rows hold theirs
        for y, (style, accuracy) in zip(places, rows, strict=True):
            axes.errorbar(
                accuracy.mean,
                y,
                xerr=accuracy.std or 0.0,
                color=style.colour,
                marker=style.marker or "|",
                linestyle="none",
                capsize=2,
            )
        axes.set_title(wrap_title(title))
        axes.set_yticks(places, names)
        axes.set_ylim(bottoms[-1], 0)
        axes.set_xlabel(axis_label(metric))
        return set()  # each dot has its label beside it

    return Panel(draw, names)
