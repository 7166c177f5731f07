"""Records that were made under other circumstances than their runs would be now.

What a run id does not say may change under it: the declared default of a hyperparameter, the source
of a method (the run's own, or that of the annotator of its candidate sets), the files of a data
set. A record made before such a change is stale: it is neither counted as done nor done again,
unless the user says so.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from pllbench.data.content import files_digest
from pllbench.grid.plan import PlannedRun
from pllbench.grid.resolve import annotator_run
from pllbench.registry import is_built_in, load_method
from pllbench.results.curves import num_epochs
from pllbench.results.origins import made_on
from pllbench.results.paused import read_paused
from pllbench.results.records import Record, changed_values, stored_record
from pllbench.results.sources import equal_sources
from pllbench.runner.job import RunOptions
from pllbench.runner.origin import run_origin
from pllbench.source import source_digest
from pllbench.spec import RunSpec
from pllbench.validation import FieldError


class DoneRuns:
    """Which runs of a grid are done.

    Attributes:
        options: name the results folder, and say what becomes of stale records.
        until: numbers of epochs after which runs pause, by run_id; they are done from there on.
    """

    def __init__(self, options: RunOptions, until: Mapping[str, int] | None = None) -> None:
        self.options = options
        self.until = until or {}
        self._other_source: Counter[tuple[str, str, int]] = Counter()

    def has(self, run: PlannedRun) -> bool:
        """Whether the run is done: it has a record, or has come to where it pauses.

        Raises as `has_record`.
        """
        return self.has_record(run) or self._has_paused(run)

    def _has_paused(self, run: PlannedRun) -> bool:
        until = self.until.get(run.spec.run_id)
        if until is None:
            return False
        origin = run_origin(run, self.options.data_dir)
        curves = read_paused(self.options.results, origin)
        return curves is not None and num_epochs(curves) >= until

    def has_record(self, run: PlannedRun) -> bool:
        """Whether the run has a record; a stale one counts if stale ones are to be kept.

        No run is where they are to be done again.

        Raises:
            FieldError: its record is stale, and nobody has said what becomes of those.
            ValueError: the file of equal sources is damaged.
        """
        record = stored_record(self.options.results, run.spec)
        if record is None or self.options.again:
            return False
        reason = self._stale(run, record)
        if reason is None or self.options.stale == "keep":
            return True
        if self.options.stale == "rerun":
            return False
        raise FieldError("stale", f"{run.title}: {reason}, or choose rerun or keep", "refuse")

    def warnings(self) -> Iterator[str]:
        """One line for each built-in method whose source is not that of all of its records."""
        for (what, method, version), num in sorted(self._other_source.items()):
            yield f"{num} {what}s of {method} are of another source of its version {version}"

    def _stale(self, run: PlannedRun, record: Record) -> str | None:
        """Why a record is stale, and how to mend it; None where it is not stale."""
        spec, provenance = run.spec, record.provenance
        data = files_digest(run.data, self.options.data_dir)
        recorded = made_on(record)
        if None not in (data, recorded) and data != recorded:
            return (
                f"its record was made on files of {spec.dataset} with the digest {recorded}, these "
                f"have {data}: put the former back"
            )
        source = provenance.method_source
        reason = self._other_method("record", spec, record.spec.hparams, source)
        facts = provenance.annotator
        if reason or spec.annotator is None or facts is None:
            return reason
        annotator = annotator_run(spec, run.data)
        hparams, source = facts.hparams or {}, facts.method_source
        return self._other_method("annotator", annotator, hparams, source)

    def _other_method(
        self, what: str, spec: RunSpec, hparams: Mapping[str, JsonValue], source: str | None
    ) -> str | None:
        """Why the method of `spec` is not the one that made something of a record; None if it is.

        Args:
            what: it made.
            spec: as the run would be now.
            hparams: with which it was made.
            source: digest of the source by which it was made; None where that is unknown.
        """
        version = f"both under version {spec.version} of {spec.method}"
        for key, (stored, planned) in changed_values(hparams, spec.hparams).items():
            return f"its {what} has {key} = {stored}, now it is {planned}, {version}: raise that"
        if self._same_source(spec, source):
            return None
        if is_built_in(spec.method):  # their numbers are guarded by tests
            self._other_source[what, spec.method, spec.version] += 1
            return None
        return (
            f"its {what} is of another source, {version}: raise that, or have `check` show that "
            f"the numbers are the same"
        )

    def _same_source(self, spec: RunSpec, recorded: str | None) -> bool:
        if spec.source is not None:  # it is in the id
            return True
        source = source_digest(load_method(spec.method))
        if recorded is None or source is None or recorded == source:
            return True
        return recorded in equal_sources(self.options.results, spec.method, spec.version, source)
