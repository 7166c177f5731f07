"""From records to a table: its cells and columns, and the sentences of the caption.

A row is a method or variant plus every difference from the protocol; a column is data set, process
with its options, and q; a cell is the runs that differ in the seed alone. Nothing else is ever
averaged: not even runs of one cell, where a declared default or the files of the data have changed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.data.catalogue import DATASETS
from pllbench.grid.benchmark import Benchmark
from pllbench.grid.plan import PlannedRun
from pllbench.grid.protocol import Protocol
from pllbench.reports.groups import (
    RunGroup,
    planned_groups,
    recorded_groups,
    split_by_origin,
)
from pllbench.reports.highlight import with_marks
from pllbench.reports.table import Block, Cell, Column, Row, Table
from pllbench.results.metrics import DEFAULT_METRIC, METRICS, Metric
from pllbench.results.model_selection import DEFAULT_RULE, RULES, Select
from pllbench.results.records import Record
from pllbench.validation import FieldError

_NO_HOLDOUT = "no hold-out"
"""Note of a cell whose runs have no value, since they hold out no training rows."""

_NO_CLASSES = "not long-tailed"
"""Note of a cell whose runs have no value of a metric over classes."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the numbers of a table are.

    Attributes:
        select: turns the epochs of a run into one number.
        metrics: of what; each has a column of its own.
    """

    select: Select = DEFAULT_RULE
    metrics: tuple[Metric, ...] = (DEFAULT_METRIC,)


def build_table(
    records: Iterable[Record],
    protocol: Protocol,
    select: Select = DEFAULT_RULE,
    planned: Sequence[PlannedRun] | None = None,
    benchmark: Benchmark | None = None,
) -> Table:
    """The table of accuracies under a selection rule: `build_metric_table` of them alone."""
    return build_metric_table(records, protocol, Shown(select), planned, benchmark)


def build_metric_table(
    records: Iterable[Record],
    protocol: Protocol,
    shown: Shown,
    planned: Sequence[PlannedRun] | None = None,
    benchmark: Benchmark | None = None,
) -> Table:
    """The table of `records`; their order does not matter.

    Args:
        records: finished runs.
        protocol: rows are labelled with what differs from it; with the variants of the benchmark
            among its own, where the selection has one.
        shown: what its numbers are.
        planned: the runs of a selection. Only these are shown, in this order of rows, and cells
            without all of their runs are marked. Without it all records are shown.
        benchmark: gives the table its title, its note and its layout.

    Raises:
        FieldError: no run has a value under the rule, or of a metric.
    """
    runs = {record.run_id: record for record in records}
    groups = recorded_groups(runs, protocol) if planned is None else planned_groups(runs, planned)
    groups = split_by_origin(groups, planned or ())
    _require_values(groups, shown)
    pairs = [(group, metric) for group in groups for metric in shown.metrics]
    values = [(*pair, pair[0].values(shown.select, pair[1])) for pair in pairs]
    usual_n = _usual_n((group.planned, len(found)) for group, _, found in values)
    data: dict[tuple[str, float], list[tuple[RunGroup, Cell]]] = defaultdict(list)
    for group, metric, found in values:
        cell = _cell(group, metric, found, usual_n)
        data[group.spec.dataset, group.spec.imbalance].append((group, cell))
    keys = list(data) if planned is not None else sorted(data, key=_data_order)
    blocks = tuple(with_marks(_block(*key, data[key], shown.metrics), benchmark) for key in keys)
    notes = _notes(blocks, groups, shown)
    notes += [benchmark.note] if benchmark and benchmark.note else []
    title = benchmark.title if benchmark else ""
    return Table(blocks, shown.select, tuple(notes), title, shown.metrics)


def _require_values(groups: Sequence[RunGroup], shown: Shown) -> None:
    """Raise FieldError if no run has a value under the rule, or of a metric."""
    if not any(group.values(shown.select, DEFAULT_METRIC) for group in groups):
        reason = "no run here has a value for it; it needs a hold-out of training rows"
        raise FieldError("select", reason, shown.select)
    for metric in shown.metrics:
        if not any(group.values(shown.select, metric) for group in groups):
            reason = "no run here has a value of it; it needs long-tailed training rows"
            raise FieldError("metric", reason, metric)


def _cell(group: RunGroup, metric: Metric, values: tuple[float, ...], usual_n: int) -> Cell:
    spec, seeds = group.spec, tuple(sorted(group.records))
    runs = [group.records[seed] for seed in seeds]
    sets = replace(SetsSpec.of(spec), imbalance=1.0)  # a block has one
    candidates = None if group.learns_from_true_labels else sets.text
    return Cell(
        column=Column(spec.dataset, candidates, spec.q, spec.imbalance, metric),
        network=spec.train.network if spec.gradient else None,
        epochs=spec.train.epochs,
        planned=group.planned,
        seeds=seeds,
        run_ids=tuple(run.run_id for run in runs),
        digests=tuple(run.provenance.audit.digest for run in runs),
        values=values,
        note=_cell_note(group, metric, len(values), usual_n),
    )


def _usual_n(cells: Iterable[tuple[int | None, int]]) -> int:
    """The number of runs that most cells have; of equally many, the larger.

    Args:
        cells: numbers of planned runs and of values of each cell.
    """
    counts = Counter(planned or n for planned, n in cells if n)
    return max(counts, key=lambda n: (counts[n], n))


def _cell_note(group: RunGroup, metric: Metric, n: int, usual_n: int) -> str:
    if not n and metric != DEFAULT_METRIC and group.records:
        return _NO_CLASSES
    if not n:
        return _NO_HOLDOUT if group.records else ""
    if n < (group.planned or 0):
        return f"n = {n} of {group.planned}"
    return f"n = {n}" if n != usual_n else ""


def _data_order(key: tuple[str, float]) -> tuple[int, str, float]:
    names, (name, imbalance) = list(DATASETS), key
    return (names.index(name) if name in names else len(names)), name, imbalance


def _block(
    dataset: str,
    imbalance: float,
    cells: Sequence[tuple[RunGroup, Cell]],
    metrics: Sequence[Metric],
) -> Block:
    def order(column: Column) -> tuple[str, float, int]:
        q = -1.0 if column.q is None else column.q
        return column.candidates or "", q, metrics.index(column.metric)

    columns = sorted(
        {cell.column for _, cell in cells if cell.column.candidates is not None}, key=order
    )
    rows: dict[tuple[str, str, bool], dict[Column, Cell]] = defaultdict(dict)
    for group, cell in sorted(cells, key=lambda pair: pair[0].order):
        by_column = rows[group.name, group.label, group.learns_from_true_labels]
        assert cell.column not in by_column, f"two cells of {group.label!r} in one column"
        by_column[cell.column] = cell
    printed = [
        Row(*key, _cells_of_reference(found, columns) if key[2] else tuple(map(found.get, columns)))
        for key, found in rows.items()
    ]
    printed.sort(key=lambda row: not row.reference)
    return Block(dataset, tuple(columns), tuple(printed), imbalance=imbalance)


def _cells_of_reference(
    found: Mapping[Column, Cell], columns: Sequence[Column]
) -> tuple[Cell | None, ...]:
    """One cell for all columns; the one of a column's metric where there are several."""
    by_metric = {column.metric: cell for column, cell in found.items()}
    if len(by_metric) == 1 or not columns:
        return tuple(by_metric.values())
    return tuple(by_metric[column.metric] for column in columns)


