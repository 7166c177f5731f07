"""The per-epoch columns of a run: the `.npz` beside its record, and whether it is whole."""

import os
import struct
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from pllbench.results.files import require_regular, write_atomic
from pllbench.results.metrics import CRITERIA, DEFAULT_METRIC

ZIP_END = struct.Struct("<4s6xHLLH")
"""The record at the end of a zip file, in the words of the format: its signature, the number of
entries, size and offset of the central directory, and the length of a comment, here 0. The
directory ends where this record begins, so a file that is cut off is found by its end alone."""

_PRECISIONS = (np.dtype(np.float32), np.dtype(np.float64))
"""Of files; those of earlier versions have float64."""

Curves = Mapping[str, npt.NDArray[np.float64]]
"""Per-epoch columns by name, each [epochs]; NaN where a column has no value."""


def rounded(curves: Curves) -> Curves:
    """Columns as they are stored: every epoch, its values rounded to float32, 7 digits.

    That takes a third off their files. The summaries in a record are made before, of all digits.
    """
    with np.errstate(over="ignore"):  # a loss beyond 3e38 is infinite
        return {name: column.astype(np.float32).astype(float) for name, column in curves.items()}


def pack(curves: Curves) -> bytes:
    """The file of columns that are `rounded`."""
    buffer = BytesIO()
    np.savez_compressed(buffer, **{name: c.astype(np.float32) for name, c in curves.items()})  # type: ignore[arg-type]
    return buffer.getvalue()


def num_epochs(curves: Curves) -> int:
    """Length of the columns."""
    return len(next(iter(curves.values())))


def write_curves(path: Path, curves: Curves) -> None:
    """Store columns that are `rounded` as the `.npz` of `path`."""
    write_atomic(path.with_suffix(".npz"), pack(curves))


def num_columns(path: Path) -> int:
    """Columns beside the record at `path`, by the end of their file: one read of 22 bytes.

    `zipfile.is_zipfile` would accept an end that is half NUL bytes, or that other bytes follow.

    Raises:
        ValueError: the file is missing, empty, cut anywhere, or damaged at its end.
    """
    file = path.with_suffix(".npz")
    try:
        require_regular(file)
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
            stored = {name: columns[name] for name in columns.files}
    except (OSError, ValueError) as error:  # it is whole, but holds no plain arrays
        raise ValueError(f"{file}: not readable ({error})") from error
    judged = stored.keys() & {DEFAULT_METRIC, *CRITERIA}
    if not judged or {v.dtype for v in stored.values()} - {*_PRECISIONS}:
        raise ValueError(f"{file}: not readable (no accuracy over epochs, or what is no number)")
    found = {name: column.astype(np.float64) for name, column in stored.items()}
    if {values.shape for values in found.values()} != {(found[judged.pop()].size,)}:
        raise ValueError(f"{file}: not readable (columns of several shapes)")
    return found


def long_form(columns: Mapping[str, Curves]) -> dict[str, npt.NDArray[Any]]:
    """Per-epoch columns of runs, by run_id, as one table: a row for each value that there is.

    Returns:
        Columns `run_id`, `epoch` (0-based), `quantity` (the name of the column) and `value`.
    """
    series = [
        (run_id, name, values)
        for run_id, curves in columns.items()
        for name, values in curves.items()
    ]
    lengths = [len(values) for *_, values in series]
    value = np.concatenate([np.empty(0), *(values for *_, values in series)])
    epochs = np.concatenate([np.empty(0, int), *map(np.arange, lengths)])
    found: dict[str, npt.NDArray[Any]] = {
        "run_id": np.repeat(np.array([run_id for run_id, *_ in series], object), lengths),
        "epoch": epochs,
        "quantity": np.repeat(np.array([name for _, name, _ in series], object), lengths),
        "value": value,
    }
    return {name: column[~np.isnan(value)] for name, column in found.items()}
