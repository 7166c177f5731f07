"""What is highlighted in a table: best and second best, grey rows, the row of improvements."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from pllbench.grid.benchmark import Benchmark
from pllbench.reports.table import Block, Cell, Column, Improvement, Row

Mark = Literal["best", "second"]


def with_marks(block: Block, benchmark: Benchmark | None = None) -> Block:
    """`block` with the best and second best of each column and budget, in its benchmark's layout.

    Best and second go by the printed means. All cells at the best mean are best; there is a second
    only after a single best, since two at the top fill both places. A cell alone in its column is
    not marked, nor are references, oracles, cells without all their runs, and cells on other
    candidate sets than most of their column. The layout of a benchmark names the rows on grey, and
    the method whose improvement is the last row.
    """
    apart = _on_other_sets([cell for row in block.rows for cell in row.cells if cell])
    rows = tuple(
        replace(row, cells=tuple(cell and replace(cell, apart=cell in apart) for cell in row.cells))
        for row in block.rows
    )
    rivals: dict[str, list[Cell]] = defaultdict(list)
    for row in rows:
        rivals[row.budget] += [c for c in row.cells if c and c.competes and not row.reference]
    marks = {
        cell: mark for cells in rivals.values() for cell, mark in _best_and_second(cells).items()
    }
    grey = benchmark.grey if benchmark else ()

    def mark(cell: Cell | None) -> Cell | None:
        return replace(cell, mark=marks[cell]) if cell in marks else cell

    rows = tuple(
        replace(row, cells=tuple(map(mark, row.cells)), grey=row.name in grey) for row in rows
    )
    improvement = _improvement(rows, benchmark.improvement) if benchmark else None
    return replace(block, rows=rows, improvement=improvement)


def _best_and_second(rivals: Iterable[Cell]) -> dict[Cell, Mark]:
    """Marks of the cells that have one."""
    columns: dict[Column, list[Cell]] = defaultdict(list)
    for cell in rivals:
        columns[cell.column].append(cell)
    marks: dict[Cell, Mark] = {}
    for cells in columns.values():
        if len(cells) < 2:
            continue
        means = sorted(_printed_means(cells), reverse=True)
        for cell in cells:
            if cell.printed_mean == means[0]:
                marks[cell] = "best"
            elif cell.printed_mean == means[1]:
                marks[cell] = "second"
    return marks


def _on_other_sets(cells: Sequence[Cell]) -> set[Cell]:
    """The cells that have other candidate sets than most of their column at one of their seeds.

    A single split may be easy or hard, and this moves an accuracy by more than the difference
    between two methods.
    """
    digests: dict[tuple[Column, int], Counter[str]] = defaultdict(Counter)
    for cell in cells:
        for seed, digest in zip(cell.seeds, cell.digests, strict=True):
            digests[cell.column, seed][digest] += 1

    def differs(cell: Cell) -> bool:
        counts = (
            (digests[cell.column, seed], digest)
            for seed, digest in zip(cell.seeds, cell.digests, strict=True)
        )
        return any(2 * count[digest] <= count.total() for count, digest in counts)

    return {cell for cell in cells if cell.column.candidates is not None and differs(cell)}


def _improvement(rows: Sequence[Row], method: str) -> Improvement | None:
    """The row of improvements of a method; None without it, rivals or columns."""
    named = [row for row in rows if row.name == method and not row.reference]
    rivals = [row for row in rows if row.name != method and not row.reference]
    if len(named) != 1 or not rivals or not named[0].cells:
        return None
    columns = zip(named[0].cells, *(row.cells for row in rivals), strict=True)
    return Improvement(tuple(_lead(*cells) for cells in columns), grey=named[0].grey)


def _lead(cell: Cell | None, *rivals: Cell | None) -> float | None:
    """Difference from the best rival; None where one is incomplete, since it may be the best."""
    others = [rival for rival in rivals if rival and not (rival.apart or rival.oracle)]
    if cell is None or not all(one.competes for one in (cell, *others)):
        return None
    lead, *means = _printed_means((cell, *others))
    return lead - max(means) if means else None


def _printed_means(cells: Iterable[Cell]) -> list[float]:
    """Means of cells that have values."""
    return [cell.printed_mean for cell in cells if cell.printed_mean is not None]
