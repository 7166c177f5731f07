"""Removal of runs from results folders: what would go, and that it goes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pllbench.results.files import remove_empty
from pllbench.results.kept import conflict_paths, record_files
from pllbench.results.records import Record, record_path
from pllbench.results.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RemovedRun:
    """A run that is to go.

    Attributes:
        folder: its results folder.
        record: what is stored of it.
        files: its files, those of outcomes that merges have set aside too.
        num_bytes: their size.
    """

    folder: Path
    record: Record
    files: tuple[Path, ...]
    num_bytes: int


def plan_removal(stored: Iterable[tuple[Path, Record]]) -> list[RemovedRun]:
    """What goes with some records; nothing is deleted yet.

    Args:
        stored: each with its results folder.

    Raises:
        ValueError: a process does one of the runs again.
    """
    aside: dict[Path, list[Path]] = {}
    planned: list[RemovedRun] = []
    for folder, record in stored:
        if Workspace.for_run(folder, record.run_id).state() == "running":
            raise ValueError(f"{folder}: run {record.run_id} is being done again: stop that first")
        path = record_path(folder, record.spec)
        others = [
            o for o in aside.setdefault(folder, conflict_paths(folder)) if o.name == path.name
        ]
        files = [file for outcome in (path, *others) for file in record_files(outcome)]
        size = sum(file.stat().st_size for file in files)
        planned.append(RemovedRun(folder, record, tuple(files), size))
    return planned


def carry_out(planned: Iterable[RemovedRun]) -> None:
    """Delete runs, each JSON first, and folders that are empty then.

    Raises:
        OSError: a file cannot be deleted; it is named.
    """
    for run in planned:
        for file in run.files:
            file.unlink(missing_ok=True)
        for file in run.files:
            remove_empty(file.parent, run.folder / "records")
