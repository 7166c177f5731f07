"""The state of runs, from the results folder alone; needs no torch."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from pllbench.grid.plan import PlannedRun, Selection
from pllbench.results import records
from pllbench.results.filter import Filter, planned_runs
from pllbench.results.records import Record, Unreadable
from pllbench.results.workspace import Workspace
from pllbench.spec import RunSpec
from pllbench.validation import FieldError


@dataclass(frozen=True, slots=True)
class Status:
    """How many runs are in which state.

    Attributes:
        done: runs with a record, of the settings that are asked for.
        failed: runs whose last try failed.
        running: runs that a process works on.
        missing: the others; None where a filter does not say which runs there ought to be.
        failures: name and reason of each failed run.
        unreadable: why records of the folder are not counted.
    """

    done: int
    failed: int
    running: int
    missing: int | None
    failures: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """How far a selection is.

    Attributes:
        runs: number of its runs.
        done: those with a record.
        hours_left: estimated hours of the others one after the other, where there is a record to
            judge from; None where there is none for any of them.
        unestimated: number of the others where there is none.
    """

    runs: int
    done: int
    hours_left: float | None
    unestimated: int


def estimate(planned: Sequence[PlannedRun], stored: Sequence[Record]) -> Estimate:
    """How far the runs of a selection are; time is judged by the `stored` records.

    An epoch is taken to last as long as those of the same method, data set and network.
    """
    epochs: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for record in stored:
        epochs[_timing_key(record.spec)] += [record.provenance.seconds / record.spec.train.epochs]
    done = {record.run_id for record in stored}
    specs = {run.spec.run_id: run.spec for run in planned}  # rows may share runs
    left = [spec for run_id, spec in specs.items() if run_id not in done]
    known = [spec for spec in left if _timing_key(spec) in epochs]
    hours = sum(fmean(epochs[_timing_key(spec)]) * spec.train.epochs for spec in known) / 3600
    return Estimate(
        runs=len(specs),
        done=len(specs) - len(left),
        hours_left=hours if known or not left else None,
        unestimated=len(left) - len(known),
    )


def _timing_key(spec: RunSpec) -> tuple[str, str, str]:
    """Runs of one key take about as long an epoch."""
    return spec.method, spec.dataset, spec.train.network


def selection_status(selection: Selection, folders: Sequence[Path]) -> Status:
    """The state of every run that a selection plans; a folder that is not there holds none.

    Raises:
        ValueError: as `plan`.
    """
    stored, unreadable = _read([folder for folder in folders if folder.is_dir()])
    planned = planned_runs(selection, stored)
    done = {record.run_id: record.spec for record in stored}
    failures: list[tuple[str, str]] = []
    states: Counter[str] = Counter()
    for run_id, run in {run.spec.run_id: run for run in planned}.items():  # rows may share runs
        spec = done.get(run_id)
        counts = spec is not None and not records.changed_settings(spec, run.spec)
        state = "done" if counts else "missing"
        for folder in folders if state == "missing" else ():
            workspace = Workspace.for_run(folder, run_id)
            state = workspace.state()
            if state == "failed":
                failures.append((run.title, workspace.reason()))
            if state != "missing":
                break
        states[state] += 1
    return _status(states, failures, unreadable, states["missing"])


def folder_status(folders: Sequence[Path], wanted: Filter | None = None) -> Status:
    """The state of every run that has left a trace in the results folders and that `wanted` allows.

    Which further runs there ought to be, a filter does not say.

    Raises:
        FieldError: there is no such folder.
        ValueError: `wanted` names an unknown method.
    """
    stored, unreadable = _read(folders)
    done = {record.run_id: record.spec for record in stored}
    if wanted is not None:
        wanted.require_known(done.values())
    states: Counter[str] = Counter()
    states["done"] = sum(wanted is None or wanted.allows(spec) for spec in done.values())
    failures: list[tuple[str, str]] = []
    for workspace, title in _unfinished(folders, done, wanted):
        state = workspace.state()
        states[state] += 1
        if state == "failed":
            failures.append((title, workspace.reason()))
    return _status(states, failures, unreadable, states["missing"] if wanted is None else None)


def failed_runs(
    folders: Sequence[Path], done: Container[str], wanted: Filter | None = None
) -> dict[str, tuple[str, str]]:
    """Title of each run whose last try failed, and the reason, by run_id.

    Args:
        folders: results folders.
        done: ids of the runs that have a record, which are left out.
        wanted: a filter over runs; None for all.
    """
    return {
        workspace.folder.name: (title, workspace.reason())
        for workspace, title in _unfinished(folders, done, wanted)
        if workspace.state() == "failed"
    }


def _unfinished(
    folders: Sequence[Path], done: Container[str], wanted: Filter | None
) -> Iterator[tuple[Workspace, str]]:
    """Workspaces of runs without a record, with the title of the run."""
    for folder in folders:
        for path in sorted((folder / "work").glob(f"{'[0-9a-f]' * 16}/")):  # annotators' apart
            workspace = Workspace(path)
            title, spec = workspace.description()
            allowed = wanted is None or (spec is not None and wanted.allows(spec))
            if allowed and path.name not in done:  # else it keeps an unreadable checkpoint
                yield workspace, title


def _read(folders: Sequence[Path]) -> tuple[list[Record], list[Unreadable]]:
    stored: list[Record] = []
    unreadable: list[Unreadable] = []
    for folder in folders:
        if not folder.is_dir():
            raise FieldError("results", "no such folder", folder)
        whole, damaged = records.read_records(folder)
        stored += whole
        unreadable += damaged
    return stored, unreadable


def _status(
    states: Counter[str],
    failures: Sequence[tuple[str, str]],
    unreadable: Sequence[Unreadable],
    missing: int | None,
) -> Status:
    return Status(
        done=states["done"],
        failed=states["failed"],
        running=states["running"],
        missing=missing,
        failures=tuple(failures),
        unreadable=tuple(file.reason for file in unreadable),
    )
