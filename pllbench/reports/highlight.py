"""Which cells of a column compete, and which of them are best and second."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pllbench.reports.table import DECIMALS, Cell, Column


def marked(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of a data set with their marks, in the same order.

    Best and second of each column go by the printed means. All cells at the best mean are best;
    there is a second only after a single best, since two at the top fill both places. A cell alone
    in its column has won nothing. Cells of references are not marked.
    """
    cells = _set_apart(cells)
    means: dict[Column, list[float]] = defaultdict(list)
    for cell in cells:
        if cell.competes and cell.column.candidates is not None:
            means[cell.column].append(_printed(cell))
    place: dict[tuple[Column, float], Literal["best", "second"]] = {}
    for column, rivals in means.items():
        if len(rivals) < 2:
            continue
        top = max(rivals)
        place[column, top] = "best"
        if rivals.count(top) == 1:
            place[column, max(value for value in rivals if value < top)] = "second"
    return [
        replace(cell, mark=place.get((cell.column, _printed(cell)), "")) if cell.competes else cell
        for cell in cells
    ]


def _set_apart(cells: Sequence[Cell]) -> list[Cell]:
    """Note which cells have other candidate sets than most of their column at the same seed.

    One fixed split may be easy or hard, and moves a result by more than methods differ.
    """
    digests: dict[tuple[Column, int], Counter[str]] = defaultdict(Counter)
    for cell in cells:
        for seed, digest in zip(cell.seeds, cell.digests, strict=True):
            digests[cell.column, seed][digest] += 1

    def unusual(cell: Cell) -> bool:
        found = zip(cell.seeds, cell.digests, strict=True)
        counts = ((digests[cell.column, seed], digest) for seed, digest in found)
        return any(2 * count[digest] <= count.total() for count, digest in counts)

    return [
        replace(cell, apart=cell.column.candidates is not None and unusual(cell)) for cell in cells
    ]


def _printed(cell: Cell) -> float:
    assert cell.summary is not None
    return round(cell.summary.mean, DECIMALS)
