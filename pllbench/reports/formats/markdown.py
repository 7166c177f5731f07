"""Reports in Markdown."""

import re
from collections.abc import Iterable, Sequence

from pllbench.reports.report import Report, TextCell, TextTable

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")

_MARKS = {"best": ("**", "**"), "second": ("<ins>", "</ins>")}


def to_markdown(report: Report) -> str:
    """Titles as headings, a table under each, notes as lists; best is bold, second in <ins>.

    The notes of an untitled report come last, those of joined tables as one paragraph.
    """
    parts = [f"# {escape_markdown(report.title)}", _list(report.notes)] if report.title else []
    for table in report.tables:
        parts += [f"## {escape_markdown(table.title)}"] if table.title else []
        parts += [_table(table)]
        parts += [_list(table.notes)] if table.notes else []
    if report.joined:
        parts += [escape_markdown(report.caption())]
    elif not report.title:
        parts += [_list(report.notes)]
    return "\n\n".join(parts) + "\n"


def escape_markdown(text: str) -> str:
    """`text` as Markdown that prints it."""
    return _SPECIAL.sub(r"\\\1", text)


def _list(notes: Sequence[str]) -> str:
    return "\n".join(f"- {escape_markdown(note)}" for note in notes)


def _table(table: TextTable) -> str:
    headers = (escape_markdown(", ".join(parts)) for parts in table.headers)
    num_numbers = len(table.headers) - table.num_labels
    alignment = [":--"] * table.num_labels + ["--:"] * num_numbers
    rows = (_line(map(_cell, row.by_column)) for row in table.rows)
    return "\n".join((_line(headers), _line(alignment), *rows))


def _line(parts: Iterable[str]) -> str:
    return f"| {' | '.join(parts)} |"


def _cell(cell: TextCell) -> str:
    before, after = _MARKS.get(cell.mark, ("", ""))
    note = f" ({escape_markdown(cell.note)})" if cell.note else ""
    return f"{before}{escape_markdown(cell.text)}{after}{note}"
