"""How rows are drawn: one look a method, in every figure of the project.

Colour, marker and dashes differ at once, so that lines can be told apart in grey too. Needs no
matplotlib: pages draw their figures themselves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal
from zlib import crc32

from pllbench.grid.protocol import default_protocol
from pllbench.reports.shared_settings import without_settings
from pllbench.reports.table import Table

# Okabe and Ito's palette: its colours stay apart under the common kinds of colour blindness.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKERS = "osD^vP*X<>"
Dashes = Literal["-", "--", "-.", ":"]
_DASHES: tuple[Dashes, ...] = ("-", "--", "-.", ":")
_GREY = "#595959"
"""Of references."""
_NUM_LOOKS = 280
"""After so many places colour, marker and dashes come together again. Among the first 70 two of one
colour have different markers."""

_NUM_GREY = 40
"""After so many places marker and dashes come together again."""


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How a row is drawn; colours as #RRGGBB, markers and dashes as matplotlib names them."""

    label: str
    colour: str
    marker: str
    dashes: Dashes


LineStyles = Mapping[str, LineStyle]
"""Styles by the label of the row."""


def style_rows(table: Table) -> LineStyles:
    """Styles of the rows of a table, by label; those of a line are drawn alike."""
    lines = table.lines()
    looks = assign_looks(
        {key: any(row.reference for row in rows.values()) for key, rows in lines.items()}
    )
    return {
        row.label: replace(looks[key], label=without_settings(row.label, table.shared))
        for key, rows in lines.items()
        for row in rows.values()
    }


def assign_looks(references: Mapping[str, bool]) -> LineStyles:
    """A style for each of some rows, by their key; True for a reference, which is grey.

    A method or variant that the protocol names has the look of its place there, whatever else is
    drawn. Any other has the first one from a place that follows from its key, which nothing else
    has; if it can be, with a marker and dashes of its own among what is drawn.
    """
    places = dict(_known_places())
    for key in sorted(references.keys() - places.keys()):
        start, taken = crc32(key.encode()), set(places.values())
        free = [
            place for i in range(_NUM_LOOKS) if (place := (start + i) % _NUM_LOOKS) not in taken
        ]
        drawn = {places[other] % _NUM_GREY for other in references if other in places}
        apart = (place for place in free if place % _NUM_GREY not in drawn)
        places[key] = next(apart, free[0] if free else start)
    return {
        key: LineStyle(key, _GREY, "", _DASHES[1 + places[key] % 3])
        if reference
        else _look(key, places[key])
        for key, reference in references.items()
    }


def assign_styles(labels: Iterable[str]) -> LineStyles:
    """Styles of lines that are no methods, in order."""
    return {label: _look(label, i) for i, label in enumerate(dict.fromkeys(labels))}


def _look(label: str, place: int) -> LineStyle:
    turn = place + place // len(_MARKERS)  # 40 pairs of marker and dashes before one returns
    colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
    return LineStyle(label, colour, marker, _DASHES[turn % len(_DASHES)])


@cache
def _known_places() -> dict[str, int]:
    """Place of each method and variant of the protocol, in its order."""
    protocol = default_protocol()
    return {name: i for i, name in enumerate((*protocol.labels, *protocol.variants))}
