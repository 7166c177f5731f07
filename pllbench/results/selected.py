"""Finished runs, and which of them are selected: as records, data frames and columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from pllbench.grid.plan import PlannedRun, Selection, known_variants
from pllbench.grid.protocol import Protocol
from pllbench.grid.request import Parts, make_selection
from pllbench.results import records
from pllbench.results.curves import Curves, long_form, num_epochs, read_curves
from pllbench.results.filter import Filter, is_planned, planned_runs
from pllbench.results.kept import Kept, kept_path, kinds_to_keep
from pllbench.results.records import Record
from pllbench.results.rows import RunRow, run_rows
from pllbench.results.sources import Groups, union_of_sources
from pllbench.results.summary import GridSummary

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class Stored:
    """A record, and the results folder that it is in."""

    record: Record
    folder: Path


@dataclass(frozen=True, repr=False)
class SelectedRuns:
    """Finished runs, and the selection that they are shown by.

    Attributes:
        folders: results folders, named in errors.
        stored: the records of the folders, of a filter those that it allows.
        uncounted: why files there are not counted, a line each.
        selection: what is asked for.
        planned: its runs; None for all of `stored`.
        summary: what became of the runs, where they have just been executed.
    """

    folders: Sequence[Path]
    stored: Sequence[Stored]
    uncounted: Sequence[str] = ()
    selection: Selection = field(default_factory=Selection)
    planned: Sequence[PlannedRun] | None = None
    summary: GridSummary | None = None

    def __repr__(self) -> str:
        specs = [record.spec for record in self.finished]
        methods, data = ({getattr(s, key) for s in specs} for key in ("method", "dataset"))
        counts = {"runs": len(specs), "methods": len(methods), "data sets": len(data)}
        if self.failed:
            counts["failed"] = len(self.failed)
        return f"<Results of {self._where}: {', '.join(f'{k} {n}' for k, n in counts.items())}>"

    @property
    def failed(self) -> list[tuple[str, str]]:
        """Title and reason of each run that has failed just now."""
        failures = self.summary.failed if self.summary else ()
        return [(run.title, reason) for run, reason in failures]

    @property
    def warnings(self) -> list[str]:
        """What is wrong, or special, of the runs executed just now, a line each."""
        return list(self.summary.warnings) if self.summary else []

    @property
    def _where(self) -> str:
        return ", ".join(map(str, self.folders))

    @property
    def records(self) -> list[Record]:
        """The records alone."""
        return [one.record for one in self.stored]

    def select(self, selection: Selection | None = None, **parts: Unpack[Parts]) -> Self:
        """The part of these records that is asked for; see `load`.

        Args:
            selection: what is asked for.
            **parts: the same as plain values, in the place of it: `methods="cc"`, `q=[0.3, 0.7]`.

        Raises:
            ValueError: the selection is wrong, or nothing here meets it.
        """
        selection = selection or make_selection(parts)
        if is_planned(selection):
            return self.of_plan(selection)
        wanted = Filter(selection)
        wanted.require_known(record.spec for record in self.records)
        allowed = tuple(one for one in self.stored if wanted.allows(one.record.spec))
        if self.stored and not allowed:
            hint = self._nearest(wanted)
            raise ValueError(f"none of the {len(self.stored)} runs here meets the selection{hint}")
        return replace(self, stored=allowed, selection=selection)

    def _nearest(self, wanted: Filter) -> str:
        """Clause of a message: which records come nearest to what is wanted, if any do."""
        nearest = wanted.nearest(self.records)
        return f"; {nearest} is there" if nearest else ""

    def of_plan(self, selection: Selection) -> Self:
        """The runs that a selection plans, whatever it leaves out; as after `run`.

        Raises:
            ValueError: the selection is wrong.
        """
        planned = planned_runs(selection, self.records)
        return replace(self, selection=selection, planned=planned)

    @cached_property
    def protocol(self) -> Protocol:
        """The protocol, with the variants of the benchmark among its own."""
        variants = known_variants(self.selection)
        return self.selection.protocol.model_copy(update={"variants": variants})

    @cached_property
    def equal_sources(self) -> Groups:
        """What the folders know of sources that give the same numbers."""
        return union_of_sources(self.folders)

    @property
    def finished(self) -> list[Record]:
        """The records of the selected runs."""
        if self.planned is None:
            return list(self.records)
        return records.with_ids(self.records, (run.spec.run_id for run in self.planned))

    def pick(self, *runs: str) -> Self:
        """Of these runs, those with the given ids; a beginning will do that no other run shares.

        Raises:
            ValueError: there is none, or several.
        """
        from pllbench.results.lookup import one_with_id

        ids = {record.run_id for record in self.finished}
        wanted = {one_with_id(text, ids, self._where) for text in runs}
        picked = tuple(one for one in self.stored if one.record.run_id in wanted)
        return replace(self, stored=picked, planned=None)

    def kept(self, kind: Kept) -> dict[str, Path]:
        """Files of the test predictions or the trained model of the selected runs, by run_id.

        Runs that have kept none are left out. `PartialLabelClassifier.load` reads a model,
        `numpy.load` the predictions.

        Raises:
            FieldError: there is no such kind.
        """
        [known] = kinds_to_keep([kind])
        folders = {one.record.run_id: one.folder for one in self.stored}
        places = {
            record.run_id: kept_path(
                records.record_path(folders[record.run_id], record.spec), known
            )
            for record in self.finished
        }
        return {run_id: path for run_id, path in places.items() if path.exists()}

    def columns(self) -> dict[str, Curves]:
        """Per-epoch columns of the selected runs, by run_id.

        Raises:
            ValueError: the file of a run is damaged, or of another length.
        """
        found: dict[str, Curves] = {}
        folders = {one.record.run_id: one.folder for one in self.stored}
        for record in self.finished:
            path = records.record_path(folders[record.run_id], record.spec)
            found[record.run_id] = read_curves(path)
            length, epochs = num_epochs(found[record.run_id]), record.spec.train.epochs
            if length != epochs:
                raise ValueError(f"{path.with_suffix('.npz')}: {length} of {epochs} epochs")
        return found

    def frame(self) -> "DataFrame":
        """A row for each run, with the columns of `pllbench.results.rows.run_rows`.

        Ordered by data set, process, q, label and seed.
        """
        from pandas import DataFrame

        rows = run_rows(self.finished, self.protocol, self.equal_sources)
        frame = DataFrame(rows, columns=None if rows else list(RunRow.model_fields))
        order = ["dataset", "candidates", "q", "label", "seed"]
        return frame.sort_values(order, ignore_index=True)

    def curves(self) -> "DataFrame":
        """A row for each value of an epoch: `run_id`, `epoch`, `quantity` and `value`.

        The quantities are the per-epoch columns of `pllbench.results.curves`; an epoch without a
        value has no row.

        Raises:
            ValueError: as `columns`.
        """
        from pandas import DataFrame

        return DataFrame(long_form(self.columns()))
