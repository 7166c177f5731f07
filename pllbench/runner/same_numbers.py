"""Whether a method's changed source gives its stored numbers: stored runs are done again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pllbench.data.catalogue import DatasetInfo
from pllbench.grid.labels import label
from pllbench.grid.plan import PlannedRun
from pllbench.grid.protocol import default_protocol
from pllbench.registry import load_method
from pllbench.results.equality import Numbers, first_difference, read_numbers
from pllbench.results.records import Record, read_records, record_path
from pllbench.results.sources import equal_sources, join_sources
from pllbench.runner.engine import Finished, RunFailed
from pllbench.runner.job import Job, RunOptions
from pllbench.runner.local_engine import LocalEngine
from pllbench.runner.rerun import data_of
from pllbench.source import source_digest
from pllbench.spec import CORE_VERSION
from pllbench.validation import FieldError


@dataclass(frozen=True, slots=True)
class Repetition:
    """A stored run that is to be done again, since another source has made it.

    Attributes:
        run: the run, with its data set.
        record: what is stored.
        source: digest of the method's present source.
    """

    run: PlannedRun
    record: Record
    source: str


def to_repeat(
    method: str, options: RunOptions, own_data: Sequence[DatasetInfo] = ()
) -> list[Repetition]:
    """Of each other source that has made records of a method, the run that took the fewest seconds.

    Only runs whose data are here are taken. Sources that are known to give the same numbers, and
    records that do not say theirs, are left out.

    Args:
        method: registered name.
        options: name the folders of results and data.
        own_data: custom data that records may be of.

    Raises:
        FieldError: there is no record of the method's version, or the data of none are here.
        ValueError: the method is unknown, or the file of equal sources is damaged.
    """
    cls = load_method(method)
    source = source_digest(cls)
    records = [
        record
        for record in read_records(options.results)[0]
        if (record.spec.method, record.spec.version) == (method, cls.version)
        and record.spec.core_version == CORE_VERSION
    ]
    if not records:
        reason = f"no records of version {cls.version} of {method} there"
        raise FieldError("results", reason, options.results)
    if source is None:
        raise ValueError(f"{method} has no source that could be compared")
    equal = equal_sources(options.results, method, cls.version, source)
    found: dict[str, Repetition] = {}
    others: set[str] = set()
    for record in sorted(records, key=lambda record: record.provenance.seconds):
        made_by = record.provenance.method_source
        if made_by is None or made_by in equal:
            continue
        others.add(made_by)
        if made_by not in found and (info := data_of(record.spec, options, own_data, record)):
            printed = label(record.spec, method, default_protocol())
            run = PlannedRun(method, printed, record.spec, info)
            found[made_by] = Repetition(run, record, source)
    if others - found.keys():
        reason = f"the data of no run of source {min(others - found.keys())} of {method} are here"
        raise FieldError("data_dir", reason, options.data_dir)
    return list(found.values())


def repeat(repetition: Repetition, options: RunOptions) -> str | None:
    """Do a run again, on the kind of device that it was done on; what differs, or None.

    If nothing does, the method's present source counts as that of the record from now on.
    """
    record, spec = repetition.record, repetition.record.spec
    device = "cpu" if record.provenance.device == "cpu" else "cuda"
    job = Job(spec, repetition.run.data, replace(options, device=device, noisy=True))
    with LocalEngine(1) as engine:
        [ended] = [e for e in engine.run(iter([job])) if isinstance(e, Finished | RunFailed)]
    if isinstance(ended, RunFailed):
        return f"it fails: {ended.reason}"
    stored = read_numbers(record_path(options.results, spec))
    differing = first_difference(stored, Numbers(ended.record, ended.curves))
    if differing is not None:
        return differing
    made_by = record.provenance.method_source
    assert made_by is not None, "records without a source are not repeated"
    join_sources(options.results, spec.method, spec.version, made_by, repetition.source)
    return None
