"""Tables as text: for the terminal, in Markdown, CSV and JSON. LaTeX stands in `latex`."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from pllbench.cells import MISSING, Block, Cell, Row, Table, change
from pllbench.records import Select


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell as CSV and JSON give it: the columns and keys, in this order.

    Attributes:
        method: the method or variant, as --methods takes it.
        label: the printed row.
        dataset: name of the data set.
        candidates: generating process, as --candidates takes it, or "real"; None for methods that
            learn from true labels.
        q: rate of the process; None where there is none.
        network: encoder of the runs; None for methods without gradient.
        epochs: their length.
        n: number of runs.
        mean: mean accuracy in percent.
        std: sample standard deviation in percent; None where n = 1.
        select: selection rule.
        run_ids: ids of the runs, by seed.
    """

    method: str
    label: str
    dataset: str
    candidates: str | None
    q: float | None
    network: str | None
    epochs: int
    n: int
    mean: float
    std: float | None
    select: Select
    run_ids: tuple[str, ...]


STYLES = {"best": "bold", "second": "underline", "": ""}
"""How marks look in a terminal."""

SIGNS = {"best": "* ", "second": "+ ", "": ""}
"""How marks look in plain text."""

GAP = 2
"""Spaces between the columns of a terminal table."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~$&])")


def entries(table: Table) -> list[Entry]:
    """The cells that have a value, in printed order."""
    return [
        Entry(
            method=row.name,
            label=row.label,
            dataset=cell.column.dataset,
            candidates=cell.column.candidates,
            q=cell.column.q,
            network=cell.network,
            epochs=cell.epochs,
            n=found.n,
            mean=found.mean,
            std=found.std,
            select=table.select,
            run_ids=cell.run_ids,
        )
        for row, cell in table.cells
        if (found := cell.summary)
    ]


def to_json(table: Table) -> str:
    """A list of `entries`."""
    return json.dumps([asdict(entry) for entry in entries(table)], indent=1) + "\n"


def to_csv(table: Table) -> str:
    """A line for each of the `entries`; run ids are separated by spaces, None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(Entry)], lineterminator="\n")
    writer.writeheader()
    for entry in entries(table):
        writer.writerow(asdict(entry) | {"run_ids": " ".join(entry.run_ids)})
    return text.getvalue()


def to_markdown(table: Table) -> str:
    """A table for each data set, then the caption; best is bold, second in <ins>."""
    parts = []
    for block in table.blocks:
        heads = [block.title, *_headings(block, ", ")]
        lines = [markdown_line(map(escape, heads)), "| :-- |" + " --: |" * (len(heads) - 1)]
        lines += [
            markdown_line([escape(row.label), *map(_markdown, _spread(row, block))])
            for row in block.rows
        ]
        if block.improvement:
            changes = map(change, block.improvement.values)
            lines += [markdown_line([escape(block.improvement.label), *changes])]
        parts.append("\n".join(lines))
    return "\n\n".join((*parts, escape(table.caption()))) + "\n"


def to_terminal(table: Table, width: int = 80, *, styled: bool = True) -> RenderableType:
    """A rich table for each data set, and the caption.

    Args:
        table: what to print.
        width: of the terminal; the columns of a data set that do not fit go on below.
        styled: mark the best by style; otherwise by signs, for files and pipes.
    """
    parts: list[RenderableType] = []
    for block in table.blocks:
        parts += _grids(block, width, styled)
    caption = table.caption() if styled else table.caption("marked *", "marked +")
    return Group(
        *(line for part in parts for line in (part, "")),
        Text(caption, style="dim" if styled else ""),
    )


def new_grid() -> Grid:
    """A terminal table without columns, which will stand `GAP` spaces apart."""
    padding = (0, GAP - 1, 0, 0)  # one space is the box's own
    return Grid(box=box.SIMPLE_HEAD, padding=padding, show_edge=False, pad_edge=False)


def _headings(block: Block, separator: str) -> list[str]:
    """The head of each printed column, of parts between separators."""
    return [separator.join(parts) for parts in block.heads]


def _spread(row: Row, block: Block) -> Sequence[Cell | None]:
    """The cells of a row, the one of a reference repeated in every column that it spans."""
    return row.cells * max(1, len(block.columns)) if row.reference else row.cells


def markdown_line(parts: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return f"| {' | '.join(parts)} |"


def escape(text: str) -> str:
    """`text` as Markdown that prints it."""
    return _MARKDOWN.sub(r"\\\1", text)


def _markdown(cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    before, after = {"best": ("**", "**"), "second": ("<ins>", "</ins>"), "": ("", "")}[cell.mark]
    return f"{before}{cell.number}{after}" + (f" ({cell.note})" if cell.note else "")


def _grids(block: Block, width: int, styled: bool) -> Iterator[Grid]:
    """The block as one table, or several side parts where `width` is too small for one."""
    heads = _headings(block, "\n")
    rows = [(row, [_text(c, styled) for c in _spread(row, block)]) for row in block.rows]
    label = min(max(len(row.label) for row in block.rows), max(16, width // 3)) + GAP
    cell = max(len(line) for _, cells in rows for c in cells for line in c.plain.split("\n"))
    cell = max(cell, *(len(line) for head in heads for line in head.split("\n"))) + GAP
    fit = max(1, (width + GAP - label) // cell)
    for first in range(0, len(heads), fit):
        grid = new_grid()
        grid.add_column(Text(block.title), overflow="fold", max_width=width - cell)
        for head in heads[first : first + fit]:
            grid.add_column(Text(head), justify="right", no_wrap=True)
        for row, cells in rows:
            grid.add_row(Text(row.label), *cells[first : first + fit])
        if block.improvement:
            values = block.improvement.values[first : first + fit]
            grid.add_row(Text(block.improvement.label), *map(change, values))
        yield grid


def _text(cell: Cell | None, styled: bool) -> Text:
    if cell is None:
        return Text(MISSING)
    text = Text()  # the mark is a span of its own, or it would extend into the padding
    if styled:
        text.append(cell.number, style=STYLES[cell.mark])
    else:
        text.append(SIGNS[cell.mark] + cell.number)
    return text.append(f"\n({cell.note})") if cell.note else text
