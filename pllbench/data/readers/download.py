"""Downloads that survive a kill, and other processes that want the same files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock


@contextmanager
def download_lock(folder: Path, name: str) -> Iterator[None]:
    """Wait until no other process downloads `name` into `folder`, and keep others from it."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{name}.lock"):
        yield


@contextmanager
def replacing_files(folder: Path, name: str) -> Iterator[Path]:
    """A temporary folder, whose files take their places in `folder` when the block has ended.

    So a file of `folder` is whole, whenever the process may die. What a block left that did not end
    is deleted by the next one of that name; only one may be at work at a time.
    """
    temporary = folder / f".{name}.download"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        for file in sorted(file for file in temporary.rglob("*") if file.is_file()):
            target = folder / file.relative_to(temporary)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
