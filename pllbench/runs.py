"""The state of runs, from the results folder alone; needs no torch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pllbench import records
from pllbench.grid import PlannedRun
from pllbench.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Status:
    """How many runs are in which state.

    Attributes:
        done: runs with a record.
        failed: runs whose last try failed.
        running: runs that a process works on.
        missing: the others.
        failures: name and reason of each failed run.
        unreadable: records that are not counted, with the reason.
    """

    done: int
    failed: int
    running: int
    missing: int
    failures: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[str, ...] = ()


def name_of(run: PlannedRun) -> str:
    """A run in words: label, data set, q and seed."""
    spec = run.spec
    q = "" if spec.q is None else f" q={spec.q:g}"
    return f"{run.label} · {spec.dataset}{q} · seed {spec.seed}"


def selection_status(planned: Sequence[PlannedRun], results: Path) -> Status:
    """The state of every planned run."""
    failures: list[tuple[str, str]] = []
    states: Counter[str] = Counter()
    for run in {run.spec.run_id: run for run in planned}.values():  # rows may share runs
        space = Workspace.of(results, run.spec.run_id)
        state = "done" if records.is_done(results, run.spec) else space.state()
        states[state] += 1
        if state == "failed":
            failures.append((name_of(run), space.reason()))
    return _status(states, failures)


def folder_status(results: Path) -> Status:
    """The state of every run that has left a trace in the results folder.

    Raises:
        ValueError: there is no such folder.
    """
    if not results.is_dir():
        raise ValueError(f"--results {results}: no such folder")
    found, unreadable = records.query(results)
    failures: list[tuple[str, str]] = []
    states = Counter(done=len(found))
    done = {record.run_id for record in found}
    for folder in sorted((results / "work").glob("*/")):
        if folder.name in done:  # it keeps a checkpoint that could not be read
            continue
        space = Workspace(folder)
        state = space.state()
        states[state] += 1
        if state == "failed":
            failures.append((folder.name, space.reason()))
    return _status(states, failures, [file.reason for file in unreadable])


def _status(
    states: Counter[str],
    failures: Sequence[tuple[str, str]],
    unreadable: Sequence[str] = (),
) -> Status:
    return Status(
        done=states["done"],
        failed=states["failed"],
        running=states["running"],
        missing=states["missing"],
        failures=tuple(failures),
        unreadable=tuple(unreadable),
    )
