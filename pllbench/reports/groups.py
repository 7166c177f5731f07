"""Runs that are a cell of a table: those that differ in the seed alone, and the row they are in."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.grid.labels import row_label, tuning_suffix
from pllbench.grid.plan import PlannedRun
from pllbench.grid.protocol import Protocol
from pllbench.results.metrics import Metric
from pllbench.results.model_selection import Select
from pllbench.results.origins import Origins
from pllbench.results.records import Record
from pllbench.results.sources import Groups
from pllbench.spec import CORE_VERSION, RunSpec


@dataclass(slots=True)
class RunGroup:
    """Runs of one cell while they are collected: its row, its planned runs, records by seed."""

    spec: RunSpec
    name: str
    label: str
    planned: int | None
    order: int
    records: dict[int, Record] = field(default_factory=dict)

    @property
    def learns_from_true_labels(self) -> bool:
        """Whether its candidate sets are the true labels."""
        return self.spec.labels == "true"

    @property
    def labelled(self) -> bool:
        """Whether its runs, if there are any, have true labels to test on."""
        return all(record.result.labelled for record in self.records.values())

    @property
    def budget(self) -> str:
        """What the search for its settings was given, in words; empty for default settings."""
        return self.spec.tuning.budget.words if self.spec.tuning else ""

    @property
    def untuned_label(self) -> str:
        """Label of the row that it would be in with the settings of the protocol."""
        return self.label.replace(tuning_suffix(self.spec), "")

    def values(self, select: Select, metric: Metric) -> tuple[float, ...]:
        """A metric in percent, by seed; empty where these runs have no value of it."""
        results = (self.records[seed].result.values(metric) for seed in sorted(self.records))
        return tuple(rules[select] * 100 for rules in results if select in rules)


def recorded_groups(runs: Mapping[str, Record], protocol: Protocol) -> list[RunGroup]:
    """The cells of all records, by run_id, in the order of the protocol's methods and variants."""
    groups: dict[Hashable, RunGroup] = {}
    for record in runs.values():
        key = record.spec.cell
        if key not in groups:
            row = row_label(record.spec, protocol)
            groups[key] = RunGroup(record.spec, row.name, row.label, None, 0)
        groups[key].records[record.spec.seed] = record
    _distinguish(list(groups.values()))
    rank = {name: i for i, name in enumerate((*protocol.labels, *protocol.variants))}

    def order(group: RunGroup) -> tuple[int, str, int, str]:
        last = len(rank)
        method = group.spec.method
        variant = rank.get(group.name, last) if group.name != method else -1
        return rank.get(method, last), method, variant, group.label

    ordered = sorted(groups.values(), key=order)
    for i, group in enumerate(ordered):
        group.order = i
    return ordered


def planned_groups(runs: Mapping[str, Record], planned: Sequence[PlannedRun]) -> list[RunGroup]:
    """The cells of planned runs, with those that have a record in `runs`, by run_id."""
    groups: dict[tuple[str, Hashable], RunGroup] = {}
    names = {run.name: i for i, run in reversed(list(enumerate(planned)))}
    for run in planned:
        key = (run.name, run.spec.cell)  # two rows may share their runs
        if key not in groups:
            groups[key] = RunGroup(run.spec, run.name, run.label, 0, names[run.name])
        group = groups[key]
        group.planned = (group.planned or 0) + 1
        if run.spec.run_id in runs:
            group.records[run.spec.seed] = runs[run.spec.run_id]
    _distinguish(list(groups.values()))
    return list(groups.values())


def _distinguish(groups: Sequence[RunGroup]) -> None:
    """Give runs of older versions, other sources, other data and annotators rows of their own."""
    newest: dict[str, int] = {}
    sources: dict[str, set[str | None]] = defaultdict(set)
    digests: dict[str, set[str | None]] = defaultdict(set)
    annotators: dict[tuple[str, str], set[str]] = defaultdict(set)
    for group in groups:
        spec = group.spec
        newest[spec.method] = max(spec.version, newest.get(spec.method, spec.version))
        sources[spec.method].add(spec.source)
        digests[spec.dataset].add(spec.digest)
        if spec.annotator:
            annotators[_dataset_and_sets(spec)].add(spec.annotator)
    for group in groups:
        spec = group.spec
        label = " ".join(group.label.split())
        if spec.version != newest[spec.method]:
            label += f", version {spec.version}"
        if spec.core_version != CORE_VERSION:
            label += f", core version {spec.core_version}"
        if len(sources[spec.method]) > 1:
            label += f", source {(spec.source or 'registered')[:10]}"
        if len(digests[spec.dataset]) > 1:
            label += f", data {(spec.digest or 'built in')[:8]}"
        if spec.annotator and len(annotators[_dataset_and_sets(spec)]) > 1:
            label += f", annotator {spec.annotator[:8]}"
        group.label = label


def split_by_origin(
    groups: Sequence[RunGroup], planned: Sequence[PlannedRun], equal: Groups
) -> list[RunGroup]:
    """Runs of other defaults, sources or files than the rest, in groups of their own.

    Args:
        groups: cells.
        planned: the runs that are asked for.
        equal: sources that were shown to give the same numbers.
    """
    shown = [record for group in groups for record in group.records.values()]
    origins = Origins(shown, (run.spec for run in planned), equal)
    parts: list[RunGroup] = []
    for group in groups:
        found: dict[str, dict[int, Record]] = defaultdict(dict)
        for seed, record in group.records.items():
            found[origins.of_record(record)][seed] = record
        for label, records in (found or {origins.of_spec(group.spec): {}}).items():
            parts.append(replace(group, label=group.label + label, records=records))
    return parts


def _dataset_and_sets(spec: RunSpec) -> tuple[str, str]:
    """The data set, and how training rows and candidate sets come about."""
    return spec.dataset, SetsSpec.of(spec).text
