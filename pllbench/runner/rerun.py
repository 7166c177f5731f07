"""Runs by their ids, as their records or workspaces hold them, to be done again."""

from collections.abc import Sequence

from pydantic import ValidationError

from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.data.content import files_digest
from pllbench.data.dataset import require_files
from pllbench.grid.labels import row_label
from pllbench.grid.plan import PlannedRun
from pllbench.grid.protocol import default_protocol
from pllbench.registry import load_method
from pllbench.results.lookup import StoredRun, find_run
from pllbench.results.origins import made_on
from pllbench.results.records import Record
from pllbench.runner.job import RunOptions
from pllbench.spec import CORE_VERSION, RunSpec
from pllbench.validation import FieldError, one_line


def data_of(
    spec: RunSpec,
    options: RunOptions,
    own_data: Sequence[DatasetInfo] = (),
    record: Record | None = None,
) -> DatasetInfo | None:
    """The data set of a run, if what it was made on, by its record, is here.

    Args:
        spec: the run.
        options: name the folder of data.
        own_data: custom data that it may be of.
        record: of the run; None where it has none.
    """
    if spec.pruning and spec.pruning.features:  # nothing says where their file is
        return None
    if spec.digest is not None:
        return next((info for info in own_data if info.digest == spec.digest), None)
    info = DATASETS.get(spec.dataset)
    if info is None:
        return None
    try:
        require_files(info, options.data_dir)
    except ValueError:
        return None
    here = files_digest(info, options.data_dir)
    recorded = made_on(record) if record else None
    return info if here is None or recorded in (None, here) else None


def runs_again(
    runs: Sequence[str], options: RunOptions, own_data: Sequence[DatasetInfo] = ()
) -> list[PlannedRun]:
    """The runs of these ids, done or not, with the settings that are stored.

    Args:
        runs: ids, or beginnings of them.
        options: name the folders of results and data.
        own_data: custom data that the runs may be of.

    Raises:
        FieldError: their data are not here; or the path of a record leads to another folder than
            that of the results, into which the run would go.
        ValueError: there is no such run, or nothing here can do it as it was done.
    """
    planned: dict[str, PlannedRun] = {}
    for text in runs:
        found = find_run(text, [options.results])
        if not found.path.resolve().is_relative_to(options.results.resolve()):
            raise FieldError("results", f"{text} is in another folder: name that", options.results)
        record = found.record if isinstance(found, StoredRun) else None
        spec = found.record.spec if isinstance(found, StoredRun) else found.spec
        if spec is None:
            raise ValueError(f"{found.path}: does not say which run it is: `run` does it")
        _require_same_code(spec)
        info = data_of(spec, options, own_data, record)
        if info is None:
            raise _no_data(spec, options)
        row = row_label(spec, default_protocol())
        planned[spec.run_id] = PlannedRun(row.name, row.label, spec, info)
    return list(planned.values())


def _require_same_code(spec: RunSpec) -> None:
    """Raise ValueError if method or suite are of another version than the run."""
    cls = load_method(spec.method)
    for name, now, then in (
        (spec.method, cls.version, spec.version),
        ("the suite", CORE_VERSION, spec.core_version),
    ):
        if now != then:
            reason = f"{name} is of version {now} here, the run of {then}"
            raise ValueError(f"run {spec.run_id}: {reason}: another run, which `run` does")
    try:
        cls.hparams_type.parse(spec.hparams)
    except ValidationError as error:
        raise ValueError(one_line(error, f"run {spec.run_id}", cls.hparams_type)) from error


def _no_data(spec: RunSpec, options: RunOptions) -> ValueError:
    """Why the data of a run are not here."""
    if spec.pruning and spec.pruning.features:
        reason = "was pruned by a file of features, which is not stored: `run` does it, with that"
        return ValueError(f"run {spec.run_id}: {reason}")
    if spec.digest is not None:
        reason = (
            f"run {spec.run_id} is on {spec.dataset} of the digest {spec.digest}: name its file"
        )
        return FieldError("datasets", reason)
    reason = f"the files of {spec.dataset} that run {spec.run_id} was made on are not there"
    return FieldError("data_dir", reason, options.data_dir)
