"""A run by its id, by the beginning of that, or by the path of its record."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pllbench.results.curves import Curves, read_curves
from pllbench.results.files import read_regular
from pllbench.results.kept import class_accuracy, conflict_paths
from pllbench.results.records import Record, read_record
from pllbench.results.workspace import Workspace
from pllbench.spec import RunSpec
from pllbench.validation import FieldError


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A finished run and where it lies.

    Attributes:
        path: its JSON.
        record: its content.
        curves: its per-epoch columns.
        class_accuracy: test accuracy of each class after the last epoch, by its name or number;
            None for a class without test rows. Empty unless the run has kept its predictions.
        others: further outcomes of the run, which a merge has set aside.
    """

    path: Path
    record: Record
    curves: Curves
    class_accuracy: Mapping[str, float | None]
    others: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run without a record.

    Attributes:
        path: its workspace.
        title: in words.
        state: running; failed; or missing, where it was stopped.
        error: reason and traceback of its last failure; empty where it has not failed.
        spec: the run; None where the workspace does not say.
    """

    path: Path
    title: str
    state: str
    error: str
    spec: RunSpec | None


def find_run(text: str, folders: Sequence[Path]) -> StoredRun | UnfinishedRun:
    """The run that `text` names; a finished one before an unfinished one.

    Args:
        text: a run id, a beginning of one that no other run shares, or the path of a record.
        folders: results folders; of a run that several hold, the first one's.

    Raises:
        FieldError: there is no such folder.
        ValueError: no such run, several, or its record is damaged.
    """
    if text.endswith(".json"):
        return _stored(Path(text), ())
    for folder in folders:
        if not folder.is_dir():
            raise FieldError("results", "no such folder", folder)
    found: dict[str, Path] = {}
    for pattern in ("records/*/*/*.json", "work/*/"):
        for folder in folders:
            for path in folder.glob(pattern):
                found.setdefault(path.stem, path)
    ids = [run_id for run_id in found if re.fullmatch("[0-9a-f]{16}", run_id)]
    path = found[one_with_id(text, ids, ", ".join(map(str, folders)))]
    return _unfinished(Workspace(path)) if path.is_dir() else _stored(path, folders)


def one_with_id(text: str, ids: Iterable[str], where: str) -> str:
    """The one of `ids` that begins with `text`.

    Raises:
        ValueError: there is none, or several; the message begins with `where`.
    """
    found = sorted(run_id for run_id in ids if run_id.startswith(text))
    if len(found) == 1:
        return found[0]
    if not found:
        raise ValueError(f"{where}: no run there whose id begins with {text!r}")
    listed = ", ".join(found[:5]) + ", ..." * (len(found) > 5)
    raise ValueError(f"{where}: {len(found)} runs there begin with {text!r}: {listed}")


def _stored(path: Path, folders: Sequence[Path]) -> StoredRun:
    aside = (other for folder in folders for other in conflict_paths(folder))
    others = tuple(other for other in aside if other.name == path.name)
    return StoredRun(path, read_record(path), read_curves(path), class_accuracy(path), others)


def _unfinished(workspace: Workspace) -> UnfinishedRun:
    title, spec = workspace.description()
    state, error = workspace.state(), ""
    if state == "failed":
        error = read_regular(workspace.error).decode("utf-8", errors="replace").strip()
    return UnfinishedRun(workspace.folder, title, state, error, spec)
