"""From records to a table: its cells and columns.

A row is a method or variant plus every difference from the protocol; a column is data set, process
with its options, and q; a cell is the runs that differ in the seed alone. Nothing else is ever
averaged: not even runs of one cell, where a declared default, the source of a plug-in or the files
of the data have changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.data.catalogue import DATASETS
from pllbench.grid.benchmark import Benchmark
from pllbench.grid.plan import PlannedRun
from pllbench.grid.protocol import Protocol
from pllbench.reports.captions import Shown, caption, cell_note, usual_number
from pllbench.reports.groups import (
    RunGroup,
    planned_groups,
    recorded_groups,
    split_by_origin,
)
from pllbench.reports.highlight import with_marks
from pllbench.reports.shared_settings import shared_note, shared_settings, without_settings
from pllbench.reports.table import Block, Cell, Column, Row, Table
from pllbench.results.metrics import CRITERIA, DEFAULT_METRIC, Metric
from pllbench.results.model_selection import DEFAULT_RULE, Select
from pllbench.results.records import Record
from pllbench.validation import FieldError


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
    groups = split_by_origin(groups, planned or (), shown.equal)
    pairs = _shown_metrics(groups, shown)
    _require_values(pairs, shown)
    values = [(*pair, pair[0].values(shown.select, pair[1])) for pair in pairs]
    usual_n = usual_number((group.planned, len(found)) for group, _, found in values)
    data: dict[tuple[str, float], list[tuple[RunGroup, Cell]]] = defaultdict(list)
    for group, metric, found in values:
        cell = _cell(group, metric, found, usual_n)
        data[group.spec.dataset, group.spec.imbalance].append((group, cell))
    keys = list(data) if planned is not None else sorted(data, key=_data_order)
    blocks = tuple(with_marks(_block(*key, data[key], shown), benchmark) for key in keys)
    shared = shared_settings(groups, protocol)
    notes = [without_settings(note, shared) for note in caption(blocks, groups, shown)]
    notes += shared_note(shared)
    notes += [benchmark.note] if benchmark and benchmark.note else []
    title = benchmark.title if benchmark else ""
    return Table(blocks, shown.select, tuple(notes), title, shown.metrics, shared)


def _shown_metrics(groups: Sequence[RunGroup], shown: Shown) -> list[tuple[RunGroup, Metric]]:
    """Each group with each of its metrics: without true labels, criteria instead of accuracy."""
    without = {(g.spec.dataset, g.spec.digest) for g in groups if not g.labelled}
    pairs: list[tuple[RunGroup, Metric]] = []
    for group in groups:
        instead = CRITERIA if (group.spec.dataset, group.spec.digest) in without else ()
        listed = [
            one
            for metric in shown.metrics
            for one in (instead if instead and metric == DEFAULT_METRIC else (metric,))
        ]
        pairs += [(group, metric) for metric in dict.fromkeys(listed)]
    return pairs


def _require_values(pairs: Sequence[tuple[RunGroup, Metric]], shown: Shown) -> None:
    """Raise FieldError if no run has a value under the rule, or of a metric."""
    runs = [record for group, _ in pairs for record in group.records.values()]
    if not any(shown.select in run.result.rules for run in runs):
        reason = "no run here has a value for it; it needs a hold-out of training rows"
        if shown.select == "oracle":
            reason = "no run here has a value for it; it needs true labels"
        raise FieldError("select", reason, shown.select)
    for metric in shown.metrics:
        if metric == DEFAULT_METRIC:
            continue
        if not any(group.values(shown.select, one) for group, one in pairs if one == metric):
            needed = (
                "data without true labels" if metric in CRITERIA else "long-tailed training rows"
            )
            reason = f"no run here has a value of it; it needs {needed}"
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
        note=cell_note(group, metric, len(values), usual_n),
        oracle=spec.has_oracle,
    )


def _data_order(key: tuple[str, float]) -> tuple[int, str, float]:
    names, (name, imbalance) = list(DATASETS), key
    return (names.index(name) if name in names else len(names)), name, imbalance


def _block(
    dataset: str,
    imbalance: float,
    cells: Sequence[tuple[RunGroup, Cell]],
    shown: Shown,
) -> Block:
    metrics = (*shown.metrics, *CRITERIA)

    def order(column: Column) -> tuple[str, float, int]:
        q = -1.0 if column.q is None else column.q
        return column.candidates or "", q, metrics.index(column.metric)

    columns = sorted(
        {cell.column for _, cell in cells if cell.column.candidates is not None}, key=order
    )
    rows: dict[tuple[str, str, bool], dict[Column, Cell]] = defaultdict(dict)
    groups: dict[tuple[str, str, bool], RunGroup] = {}
    for group, cell in sorted(cells, key=lambda pair: pair[0].order):
        key = (group.name, group.label, group.learns_from_true_labels)
        assert cell.column not in rows[key], f"two cells of {group.label!r} in one column"
        rows[key][cell.column] = cell
        groups[key] = group
    printed = [
        Row(
            *key,
            _cells_of_reference(found, columns) if key[2] else tuple(map(found.get, columns)),
            budget="" if shown.mixed_budgets else groups[key].budget,
            untuned_label=groups[key].untuned_label,
        )
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
