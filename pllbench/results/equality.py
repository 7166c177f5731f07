"""Whether two records of one run say the same: spec, result and curves, bit for bit.

Provenance may differ: the same run on another day.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pllbench.results.curves import Curves, read_curves
from pllbench.results.records import Record, read_record


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a run gave: its record and its per-epoch columns."""

    record: Record
    curves: Curves

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of spec, result and curves."""
        parts = {part: getattr(self.record, part).model_dump(mode="json") for part in _PARTS}
        content = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
        for name, column in sorted(self.curves.items()):
            content.update(f"{name}:{len(column)}:".encode())
            content.update(np.asarray(column, "<f8").tobytes())
        return content.hexdigest()[:16]


_PARTS = ("spec", "result")


def read_numbers(path: Path) -> Numbers:
    """The numbers of the record at `path` (its JSON).

    Raises:
        ValueError: one of its two files is missing or damaged; the message names it.
    """
    return Numbers(read_record(path), read_curves(path))


def first_difference(one: Numbers, other: Numbers) -> str | None:
    """What differs first, in words; None where all is equal bit for bit."""
    for part in _PARTS:
        first, second = (
            dict(_leaves(getattr(numbers.record, part).model_dump(mode="json")))
            for numbers in (one, other)
        )
        for key in sorted({*first, *second}):
            if first.get(key) != second.get(key):
                return f"{part} {key} is {first.get(key)}, not {second.get(key)}"
    for name in sorted({*one.curves, *other.curves}):
        if name not in one.curves or name not in other.curves:
            return f"one has no column {name}"
        first_column, second_column = one.curves[name], other.curves[name]
        if len(first_column) != len(second_column):
            return f"column {name} has {len(first_column)} epochs, not {len(second_column)}"
        same = (first_column == second_column) | (np.isnan(first_column) & np.isnan(second_column))
        if not same.all():
            return f"column {name} differs from epoch {int(same.argmin())} on"
    return None


def _leaves(value: object, place: str = "") -> Iterator[tuple[str, object]]:
    """The values of nested mappings, each with its dotted key."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{place}.{key}" if place else str(key))
    else:
        yield place, value
