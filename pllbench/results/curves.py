"""The per-epoch columns of a run: the `.npz` beside its record, and whether it is whole."""

import os
import struct
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from pllbench.results.files import write_atomic

ZIP_END = struct.Struct("<4s6xHLLH")
"""The record at the end of a zip file, in the words of the format: its signature, the number of
entries, size and offset of the central directory, and the length of a comment, here 0. The
directory ends where this record begins, so a file that is cut off is found by its end alone."""

Curves = Mapping[str, npt.NDArray[np.float64]]
"""Per-epoch columns by name, each [epochs]; NaN where a column has no value."""


def num_epochs(curves: Curves) -> int:
    """Epochs that columns are of."""
    return next((len(column) for column in curves.values()), 0)


def write_curves(path: Path, curves: Curves) -> None:
    """Store per-epoch columns as the `.npz` of `path`."""
    buffer = BytesIO()
    np.savez_compressed(buffer, **curves)  # type: ignore[arg-type]
    write_atomic(path.with_suffix(".npz"), buffer.getvalue())


def num_columns(path: Path) -> int:
    """Columns beside the record at `path`, by the end of their file: one read of 22 bytes.

    `zipfile.is_zipfile` would accept an end that is half NUL bytes, or that other bytes follow.

    Raises:
        ValueError: the file is missing, empty, cut anywhere, or damaged at its end.
    """
    file = path.with_suffix(".npz")
    try:
        with file.open("rb", buffering=0) as stream:
            place = os.fstat(stream.fileno()).st_size - ZIP_END.size
            end = os.pread(stream.fileno(), ZIP_END.size, max(place, 0)).rjust(ZIP_END.size)
    except OSError as error:
        raise ValueError(f"{file}: not readable ({error.strerror})") from error
    signature, number, size, offset, comment = ZIP_END.unpack(end)
    if signature != b"PK\5\6" or not number or offset + size != place or comment:
        raise ValueError(f"{file}: not readable (its end is cut off or damaged)")
    return int(number)


def require_curves(path: Path) -> None:
    """Check every column beside the record at `path` against its checksum.

    Raises:
        ValueError: the file is missing or damaged anywhere.
    """
    file, number = path.with_suffix(".npz"), num_columns(path)
    try:
        with ZipFile(file) as columns:  # a third of the time of NumPy's arrays
            found = sum(bool(columns.read(name)) for name in columns.namelist())
    except Exception as error:  # zipfile and zlib each raise their own kind
        raise ValueError(f"{file}: not readable ({error})") from error
    if found != number:  # zipfile lists fewer where the directory is damaged
        raise ValueError(f"{file}: not readable ({found} of {number} columns are left)")


def read_curves(path: Path) -> dict[str, npt.NDArray[np.float64]]:
    """Per-epoch columns of the record at `path` (its JSON); each [epochs].

    Raises:
        ValueError: the file beside the record is missing, damaged or no curves.
    """
    require_curves(path)
    file = path.with_suffix(".npz")
    try:
        with np.load(file, allow_pickle=False) as columns:
            found = {name: columns[name] for name in columns.files}
    except (OSError, ValueError) as error:  # it is whole, but holds no plain arrays
        raise ValueError(f"{file}: not readable ({error})") from error
    if "accuracy" not in found or {v.dtype for v in found.values()} != {np.dtype(np.float64)}:
        raise ValueError(f"{file}: not readable (no accuracy over epochs, or what is no number)")
    if {values.shape for values in found.values()} != {(found["accuracy"].size,)}:
        raise ValueError(f"{file}: not readable (columns of several shapes)")
    return found
