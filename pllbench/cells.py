"""What a table says, however it is printed: columns, cells, rows, blocks."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pllbench.catalogue import DATASETS
from pllbench.records import Select
from pllbench.statistics import Summary, summary

MISSING = "--"
"""Printed where a cell has no runs."""

DECIMALS = 2
"""Printed precision of percentages; ties are ties at this precision."""

UP, DOWN = "↑", "↓"
"""Signs before a change."""


def change(value: float | None) -> str:
    """A change as printed: `↑ 0.36`, `↓ 0.21`, `0.00`; `--` for None."""
    if value is None:
        return MISSING
    size = f"{abs(value):.{DECIMALS}f}"
    if float(size) == 0:
        return size
    return f"{UP if value > 0 else DOWN} {size}"


def with_std(mean: float, std: float | None) -> str:
    """`92.00 ± 2.00`; `92.00` without a std."""
    spread = "" if std is None else f" ± {std:.{DECIMALS}f}"
    return f"{mean:.{DECIMALS}f}{spread}"


def with_interval(difference: float, low: float | None, high: float | None) -> str:
    """`+1.30 [+0.09, +2.51]`; `+1.30` without an interval."""
    text = f"{difference:+.{DECIMALS}f}"
    if low is None or high is None:
        return text
    return f"{text} [{low:+.{DECIMALS}f}, {high:+.{DECIMALS}f}]"


def title_of(dataset: str) -> str:
    """A data set as printed."""
    return DATASETS[dataset].title if dataset in DATASETS else dataset


def parts_of(candidates: str) -> tuple[str, ...]:
    """A candidate process as --candidates takes it, apart: its name, then each option."""
    process, colon, options = candidates.partition(":")
    return (process, *options.split(",")) if colon else (process,)


def sheet_titles(
    places: Iterable[tuple[str, str | None]],
) -> dict[tuple[str, str | None], str]:
    """The title of the sheet that each pair of data set and `Column.candidates` is printed in.

    A data set is one sheet, but where it has several processes. The title names the process where
    there are several, or it has options. What learns from true labels joins a single process.
    """
    processes: dict[str, list[str]] = defaultdict(list)
    places = dict.fromkeys(places)
    for dataset, candidates in places:
        processes[dataset] += [candidates] if candidates else []
    titles = {}
    for dataset, candidates in places:
        known = processes[dataset]
        shown = known[0] if len(known) == 1 else candidates or ""
        named = len(known) > 1 or len(parts_of(shown)) > 1
        parts = parts_of(shown) if named and shown else ()
        titles[dataset, candidates] = ", ".join((title_of(dataset), *parts))
    return titles


@dataclass(frozen=True, slots=True)
class Column:
    """Where a cell's candidate sets come from.

    Attributes:
        dataset: name of the data set.
        candidates: the generating process as --candidates takes it, with the options that differ
            from their defaults; "real" for sets that come with the data; None for methods that
            learn from true labels.
        q: rate of the process, where there is one.
    """

    dataset: str
    candidates: str | None
    q: float | None

    @property
    def process(self) -> str | None:
        """Name of the process, without its options."""
        return parts_of(self.candidates)[0] if self.candidates else None


@dataclass(frozen=True)  # no slots: its summary is asked for often, and kept
class Cell:
    """Runs that differ in the seed alone.

    Attributes:
        column: its data set, process and q.
        network: encoder of these runs; None for methods without gradient.
        epochs: their length.
        planned: number of runs that the selection asks for; None without a selection.
        seeds: seeds of the finished runs, ascending.
        run_ids: their ids, by seed.
        digests: of the candidate sets of their training rows, by seed.
        values: their accuracies in percent, by seed; empty where the rule has no value for them.
        mark: its place among the cells of its column.
        note: what its reader must know besides the number, such as `n = 2 of 3`.
        apart: its runs have other candidate sets than the rest of its column at the same seeds.
    """

    column: Column
    network: str | None
    epochs: int
    planned: int | None
    seeds: tuple[int, ...]
    run_ids: tuple[str, ...]
    digests: tuple[str, ...]
    values: tuple[float, ...]
    mark: Literal["best", "second", ""] = ""
    note: str = ""
    apart: bool = False

    @cached_property
    def summary(self) -> Summary | None:
        """Mean and sample std in percent; None without values."""
        return summary(self.values) if self.values else None

    @property
    def number(self) -> str:
        """`92.00 ± 2.00`; `92.00` for a single run; `--` without values."""
        return with_std(self.summary.mean, self.summary.std) if self.summary else MISSING

    @property
    def complete(self) -> bool:
        """Whether it has every run that it ought to have."""
        return bool(self.values) and len(self.values) >= (self.planned or 0)

    @property
    def competes(self) -> bool:
        """Whether it takes part in bold, underline and ranks."""
        return self.complete and not self.apart


@dataclass(frozen=True, slots=True)
class Row:
    """One printed row of a block.

    Attributes:
        name: the method or variant, as --methods takes it.
        label: printed.
        reference: it learns from true labels: one cell spans all columns, outside the competition.
        cells: one a column of the block, None where there is nothing; one in all of a reference.
        grey: printed on grey, where the format can.
    """

    name: str
    label: str
    reference: bool
    cells: tuple[Cell | None, ...]
    grey: bool = False


@dataclass(frozen=True, slots=True)
class Improvement:
    """A last row: how far one method lies above the best of the others.

    Attributes:
        values: difference of the printed means, one a column; None where runs are missing.
        grey: printed on grey, where the format can.
    """

    values: tuple[float | None, ...]
    grey: bool = False
    label: str = "Improv."


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one data set. It has no columns where only references have run."""

    dataset: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    improvement: Improvement | None = None

    @property
    def title(self) -> str:
        """The data set as printed."""
        return title_of(self.dataset)

    def parts(self, column: Column) -> tuple[str, ...]:
        """What tells a column: its process, where the block has several or it has options; its q.

        Nothing where there is nothing to tell.
        """
        assert column.candidates is not None
        process, *options = parts_of(column.candidates)
        several = len({c.candidates for c in self.columns}) > 1
        rate = () if column.q is None else (f"q = {column.q:g}",)
        if not (several or options):
            return rate
        return (process if rate else f"{process} candidate sets", *options, *rate)

    @property
    def heads(self) -> list[tuple[str, ...]]:
        """Printed heads of its columns, in parts; one where only references have run."""
        return [self.parts(column) or ("accuracy",) for column in self.columns] or [("accuracy",)]


@dataclass(frozen=True, slots=True)
class Table:
    """What a table says, however it is printed."""

    blocks: tuple[Block, ...]
    select: Select
    notes: tuple[str, ...]
    """The caption, a sentence each, but for the meaning of bold and underline."""
    title: str = ""
    """Begins the caption, without its full stop."""

    @property
    def cells(self) -> list[tuple[Row, Cell]]:
        """All cells in printed order, each with its row."""
        return [(r, cell) for b in self.blocks for r in b.rows for cell in r.cells if cell]

    def caption(self, best: str = "in bold", second: str = "underlined") -> str:
        """The caption, saying how the two marks look."""
        notes = [f"{self.title}."] if self.title else []
        notes += self.notes
        marks = {cell.mark for _, cell in self.cells} - {""}
        if marks:
            other = f", second best {second}" if "second" in marks else ""
            notes += [f"Best of a column {best}{other}."]
        return " ".join(notes)
