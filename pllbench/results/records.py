"""One finished run is one record: `<run_id>.json`, and `<run_id>.npz` with its per-epoch columns.

The JSON's existence means that the run is done, so it is written last; both files are written to a
temporary name, flushed to disk and renamed. Storage may fail later, so a record counts only with
its columns: `read_records` looks at the end of their file, `is_done` at all of it.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import from_json

from pllbench.budget import Criterion
from pllbench.candidates.audit import Audit
from pllbench.candidates.pruning import PruningAudit
from pllbench.results.curves import Curves, num_columns, require_curves, write_curves
from pllbench.results.files import quarantine, read_regular, write_atomic
from pllbench.results.kept import conflict_paths, record_files
from pllbench.results.metrics import ClassMetric, Metric
from pllbench.results.model_selection import Select
from pllbench.spec import RunSpec
from pllbench.validation import StrictModel, folded_name, one_line

SCHEMA: Literal[1] = 1
"""Version of the record's layout."""


Share = Annotated[float, Field(ge=0, le=1)]


def _is_empty(values: Mapping[str, object]) -> bool:
    return not values


class Result(StrictModel):
    """Summaries of one run, as fractions."""

    accuracy: dict[Select, Share]
    """Test accuracy by selection rule; the hold-out's rules only where the run had a hold-out.
    Empty without true labels."""
    epoch: dict[Select, int]
    """The epoch (0-based) that a rule chose, for the rules that choose one."""
    class_accuracy: dict[ClassMetric, dict[Select, Share]] = {}
    """Means over classes of the test accuracy, by selection rule; of long-tailed runs only."""
    criteria: dict[Criterion, dict[Select, Share]] = Field(default={}, exclude_if=_is_empty)
    """Of runs without true labels: the hold-out's criteria, by selection rule. Not written where
    there are none, so that other records look as they always did."""
    extra: dict[str, Share] = {}
    """Mean of the last 10 epochs' test accuracy of the method's further heads, by name."""
    class_noise: Share | None = None
    """Share of training rows whose pseudo label is wrong, last epoch."""
    pairwise_noise: Share | None = None
    """Share of pairs of training rows whose same/different pseudo label is wrong, last epoch."""
    num_train: int
    num_test: int
    num_holdout: int

    def values(self, metric: Metric) -> Mapping[Select, float]:
        """A metric by selection rule; empty where the run has no value of it."""
        if metric == "accuracy":
            return self.accuracy
        others: Mapping[str, Mapping[Select, float]] = self.class_accuracy | self.criteria  # type: ignore[operator] # keys of both kinds
        return others.get(metric, {})

    @property
    def labelled(self) -> bool:
        """Whether there were true labels to test on."""
        return bool(self.accuracy)

    @property
    def rules(self) -> frozenset[Select]:
        """The selection rules under which it has a value."""
        return frozenset(self.accuracy).union(*self.criteria.values())


class AnnotatorFacts(StrictModel):
    """The network whose scores made the candidate sets instance-dependent."""

    run_id: str
    """Identity of its run."""
    method: str | None = None
    """Its method; None, as what follows, in records that are older than these fields."""
    version: int | None = None
    """Version of the method's numbers."""
    hparams: dict[str, JsonValue] | None = None
    """Hyperparameters of the method."""
    method_source: str | None = None
    """Digest of the method's source."""
    train_accuracy: Share
    """Share of the training rows that it labels right, as a fraction."""
    test_accuracy: Share
    """The same of the test rows."""


class Provenance(StrictModel):
    """Where a result comes from; nothing here is part of the run's identity."""

    commit: str | None = None
    """Git commit of the source tree, with `+dirty` where it had changes; None when installed."""
    versions: dict[str, str] = {}
    """Versions of Python, the suite, the method's distribution and the numerical libraries."""
    device: str = "cpu"
    host: str = ""
    """Operating system and processor; no host name."""
    started: str = ""
    """UTC time, ISO 8601."""
    seconds: float = 0.0
    """Wall time of training and evaluation, without what was lost after a checkpoint."""
    peak_memory_mib: float | None = None
    """Peak resident memory of the worker, or peak allocated memory of the GPU."""
    data_digest: str | None = None
    """Content digest of the files of a data set of the suite; None where a library ships them."""
    method_source: str | None = None
    """Digest of the method's source; None in records that are older than it."""
    audit: Audit
    """Candidate sets of the training rows (hold-out included)."""
    pruning: PruningAudit | None = None
    """What pruning has done to them; None where there was none."""
    annotator: AnnotatorFacts | None = None
    """Of instance-dependent candidate sets."""
    resumed_from: tuple[int, ...] = ()
    """Epochs at which the run went on from a checkpoint."""


