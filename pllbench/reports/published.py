"""The numbers that papers print, beside ours."""

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pllbench.grid.benchmark import shipped
from pllbench.grid.labels import printed_name
from pllbench.grid.protocol import Protocol
from pllbench.reports.report import Entry
from pllbench.reports.statistics import MeanStd, welch_difference
from pllbench.reports.table import Cell, Column, Row, Table, split_options
from pllbench.results.metrics import Metric
from pllbench.results.model_selection import Select
from pllbench.spec import Imbalance, Rate
from pllbench.validation import FieldError, StrictModel, did_you_mean, one_line

PAPER, ALL = "paper", "all"
"""Sources: the AsyCo paper, and every paper."""


class Published(StrictModel):
    """One number of a published table, in percent: a line of its file."""

    method: str
    """The method or variant, as --methods takes it."""
    dataset: str
    """Name of the data set."""
    candidates: str | None = None
    """A process as --candidates takes it, with any options if it names none, or "real"; None for
    methods that learn from true labels."""
    q: Rate | None = None
    """Rate of the process; None where the paper gives none."""
    imbalance: Imbalance = 1.0
    """Of the training rows."""
    metric: Metric = "accuracy"
    mean: float = Field(ge=0, le=100)
    """As printed."""
    std: float | None = Field(default=None, ge=0)
    """As printed, with `ddof`; None where none is printed."""
    n: int | None = Field(default=None, ge=2)
    """Number of runs; None where the source does not say."""
    n_inferred: bool = False
    """`n` is not what the paper says (3), but what the printed digits fit."""
    ddof: int = Field(default=1, ge=0, le=1)
    """0: the printed spread is the population std; 1 also where the source does not say."""
    change: float | None = None
    """The change printed beside it, against what the table compares it with."""
    table: str
    r"""\\label of the table in the paper's source."""

    @property
    def sample_std(self) -> float | None:
        """The spread as this suite states it: the sample std (ddof = 1)."""
        if self.std is None or self.n is None or self.ddof == 1:
            return self.std
        return self.std * math.sqrt(self.n / (self.n - 1))

    def matches(
        self,
        method: str,
        dataset: str,
        candidates: str | None,
        q: float | None,
        imbalance: float = 1.0,
    ) -> bool:
        """Whether it is the number of these runs; candidates are a process with its options."""
        known = (self.method, self.dataset, self.imbalance) == (method, dataset, imbalance)
        process = None if candidates is None else split_options(candidates)[0]
        same_sets = self.candidates in (candidates, process)
        return known and same_sets and self.q in (None, q)

    def is_of(self, method: str, column: Column) -> bool:
        """Whether it is the number of a method's cell in `column`."""
        key = (method, column.dataset, column.candidates, column.q, column.imbalance)
        return self.metric == column.metric and self.matches(*key)


def paper_folder() -> Path:
    """Folder of the published tables."""
    return shipped("paper", "results/paper")


def table_names() -> list[str]:
    """Names of the published tables; the benchmark of that name regenerates it."""
    return sorted(path.stem for path in paper_folder().glob("*.csv"))


def load_table(name: str) -> list[Published]:
    """The numbers of one published table, in printed order."""
    return read_published(paper_folder() / f"{name}.csv")


def load_all(source: str = PAPER) -> list[Published]:
    """Every number of a source once, though a paper repeats some in several tables."""
    return _distinct(entry for entries in load_source(source).values() for entry in entries)


def published_sources() -> list[str]:
    """Names of the other papers whose tables the suite holds."""
    return sorted(path.name for path in _sources_folder().iterdir() if path.is_dir())


def load_source(source: str) -> dict[str, list[Published]]:
    """The numbers of each table of a source, by the benchmark that makes these runs.

    Args:
        source: `paper`, one of `published_sources`, or `all`.

    Raises:
        FieldError: there is no such source.
    """
    names = [PAPER, *published_sources()]
    if source == ALL:
        return {table: entries for name in names for table, entries in load_source(name).items()}
    if source not in names:
        raise FieldError("compare", did_you_mean(source, [*names, ALL]), source)
    folder = paper_folder() if source == PAPER else _sources_folder() / source
    return {path.stem: read_published(path) for path in sorted(folder.glob("*.csv"))}


