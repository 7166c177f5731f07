"""What Python users give beside plain values: arrays as files, classes by value, open engines."""

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pllbench.data.arrays import Arrays
from pllbench.data.custom import content_digest
from pllbench.grid.plan import Selection
from pllbench.registry import MethodClass, MethodClasses, given_classes
from pllbench.results.files import write_atomic
from pllbench.source import can_be_imported
from pllbench.validation import FieldError

if TYPE_CHECKING:
    from pllbench.runner.engine import Engine
    from pllbench.runner.job import RunOptions
    from pllbench.runner.open_engine import EngineOptions


def data_folder(data_dir: str | Path | None) -> Path:
    """Folder of the data sets: as given, else $PLLBENCH_DATA, else `data`."""
    return Path(os.environ.get("PLLBENCH_DATA", "data") if data_dir is None else data_dir)


def opened(engine: "str | Engine", where: "EngineOptions") -> "AbstractContextManager[Engine]":
    """An engine by its name, or one that is open and stays so."""
    from pllbench.runner.engine import Engine
    from pllbench.runner.open_engine import open_engine

    return (
        nullcontext(engine)
        if isinstance(engine, Engine)
        else open_engine(replace(where, name=engine))
    )


@contextmanager
def placed(selection: Selection, datasets: object, results: Path) -> Iterator[Selection]:
    """A selection whose arrays are files, while its classes are known by their names."""
    with _stored(_arrays(datasets), results) as paths, given_classes(selection.classes):
        names = (paths.get(name, name) for name in selection.datasets)
        yield replace(selection, datasets=tuple(names))


def with_classes(options: "RunOptions", selection: Selection, engine: "Engine") -> "RunOptions":
    """Options with the classes of a selection, for an engine of other processes."""
    if engine.in_process:
        return options
    return replace(options, classes=_by_value(selection.classes))


def _arrays(datasets: object) -> list[Arrays]:
    given = [datasets] if isinstance(datasets, Arrays) else datasets
    return [one for one in given if isinstance(one, Arrays)] if isinstance(given, Sequence) else []


@contextmanager
def _stored(given: Sequence[Arrays], results: Path) -> Iterator[Mapping[str, str]]:
    """Paths of the files of arrays, by name; an error there names the data set, not its file."""
    paths: dict[str, str] = {}
    for arrays in given:
        content = arrays.content()
        digest = sha256(content).hexdigest()[:16]
        path = results / "work" / "arrays" / digest / f"{arrays.name}.npz"
        if not path.exists() or content_digest(path) != digest:
            write_atomic(path, content)
        if paths.setdefault(arrays.name, str(path)) != str(path):
            raise FieldError("datasets", "two have this name", arrays.name)
    try:
        yield paths
    except ValueError as error:
        message = str(error)
        for name, file in paths.items():
            message = message.replace(file, f"datasets {name}")
        if message == str(error):
            raise
        raise ValueError(message) from error


def _by_value(classes: MethodClasses) -> dict[str, bytes]:
    """Classes as other processes can make them, also without a module to import them from."""
    found: dict[str, bytes] = {}
    for name, cls in classes.items():
        try:
            found[name] = _pickled(cls)
        except Exception as error:  # a class may hold anything
            reason = f"cannot be sent to worker processes ({error}); engine='inline' needs not"
            raise FieldError("methods", reason, name) from error
    return found


_registered = threading.Lock()
"""One registers a module at a time: another would take it back too early."""


def _pickled(cls: MethodClass) -> bytes:
    import cloudpickle

    module = sys.modules.get(cls.__module__)
    if module is None or cls.__module__ == "__main__" or can_be_imported(cls.__module__):
        content: bytes = cloudpickle.dumps(cls)
        return content
    with _registered:  # a file that is run has a module that only this process knows
        cloudpickle.register_pickle_by_value(module)
        try:
            content = cloudpickle.dumps(cls)
        finally:
            cloudpickle.unregister_pickle_by_value(module)
    return content
