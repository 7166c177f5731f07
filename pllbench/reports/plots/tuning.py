"""The plot of what tuning is worth."""

from collections import defaultdict
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pllbench.reports.plots.figure import Panel, draw_panels, wrap, wrap_title
from pllbench.reports.styles import LineStyles, style_rows
from pllbench.reports.table import Table, format_q, section_titles
from pllbench.reports.tuning_worth import TuningWorth, tuning_worth


def plot_tuning(table: Table) -> Figure:
    """Differences tuned - default with their 95 % intervals: a panel a column, a row a method.

    Raises:
        ValueError: no row is there both with tuned settings and with default ones.
    """
    found = tuning_worth(table)
    titles = section_titles((worth.data_title, worth.candidates) for worth in found)
    panels: dict[str, list[TuningWorth]] = defaultdict(list)
    for worth in found:
        rate = f", q = {format_q(worth.q)}" if worth.q is not None else ""
        panels[titles[worth.data_title, worth.candidates] + rate].append(worth)
    budgets = dict.fromkeys(worth.budget for worth in found)
    notes = [*table.title_note, *table.notes, *(f"Tuned: {budget}." for budget in budgets)]
    drawn = [_panel(title, rows, len(budgets) > 1) for title, rows in panels.items()]
    return draw_panels(drawn, style_rows(table), across=2, notes=notes)


def _panel(title: str, rows: Sequence[TuningWorth], several: bool) -> Panel:
    labels = [f"{row.label} ({row.budget})" if several else row.label for row in rows]

    def draw(axes: Axes, styles: LineStyles) -> set[str]:
        for y, row in enumerate(rows):
            style = styles[row.label]
            if row.difference is None:
                continue
            low, high = row.low or row.difference, row.high or row.difference
            axes.plot([low, high], [y, y], color=style.colour, linewidth=1)
            axes.plot([row.difference], [y], color=style.colour, marker=style.marker or "|")
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set_title(wrap_title(title))
        axes.set_yticks(range(len(rows)), names)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("tuned - default (points)")
        return set()  # each row has its label beside it

    names = [wrap(label, 30) for label in labels]
    return Panel(draw, names)
