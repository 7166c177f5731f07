"""Flat tables of text: what comparisons and tests say, however it is printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table of text under a title.

    Attributes:
        title: printed above it.
        heads: heads of its columns.
        rows: its lines, a text for each head.
        num_labels: the first columns are labels, left-aligned; the others are numbers.
        notes: printed below it, a sentence each.
        breaks: columns at which a table that is too wide goes on below rather than elsewhere.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    num_labels: int = 1
    notes: tuple[str, ...] = ()
    breaks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Sheets, and the facts behind them.

    Attributes:
        title: printed above all; empty for none.
        sheets: for readers, in printed order.
        notes: how to read the sheets, a sentence each.
        entries: for programs: dataclass instances of one kind.
    """

    title: str
    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...]
    entries: Sequence[Any]
