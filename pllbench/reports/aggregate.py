"""From records to a table: which runs are a cell, and the sentences of the caption.

A row is a method or variant plus every difference from the protocol; a column is data set, process
with its options, and q; a cell is the runs that differ in the seed alone. Nothing else is ever
averaged.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pllbench.data.catalogue import DATASETS
from pllbench.grid.benchmark import Benchmark
from pllbench.grid.labels import row_label
from pllbench.grid.plan import PlannedRun
from pllbench.grid.protocol import Protocol
from pllbench.reports.highlight import with_marks
from pllbench.reports.table import Block, Cell, Column, Row, Table
from pllbench.results.model_selection import DEFAULT_RULE, RULES, Select
from pllbench.results.records import Record
from pllbench.spec import CORE_VERSION, RunSpec
from pllbench.validation import FieldError

_NO_HOLDOUT = "no hold-out"
"""Note of a cell whose runs have no value, since they hold out no training rows."""


@dataclass(slots=True)
class _Group:
    """Runs of one cell while they are collected: its row, its planned runs, records by seed."""

    spec: RunSpec
    name: str
    label: str
    planned: int | None
    order: int
    records: dict[int, Record] = field(default_factory=dict)

    @property
    def learns_from_true_labels(self) -> bool:
        return self.spec.labels == "true"

    def values(self, select: Select) -> tuple[float, ...]:
        """Accuracies in percent, by seed; empty where the rule has no value for these runs."""
        accuracies = (self.records[seed].result.accuracy for seed in sorted(self.records))
        return tuple(rules[select] * 100 for rules in accuracies if select in rules)


def build_table(
    records: Iterable[Record],
    protocol: Protocol,
    select: Select = DEFAULT_RULE,
    planned: Sequence[PlannedRun] | None = None,
    benchmark: Benchmark | None = None,
) -> Table:
    """The table of `records` under a selection rule; their order does not matter.

    Args:
        records: finished runs.
        protocol: rows are labelled with what differs from it; with the variants of the benchmark
            among its own, where the selection has one.
        select: turns a run into one accuracy.
        planned: the runs of a selection. Only these are shown, in this order of rows, and cells
            without all of their runs are marked. Without it all records are shown.
        benchmark: gives the table its title, its note and its layout.

    Raises:
        FieldError: no run has a value under the rule.
    """
    runs = {record.run_id: record for record in records}
    groups = _recorded_groups(runs, protocol) if planned is None else _planned_groups(runs, planned)
    values = [group.values(select) for group in groups]
    if not any(values):
        reason = "no run here has a value for it; it needs a hold-out of training rows"
        raise FieldError("select", reason, select)
    usual_n = _usual_n((g.planned, len(v)) for g, v in zip(groups, values, strict=True))
    datasets: dict[str, list[tuple[_Group, Cell]]] = defaultdict(list)
    for group, accuracies in zip(groups, values, strict=True):
        cell = _cell(group, accuracies, usual_n)
        datasets[group.spec.dataset].append((group, cell))
    names = list(datasets) if planned is not None else sorted(datasets, key=_dataset_order)
    blocks = tuple(with_marks(_block(name, datasets[name]), benchmark) for name in names)
    notes = _notes(blocks, groups, select)
    notes += [benchmark.note] if benchmark and benchmark.note else []
    return Table(blocks, select, tuple(notes), benchmark.title if benchmark else "")


def _recorded_groups(runs: Mapping[str, Record], protocol: Protocol) -> list[_Group]:
    groups: dict[Hashable, _Group] = {}
    for record in runs.values():
        key = record.spec.cell
        if key not in groups:
            row = row_label(record.spec, protocol)
            groups[key] = _Group(record.spec, row.name, row.label, None, 0)
        groups[key].records[record.spec.seed] = record
    _distinguish(list(groups.values()))
    rank = {name: i for i, name in enumerate((*protocol.labels, *protocol.variants))}

    def order(group: _Group) -> tuple[int, str, int, str]:
        last = len(rank)
        method = group.spec.method
        variant = rank.get(group.name, last) if group.name != method else -1
        return rank.get(method, last), method, variant, group.label

    ordered = sorted(groups.values(), key=order)
    for i, group in enumerate(ordered):
        group.order = i
    return ordered


def _planned_groups(runs: Mapping[str, Record], planned: Sequence[PlannedRun]) -> list[_Group]:
    groups: dict[tuple[str, Hashable], _Group] = {}
    names = {run.name: i for i, run in reversed(list(enumerate(planned)))}
    for run in planned:
        key = (run.name, run.spec.cell)  # two rows may share their runs
        if key not in groups:
            groups[key] = _Group(run.spec, run.name, run.label, 0, names[run.name])
        group = groups[key]
        group.planned = (group.planned or 0) + 1
        if run.spec.run_id in runs:
            group.records[run.spec.seed] = runs[run.spec.run_id]
    _distinguish(list(groups.values()))
    return list(groups.values())


def _distinguish(groups: Sequence[_Group]) -> None:
    """Give runs of older versions, of other data and of other annotators rows of their own."""
    newest: dict[str, int] = {}
    digests: dict[str, set[str | None]] = defaultdict(set)
    annotators: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for group in groups:
        spec = group.spec
        newest[spec.method] = max(spec.version, newest.get(spec.method, spec.version))
        digests[spec.dataset].add(spec.digest)
        if spec.annotator:
            annotators[_dataset_and_process(spec)].add(spec.annotator)
    for group in groups:
        spec = group.spec
        label = " ".join(group.label.split())
        if spec.version != newest[spec.method]:
            label += f", version {spec.version}"
        if spec.core_version != CORE_VERSION:
            label += f", core version {spec.core_version}"
        if len(digests[spec.dataset]) > 1:
            label += f", data {(spec.digest or 'built in')[:8]}"
        if spec.annotator and len(annotators[_dataset_and_process(spec)]) > 1:
            label += f", annotator {spec.annotator[:8]}"
        group.label = label


def _dataset_and_process(spec: RunSpec) -> tuple[str, str | None]:
    """The data set, and its candidate process with the options of that."""
    return spec.dataset, spec.candidates.text if spec.candidates else None


def _cell(group: _Group, values: tuple[float, ...], usual_n: int) -> Cell:
    spec, seeds = group.spec, tuple(sorted(group.records))
    runs = [group.records[seed] for seed in seeds]
    candidates = spec.candidates.text if spec.candidates else "real"
    return Cell(
        column=Column(spec.dataset, None if group.learns_from_true_labels else candidates, spec.q),
        network=spec.train.network,
        epochs=spec.train.epochs,
        planned=group.planned,
        seeds=seeds,
        run_ids=tuple(run.run_id for run in runs),
        digests=tuple(run.provenance.audit.digest for run in runs),
        values=values,
        note=_cell_note(group, len(values), usual_n),
    )


def _usual_n(cells: Iterable[tuple[int | None, int]]) -> int:
    """The number of runs that most cells have; of equally many, the larger.

    Args:
        cells: numbers of planned runs and of values of each cell.
    """
    counts = Counter(planned or n for planned, n in cells if n)
    return max(counts, key=lambda n: (counts[n], n))


def _cell_note(group: _Group, n: int, usual_n: int) -> str:
    if not n:
        return _NO_HOLDOUT if group.records else ""
    if n < (group.planned or 0):
        return f"n = {n} of {group.planned}"
    return f"n = {n}" if n != usual_n else ""


def _dataset_order(name: str) -> tuple[int, str]:
    names = list(DATASETS)
    return (names.index(name) if name in names else len(names)), name


def _block(dataset: str, cells: Sequence[tuple[_Group, Cell]]) -> Block:
    columns = sorted(
        {cell.column for _, cell in cells if cell.column.candidates is not None},
        key=lambda c: (c.candidates or "", c.q if c.q is not None else -1.0),
    )
    rows: dict[tuple[str, str, bool], dict[Column, Cell]] = defaultdict(dict)
    for group, cell in sorted(cells, key=lambda pair: pair[0].order):
        by_column = rows[group.name, group.label, group.learns_from_true_labels]
        assert cell.column not in by_column, f"two cells of {group.label!r} in one column"
        by_column[cell.column] = cell
    printed = [
        Row(name, label, reference, tuple(cells.values() if reference else map(cells.get, columns)))
        for (name, label, reference), cells in rows.items()
    ]
    printed.sort(key=lambda row: not row.reference)
    return Block(dataset, tuple(columns), tuple(printed))


def _notes(blocks: Sequence[Block], groups: Sequence[_Group], select: Select) -> list[str]:
    """Sentences of the caption: what a number is, what is special, what is missing."""
    rows = [row for block in blocks for row in block.rows]
    cells = [cell for row in rows for cell in row.cells if cell]
    notes = [f"Test accuracy (%), {_rule(cells, select)}; {mean_std_note(cells)}."]
    notes += [_seed_note(groups)]
    references = dict.fromkeys(row.label for row in rows if row.reference)
    if references:
        listed = ", ".join(references).removesuffix(".")
        notes += [f"From true labels, so one result for all q, not ranked: {listed}."]
    apart = dict.fromkeys(row.label for row in rows for cell in row.cells if cell and cell.apart)
    if apart:
        notes += [f"On other splits or candidate sets, so not ranked: {', '.join(apart)}."]
    if any(cell.note == _NO_HOLDOUT for cell in cells):
        notes += [f"{_NO_HOLDOUT}: runs without a hold-out have no value under this rule."]
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


def _seed_note(groups: Sequence[_Group]) -> str:
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
    return (
        f"{varies.capitalize()} and initialisation vary with the seed; "
        f"data_seed = {numbers} fixes {fixed} of {', '.join(fixing)}."
    )
