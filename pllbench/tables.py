"""From records to the content of a table: which runs are a cell, which cell is best, the caption.

A row is a method or variant plus every difference from the protocol; a column is data set, process
with its options, and q; a cell is the runs that differ in the seed alone. Nothing else is ever
averaged. `formats` and `latex` print the result.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pllbench.catalogue import DATASETS
from pllbench.cells import Block, Cell, Column, Row, Table
from pllbench.grid import PlannedRun
from pllbench.marks import marked
from pllbench.protocol import Protocol
from pllbench.records import Record, Select
from pllbench.rows import row_of
from pllbench.spec import CORE_VERSION, RunSpec

RULES: Mapping[Select, str] = {
    "last10": "mean of the last 10 epochs",
    "last": "last epoch",
    "covering_rate": "at the epoch with the highest covering rate on the hold-out",
    "approximated_accuracy": "at the epoch with the highest approximated accuracy on the hold-out",
    "oracle": "oracle (best test epoch): a diagnostic, not a result",
}
"""Selection rules in words."""


@dataclass(slots=True)
class _Group:
    """Runs of one cell while they are collected."""

    spec: RunSpec
    name: str
    label: str
    planned: int | None
    order: int
    records: dict[int, Record] = field(default_factory=dict)


def build(
    records: Iterable[Record],
    protocol: Protocol,
    select: Select = "last10",
    planned: Sequence[PlannedRun] | None = None,
    folder: str = "results",
) -> Table:
    """The table of `records` under a selection rule; their order does not matter.

    Args:
        records: finished runs.
        protocol: rows are labelled with what differs from it; with the variants of the benchmark
            among its own, where the selection has one.
        select: turns a run into one accuracy.
        planned: the runs of a selection. Only these are shown, in this order of rows, and cells
            without all of their runs are marked. Without it all records are shown.
        folder: named in errors.

    Raises:
        ValueError: there is nothing to show, or no run has a value under the rule.
    """
    runs = {record.run_id: record for record in records}
    if not runs:
        raise ValueError(f"{folder}: no records there; name another folder with --results?")
    if planned is None:
        groups = _found_groups(runs, protocol)
    else:
        groups = _planned_groups(runs, planned)
        if not any(group.records for group in groups):
            raise ValueError(
                f"{folder}: none of the {len(planned)} runs of this selection is done "
                f"({len(runs)} other records)"
            )
    if not any(select in r.result.accuracy for group in groups for r in group.records.values()):
        raise ValueError(
            f"--select {select}: no run here has a value for it; "
            "it needs training rows kept aside with --holdout"
        )
    cells = [(group, _cell(group, select)) for group in groups]
    common = _common_n(cell for _, cell in cells)
    cells = [(group, replace(cell, note=_note(group, cell, common))) for group, cell in cells]
    datasets: dict[str, list[tuple[_Group, Cell]]] = defaultdict(list)
    for group, cell in cells:
        datasets[group.spec.dataset].append((group, cell))
    names = list(datasets) if planned is not None else sorted(datasets, key=_dataset_order)
    blocks = tuple(_block(name, datasets[name]) for name in names)
    return Table(blocks, select, _notes(blocks, groups, select))


def _found_groups(runs: dict[str, Record], protocol: Protocol) -> list[_Group]:
    groups: dict[Hashable, _Group] = {}
    for record in runs.values():
        key = record.spec.cell
        if key not in groups:
            row = row_of(record.spec, protocol)
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


def _planned_groups(runs: dict[str, Record], planned: Sequence[PlannedRun]) -> list[_Group]:
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
            annotators[_sets_of(spec)].add(spec.annotator)
    for group in groups:
        spec = group.spec
        label = " ".join(group.label.split())
        if spec.version != newest[spec.method]:
            label += f", version {spec.version}"
        if spec.core_version != CORE_VERSION:
            label += f", core version {spec.core_version}"
        if len(digests[spec.dataset]) > 1:
            label += f", data {(spec.digest or 'built in')[:8]}"
        if spec.annotator and len(annotators[_sets_of(spec)]) > 1:
            label += f", annotator {spec.annotator[:8]}"
        group.label = label


def _sets_of(spec: RunSpec) -> tuple[str, str | None]:
    """The data set, and its candidate process with the options of that."""
    return spec.dataset, spec.candidates.text if spec.candidates else None


def _cell(group: _Group, select: Select) -> Cell:
    spec = group.spec
    runs = [group.records[seed] for seed in sorted(group.records)]
    candidates = spec.candidates.text if spec.candidates else "real"
    values = [run.result.accuracy[select] * 100 for run in runs if select in run.result.accuracy]
    return Cell(
        column=Column(spec.dataset, None if spec.labels == "true" else candidates, spec.q),
        network=spec.train.network if spec.gradient else None,
        epochs=spec.train.epochs,
        planned=group.planned,
        seeds=tuple(sorted(group.records)),
        run_ids=tuple(run.run_id for run in runs),
        digests=tuple(run.provenance.audit.digest for run in runs),
        values=tuple(values),
    )


def _common_n(cells: Iterable[Cell]) -> int:
    """The number of runs that most cells have; of equally many, the larger."""
    counts = Counter(cell.planned or len(cell.values) for cell in cells if cell.values)
    return max(counts, key=lambda n: (counts[n], n))


def _note(group: _Group, cell: Cell, common: int) -> str:
    n = len(cell.values)
    if group.records and not n:
        return "no hold-out"
    if not n:
        return ""
    if n < (group.planned or 0):
        return f"n = {n} of {group.planned}"
    return f"n = {n}" if n != common else ""


def _dataset_order(name: str) -> tuple[int, str]:
    names = list(DATASETS)
    return (names.index(name) if name in names else len(names)), name


def _block(dataset: str, cells: Sequence[tuple[_Group, Cell]]) -> Block:
    columns = sorted(
        {cell.column for _, cell in cells if cell.column.candidates is not None},
        key=lambda c: (c.candidates or "", c.q if c.q is not None else -1.0),
    )
    cells = [(g, c) for (g, _), c in zip(cells, marked([c for _, c in cells]), strict=True)]
    rows: dict[tuple[str, str], list[tuple[_Group, Cell]]] = defaultdict(list)
    for group, cell in sorted(cells, key=lambda pair: pair[0].order):
        rows[group.name, group.label].append((group, cell))
    printed = []
    for (name, label), found in rows.items():
        reference = found[0][0].spec.labels == "true"
        by_column = {cell.column: cell for _, cell in found}
        assert len(by_column) == len(found), f"two cells of {label!r} in one column"
        row = tuple(by_column.values()) if reference else tuple(map(by_column.get, columns))
        printed.append(Row(name, label, reference, row))
    printed.sort(key=lambda row: not row.reference)
    return Block(dataset, tuple(columns), tuple(printed))


def _notes(blocks: Sequence[Block], groups: Sequence[_Group], select: Select) -> tuple[str, ...]:
    """The caption, a sentence each: what a number is, what is special, what is missing."""
    rows = [row for block in blocks for row in block.rows]
    cells = [cell for row in rows for cell in row.cells if cell]
    notes = [f"Test accuracy (%), {_rule(cells, select)}; {spread(cells)}."]
    notes += [_varies(groups)]
    references = dict.fromkeys(row.label for row in rows if row.reference)
    if references:
        listed = ", ".join(references).removesuffix(".")
        notes += [f"From true labels, so one result for all q, not ranked: {listed}."]
    apart = dict.fromkeys(row.label for row in rows for cell in row.cells if cell and cell.apart)
    if apart:
        notes += [f"On other splits or candidate sets, so not ranked: {', '.join(apart)}."]
    if any(cell.note == "no hold-out" for cell in cells):
        notes += ["no hold-out: runs without --holdout have no value under this rule."]
    distinct = {group.spec.cell: group for group in groups if group.planned}  # rows share runs
    planned = sum(group.planned or 0 for group in distinct.values())
    missing = planned - sum(len(group.records) for group in distinct.values())
    holes = sum(cell is None for block in blocks for row in block.rows for cell in row.cells)
    if missing:
        notes += [f"Incomplete: {missing} of {planned} runs are missing."]
        notes += ["A cell without all its runs is not ranked."]
    elif holes and not planned:
        notes += [f"Incomplete: {holes} of {holes + len(cells)} cells have no runs."]
    return tuple(notes)


def _rule(cells: Sequence[Cell], select: Select) -> str:
    short = select == "last10" and any(cell.epochs < 10 for cell in cells)
    return RULES[select] + " (all epochs of shorter runs)" * short


def spread(cells: Sequence[Cell]) -> str:
    """What stands behind ±, and how many runs."""
    common = _common_n(cells)
    if all(len(cell.values) <= 1 for cell in cells):
        return "one seed (n = 1)"
    same = all(len(cell.values) == common for cell in cells if cell.values)
    unless = "" if same else " unless a cell says otherwise"
    return f"mean ± sample std (ddof = 1) over n = {common} seeds{unless}"


def _varies(groups: Sequence[_Group]) -> str:
    """What the seed varies, and which rows have their data fixed by a data_seed."""
    generated = any(group.spec.candidates for group in groups)
    varies = "split, candidate sets" if generated else "split"
    fixed = "split and candidate sets" if generated else "split"
    seeds = {group.label: group.spec.data_seed for group in groups}
    named = {label: seed for label, seed in sorted(seeds.items()) if seed is not None}
    numbers = ", ".join(map(str, sorted(set(named.values()))))
    if not named:
        return f"{varies.capitalize()} and initialisation vary with the seed."
    if len(named) == len(seeds):
        return f"Initialisation varies with the seed; data_seed = {numbers} fixes {fixed}."
    return (
        f"{varies.capitalize()} and initialisation vary with the seed; "
        f"data_seed = {numbers} fixes {fixed} of {', '.join(named)}."
    )