def _notes(blocks: Sequence[Block], groups: Sequence[RunGroup], shown: Shown) -> list[str]:
    """Sentences of the caption: what a number is, what is special, what is missing."""
    rows = [row for block in blocks for row in block.rows]
    cells = [cell for row in rows for cell in row.cells if cell]
    notes = [f"Test accuracy (%), {_rule(cells, shown.select)}; {mean_std_note(cells)}."]
    notes += [f"{name}: {METRICS[name]}." for name in shown.metrics if name != DEFAULT_METRIC]
    notes += [_seed_note(groups)]
    references = dict.fromkeys(row.label for row in rows if row.reference)
    if references:
        listed = ", ".join(references).removesuffix(".")
        notes += [f"From true labels, so one result for all q, not ranked: {listed}."]
    apart = dict.fromkeys(row.label for row in rows for cell in row.cells if cell and cell.apart)
    if apart:
        listed = ", ".join(apart).removesuffix(".")
        notes += [f"On other splits or candidate sets, so not ranked: {listed}."]
    if any(cell.note == _NO_HOLDOUT for cell in cells):
        notes += [f"{_NO_HOLDOUT}: runs without a hold-out have no value under this rule."]
    if any(cell.note == _NO_CLASSES for cell in cells):
        notes += [f"{_NO_CLASSES}: runs without imbalance have no accuracies by class."]
    distinct = {group.spec.cell: group for group in groups if group.planned}  # rows share runs
    planned = sum(group.planned or 0 for group in distinct.values())
    missing = planned - sum(len(group.records) for group in distinct.values())
    holes = sum(cell is None for row in rows for cell in row.cells)
    if missing:
        notes += [f"Incomplete: {missing} of {planned} runs are missing."]
        notes += ["A cell without all its runs is not ranked."]
    elif holes and not planned:
        notes += [f"Incomplete: {holes} of {holes + len(cells)} cells have no runs."]
    return notes


def _rule(cells: Sequence[Cell], select: Select) -> str:
    short = select == "last10" and any(cell.epochs < 10 for cell in cells)
    return RULES[select].words + " (all epochs of shorter runs)" * short


def mean_std_note(cells: Sequence[Cell]) -> str:
    """Clause of the caption: which spread follows ±, and the number of runs of a cell."""
    usual_n = _usual_n((cell.planned, len(cell.values)) for cell in cells)
    if all(len(cell.values) <= 1 for cell in cells):
        return "one seed (n = 1)"
    same = all(len(cell.values) == usual_n for cell in cells if cell.values)
    unless = "" if same else " unless a cell says otherwise"
    return f"mean ± sample std (ddof = 1) over n = {usual_n} seeds{unless}"


def _seed_note(groups: Sequence[RunGroup]) -> str:
    """Sentence of the caption: what varies with the seed, and which rows fix it by a data_seed."""
    generated = any(group.spec.candidates for group in groups)
    varies = "split, candidate sets" if generated else "split"
    fixed = "split and candidate sets" if generated else "split"
    seeds = {group.label: group.spec.data_seed for group in groups}
    fixing = {label: seed for label, seed in sorted(seeds.items()) if seed is not None}
    numbers = ", ".join(map(str, sorted(set(fixing.values()))))
    if not fixing:
        return f"{varies.capitalize()} and initialisation vary with the seed."
    if len(fixing) == len(seeds):
        return f"Initialisation varies with the seed; data_seed = {numbers} fixes {fixed}."
    listed = ", ".join(fixing).removesuffix(".")
    return (
        f"{varies.capitalize()} and initialisation vary with the seed; "
        f"data_seed = {numbers} fixes {fixed} of {listed}."
    )
