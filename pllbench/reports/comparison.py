"""Our cells against the numbers that the paper prints: difference, interval and verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pllbench.grid.labels import printed_name
from pllbench.grid.protocol import Protocol
from pllbench.reports.published import Published
from pllbench.reports.statistics import Summary, welch_difference
from pllbench.reports.table import Cell, Row, Table
from pllbench.results.records import Select

Verdict = Literal["agrees", "differs", "too few", "not run"]


@dataclass(frozen=True, slots=True)
class Compared:
    """One published number and our runs, under one selection rule; accuracies in percent.

    Attributes:
        source: label of the table in the paper's source.
        method: the method or variant, as --methods takes it.
        label: the printed row.
        dataset: name of the data set.
        candidates: where our candidate sets come from, as --candidates takes it; where nothing has
            run, the paper's process; None for methods that learn from true labels.
        q: rate of the process; None where there is none.
        select: selection rule of our accuracy.
        published_mean: as printed.
        published_std: converted to sample std.
        published_n: number of runs.
        published_n_inferred: that number is what the printed digits fit.
        n: number of our runs.
        mean: their mean accuracy; None where there are none.
        std: their sample std; None where n < 2.
        difference: ours - published; None where there are no runs.
        low: lower end of its 95 % Welch interval; None where n < 2.
        high: upper end.
        verdict: what follows.
        run_ids: ids of our runs, by seed.
    """

    source: str
    method: str
    label: str
    dataset: str
    candidates: str | None
    q: float | None
    select: Select
    published_mean: float
    published_std: float
    published_n: int
    published_n_inferred: bool
    n: int = 0
    mean: float | None = None
    std: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "not run"
    run_ids: tuple[str, ...] = ()


def compare(tables: Sequence[Table], published: Sequence[Published]) -> list[Compared]:
    """Every published number that belongs to a cell of `tables`, which differ in their rule.

    Raises:
        ValueError: there is none.
    """
    found = [
        _compared(entry, row, cell, table.select)
        for table in tables
        for row, cell in table.cells
        for entry in published
        if entry.matches(row.name, cell.column.dataset, cell.column.process, cell.column.q)
    ]
    if not found:
        raise ValueError("--compare paper: the paper has no number for any cell here")
    return found


def not_run(
    published: Sequence[Published], rules: Sequence[Select], protocol: Protocol
) -> list[Compared]:
    """Published numbers of which nothing has been run."""
    return [
        _entry(entry, printed_name(entry.method, protocol), rule)
        for rule in rules
        for entry in published
    ]


def _entry(entry: Published, label: str, select: Select) -> Compared:
    return Compared(
        source=entry.table,
        method=entry.method,
        label=label,
        dataset=entry.dataset,
        candidates=entry.candidates,
        q=entry.q,
        select=select,
        published_mean=entry.mean,
        published_std=entry.sample_std,
        published_n=entry.n,
        published_n_inferred=entry.n_inferred,
    )


def _compared(entry: Published, row: Row, cell: Cell, select: Select) -> Compared:
    at = cell.column
    found = replace(_entry(entry, row.label, select), candidates=at.candidates, q=at.q)
    ours = cell.summary
    verdict: Verdict = "too few"
    if ours is None:  # there may be runs, without a value under this rule
        return replace(found, verdict=verdict) if cell.run_ids else found
    interval = welch_difference(ours, Summary(entry.mean, entry.sample_std, entry.n))
    if interval and cell.complete:
        verdict = "agrees" if interval.low <= 0 <= interval.high else "differs"
    return replace(
        found,
        n=ours.n,
        mean=ours.mean,
        std=ours.std,
        difference=ours.mean - entry.mean,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        verdict=verdict,
        run_ids=cell.run_ids,
    )
