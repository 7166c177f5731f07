"""Tables of accuracies: columns, cells, rows, blocks; and how numbers and titles are written."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from pllbench.data.catalogue import DATASETS
from pllbench.reports.row_labels import common_start
from pllbench.reports.statistics import MeanStd, mean_std
from pllbench.results.metrics import CRITERIA, DEFAULT_METRIC, Metric, printed_metric
from pllbench.results.model_selection import Select

MISSING = "--"
"""Printed where a cell has no runs."""

DECIMALS = 2
"""Printed precision of percentages; ties are ties at this precision."""

UP, DOWN = "↑", "↓"
"""Signs before a change."""


def format_change(value: float | None) -> str:
    """A change: `↑ 0.36`, `↓ 0.21`, `0.00`; `--` for None."""
    if value is None:
        return MISSING
    size = f"{abs(value):.{DECIMALS}f}"
    if float(size) == 0:
        return size
    return f"{UP if value > 0 else DOWN} {size}"


def format_mean(mean: float, std: float | None) -> str:
    """`92.00 ± 2.00`; `92.00` without a std."""
    spread = "" if std is None else f" ± {std:.{DECIMALS}f}"
    return f"{mean:.{DECIMALS}f}{spread}"


def format_difference(difference: float, low: float | None, high: float | None) -> str:
    """`+1.30 [+0.09, +2.51]`; `+1.30` without an interval."""
    text = f"{difference:+.{DECIMALS}f}"
    if low is None or high is None:
        return text
    return f"{text} [{low:+.{DECIMALS}f}, {high:+.{DECIMALS}f}]"


def format_p(p_value: float | None) -> str:
    """A p-value: `.062`, `< .001`; `--` for None."""
    if p_value is None:
        return MISSING
    return "< .001" if p_value < 0.001 else f"{p_value:.3f}".removeprefix("0")


def format_q(q: float | None) -> str:
    """A rate in a column of its own: `0.3`; empty for None."""
    return "" if q is None else f"{q:g}"


def dataset_title(name: str) -> str:
    """A data set as printed."""
    return DATASETS[name].title if name in DATASETS else name


def split_options(candidates: str) -> tuple[str, ...]:
    """Name of a candidate process, then each of its options, as --candidates takes them."""
    process, colon, options = candidates.partition(":")
    return (process, *options.split(",")) if colon else (process,)


def _with_imbalance(data: str, imbalance: float) -> str:
    return data if imbalance == 1 else f"{data}, imbalance {imbalance:g}"


def data_title(dataset: str, imbalance: float, metric: Metric = DEFAULT_METRIC) -> str:
    """A data set, the imbalance of its training rows and its criterion, if any, as printed."""
    title = _with_imbalance(dataset_title(dataset), imbalance)
    return f"{title}, {printed_metric(metric)}" if metric in CRITERIA else title


def section_titles(
    sections: Iterable[tuple[str, str | None]],
) -> dict[tuple[str, str | None], str]:
    """The title above the runs of each pair of data set or `data_title`, and `Column.candidates`.

    Pairs of one title share a section: a data set is one section, unless it has several processes.
    The title names the process where there are several, or it has options. Methods that learn from
    true labels join the section of a single process.
    """
    processes: dict[str, list[str]] = defaultdict(list)
    sections = dict.fromkeys(sections)
    for data, candidates in sections:
        processes[data] += [candidates] if candidates else []
    titles = {}
    for data, candidates in sections:
        several = len(processes[data]) > 1
        process = candidates if several or not processes[data] else processes[data][0]
        parts = split_options(process) if process else ()
        named = parts if several or len(parts) > 1 else ()
        titles[data, candidates] = ", ".join((dataset_title(data), *named))
    return titles


@dataclass(frozen=True, slots=True)
class Column:
    """Where a cell's candidate sets come from.

    Attributes:
        dataset: name of the data set.
        candidates: the generating process as --candidates takes it, with the options that differ
            from their defaults; "real" for sets that come with the data; what prunes them; None for
            methods that learn from true labels.
        q: rate of the process, where there is one.
        imbalance: of the training rows.
        metric: what its numbers are.
    """

    dataset: str
    candidates: str | None
    q: float | None
    imbalance: float = 1.0
    metric: Metric = DEFAULT_METRIC

    @property
    def block_key(self) -> str:
        """`Block.key` of the block that it is in."""
        return _with_imbalance(self.dataset, self.imbalance)

    @property
    def data_title(self) -> str:
        """The data set, its imbalance and its criterion, if any, as printed."""
        return data_title(self.dataset, self.imbalance, self.metric)

    @property
    def process(self) -> str | None:
        """Name of the process, without its options."""
        return split_options(self.candidates)[0] if self.candidates else None


@dataclass(frozen=True)  # no slots: the cached property needs a dictionary
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
        note: a restriction of the number, such as `n = 2 of 3`.
        mark: best or second best of its column.
        apart: its runs have other candidate sets than the rest of its column at the same seeds.
        oracle: a hyperparameter of it comes from true labels.
    """

    column: Column
    network: str | None
    epochs: int
    planned: int | None
    seeds: tuple[int, ...]
    run_ids: tuple[str, ...]
    digests: tuple[str, ...]
    values: tuple[float, ...]
    note: str = ""
    mark: Literal["best", "second", ""] = ""
    apart: bool = False
    oracle: bool = False

    @cached_property
    def mean_std(self) -> MeanStd | None:
        """Mean and sample std in percent; None without values."""
        return mean_std(self.values) if self.values else None

    @property
    def printed_mean(self) -> float | None:
        """The mean at the printed precision; None without values."""
        return round(self.mean_std.mean, DECIMALS) if self.mean_std else None

    @property
    def number(self) -> str:
        """`92.00 ± 2.00`; `92.00` for a single run; `--` without values."""
        return format_mean(self.mean_std.mean, self.mean_std.std) if self.mean_std else MISSING

    @property
    def complete(self) -> bool:
        """Whether it has a value for every planned run."""
        return bool(self.values) and len(self.values) >= (self.planned or 0)

    @property
    def competes(self) -> bool:
        """Whether it takes part in bold, underline and ranks."""
        return self.complete and not self.apart and not self.oracle


