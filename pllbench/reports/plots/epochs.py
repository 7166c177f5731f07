"""Plots over epochs: noise rates of the pseudo labels, test accuracy."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pllbench.reports.curves import CurvesById, stack_runs
from pllbench.reports.plots.figure import Panel, draw_panels, line_options, wrap_title
from pllbench.reports.styles import LineStyles, style_rows
from pllbench.reports.table import Block, Cell, Column, Row, Table
from pllbench.results.metrics import DEFAULT_METRIC, axis_label


def plot_noise_rates(table: Table, columns: CurvesById) -> Figure:
    """Class and pairwise noise rate of the pseudo labels over epochs: a line of panels a column.

    Lines are means over seeds, bands their sample std.

    Raises:
        ValueError: no method here has pseudo labels.
    """
    rates = (("class_noise", "class noise rate (%)"), ("pairwise_noise", "pairwise noise rate (%)"))
    panels = []
    for block in table.blocks:
        for column in block.columns:
            rows = _rows(block, column)
            if any(stack_runs(cell, columns, "class_noise") is not None for _, cell in rows):
                title = ", ".join((block.title, *block.header(column)))
                panels += [_over_epochs(title, rows, columns, rate) for rate in rates]
    if not panels:
        raise ValueError("no run here has pseudo labels, so there are no noise rates to plot")
    guessing = {
        row.label
        for row, cell in table.cells
        if stack_runs(cell, columns, "class_noise") is not None
    }
    without = dict.fromkeys(row.label for row, _ in table.cells if row.label not in guessing)
    notes = [_band_note(table)]
    if without:
        listed = ", ".join(without).removesuffix(".")
        notes += [f"Without pseudo labels, so not drawn: {listed}."]
    figure = draw_panels(panels, style_rows(table), across=2, notes=[*notes, *table.notes[1:]])
    for pair in zip(figure.axes[::2], figure.axes[1::2], strict=True):  # one scale to compare on
        top = max(axes.get_ylim()[1] for axes in pair)
        for axes in pair:
            axes.set_ylim(0, top)
    return figure


def plot_curves(table: Table, columns: CurvesById) -> Figure:
    """Test accuracy over epochs: a panel a column, lines the mean over seeds, bands their std.

    Without true labels it is the criteria of the hold-out. The lower limit of the axis leaves out
    the first twentieth of the epochs.
    """
    panels = []
    for block in table.blocks:
        for column in block.columns or [None]:
            title = ", ".join((block.title, *(block.header(column) if column else ())))
            rows = _rows(block, column)
            metric = column.metric if column else DEFAULT_METRIC
            panels.append(_over_epochs(title, rows, columns, (metric, axis_label(metric))))
    notes = [_band_note(table), *table.notes[1:]]
    return draw_panels(panels, style_rows(table), across=3, notes=notes)


def _band_note(table: Table) -> str:
    """Sentence of the caption: what lines and bands are, and of how many seeds."""
    counts = {len(cell.run_ids) for _, cell in table.cells if cell.run_ids}
    if counts == {1}:
        return "Lines are single runs (n = 1)."
    low, high = min(counts), max(counts)
    number = f"n = {high}" if low == high else f"n = {low} to {high}"
    return f"Lines are means over {number} seeds, bands their sample std (ddof = 1)."


def _rows(block: Block, column: Column | None) -> list[tuple[Row, Cell]]:
    """Rows with runs in `column`, references included."""
    return [
        (row, cell)
        for row in block.rows
        for cell in row.cells
        if cell and cell.run_ids and (row.reference or cell.column == column)
    ]


def _over_epochs(
    title: str, rows: Sequence[tuple[Row, Cell]], columns: CurvesById, curve: tuple[str, str]
) -> Panel:
    """A panel of one curve, given by the name of its column and the label of its axis.

    Runs of several lengths are drawn over the percentage of their epochs, at which their schedules
    correspond.
    """
    name, axis_label = curve
    equal_length = len({cell.epochs for _, cell in rows}) == 1

    def draw(axes: Axes, styles: LineStyles) -> set[str]:
        drawn, settled = set(), []
        for i, (row, cell) in enumerate(rows):
            runs = stack_runs(cell, columns, name)
            if runs is None:
                continue
            drawn.add(row.label)
            style = styles[row.label]
            mean = runs.mean(axis=0)
            epochs = np.arange(1, len(mean) + 1) * (1 if equal_length else 100 / len(mean))
            every = max(1, len(epochs) // 6)
            start = every * i // max(1, len(rows))  # markers of different lines do not coincide
            axes.plot(epochs, mean, **line_options(style), markevery=(start, every))
            settled.append(mean[len(epochs) // 20 :].min())
            if len(runs) > 1:
                std = runs.std(axis=0, ddof=1)
                settled.append((mean - std)[len(epochs) // 20 :].min())
                axes.fill_between(
                    epochs, mean - std, mean + std, color=style.colour, alpha=0.15, linewidth=0
                )
        if name == "accuracy" and settled:  # leave out the steep rise of the first epochs
            low, top = min(settled), axes.get_ylim()[1]
            axes.set_ylim(bottom=max(axes.get_ylim()[0], low - 0.05 * (top - low)))
        axes.set_title(wrap_title(title))
        axes.set_xlabel("epoch" if equal_length else "share of the epochs (%)")
        axes.set_ylabel(axis_label)
        return drawn

    return Panel(draw)
