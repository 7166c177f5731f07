"""Tables that are too wide for a page, as several narrower ones."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from pllbench.reports.report import Report, TextCell, TextRow, TextTable


def narrow_tables(report: Report, most: int) -> Report:
    """`report` with at most `most` columns of numbers a table; labels are repeated.

    Columns that share all but the last part of their header stay together, where they are no more
    than that.
    """
    return replace(report, tables=tuple(part for t in report.tables for part in _parts(t, most)))


def _parts(table: TextTable, most: int) -> Iterator[TextTable]:
    labels = table.num_labels
    start = labels
    for size in _sizes(table.headers[labels:], most):
        columns = slice(start, start + size)
        yield replace(
            table,
            headers=(*table.headers[:labels], *table.headers[columns]),
            rows=tuple(_cut(row, labels, columns) for row in table.rows),
        )
        start += size


def _sizes(headers: Sequence[tuple[str, ...]], most: int) -> list[int]:
    """Numbers of columns of the parts."""
    sizes = [0]
    for _, group in groupby(headers, key=lambda parts: parts[:-1]):
        left = len(list(group))
        if sizes[-1] + left > most and sizes[-1]:
            sizes.append(0)
        while left > most:
            sizes[-1:] = [most, 0]
            left -= most
        sizes[-1] += left
    return [size for size in sizes if size]


def _cut(row: TextRow, labels: int, columns: slice) -> TextRow:
    """Labels and some columns of a row; a cell that spans all columns spans these."""
    cells: Sequence[TextCell] = row.by_column[columns]
    if row.cells[labels].span > 1:
        cells = [replace(cells[0], span=len(cells))]
    return replace(row, cells=(*row.cells[:labels], *cells))
