"""Selection rules side by side: what a table says under each of them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pllbench.reports.aggregate import RULES, spread
from pllbench.reports.formats.terminal import entries
from pllbench.reports.report import Report, Sheet
from pllbench.reports.table import Cell, Row, Table, sheet_titles
from pllbench.results.records import Select

ORDER: tuple[Select, ...] = ("covering_rate", "approximated_accuracy", "last", "last10", "oracle")
"""Rules without clean labels first; the oracle, which looks at the test set, last."""

HEADS: Mapping[Select, str] = {
    "covering_rate": "Covering rate",
    "approximated_accuracy": "Approximated accuracy",
    "last": "last",
    "last10": "last10",
    "oracle": "Oracle (diagnostic)",
}


def side_by_side(tables: Mapping[Select, Table]) -> Report:
    """A sheet a data set and process, a line a cell, a column a rule.

    `tables` are of the same runs. A rule without one has no value for any run here, and is named.
    """
    shown = [rule for rule in ORDER if rule in tables]
    lines: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    first = tables[shown[0]]
    cells = [cell for _, cell in first.cells]
    titles = sheet_titles((cell.column.dataset, cell.column.candidates) for cell in cells)
    for parts in zip(*(tables[rule].cells for rule in shown), strict=True):
        row, cell = parts[0]
        title = titles[cell.column.dataset, cell.column.candidates]
        lines[title].append(_line(row, cell, [cell for _, cell in parts]))
    notes = [f"{first.title}."] if first.title else []
    notes += [
        f"Test accuracy (%), {spread(cells)}.",
        *(f"{r}: {RULES[r]}." for r in shown if r != "oracle"),
    ]
    if "oracle" in shown:
        notes += ["The oracle is the best test epoch: a diagnostic, not a result."]
    if missing := [HEADS[rule] for rule in ORDER if rule not in tables]:
        notes += [
            f"Without a value here, since no run has a hold-out: {', '.join(missing).lower()}."
        ]
    return Report(
        title="",
        sheets=tuple(
            Sheet(
                title=title,
                heads=("Method", "q", *(HEADS[rule] for rule in shown)),
                rows=tuple(rows),
                num_labels=2,
            )
            for title, rows in lines.items()
        ),
        notes=(*notes, *first.notes[1:]),
        entries=[entry for rule in shown for entry in entries(tables[rule])],
    )


def _line(row: Row, cell: Cell, cells: Sequence[Cell]) -> tuple[str, ...]:
    q = "" if cell.column.q is None else f"{cell.column.q:g}"
    return (row.label, q, *(f"{c.number} ({c.note})" if c.note else c.number for c in cells))
