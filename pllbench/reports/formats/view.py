"""A report as Python holds it: text, a table in a notebook, a file of any format."""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pllbench.reports.formats.render import to_text
from pllbench.reports.report import Entry, Report, TextCell, TextRow, TextTable
from pllbench.validation import FieldError

FORMAT_BY_SUFFIX: Mapping[str, str] = {
    ".tex": "latex",
    ".md": "markdown",
    ".csv": "csv",
    ".json": "json",
}
"""Formats by the suffix of a file; any other suffix is plain text."""

_MARKS = {"best": "<strong>{}</strong>", "second": "<u>{}</u>"}
_GREY = ' style="background: rgba(128, 128, 128, 0.2)"'


@dataclass(frozen=True, slots=True, repr=False)
class ReportView:
    """Tables and notes; `str` is their plain text.

    Attributes:
        report: what is shown.
    """

    report: Report

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """Tables and notes as notebooks show them."""
        return "".join(_parts(self.report))

    @property
    def entries(self) -> Sequence[Entry]:
        """The facts behind the tables."""
        return self.report.entries

    def to_text(self, form: str = "rich") -> str:
        """In one of the formats of `pllbench table`; plain text where none is named.

        Raises:
            FieldError: there is no such format.
        """
        return to_text(self.report, form)

    def to_latex(self) -> str:
        """A fragment to input, with its caption."""
        return to_text(self.report, "latex")

    def to_markdown(self) -> str:
        """Tables of Markdown."""
        return to_text(self.report, "markdown")

    def to_csv(self) -> str:
        """The facts behind the tables: a line each."""
        return to_text(self.report, "csv")

    def to_json(self) -> str:
        """The facts behind the tables: an object each."""
        return to_text(self.report, "json")

    def save(self, path: str | Path) -> None:
        """Write a file, in the format of its suffix: .tex, .md, .csv, .json, else plain text.

        Raises:
            FieldError: it cannot be written.
        """
        target = Path(path)
        text = to_text(self.report, FORMAT_BY_SUFFIX.get(target.suffix.lower(), "rich"))
        try:
            target.write_text(text, "utf-8")
        except OSError as error:
            raise FieldError("path", f"not writable ({error.strerror})", target) from error


def _parts(report: Report) -> Iterator[str]:
    if report.title:
        yield f"<h3>{html.escape(report.title)}</h3>"
    for table in report.tables:
        yield _table(table)
    notes = [report.caption()] if report.joined else report.notes
    yield from (f"<p><small>{html.escape(note)}</small></p>" for note in notes)


def _table(table: TextTable) -> str:
    headers = "".join(f"<th>{'<br>'.join(map(html.escape, parts))}</th>" for parts in table.headers)
    rows = "".join(_row(row, table.num_labels) for row in table.rows)
    title = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    notes = "".join(f"<p><small>{html.escape(note)}</small></p>" for note in table.notes)
    return f"<table>{title}<thead><tr>{headers}</tr></thead><tbody>{rows}</tbody></table>{notes}"


def _row(row: TextRow, num_labels: int) -> str:
    cells = (_cell(cell, left=i < num_labels) for i, cell in enumerate(row.cells))
    return f"<tr{_GREY if row.grey else ''}>{''.join(cells)}</tr>"


def _cell(cell: TextCell, *, left: bool) -> str:
    text = _MARKS.get(cell.mark, "{}").format(html.escape(cell.text))
    note = f"<br><small>({html.escape(cell.note)})</small>" if cell.note else ""
    align = "left" if left else "center" if cell.span > 1 else "right"
    span = f' colspan="{cell.span}"' if cell.span > 1 else ""
    return f'<td style="text-align: {align}"{span}>{text}{note}</td>'
