"""The numbers that the figures of a page are drawn from, as JSON."""

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from pllbench.reports.curves import CurvesById, kept_epochs, stack_runs, thin
from pllbench.reports.leaderboard import Leaderboard, Line
from pllbench.reports.statistics import cliques, t_quantile
from pllbench.reports.styles import assign_looks
from pllbench.reports.table import Cell, Column
from pllbench.results.metrics import axis_label

NOISE_CURVES = ("class_noise", "pairwise_noise")
"""Curves that are drawn beside that of a column's metric."""

_MOST_NUMBERS = 100_000
"""Numbers of all curves together: longer curves are thinned, or pages would take long to load."""

_EPOCHS = (10, 60)
"""Bounds of the number of epochs that are kept of a curve."""


def anchors(prefix: str, names: Iterable[str]) -> dict[str, str]:
    """An id of an element for each name: `prefix-name`, in letters, digits and hyphens alone."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower())[:60].strip("-")
        anchor = stem = f"{prefix}-{plain}"
        i = 2
        while anchor in found.values():
            anchor, i = f"{stem}-{i}", i + 1
        found[name] = anchor
    return found


def figure_data(
    board: Leaderboard, seconds: Mapping[str, float], curves: CurvesById | None
) -> dict[str, JsonValue]:
    """Lines, columns, cells and curves; they refer to each other by their place in the lists.

    Args:
        board: what is drawn.
        seconds: wall time of each run, by run_id.
        curves: of the runs; None for a page without curves.
    """
    columns = board.columns
    cells = [
        (i, j, cell)
        for i, line in enumerate(board.lines)
        for j, cell in line.cells(columns)
        if cell.values
    ]
    sizes = sorted({len(cell.values) for _, _, cell in cells if len(cell.values) > 1})
    sets: dict[tuple[str, ...], int] = {}
    budgets = list(dict.fromkeys(("", *board.table.budgets)))  # a reference has none
    return {
        "rule": board.table.select,
        "lines": _lines(board),
        "datasets": [{"name": b.dataset, "title": b.title} for b in board.table.blocks],
        "columns": _columns(board, columns),
        "cells": [
            {
                "line": i,
                "column": j,
                "seeds": list(cell.seeds),
                "values": [round(value, 4) for value in cell.values],
                "seconds": [round(seconds[run_id], 1) for run_id in cell.run_ids],
                "runs": list(cell.run_ids),
                "sets": sets.setdefault(cell.digests, len(sets)),
                "complete": cell.complete,
                "budget": budgets.index(board.lines[i].rows[cell.column.block_key].budget),
            }
            for i, j, cell in cells
        ],
        "quantiles": {str(n): round(t_quantile(n), 6) for n in sizes},
        "ranks": _ranks(board),
        "curves": None if curves is None else _curves(cells, curves),
    }


def _lines(board: Leaderboard) -> list[JsonValue]:
    looks = assign_looks({line.key: line.reference for line in board.lines})
    ids = anchors("method", (line.key for line in board.lines))
    places = {
        (name, row.label): i
        for i, line in enumerate(board.lines)
        for name, row in line.rows.items()
    }
    return [
        {
            "id": ids[line.key],
            "name": line.name,
            "label": line.label,
            "family": line.facts.family,
            "reference": line.reference,
            "untuned": _untuned(line, places),
            "rank": None if line.place is None else round(line.place.average, 4),
            "look": [looks[line.key].colour, looks[line.key].marker, looks[line.key].dashes],
        }
        for line in board.lines
    ]


def _untuned(line: Line, places: Mapping[tuple[str, str], int]) -> int | None:
    """Place of the line with default settings of a tuned one; None where there is none."""
    found = (places.get((name, row.untuned_label)) for name, row in line.rows.items() if row.budget)
    return next((place for place in found if place is not None), None)


def _columns(board: Leaderboard, columns: Sequence[Column]) -> list[JsonValue]:
    blocks = {block.key: (i, block) for i, block in enumerate(board.table.blocks)}
    ranked = board.ranked.datasets if board.ranked else []
    found: list[JsonValue] = []
    for column in columns:
        place, block = blocks[column.block_key]
        parts = block.header(column) if column.candidates else ()
        found.append(
            {
                "dataset": place,
                "title": ", ".join(parts),
                "candidates": column.candidates,
                "q": column.q,
                "quantity": axis_label(column.metric).capitalize(),
                "ranked": column.block_key in ranked,
            }
        )
    return found


def _ranks(board: Leaderboard) -> JsonValue:
    """Average ranks of the lines that are ranked for themselves; see `RankedLines.shared`."""
    if board.ranked is None:
        return None
    ranks = board.ranked.ranks
    places = {line.key: i for i, line in enumerate(board.lines)}
    ordered = sorted(ranks.average.items(), key=lambda item: (item[1], places[item[0]]))
    averages = [average for _, average in ordered]
    groups = cliques(averages, ranks.critical_difference)
    return {
        "lines": [places[key] for key, _ in ordered],
        "averages": [round(average, 4) for average in averages],
        "distance": round(ranks.critical_difference, 4),
        "groups": [[round(end, 4) for end in group] for group in groups],
    }


def _curves(cells: Sequence[tuple[int, int, Cell]], columns: CurvesById) -> JsonValue:
    """Thinned curves of all cells, and the epochs that are kept, by the length of the runs."""
    least, most = _EPOCHS
    per_epoch = 2 * (1 + len(NOISE_CURVES)) * max(1, len(cells))
    number = max(least, min(most, _MOST_NUMBERS // per_epoch))
    epochs = {cell.epochs: kept_epochs(cell.epochs, number) for _, _, cell in cells}
    found: list[JsonValue] = []
    for i, j, cell in cells:
        drawn = {"metric": cell.column.metric} | {name: name for name in NOISE_CURVES}
        runs = {key: stack_runs(cell, columns, name) for key, name in drawn.items()}
        kept = epochs[cell.epochs]
        entry: dict[str, JsonValue] = {"line": i, "column": j, "length": cell.epochs}
        for name, values in runs.items():
            if values is not None:
                entry[name] = {key: list(part) for key, part in thin(values, kept).items()}
        found.append(entry)
    counted: dict[str, JsonValue] = {str(n): [e + 1 for e in own] for n, own in epochs.items()}
    return {"epochs": counted, "cells": found}
