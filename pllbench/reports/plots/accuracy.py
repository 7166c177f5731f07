"""Plots of finished runs: accuracy against q or a hyperparameter, rates over epochs."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import JsonValue

from pllbench.reports.plots.figure import Draw, Look, Looks, figure_of, looks_of
from pllbench.reports.statistics import Summary
from pllbench.reports.table import Block, Cell, Column, Row, Table, sheet_titles
from pllbench.results.curves import Curves

CurvesById = Mapping[str, Curves]
"""Per-epoch columns of runs, by run_id."""


def accuracy(table: Table) -> Figure:
    """Accuracy against q with the sample std as error bars: a panel a data set and process.

    A method that learns from true labels is a horizontal line with its std as a band. Without a q,
    rows are dots on a line each.
    """
    panels: list[Draw] = []
    for block in table.blocks:
        found = dict.fromkeys(column.candidates for column in block.columns) or {None: None}
        titles = sheet_titles((block.dataset, candidates) for candidates in found)
        for (_, candidates), title in titles.items():
            columns = [c for c in block.columns if c.candidates == candidates and c.q is not None]
            panels.append(
                _against_q(block, columns, title) if columns else _dots(block, candidates, title)
            )
    return figure_of(panels, _looks(table), across=3)


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
                title = ", ".join((block.title, *block.parts(column)))
                panels += [
                    _over_epochs(title, rows, columns, (name, words)) for name, words in named
                ]
    if not panels:
        raise ValueError("no run here has pseudo labels, so there are no noise rates to plot")
    figure = figure_of(panels, _looks(table), across=2)
    for pair in zip(figure.axes[::2], figure.axes[1::2], strict=True):  # one scale to compare on
        top = max(axes.get_ylim()[1] for axes in pair)
        for axes in pair:
            axes.set_ylim(0, top)
    return figure


def curves(table: Table, columns: CurvesById) -> Figure:
    """Test accuracy over epochs: a panel a column, lines the mean over seeds, bands their std.

    The axis begins where lines are after a twentieth of the epochs.
    """
    panels = []
    for block in table.blocks:
        for column in block.columns or [None]:
            title = ", ".join((block.title, *(block.parts(column) if column else ())))
            rows = _rows(block, column)
            panels.append(_over_epochs(title, rows, columns, ("accuracy", "test accuracy (%)")))
    return figure_of(panels, _looks(table), across=3)


def hparam(table: Table, hparams: Mapping[str, Mapping[str, JsonValue]]) -> Figure:
    """Accuracy against the one hyperparameter that differs between rows; std as error bars.

    A panel a data set, a line a column.

    Args:
        table: its rows are variants of one method.
        hparams: hyperparameters of its runs, by run_id.

    Raises:
        ValueError: not exactly one hyperparameter differs, or it is no number.
    """
    name = _varied(table, hparams)
    values: dict[Column, dict[float, Cell]] = {}
    for row, cell in _rivals(table.cells):
        value = hparams[cell.run_ids[0]].get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} = {value!r} of {row.label}: no number")
        values.setdefault(cell.column, {})[value] = cell
    panels, headings = [], []
    for block in table.blocks:
        lines = {_heading(block, c): values[c] for c in block.columns if c in values}
        headings += list(lines)
        if lines:
            panels.append(_against(name, block.title, lines))
    return figure_of(panels, looks_of((text, False, text) for text in headings), across=3)


def _rivals(cells: Iterable[tuple[Row, Cell]]) -> list[tuple[Row, Cell]]:
    return [(row, cell) for row, cell in cells if cell.run_ids and not row.reference]


def _varied(table: Table, hparams: Mapping[str, Mapping[str, JsonValue]]) -> str:
    """The hyperparameter that differs between the cells of a column; columns may differ in more."""
    settings: dict[Column, list[Mapping[str, JsonValue]]] = {}
    for _, cell in _rivals(table.cells):
        settings.setdefault(cell.column, []).append(hparams[cell.run_ids[0]])
    varied = {
        name
        for found in settings.values()
        for name in set().union(*found)
        if len({repr(one.get(name)) for one in found}) > 1
    }
    if len(varied) != 1:
        listed = ", ".join(sorted(varied)) or "none"
        raise ValueError(f"one hyperparameter must differ between the rows here, found: {listed}")
    return varied.pop()


def _looks(table: Table) -> Looks:
    """A method looks the same on all data sets, whatever its label adds on one of them."""
    blocks = table.blocks
    alike = all(len({row.name for row in block.rows}) == len(block.rows) for block in blocks)
    rows = [row for block in blocks for row in block.rows]
    return looks_of((row.label, row.reference, row.name if alike else row.label) for row in rows)


def _heading(block: Block, column: Column) -> str:
    """Names a column in a legend."""
    return ", ".join(block.parts(column)) or f"{column.candidates} candidate sets"


def _against(name: str, title: str, lines: Mapping[str, Mapping[float, Cell]]) -> Draw:
    def draw(axes: Axes, looks: Looks) -> set[str]:
        for heading, cells in lines.items():
            points = [(x, cell.summary) for x, cell in sorted(cells.items())]
            _draw_points(axes, looks[heading], [(x, s) for x, s in points if s])
        ticks = sorted({x for cells in lines.values() for x in cells})
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.set_title(title)
        axes.set_xlabel(name.replace("_", " "))
        axes.set_ylabel("test accuracy (%)")
        return set(lines)

    return draw


def _rows(block: Block, column: Column | None) -> list[tuple[Row, Cell]]:
    """Rows with runs in `column`, references included."""
    return [
        (row, cell)
        for row in block.rows
        for cell in row.cells
        if cell and cell.run_ids and (row.reference or cell.column == column)
    ]


def _against_q(block: Block, columns: Sequence[Column], title: str) -> Draw:
    rates = [column.q for column in columns if column.q is not None]
    gap = min(np.diff(rates), default=0.2)

    def draw(axes: Axes, looks: Looks) -> set[str]:
        lines = [row for row in block.rows if not row.reference]
        width = max(rates) - min(rates) + gap
        step = min(0.03 * width, 0.6 * gap / max(1, len(lines)))  # no two error bars coincide
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
        axes.set_title(title)
        axes.set_xticks(rates, [f"{q:g}" for q in rates])
        axes.set_xlim(min(rates) - gap / 2, max(rates) + gap / 2)
        axes.set_xlabel("q")
        axes.set_ylabel("test accuracy (%)")
        shown = set(columns)
        return {
            row.label
            for row in block.rows
            for cell in row.cells
            if cell and cell.values and (row.reference or cell.column in shown)
        }

    return draw


def _draw_line(axes: Axes, row: Row, look: Look, places: Mapping[Column, float]) -> None:
    """The cells of a row that have a place on the x axis, joined by a line."""
    cells = [(places.get(cell.column), cell.summary) for cell in row.cells if cell]
    _draw_points(axes, look, [(x, found) for x, found in cells if x is not None and found])


def _draw_points(axes: Axes, look: Look, points: Sequence[tuple[float, Summary]]) -> None:
    """Means with their std, joined by a line."""
    if points:
        axes.errorbar(
            [x for x, _ in points],
            [found.mean for _, found in points],
            yerr=[found.std or 0.0 for _, found in points],
            **look.style,
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


def _dots(block: Block, candidates: str | None, title: str) -> Draw:
    def draw(axes: Axes, looks: Looks) -> set[str]:
        rows = [
            (row, cell, cell.summary)
            for row in block.rows
            for cell in row.cells
            if cell and cell.summary and (row.reference or cell.column.candidates == candidates)
        ]
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
        axes.set_title(title)
        axes.set_yticks(range(len(rows)), [looks[row.label].label for row, *_ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("test accuracy (%)")
        return set()  # the dots are labelled where they are

    return draw


def _over_epochs(
    title: str, rows: Sequence[tuple[Row, Cell]], columns: CurvesById, what: tuple[str, str]
) -> Draw:
    name, words = what
    alike = len({cell.epochs for _, cell in rows}) == 1  # else schedules meet at equal shares

    def draw(axes: Axes, looks: Looks) -> set[str]:
        drawn, settled = set(), []
        for i, (row, cell) in enumerate(rows):
            runs = _stack(cell, columns, name)
            if runs is None:
                continue
            drawn.add(row.label)
            look = looks[row.label]
            mean = runs.mean(axis=0)
            epochs = np.arange(1, len(mean) + 1) * (1 if alike else 100 / len(mean))
            every = max(1, len(epochs) // 6)
            start = every * i // max(1, len(rows))  # markers of different lines do not meet
            axes.plot(epochs, mean, **look.style, markevery=(start, every))
            settled.append(mean[len(epochs) // 20 :].min())
            if len(runs) > 1:
                std = runs.std(axis=0, ddof=1)
                settled.append((mean - std)[len(epochs) // 20 :].min())
                axes.fill_between(
                    epochs, mean - std, mean + std, color=look.colour, alpha=0.15, linewidth=0
                )
        if name == "accuracy" and settled:  # the first epochs may come from far below
            low, top = min(settled), axes.get_ylim()[1]
            axes.set_ylim(bottom=max(axes.get_ylim()[0], low - 0.05 * (top - low)))
        axes.set_title(title)
        axes.set_xlabel("epoch" if alike else "share of the epochs (%)")
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
