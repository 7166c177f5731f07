"""What Python and the command line call: execute runs, load finished ones, show what they say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pllbench.grid.cautions import cautions
from pllbench.grid.plan import PlannedRun, Selection
from pllbench.grid.protocol import default_protocol
from pllbench.reports.results import Results
from pllbench.results import records
from pllbench.results.filter import Filter, is_planned
from pllbench.results.selected import Stored
from pllbench.results.status import Status, folder_status, selection_status
from pllbench.results.summary import GridSummary
from pllbench.validation import FieldError

if TYPE_CHECKING:
    from pllbench.data.catalogue import DatasetInfo
    from pllbench.results.export import RowFormat
    from pllbench.results.lookup import StoredRun, UnfinishedRun
    from pllbench.results.merge import Merged
    from pllbench.results.removal import RemovedRun
    from pllbench.runner.engine import Engine
    from pllbench.runner.job import RunOptions
    from pllbench.runner.progress import Observer
    from pllbench.tuning.tune import Tuned, TuningPlan


def run_planned(
    planned: Sequence[PlannedRun],
    engine: "Engine",
    options: "RunOptions",
    observer: "Observer | None" = None,
) -> GridSummary:
    """Execute the planned runs that have no record yet; `observer` is told of their progress.

    The protocol's cautions about them come first among its warnings.

    Raises:
        ValueError: before any run starts: data are missing or malformed, settings do not fit them,
            the results folder is not writable, or a record there is stale.
    """
    from pllbench.runner.progress import Observer
    from pllbench.runner.run_grid import run_grid

    observer, lines = observer or Observer(), cautions(planned, default_protocol())
    for line in lines:
        observer.warned(line)
    summary = run_grid(planned, engine, options, observer)
    summary.warnings[:0] = lines
    return summary


def tuning_plan(
    selection: Selection,
    asked: Mapping[str, object],
    study: str = "default",
    spaces: Path | None = None,
) -> "TuningPlan":
    """What `tune` is to search.

    Args:
        selection: whose methods are tuned.
        asked: fields of `TuningRequest`; those that are left out are the benchmark's.
        study: its name.
        spaces: a folder of spaces that come before those of the suite.

    Raises:
        FieldError: a field is wrong.
        ValueError: Optuna is not installed.
    """
    try:
        from pllbench.tuning.tune import TuningPlan
    except ModuleNotFoundError as error:
        if error.name not in ("optuna", "tomli_w"):
            raise
        raise ValueError("Optuna is not installed; pip install 'pllbench[tune]'") from error
    return TuningPlan.of(selection, asked, study, spaces)


def tune(
    wanted: "TuningPlan",
    engine: "Engine",
    options: "RunOptions",
    observer: "Observer | None" = None,
) -> "Tuned":
    """Search settings for every cell of a selection, and write the benchmark of what is chosen.

    Raises:
        ValueError: before any run starts: the request is wrong, or as `run_planned`.
    """
    from pllbench.tuning.tune import run_tuning

    return run_tuning(wanted, engine, options, observer)


def load(*folders: str | Path, selection: Selection | None = None) -> Results:
    """The records of results folders, read together.

    A selection that names a benchmark, or methods and data sets, is planned: its cells say what is
    missing, and without seeds of its own they show all that are there. Any other selection is a
    filter over the records that are there.

    Raises:
        FieldError: there is no such folder.
        ValueError: the selection is wrong, or finds nothing.
    """
    stored: dict[str, Stored] = {}
    uncounted: list[str] = []
    places = [Path(folder) for folder in folders]
    for folder in places:
        if not folder.is_dir():
            raise FieldError("results", "no such folder", folder)
        found, unreadable = records.read_records(folder)
        uncounted += [file.reason for file in unreadable]
        for record in found:
            first = stored.setdefault(record.run_id, Stored(record, folder))
            if (first.record.spec, first.record.result) != (record.spec, record.result):
                path = records.record_path(folder, record.spec)
                uncounted.append(f"{path}: not equal to the run of this id in {first.folder}")
    everything = Results(places, tuple(stored.values()), tuple(uncounted))
    return everything if selection is None else everything.select(selection)


def status(*folders: Path, selection: Selection | None = None) -> Status:
    """How many runs are done, failed, running and missing; selections as in `load`.

    Raises:
        FieldError: there is no such folder.
        ValueError: the selection is wrong.
    """
    if selection is None:
        return folder_status(folders)
    if is_planned(selection):
        return selection_status(selection, folders)
    return folder_status(folders, Filter(selection))


def merge(*folders: Path, output: Path) -> "Merged":
    """Write the union of results folders into one; see `pllbench.results.merge`.

    Raises:
        ValueError: a folder is not there or holds no records, or names clash.
    """
    from pllbench.results.merge import merge_folders

    return merge_folders(folders, output)


def show(run: str, *folders: Path) -> "StoredRun | UnfinishedRun":
    """All that is known of a run, by its id, a beginning of that, or the path of its record.

    Raises:
        ValueError: there is no such run, or there are several; or its record is damaged.
    """
    from pllbench.results.lookup import find_run

    return find_run(run, folders)


def remove(found: Results, *, dry_run: bool = True) -> "list[RemovedRun]":
    """The selected runs with their files; without `dry_run` these are deleted.

    Raises:
        ValueError: a process does one of the runs again.
    """
    from pllbench.results.removal import carry_out, plan_removal

    wanted = {record.run_id for record in found.finished}
    stored = [(one.folder, one.record) for one in found.stored if one.record.run_id in wanted]
    planned = plan_removal(stored)
    if not dry_run:
        carry_out(planned)
    return planned


def export(found: Results, form: "RowFormat") -> bytes:
    """A file of the selected runs, one row a run; its columns are those of `run_rows`.

    Raises:
        FieldError: Parquet is asked for, and pyarrow is not installed.
    """
    from pllbench.results.export import rows_as
    from pllbench.results.rows import run_rows

    return rows_as(form, run_rows(found.finished, found.protocol, found.equal_sources))


def new_method(name: str, directory: Path = Path()) -> Path:
    """Write the package of a new method; its folder, in `directory`.

    Raises:
        ValueError: the name is none, or is taken; or the folder is there already.
    """
    from pllbench.scaffold import write_plugin

    return write_plugin(name, directory)


def stored_runs(
    runs: Sequence[str], options: "RunOptions", own_data: "Sequence[DatasetInfo]" = ()
) -> list[PlannedRun]:
    """The runs of these ids, to be done again with the settings that are stored.

    Raises:
        ValueError: there is no such run, its data are not here, or its method is of another
            version.
    """
    from pllbench.runner.rerun import runs_again

    return runs_again(runs, options, own_data)


def rerun(
    planned: Sequence[PlannedRun],
    engine: "Engine",
    options: "RunOptions",
    observer: "Observer | None" = None,
) -> GridSummary:
    """Do runs again that may be done; `repeated` of the summary says whether the same came out.

    Raises:
        ValueError: as `run_planned`.
    """
    return run_planned(planned, engine, replace(options, again=True, noisy=True), observer)
