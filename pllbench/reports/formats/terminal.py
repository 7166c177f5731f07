"""Reports in the terminal."""

from collections.abc import Iterator, Sequence
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from pllbench.reports.report import Report, TextCell, TextTable

_STYLES = {"best": "bold", "second": "underline"}
"""How marks look in a terminal."""

_SIGNS = {"best": "* ", "second": "+ "}
"""How marks look in plain text."""

_GAP = 2
"""Spaces between columns."""


def to_terminal(report: Report, width: int = 80, *, styled: bool = True) -> RenderableType:
    """The tables of a report under one another, then its notes.

    Args:
        report: what to print.
        width: of the terminal; the columns of a table that do not fit go on below.
        styled: mark the best by style; otherwise by signs, for files and pipes.
    """
    parts: list[RenderableType] = []
    for table in report.tables:
        parts += [part for grid in _grids(table, width, styled) for part in (grid, "")]
        parts += [*map(Text, table.notes), ""] if table.notes else []
    notes: Sequence[str] = report.notes
    if report.joined:
        notes = [report.caption() if styled else report.caption("marked *", "marked +")]
    return Group(*parts, *(Text(note, style="dim" if styled else "") for note in notes))


def _grids(table: TextTable, width: int, styled: bool) -> Iterator[Grid]:
    """The table as one grid, or several under one another where `width` is too small for one."""
    headers = [Text("\n".join(parts)) for parts in table.headers]
    rows = [[_text(cell, styled) for cell in row.by_column] for row in table.rows]
    texts = [[text.plain for text in column] for column in zip(headers, *rows, strict=True)]
    for i, columns in enumerate(_split_columns(table, texts, width)):
        padding = (0, _GAP - 1, 0, 0)  # one space is the box's own
        grid = Grid(box=box.SIMPLE_HEAD, padding=padding, show_edge=False, pad_edge=False)
        grid.title_justify, grid.title_style = "left", "bold"
        grid.title = Text(table.title) if table.title and i == 0 else None
        for column in columns:
            justify: Literal["left", "right"] = "left" if column < table.num_labels else "right"
            grid.add_column(headers[column], justify=justify, overflow="fold", no_wrap=column > 0)
        for row in rows:
            grid.add_row(*(row[column] for column in columns))
        yield grid


def _text(cell: TextCell, styled: bool) -> Text:
    text = Text()  # the mark is a span of its own, or it would extend into the padding
    if styled:
        text.append(cell.text, style=_STYLES.get(cell.mark, ""))
    else:
        text.append(_SIGNS.get(cell.mark, "") + cell.text)
    return text.append(f"\n({cell.note})") if cell.note else text


def _split_columns(table: TextTable, texts: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """The columns of each grid that a table is printed as; every grid begins with the labels.

    Args:
        table: what to print.
        texts: header and cells of each column, which may have several lines.
        width: of the terminal.
    """
    needed = [max(len(line) for text in c for line in text.split("\n")) + _GAP for c in texts]
    longest_word = max(len(word) for label in texts[0] for word in label.split())
    fraction = 3 if table.num_labels == 1 else 8  # longer labels are wrapped between words
    needed[0] = min(needed[0], max(longest_word, width // fraction) + _GAP)
    labels = list(range(table.num_labels))
    parts = [labels]
    for i in range(table.num_labels, len(texts)):
        end = min((b for b in table.breaks if b > i), default=len(texts))
        together = range(i, end if i in table.breaks else i + 1)
        room = width - sum(needed[column] for column in parts[-1])
        if parts[-1] != labels and sum(needed[column] for column in together) - _GAP > room:
            parts.append(labels)
        parts[-1] = [*parts[-1], i]
    return parts
