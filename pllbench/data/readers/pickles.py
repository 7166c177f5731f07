"""Pickles of plain values and NumPy arrays, read without running anything that they hold.

A pickle names functions to call. None of them is: containers, numbers and text need none, and what
NumPy would be called for is done here, from the shape, type and bytes that the file gives.
"""

import math
import pickle
import pickletools
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.readers.base import Array, short_message

MAX_DEPTH = 4
"""Lists within lists that become an array: as many as images have axes. A list may hold itself, or
another one many times, by which a small file would fill the memory."""


class StoredType:
    """In place of a `numpy.dtype` of whole numbers, floats or truth values."""

    def __init__(self, name: str, *_: object) -> None:
        if not isinstance(name, str) or not re.fullmatch(r"[biuf][1248]", name):
            raise pickle.UnpicklingError(f"it holds an array of {str(name)[:20]!r}")
        self.name, self.order = name, "|"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError("it holds an array of unknown byte order")
        self.order = state[1]

    def read(self, data: object, shape: object, order: object = "C") -> Array:
        """The array of `data`, which must be as long as type and shape say."""
        dtype = np.dtype(self.order + self.name)
        sizes = shape if isinstance(shape, tuple) else (-1,)
        whole = all(isinstance(size, int) and size >= 0 for size in sizes)
        length = math.prod(sizes) * dtype.itemsize if whole else -1
        if not isinstance(data, bytes | bytearray) or len(data) != length:
            raise pickle.UnpicklingError("it holds an array whose bytes do not fit its shape")
        flat = np.frombuffer(data, dtype)
        return flat.reshape(sizes, order="F" if order == "F" else "C")


class StoredArray:
    """In place of a `numpy.ndarray`, which NumPy makes empty and then fills."""

    values: Array

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, is_fortran, data = state
        self.values = _stored_type(dtype).read(data, shape, "F" if is_fortran else "C")


def _stored_type(given: object) -> StoredType:
    if not isinstance(given, StoredType):
        raise pickle.UnpicklingError("it holds an array without a plain type")
    return given


def _reconstruct(*_: object) -> StoredArray:
    return StoredArray()


def _from_buffer(data: object, dtype: object, shape: object, order: object) -> Array:
    return _stored_type(dtype).read(data, shape, order)


def _scalar(dtype: object, data: object) -> object:
    return _stored_type(dtype).read(data, ()).item()


_STAND_INS: dict[tuple[str, str], object] = {
    ("numpy", "dtype"): StoredType,
    ("numpy", "ndarray"): None,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy.core.numeric", "_frombuffer"): _from_buffer,
}
"""What stands in for what arrays name."""


class _PlainUnpickler(pickle.Unpickler):
    """Reads containers, numbers and text; whatever could run code is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it holds a {module}.{name}, only plain numbers are read")


class _ArrayUnpickler(_PlainUnpickler):
    """Reads arrays as well."""

    def find_class(self, module: str, name: str) -> Any:
        key = module.replace("numpy._core", "numpy.core"), name  # since NumPy 2
        return _STAND_INS[key] if key in _STAND_INS else super().find_class(module, name)


def load_plain_pickle(info: DatasetInfo, path: Path, *, arrays: bool = False) -> object:
    """What the pickle at `path` holds; `as_array` makes arrays of what stands for them.

    Args:
        info: says where the file is to be had.
        path: of the file.
        arrays: permit NumPy's arrays and numbers.

    Raises:
        ValueError: it is damaged, or holds anything but containers, numbers, text and what is
            permitted.
    """
    try:
        content = path.read_bytes()
        for opcode, place, _ in pickletools.genops(content):
            if "PUT" in opcode.name and place is not None and place > len(content):
                # It would take memory for all objects up to there.
                raise pickle.UnpicklingError(f"its object {place} of {len(content)} bytes")
        unpickler = _ArrayUnpickler if arrays else _PlainUnpickler
        return unpickler(BytesIO(content)).load()
    except Exception as error:  # a damaged pickle raises nearly anything
        raise ValueError(
            f"{path}: not a pickle of plain numbers ({short_message(error)}); get it from "
            f"{info.source}"
        ) from error


def as_array(value: object) -> Array:
    """What a pickle holds as an array: one of it, or lists of numbers and arrays of equal shape.

    Raises:
        ValueError: it is nothing of that.
    """
    return np.array(_unwrapped(value, MAX_DEPTH))


def _unwrapped(value: object, depth: int) -> Any:
    if isinstance(value, StoredArray):
        return value.values
    if isinstance(value, list | tuple):
        if not depth:
            raise ValueError("nested too deep")
        return [_unwrapped(part, depth - 1) for part in value]
    return value
