"""Selection rules side by side: the accuracies of a table under each of them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pllbench.reports.captions import mean_std_note, quantity
from pllbench.reports.report import (
    Report,
    TextRow,
    TextTable,
    plain_headers,
    plain_row,
    table_entries,
)
from pllbench.reports.shared_settings import without_settings
from pllbench.reports.table import Cell, Table, format_q, section_titles
from pllbench.results.model_selection import RULES, Select


def report_rules(tables: Mapping[Select, Table]) -> Report:
    """A text table a data set and process, a row a cell, a column a rule.

    `tables` are of the same runs. A rule without one has no value for any run here; a note names
    it.
    """
    rules = [rule for rule in RULES if rule in tables]
    first = tables[rules[0]]
    cells = [cell for _, cell in first.cells]
    titles = section_titles((cell.column.data_title, cell.column.candidates) for cell in cells)
    sections: dict[str, list[TextRow]] = defaultdict(list)
    for under_rules in zip(*(tables[rule].cells for rule in rules), strict=True):
        row, cell = under_rules[0]
        label = without_settings(row.label, first.shared)
        title = titles[cell.column.data_title, cell.column.candidates]
        sections[title].append(_text_row(label, [cell for _, cell in under_rules]))
    headers = plain_headers(("Method", "q", *(RULES[rule].header for rule in rules)))
    return Report(
        title="",
        tables=tuple(
            TextTable(title, headers, tuple(rows), num_labels=2) for title, rows in sections.items()
        ),
        notes=(
            *first.title_note,
            f"{quantity(cells)}, {mean_std_note(cells)}.",
            *_rule_notes(rules),
            *first.notes[1:],  # its first note is on a single rule
        ),
        entries=[entry for rule in rules for entry in table_entries(tables[rule])],
    )


def _rule_notes(rules: Sequence[Select]) -> list[str]:
    notes = [f"{rule}: {RULES[rule].words}." for rule in rules if rule != "oracle"]
    if "oracle" in rules:
        notes += ["The oracle is the best test epoch: a diagnostic, not a result."]
    missing = [rule for rule in RULES if rule not in rules]
    if "oracle" in missing:
        missing.remove("oracle")
        notes += ["No oracle: it needs true labels."]
    if missing:
        listed = ", ".join(RULES[rule].header for rule in missing).lower()
        notes += [f"Without a value here, since no run has a hold-out: {listed}."]
    return notes


def _text_row(label: str, cells: Sequence[Cell]) -> TextRow:
    numbers = (f"{c.number} ({c.note})" if c.note else c.number for c in cells)
    return plain_row((label, format_q(cells[0].column.q), *numbers))
