"""Content digests of the files of data sets: which data a number was made on."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, cast

from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.data.readers.base import find_file
from pllbench.data.readers.torchvision import image_root

_BLOCK = 2**20


def files_digest(info: DatasetInfo, data_dir: Path) -> str | None:
    """First 16 hex digits of the SHA-256 of the files of a data set, one after another, unzipped.

    None for custom data, whose digest is part of their runs' identity; where a library ships the
    data; and where a file is missing or damaged, or was downloaded to a place of OpenML's own.
    """
    try:
        stats = [(path.absolute(), path.stat()) for path in _files_of(info, data_dir)]
        return _digest(tuple((path, stat.st_size, stat.st_mtime_ns) for path, stat in stats))
    except (ValueError, OSError, EOFError, zlib.error):
        return None


def other_files(info: DatasetInfo, data_dir: Path) -> str | None:
    """One line that names the files of a data set if they are not the known ones; else None."""
    found = files_digest(info, data_dir)
    if found is None or info.known_digest in (None, found):
        return None
    path = next(_files_of(info, data_dir))
    return (
        f"data set {info.name!r}: {path} is not the file that is known (digest {found}, not "
        f"{info.known_digest}): its runs are kept apart from those of the known one"
    )


def _files_of(info: DatasetInfo, data_dir: Path) -> Iterator[Path]:
    """Its files, and then those of the images that it has.

    Raises:
        ValueError: one is missing.
    """
    if info.path is not None or info.file is None:
        return
    if info.torchvision:
        place = image_root(info.file, data_dir) / info.file
        folder = place if place.is_dir() else place.parent
        for name in info.parts:
            unzipped = folder / name
            yield unzipped if unzipped.exists() else folder / f"{name}.gz"
    else:
        yield find_file(info, data_dir)
    if info.images:
        yield from _files_of(DATASETS[info.images], data_dir)


@lru_cache(maxsize=64)
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str | None:
    """The digest of files, each with its size and time, by which a changed one is seen."""
    if not files:
        return None
    content = hashlib.sha256()
    for path, _, _ in files:
        with _opened(path) as file:
            while block := file.read(_BLOCK):
                content.update(block)
    return content.hexdigest()[:16]


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")
