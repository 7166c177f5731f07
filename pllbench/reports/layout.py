"""What a benchmark file adds to its tables: title, note, grey rows, and the row of improvements."""

from dataclasses import replace

from pllbench.grid.protocol import Benchmark
from pllbench.reports.table import DECIMALS, Block, Improvement, Row, Table


def laid_out(table: Table, benchmark: Benchmark | None) -> Table:
    """`table` in the layout of its benchmark; as it is without one."""
    if benchmark is None:
        return table
    return replace(
        table,
        title=benchmark.title,
        notes=(*table.notes, benchmark.note) if benchmark.note else table.notes,
        blocks=tuple(_laid_out(block, benchmark) for block in table.blocks),
    )


def _laid_out(block: Block, benchmark: Benchmark) -> Block:
    grey = set(benchmark.grey)
    rows = tuple(replace(row, grey=row.name in grey) for row in block.rows)
    named = [row for row in rows if row.name == benchmark.improvement and not row.reference]
    rivals = [row for row in rows if row.name != benchmark.improvement and not row.reference]
    improvement = None
    if len(named) == 1 and rivals and block.columns:
        values = tuple(_improvement(named[0], rivals, i) for i in range(len(block.columns)))
        improvement = Improvement(values, grey=named[0].grey)
    return replace(block, rows=rows, improvement=improvement)


def _improvement(row: Row, rivals: list[Row], column: int) -> float | None:
    """Lead over the best of `rivals`; None where one is incomplete, since it may be the best."""
    found = [rival.cells[column] for rival in rivals]
    cell, others = row.cells[column], [c for c in found if c and not c.apart]
    if cell is None or not all(c.competes for c in (cell, *others)):
        return None
    own = round(cell.summary.mean, DECIMALS) if cell.summary else None
    best = [round(c.summary.mean, DECIMALS) for c in others if c.summary]
    return own - max(best) if own is not None and best else None
