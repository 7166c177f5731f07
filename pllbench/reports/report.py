"""What is printed, in whatever format: tables of text, notes, and the entries behind them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pllbench.reports.shared_settings import without_settings
from pllbench.reports.table import MISSING, Block, Cell, Table, data_title, format_change
from pllbench.results.metrics import DEFAULT_METRIC, Metric
from pllbench.results.model_selection import Select


@dataclass(frozen=True, slots=True)
class TextCell:
    """A printed cell.

    Attributes:
        text: a label or a number.
        mark: how it stands out: best or second best of its column, or a change between methods.
        note: printed small beside or below the text.
        span: number of columns that it stands for.
    """

    text: str
    mark: Literal["best", "second", "change", ""] = ""
    note: str = ""
    span: int = 1


@dataclass(frozen=True, slots=True)
class TextRow:
    """A printed row; `grey` asks for a grey background, where the format has one."""

    cells: tuple[TextCell, ...]
    grey: bool = False

    @property
    def by_column(self) -> tuple[TextCell, ...]:
        """One cell a column: a cell that spans several is repeated."""
        return tuple(cell for cell in self.cells for _ in range(cell.span))


@dataclass(frozen=True, slots=True)
class TextTable:
    """One printed table.

    Attributes:
        title: printed above it; empty where its first header says what it is about.
        headers: of its columns, each in parts that are printed below one another.
        rows: its lines.
        num_labels: the first columns are labels, left-aligned; the others are numbers.
        notes: printed below it, a sentence each.
        breaks: columns at which a table that is too wide for a terminal is broken first.
    """

    title: str
    headers: tuple[tuple[str, ...], ...]
    rows: tuple[TextRow, ...]
    num_labels: int = 1
    notes: tuple[str, ...] = ()
    breaks: tuple[int, ...] = ()


def plain_headers(headers: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Headers of one part each."""
    return tuple((header,) for header in headers)


def plain_row(texts: Iterable[str]) -> TextRow:
    """A row of unmarked cells."""
    return TextRow(tuple(map(TextCell, texts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Facts about some runs, for programs: a line of CSV, an object of JSON.

    Attributes:
        method: the method or variant, as --methods takes it.
        label: the printed row.
        dataset: name of the data set.
        candidates: generating process, as --candidates takes it, or "real"; None for methods that
            learn from true labels.
        q: rate of the process; None where there is none.
        imbalance: of the training rows.
        metric: what the numbers are.
        select: selection rule.
        n: number of runs.
        run_ids: ids of the runs, by seed.
    """

    method: str
    label: str
    dataset: str
    candidates: str | None
    q: float | None
    imbalance: float = 1.0
    metric: Metric = DEFAULT_METRIC
    select: Select
    n: int = 0
    run_ids: tuple[str, ...] = ()

    header: ClassVar[str]
    """First line of a CSV file of such entries: all attributes, in the order of JSON's keys."""

    @property
    def data_title(self) -> str:
        """The data set, its imbalance and its criterion, if any, as printed."""
        return data_title(self.dataset, self.imbalance, self.metric)

    def values(self) -> dict[str, object]:
        """Its attributes by name, in the order of `header`."""
        return {name: getattr(self, name) for name in self.header.split(",")}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellEntry(Entry):
    """A cell of a table.

    Attributes:
        network: encoder of the runs; None for methods without gradient.
        epochs: their length.
        mean: mean accuracy in percent.
        std: sample standard deviation in percent; None where n = 1.
    """

    network: str | None
    epochs: int
    mean: float
    std: float | None

    header = (
        "method,label,dataset,candidates,q,imbalance,network,epochs,"
        "n,mean,std,metric,select,run_ids"
    )


@dataclass(frozen=True, slots=True)
class Report:
    """Printed tables, and the facts behind them.

    Attributes:
        title: printed above all; empty for none.
        tables: in printed order.
        notes: how to read the tables, a sentence each.
        entries: of one kind.
        joined: the tables are parts of one, with the same columns for rows' labels; the notes are
            its caption.
    """

    title: str
    tables: tuple[TextTable, ...]
    notes: tuple[str, ...]
    entries: Sequence[Entry]
    joined: bool = False

    def caption(self, best: str = "in bold", second: str = "underlined") -> str:
        """The notes in one line, with a sentence on how the two marks look."""
        cells = (cell for table in self.tables for row in table.rows for cell in row.cells)
        marks = {cell.mark for cell in cells}
        if "best" not in marks:
            return " ".join(self.notes)
        other = f", second best {second}" if "second" in marks else ""
        return " ".join((*self.notes, f"Best of a column {best}{other}."))


def report_table(table: Table) -> Report:
    """A table as it is printed: a text table a data set, under one caption."""
    return Report(
        title="",
        tables=tuple(
            TextTable("", ((block.title,), *block.headers), tuple(_text_rows(block, table.shared)))
            for block in table.blocks
        ),
        notes=(*table.title_note, *table.notes),
        entries=table_entries(table),
        joined=True,
    )


def _text_rows(block: Block, shared: Sequence[str]) -> Iterator[TextRow]:
    for row in block.rows:
        label = TextCell(without_settings(row.label, shared))
        span = max(1, len(block.columns) // len(row.cells)) if row.reference else 1
        yield TextRow((label, *(_text_cell(c, span) for c in row.cells)), row.grey)
    if last := block.improvement:
        yield TextRow((TextCell(last.label), *map(_change_cell, last.values)), last.grey)


def _text_cell(cell: Cell | None, span: int) -> TextCell:
    return TextCell(cell.number, cell.mark, cell.note, span) if cell else TextCell(MISSING)


def _change_cell(value: float | None) -> TextCell:
    return TextCell(format_change(value), "" if value is None else "change")


def table_entries(table: Table) -> list[CellEntry]:
    """The cells that have a value, in printed order."""
    return [
        CellEntry(
            method=row.name,
            label=row.label,
            dataset=cell.column.dataset,
            candidates=cell.column.candidates,
            q=cell.column.q,
            imbalance=cell.column.imbalance,
            metric=cell.column.metric,
            select=table.select,
            n=accuracy.n,
            run_ids=cell.run_ids,
            network=cell.network,
            epochs=cell.epochs,
            mean=accuracy.mean,
            std=accuracy.std,
        )
        for row, cell in table.cells
        if (accuracy := cell.mean_std)
    ]