class Record(StrictModel):
    """A finished run."""

    schema_version: Literal[1] = Field(alias="schema")
    spec: RunSpec
    result: Result
    provenance: Provenance

    @property
    def run_id(self) -> str:
        """Identity of the run, recomputed from its spec."""
        return self.spec.run_id


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that cannot be counted, and why."""

    path: Path
    reason: str


def record_path(root: Path, spec: RunSpec) -> Path:
    """`root/records/<dataset>/<method>/<run_id>.json`."""
    return root / "records" / spec.dataset / spec.method / f"{spec.run_id}.json"


def require_own_folders(root: Path, specs: Iterable[RunSpec]) -> None:
    """Check that the folders of these records are not those of others, where case does not count.

    Raises:
        ValueError: a folder that is there differs in case alone; it is named.
    """
    records = root / "records"
    wanted = {(records, spec.dataset) for spec in specs}
    wanted |= {(records / spec.dataset, spec.method) for spec in specs}
    for parent, name in sorted(wanted):
        for other in sorted(parent.iterdir()) if parent.is_dir() else []:
            if other.name != name and folded_name(other.name) == folded_name(name):
                reason = f"its name differs from {name!r} in case alone"
                raise ValueError(f"{other}: {reason}: choose another folder of results, or name")


def quarantine_damaged_record(root: Path, spec: RunSpec) -> str | None:
    """Make way for the record of a run that is done again: move a damaged one aside.

    One line that names it, or None where there was none.
    """
    path = record_path(root, spec)
    if not path.exists():
        return None
    try:
        verify(path)
    except ValueError as error:
        moved = [quarantine(file).name for file in record_files(path)]
        return f"{error}; moved to {' and '.join(moved)}"
    return None


def set_stale_aside(root: Path, spec: RunSpec) -> str:
    """Make way for the record of a run that is done again under other circumstances.

    One line that names the old one and its new place.
    """
    path = record_path(root, spec)
    moved = [quarantine(file, "stale").name for file in record_files(path)]
    return f"{path}: done again, the old one is {' and '.join(moved)}"


def write_record(root: Path, record: Record, curves: Curves) -> Path:
    """Store a finished run, its `rounded` curves first; gives the path of the JSON."""
    path = record_path(root, record.spec)
    write_curves(path, curves)
    text = record.model_dump_json(by_alias=True)
    write_atomic(path, text.encode() + b"\n")
    return path


def read_record(path: Path) -> Record:
    """The record at `path`.

    Raises:
        ValueError: the file is no record of this schema, or its spec does not have the id that its
            name says; the message names the path.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise ValueError(f"{path}: not readable ({error})") from error
    try:
        record = Record.model_validate_json(data)
    except ValidationError as error:
        raise ValueError(f"{path}: {_fault(data, error)}") from error
    if record.run_id != path.stem:
        raise ValueError(f"{path}: its spec has the id {record.run_id}, not the file's")
    return record


def _fault(data: bytes, error: ValidationError) -> str:
    """Why `data` is no record."""
    try:
        fields = from_json(data)
    except ValueError as damage:
        return f"not readable as JSON ({damage})"
    found = fields.get("schema") if isinstance(fields, dict) else None
    if found != SCHEMA:
        return f"schema {found!r}, this version reads {SCHEMA}"
    return one_line(error, "", Record)


def verify(path: Path) -> Record:
    """The record at `path`, after all of the file beside it has been read.

    Raises:
        ValueError: one of the two is missing or damaged; the message names it.
    """
    record = read_record(path)
    require_curves(path)
    return record


def stored_record(root: Path, spec: RunSpec) -> Record | None:
    """The record with the id of `spec`, if it is there and whole; its settings may be others."""
    path = record_path(root, spec)
    if not path.exists():
        return None
    try:
        return verify(path)
    except ValueError:
        return None


def is_done(root: Path, spec: RunSpec) -> bool:
    """Whether this very spec is stored, whole."""
    record = stored_record(root, spec)
    return record is not None and not changed_settings(record.spec, spec)


def changed_settings(stored: RunSpec, spec: RunSpec) -> dict[str, tuple[JsonValue, JsonValue]]:
    """The hyperparameters in which two specs of one id differ, with their values in both.

    They are those whose declared default has changed. One that `stored` lacks is newer than it and
    counts as its default; one that `spec` lacks is None there.
    """
    return changed_values(stored.hparams, spec.hparams)


def changed_values(
    stored: Mapping[str, JsonValue], now: Mapping[str, JsonValue]
) -> dict[str, tuple[JsonValue, JsonValue]]:
    """As `changed_settings`, of hyperparameters."""
    return {
        key: (value, now.get(key))
        for key, value in stored.items()
        if key not in now or value != now[key]
    }


def read_records(root: Path) -> tuple[list[Record], list[Unreadable]]:
    """All records below `root`, in the order of their paths, and what could not be read."""
    found: list[Record] = []
    unreadable: list[Unreadable] = []
    with no_collection():
        for path in sorted((root / "records").glob("*/*/*.json"), key=str):
            if path.name.startswith("."):
                continue
            try:
                record = read_record(path)
                if path.parts[-3:-1] != (record.spec.dataset, record.spec.method):
                    # a copy would count its run twice
                    raise ValueError(f"{path}: its place is {record_path(root, record.spec)}")
                num_columns(path)  # raises where they are damaged
            except ValueError as error:
                unreadable.append(Unreadable(path, str(error)))
            else:
                found.append(record)
    reason = "another outcome of its run, set aside by a merge"
    unreadable += [Unreadable(path, f"{path}: {reason}") for path in conflict_paths(root)]
    return found, unreadable


@contextmanager
def no_collection() -> Iterator[None]:
    """Hold the garbage collector: it would search all records again and again.

    They hold no cycles. Reading thousands takes a quarter of the time, a page about them two
    thirds.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def with_ids(records: Iterable[Record], ids: Iterable[str]) -> list[Record]:
    """Those records whose run_id is in `ids`."""
    wanted = set(ids)
    return [record for record in records if record.run_id in wanted]
