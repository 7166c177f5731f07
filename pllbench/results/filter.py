"""A selection as a filter over the runs that are there, whatever grid they came from."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.data.catalogue import DATASETS
from pllbench.data.custom import dataset_name, is_path
from pllbench.grid.labels import row_label, stored_cell
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Protocol, unknown_row
from pllbench.registry import method_names
from pllbench.results.records import Record
from pllbench.source import class_digest
from pllbench.spec import RunSpec
from pllbench.validation import FieldError


@dataclass(frozen=True)
class Filter:
    """Which runs the named parts of a selection allow; a part that is not named allows all.

    Attributes:
        selection: what is asked for; it has no benchmark. Rows are named under its protocol.
    """

    selection: Selection

    @property
    def _protocol(self) -> Protocol:
        return self.selection.protocol

    def require_known(self, specs: Iterable[RunSpec]) -> None:
        """Check the names of methods and variants.

        Runs whose method is not installed here are found by its name, too.

        Args:
            specs: the runs that are there.

        Raises:
            ValueError: a name is none of a method or variant.
        """
        known = {*method_names(), *self.selection.classes, *self._protocol.variants}
        known |= {spec.method for spec in specs}
        for name in self.selection.methods:
            if name not in known:
                raise FieldError("methods", unknown_row(name, self._protocol, known))
        for flag in self.selection.flags:
            for name in flag.when.method:
                if name not in known:
                    raise ValueError(f"{flag.reason}: {unknown_row(name, self._protocol, known)}")

    def criteria(self, spec: RunSpec) -> dict[str, bool]:
        """Whether a run meets each named part, by the part's name."""
        selection = self.selection
        reference = spec.labels == "true"  # one run for all rates and processes
        row = row_label(spec, self._protocol).name
        met: dict[str, bool] = {}
        if selection.methods:
            met["methods"] = row in selection.methods
            if cls := selection.classes.get(spec.method):
                met["methods"] = spec.source == class_digest(cls)
        if selection.datasets:
            met["datasets"] = spec.dataset in map(_name, selection.datasets)
        if selection.q:
            met["q"] = reference or spec.q in selection.q
        if selection.imbalance:
            met["imbalance"] = spec.imbalance in selection.imbalance
        if selection.seeds:
            met["seeds"] = spec.seed in selection.seeds
        for flag in selection.flags:
            applies = flag.when.matches(stored_cell(spec, row))
            stored = spec.candidates.read if spec.candidates else {}
            pruning = spec.pruning.model_dump(mode="json") if spec.pruning else {}
            # a file of features is known by its digest; here it need not be there any more
            asked = {key: value for key, value in flag.pruning.items() if key != "features"}
            met[flag.reason] = not applies or (
                _within(flag.hparams, spec.hparams)
                and _within(flag.train, spec.train.model_dump(mode="json"))
                and _within(flag.views, spec.views.model_dump(mode="json"))
                and (reference or _within(flag.candidates, stored))
                and (reference or flag.annotations in (None, spec.annotations))
                and (reference or _within(asked, pruning))
                and flag.folds in (None, spec.folds)
                and (flag.holdout is None or flag.holdout == spec.holdout)
            )
        return met

    def allows(self, spec: RunSpec) -> bool:
        """Whether a run meets every named part."""
        return all(self.criteria(spec).values())

    def nearest(self, records: Iterable[Record]) -> str:
        """What meets the most named parts, in words, for a selection that finds nothing.

        Empty where no record meets its method or its data set.
        """
        best, most = "", 0
        for record in records:
            met = self.criteria(record.spec)
            meets = sum(met.values())
            if meets > most and (met.get("methods") or met.get("datasets")):
                best, most = in_words(record.spec, self._protocol), meets
        return best


def in_words(spec: RunSpec, protocol: Protocol) -> str:
    """A stored run but for its seed: its row, data set, process and q."""
    sets = SetsSpec.of(spec).words
    q = "" if spec.q is None else f" q={spec.q:g}"
    where = f"{spec.dataset} {sets}" if sets else spec.dataset
    return f"{row_label(spec, protocol).label} on {where}{q}"


def is_planned(selection: Selection) -> bool:
    """Whether a selection says which runs there ought to be, rather than filter those there are.

    Runs of methods and data sets that are known by their records alone cannot be planned.
    """
    data = all(
        Path(text).exists() if is_path(text) else text in DATASETS for text in selection.datasets
    )
    rows = {*method_names(), *selection.classes, *selection.protocol.variants}
    known = data and rows.issuperset(selection.methods)
    return bool(selection.benchmark or (selection.methods and selection.datasets and known))


def planned_runs(selection: Selection, records: Iterable[Record]) -> list[PlannedRun]:
    """The runs that a selection plans; where it names no seeds, at all seeds that have records too.

    Raises:
        ValueError: as `plan`.
    """
    planned = plan(selection)
    if selection.benchmark or selection.seeds:
        return planned
    return planned + _further_seeds(planned, records)


def _further_seeds(planned: Sequence[PlannedRun], records: Iterable[Record]) -> list[PlannedRun]:
    """Runs of the planned cells at the other seeds that have records."""
    cells: dict[str, list[PlannedRun]] = defaultdict(list)
    for run in {(run.name, run.spec.cell): run for run in planned}.values():
        cells[run.spec.cell].append(run)  # two rows may share their runs
    ids = {run.spec.run_id for run in planned}
    return [
        replace(run, spec=record.spec)
        for record in records
        if record.run_id not in ids
        for run in cells.get(record.spec.cell, ())
    ]


def _within(asked: Mapping[str, object], stored: Mapping[str, object]) -> bool:
    return all(key in stored and _plain(stored[key]) == _plain(asked[key]) for key in asked)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _name(text: str) -> str:
    return dataset_name(Path(text)) if is_path(text) else text
