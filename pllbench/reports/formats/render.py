"""Tables and reports in every format of the command line."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Literal

from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from pllbench.reports.formats import latex
from pllbench.reports.formats import terminal as formats
from pllbench.reports.formats.terminal import GAP
from pllbench.reports.report import Report, Sheet
from pllbench.reports.table import Table

Format = Literal["rich", "latex", "markdown", "csv", "json"]

FILE_WIDTH = 120
"""Width of a terminal table that is written to a file."""


def to_text(content: Table | Report, form: Format) -> str:
    """`content` as the text of a file."""
    if form == "rich":
        console = Console(file=io.StringIO(), width=FILE_WIDTH, record=True)
        console.print(to_terminal(content, FILE_WIDTH, styled=False))
        return console.export_text()
    if isinstance(content, Table):
        return _TABLES[form](content)
    return _REPORTS[form](content)


def to_terminal(content: Table | Report, width: int, *, styled: bool = True) -> RenderableType:
    """`content` for a terminal of some width."""
    if isinstance(content, Table):
        return formats.to_terminal(content, width, styled=styled)
    parts: list[RenderableType] = []
    for sheet in content.sheets:
        parts += [part for grid in _grids(sheet, width) for part in (grid, "")]
        parts += [*map(Text, sheet.notes), ""] if sheet.notes else []
    return Group(*parts, *(Text(note, style="dim" if styled else "") for note in content.notes))


def to_markdown(report: Report) -> str:
    """Titles as headings, a table under each, notes as lists; those of an untitled report last."""
    parts = [f"# {formats.escape(report.title)}"] if report.title else []
    parts += [_list(report.notes)] if report.title else []
    for sheet in report.sheets:
        heads = [formats.markdown_line(map(formats.escape, sheet.heads))]
        rule = ["| :-- "] * sheet.num_labels + ["| --: "] * (len(sheet.heads) - sheet.num_labels)
        lines = [formats.markdown_line(map(formats.escape, row)) for row in sheet.rows]
        parts += [
            f"## {formats.escape(sheet.title)}",
            "\n".join([*heads, "".join(rule) + "|", *lines]),
        ]
        parts += [_list(sheet.notes)] if sheet.notes else []
    parts += [] if report.title else [_list(report.notes)]
    return "\n\n".join(parts) + "\n"


def _list(notes: Sequence[str]) -> str:
    return "\n".join(f"- {formats.escape(note)}" for note in notes)


def to_json(report: Report) -> str:
    """The list of its entries."""
    return json.dumps([asdict(entry) for entry in report.entries], indent=1) + "\n"


def to_csv(report: Report) -> str:
    """A line for each of its entries; lists are separated by spaces, None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(report.entries[0])], lineterminator="\n")
    writer.writeheader()
    for entry in report.entries:
        writer.writerow({key: _flat(value) for key, value in asdict(entry).items()})
    return text.getvalue()


def _flat(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, tuple | list) else value


def _grids(sheet: Sheet, width: int) -> Iterator[Grid]:
    """The sheet as one table, or several under one another where `width` is too small for one."""
    for i, part in enumerate(_parts(sheet, width)):
        grid = formats.new_grid()
        grid.title_justify, grid.title_style = "left", "bold"
        grid.title = None if i else Text(sheet.title)
        for column in part:
            justify: Literal["left", "right"] = "left" if column < sheet.num_labels else "right"
            head = Text(sheet.heads[column])
            grid.add_column(head, justify=justify, overflow="fold", no_wrap=column > 0)
        for row in sheet.rows:
            grid.add_row(*(Text(row[column]) for column in part))
        yield grid


def _parts(sheet: Sheet, width: int) -> list[list[int]]:
    """The columns of the tables that a sheet is printed as; each table begins with the labels."""
    columns = list(zip(sheet.heads, *sheet.rows, strict=True))
    needed = [max(map(len, column)) + GAP for column in columns]
    word = max(len(word) for label in columns[0] for word in label.split())
    needed[0] = min(needed[0], max(word, width // 8) + GAP)  # wrapped between words
    labels = list(range(sheet.num_labels))
    parts = [labels]
    for i in range(sheet.num_labels, len(columns)):
        end = min((b for b in sheet.breaks if b > i), default=len(columns))
        more = range(i, end if i in sheet.breaks else i + 1)
        room = width - sum(needed[label] for label in parts[-1])
        if parts[-1] != labels and sum(needed[column] for column in more) - GAP > room:
            parts.append(labels)
        parts[-1] = [*parts[-1], i]
    return parts


_TABLES: Mapping[str, Callable[[Table], str]] = {
    "latex": latex.to_latex,
    "markdown": formats.to_markdown,
    "csv": formats.to_csv,
    "json": formats.to_json,
}
_REPORTS: Mapping[str, Callable[[Report], str]] = {
    "latex": latex.report_to_latex,
    "markdown": to_markdown,
    "csv": to_csv,
    "json": to_json,
}
