"""Wins, ties and losses of each method against each other, by paired intervals."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pllbench.reports.report import TextTable, plain_headers, plain_row
from pllbench.reports.statistics import t_quantile
from pllbench.reports.table import MISSING, Cell, Column, Table

NOTES = (
    "win/tie/loss of the row against the column, counted over data sets and noise rates.",
    "A win: the 95 % t-interval of the paired difference over seeds lies above 0; a tie: around 0.",
    "The intervals are not adjusted for their number.",
    "Pairs without equal seeds and candidate sets, or with a single seed, are not counted.",
)
"""How to read the counts."""


@dataclass(frozen=True, slots=True)
class PairedOutcome:
    """One line against another in one column: 1 for a win, 0 for a tie, -1 for a loss."""

    key: str
    against: str
    column: Column
    sign: int


def outcomes(table: Table) -> Iterator[PairedOutcome]:
    """Every pair of lines, in both directions, in every column in which they are paired.

    Rows of one budget are paired. Cells without all their runs, and references, take no part.
    """
    paired: dict[object, list[tuple[str, Cell]]] = defaultdict(list)
    for key, rows in table.lines().items():
        for row in rows.values():
            for cell in row.cells if not row.reference else ():
                if cell and cell.complete and len(cell.values) > 1:
                    paired[cell.column, cell.seeds, cell.digests, row.budget].append((key, cell))
    for cells in paired.values():
        keys = [key for key, _ in cells]
        signs = _signs(np.array([cell.values for _, cell in cells]))
        for i, key in enumerate(keys):
            for j, against in enumerate(keys):
                if i != j:
                    yield PairedOutcome(key, against, cells[0][1].column, int(signs[i, j]))


def _signs(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Signs of the paired differences of values [methods, seeds] whose interval leaves out 0."""
    differences = values[:, None] - values[None]  # [methods, methods, seeds]
    n = values.shape[1]
    margin = t_quantile(n) * differences.std(axis=2, ddof=1) / np.sqrt(n)
    mean = differences.mean(axis=2)
    signs: npt.NDArray[np.int64] = (mean > margin).astype(int) - (mean < -margin).astype(int)
    return signs


def format_wins(signs: Mapping[int, int]) -> str:
    """`12/3/5`; `--` without any."""
    counts = [signs.get(sign, 0) for sign in (1, 0, -1)]
    return "/".join(map(str, counts)) if any(counts) else MISSING


def tabulate_wins(found: Sequence[PairedOutcome], labels: Mapping[str, str]) -> TextTable:
    """The matrix of wins, ties and losses, of lines in the order of `labels`."""
    counts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    totals: dict[str, Counter[int]] = defaultdict(Counter)
    for outcome in found:
        counts[outcome.key, outcome.against][outcome.sign] += 1
        totals[outcome.key][outcome.sign] += 1
    keys = [key for key in labels if key in totals]
    return TextTable(
        title="Wins, ties and losses",
        headers=plain_headers(("Method", "All", *(labels[key] for key in keys))),
        rows=tuple(
            plain_row(
                (
                    labels[key],
                    format_wins(totals[key]),
                    *("" if key == other else format_wins(counts[key, other]) for other in keys),
                )
            )
            for key in keys
        ),
        notes=NOTES,
    )