def _sources_folder() -> Path:
    return shipped("published", "results/published")


def read_published(path: Path) -> list[Published]:
    """The published numbers in a CSV file.

    Raises:
        ValueError: a line is wrong; file and line are named.
    """
    entries = []
    with path.open(encoding="utf-8", newline="") as file:
        for number, line in enumerate(csv.DictReader(file), start=2):
            try:
                fields = {key: text for key, text in line.items() if text != ""}
                entries.append(Published.model_validate_strings(fields))
            except ValidationError as error:
                raise ValueError(one_line(error, f"{path}, line {number}", Published)) from error
    return entries


def _distinct(entries: Iterable[Published]) -> list[Published]:
    first: dict[tuple[object, ...], Published] = {}
    for entry in entries:
        first.setdefault((entry.method, entry.dataset, entry.candidates, entry.q), entry)
    return list(first.values())


Verdict = Literal["agrees", "differs", "too few", "not run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Entry):
    """One published number and our runs, under one selection rule; accuracies in percent.

    `candidates` is our candidate process, or that of the paper where nothing has run.

    Attributes:
        source: label of the table in the paper's source.
        published_mean: as printed.
        published_std: converted to sample std; None where none is printed.
        published_n: number of runs; None where the source does not say.
        published_n_inferred: that number is what the printed digits fit.
        mean: mean accuracy of our runs; None where there are none.
        std: their sample std; None where n < 2.
        difference: ours - published; None where there are no runs.
        low: lower end of its 95 % Welch interval; None where n < 2.
        high: upper end.
        verdict: what follows.
    """

    source: str
    published_mean: float
    published_std: float | None
    published_n: int | None
    published_n_inferred: bool
    mean: float | None = None
    std: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "not run"

    header = (
        "source,method,label,dataset,candidates,q,imbalance,metric,select,"
        "published_mean,published_std,published_n,published_n_inferred,"
        "n,mean,std,difference,low,high,verdict,run_ids"
    )


def compare(tables: Sequence[Table], published: Sequence[Published]) -> list[Comparison]:
    """Every published number that belongs to a cell of `tables`, which differ in their rule."""
    return [
        _compare_cell(entry, row, cell, table.select)
        for table in tables
        for row, cell in table.cells
        for entry in published
        if entry.is_of(row.name, cell.column)
    ]


def not_run(
    published: Sequence[Published], rules: Sequence[Select], protocol: Protocol
) -> list[Comparison]:
    """Published numbers of which nothing has been run."""
    return [
        _without_runs(entry, printed_name(entry.method, protocol), rule)
        for rule in rules
        for entry in published
    ]


def _without_runs(entry: Published, label: str, select: Select) -> Comparison:
    return Comparison(
        source=entry.table,
        method=entry.method,
        label=label,
        dataset=entry.dataset,
        candidates=entry.candidates,
        q=entry.q,
        imbalance=entry.imbalance,
        metric=entry.metric,
        select=select,
        published_mean=entry.mean,
        published_std=entry.sample_std,
        published_n=entry.n,
        published_n_inferred=entry.n_inferred,
    )


def _compare_cell(entry: Published, row: Row, cell: Cell, select: Select) -> Comparison:
    comparison = replace(
        _without_runs(entry, row.label, select),
        candidates=cell.column.candidates,
        q=cell.column.q,
    )
    ours = cell.mean_std
    if ours is None:  # there may be runs, without a value under this rule
        return replace(comparison, verdict="too few") if cell.run_ids else comparison
    interval = None
    if entry.n is not None:
        interval = welch_difference(ours, MeanStd(entry.mean, entry.sample_std, entry.n))
    verdict: Verdict = "too few"
    if interval and cell.complete:
        verdict = "agrees" if interval.low <= 0 <= interval.high else "differs"
    return replace(
        comparison,
        n=ours.n,
        mean=ours.mean,
        std=ours.std,
        difference=ours.mean - entry.mean,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        verdict=verdict,
        run_ids=cell.run_ids,
    )
