"""Tables and reports in every format of the command line."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Literal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from pllbench import formats, latex
from pllbench.cells import Table
from pllbench.sheets import Report, Sheet

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
        parts += [_grid(sheet), *map(Text, sheet.notes), ""]
    return Group(*parts, *(Text(note, style="dim" if styled else "") for note in content.notes))


def to_markdown(report: Report) -> str:
    """Titles as headings, a table under each, and how to read them under the first title."""
    parts = [f"# {formats.escape(report.title)}"] if report.title else []
    notes = [" ".join(map(formats.escape, report.notes))] if report.notes else []
    parts += notes if report.title else []
    for sheet in report.sheets:
        heads = [formats.markdown_line(map(formats.escape, sheet.heads))]
        rule = ["| :-- "] * sheet.num_labels + ["| --: "] * (len(sheet.heads) - sheet.num_labels)
        lines = [formats.markdown_line(map(formats.escape, row)) for row in sheet.rows]
        parts += [
            f"## {formats.escape(sheet.title)}",
            "\n".join([*heads, "".join(rule) + "|", *lines]),
        ]
        parts += [" ".join(map(formats.escape, sheet.notes))] if sheet.notes else []
    parts += [] if report.title else notes
    return "\n\n".join(parts) + "\n"


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


def _grid(sheet: Sheet) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False)
    grid.title, grid.title_justify, grid.title_style = Text(sheet.title), "left", "bold"
    for i, head in enumerate(sheet.heads):
        number = i >= sheet.num_labels
        grid.add_column(Text(head), justify="right" if number else "left", overflow="fold")
    for row in sheet.rows:
        grid.add_row(*map(Text, row))
    return grid


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
