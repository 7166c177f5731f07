"""Whether two records of one run say the same: spec, result and curves, bit for bit.

Provenance may differ: the same run on another day. Columns over epochs are compared as float32, as
which later versions store them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pllbench.results.curves import Curves, read_curves
from pllbench.results.records import Record, read_record


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a run gave: its record and its per-epoch columns."""

    record: Record
    curves: Curves

    @property
    def values(self) -> dict[str, str]:
        """Every value of spec and result as JSON, by its dotted key."""
        parts = (("spec", self.record.spec), ("result", self.record.result))
        return {
            f"{part} {key}": json.dumps(value)
            for part, model in parts
            for key, value in _leaves(model.model_dump(mode="json"))
        }

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of spec, result and curves."""
        content = hashlib.sha256(json.dumps(self.values, sort_keys=True).encode())
        for name, column in sorted(self.curves.items()):
            content.update(f"{name}:{len(column)}:".encode())
            content.update(_rounded(column).tobytes())
        return content.hexdigest()[:16]


def read_numbers(path: Path) -> Numbers:
    """The numbers of the record at `path` (its JSON).

    Raises:
        ValueError: one of its two files is missing or damaged; the message names it.
    """
    return Numbers(read_record(path), read_curves(path))


def first_difference(one: Numbers, other: Numbers) -> str | None:
    """What differs first, in words; None where all is equal bit for bit."""
    first, second = one.values, other.values
    for key in sorted({*first, *second}, key=lambda key: (key.startswith("result"), key)):
        if first.get(key) != second.get(key):
            return f"{key} is {first.get(key, 'not there')}, not {second.get(key, 'there')}"
    for name in sorted({*one.curves, *other.curves}):
        if name not in one.curves or name not in other.curves:
            return f"one has no column {name}"
        first_column, second_column = (_rounded(run.curves[name]) for run in (one, other))
        if len(first_column) != len(second_column):
            return f"column {name} has {len(first_column)} epochs, not {len(second_column)}"
        same = (first_column == second_column) | (np.isnan(first_column) & np.isnan(second_column))
        if not same.all():
            return f"column {name} differs from epoch {int(same.argmin())} on"
    return None


def _rounded(column: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """A column as float32, without what no comparison sees: the sign of 0, and kinds of NaN."""
    with np.errstate(over="ignore"):
        found = column.astype("<f4") + np.float32(0)
    return np.where(np.isnan(found), np.float32(np.nan), found)


def _leaves(value: object, place: str = "") -> Iterator[tuple[str, object]]:
    """The values of nested mappings, each with its dotted key."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{place}.{key}" if place else str(key))
    else:
        yield place, value