@dataclass(frozen=True, slots=True)
class Row:
    """One printed row of a block.

    Attributes:
        name: the method or variant, as --methods takes it.
        label: printed.
        reference: it learns from true labels: one cell spans all columns of one metric, outside the
            competition.
        cells: one a column of the block, None where there is nothing. One in all of a reference;
            where the block has several metrics, its cell of the column's metric.
        grey: printed on grey, where the format can.
        budget: rows are ranked within one; empty for default settings, and for all rows where
            budgets are mixed.
        untuned_label: its label without what a search was given; else its label.
    """

    name: str
    label: str
    reference: bool
    cells: tuple[Cell | None, ...]
    grey: bool = False
    budget: str = ""
    untuned_label: str = ""


@dataclass(frozen=True, slots=True)
class Improvement:
    """The last row of a block: how far one method lies above the best of the others.

    Attributes:
        values: difference of the printed means, one a column; None where runs are missing.
        grey: printed on grey, where the format can.
    """

    values: tuple[float | None, ...]
    grey: bool = False
    label: str = "Improv."


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one data set at one imbalance.

    It has no columns where only references have run.
    """

    dataset: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    improvement: Improvement | None = None
    imbalance: float = 1.0

    @property
    def key(self) -> str:
        """Name of the data set, with its imbalance, if any: no other block of a table has it."""
        return _with_imbalance(self.dataset, self.imbalance)

    @property
    def title(self) -> str:
        """The data set and its imbalance, as printed."""
        return data_title(self.dataset, self.imbalance)

    def header(self, column: Column) -> tuple[str, ...]:
        """Header of a column, in parts: its process, where this is not clear, its q, its metric.

        The process is named where the block has several, or where it has options, the metric where
        the block has another one than accuracy. Empty where nothing is to be said.
        """
        assert column.candidates is not None
        process, *options = split_options(column.candidates)
        several = len({c.candidates for c in self.columns}) > 1
        last = () if column.q is None else (f"q = {column.q:g}",)
        sets = (process if last else f"{process} candidate sets", *options)
        if {c.metric for c in self.columns} != {DEFAULT_METRIC}:
            last = (*last, printed_metric(column.metric))
        return (*sets, *last) if several or options else last

    @property
    def headers(self) -> list[tuple[str, ...]]:
        """Printed headers of its columns, in parts; the metrics where only references have run."""
        if not self.columns:
            return [(cell.column.metric,) for cell in self.rows[0].cells if cell]
        return [self.header(column) or ("accuracy",) for column in self.columns]


@dataclass(frozen=True)  # no slots: the cached property needs a dictionary
class Table:
    """Accuracies under one selection rule.

    Attributes:
        blocks: one a data set, in printed order.
        select: the rule.
        notes: sentences of the caption, except for the meaning of marks.
        title: of the benchmark, without a full stop; empty for other selections.
        metrics: what its numbers are, one a column in turn.
        shared: settings, as `key=value`, that all rows have which read them; labels in print leave
            them out.
    """

    blocks: tuple[Block, ...]
    select: Select
    notes: tuple[str, ...]
    title: str = ""
    metrics: tuple[Metric, ...] = (DEFAULT_METRIC,)
    shared: tuple[str, ...] = ()

    @property
    def cells(self) -> list[tuple[Row, Cell]]:
        """All cells in printed order, each with its row."""
        return [(r, cell) for b in self.blocks for r in b.rows for cell in r.cells if cell]

    @property
    def title_note(self) -> tuple[str, ...]:
        """The title as a sentence; empty where there is none."""
        return (f"{self.title}.",) if self.title else ()

    @cached_property
    def keys(self) -> dict[tuple[str, str], str]:
        """Key of the line that a row belongs to, by its name and label; see `lines`."""
        extra: set[tuple[str, str]] = set()
        for block in self.blocks:
            labels: dict[str, list[str]] = defaultdict(list)
            for row in block.rows:
                labels[row.name].append(row.label)
            for name, own in labels.items():
                plain = common_start(own)
                extra |= {(name, label) for label in own if label != plain}
        rows = {(row.name, row.label) for block in self.blocks for row in block.rows}
        return {row: ": ".join(row) if row in extra else row[0] for row in rows}

    @property
    def budgets(self) -> list[str]:
        """The budgets of its rows, in printed order; a reference has none."""
        rows = (row for block in self.blocks for row in block.rows if not row.reference)
        return list(dict.fromkeys(row.budget for row in rows))

    def of_budget(self, budget: str) -> "Table":
        """The table of the rows of one budget, and of references.

        Where it has several, what all rows of a budget were given is not said in each label again.
        """
        found = [
            replace(b, rows=tuple(r for r in b.rows if r.reference or r.budget == budget))
            for b in self.blocks
        ]
        short = len(self.budgets) > 1 and all(
            len({row.untuned_label for row in block.rows}) == len(block.rows) for block in found
        )
        if short:
            found = [
                replace(b, rows=tuple(replace(r, label=r.untuned_label) for r in b.rows))
                for b in found
            ]
        return replace(self, blocks=tuple(block for block in found if block.rows))

    def lines(self) -> dict[str, dict[str, Row]]:
        """Rows by their key, then by that of their block; in printed order.

        Rows of one name are one line over the data sets, also where their labels add a setting on
        one of them. Where a data set has several rows of a name, the line goes on with the row
        whose label the others only add to, if there is one; the others are lines of their own.
        """
        lines: dict[str, dict[str, Row]] = defaultdict(dict)
        for block in self.blocks:
            for row in block.rows:
                lines[self.keys[row.name, row.label]][block.key] = row
        return dict(lines)
