"""Curves of the cells of a table: runs of all seeds side by side, and a thinner copy of them."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pllbench.reports.table import Cell
from pllbench.results.curves import Curves

CurvesById = Mapping[str, Curves]
"""Per-epoch columns of runs, by run_id."""


def stack_runs(cell: Cell, columns: CurvesById, name: str) -> npt.NDArray[np.float64] | None:
    """A column of a cell's runs in percent, [n, epochs]; None where it has no values."""
    curves = [columns[run_id].get(name) for run_id in cell.run_ids]
    runs = [100 * curve for curve in curves if curve is not None]
    if len(runs) < len(curves) or all(np.isnan(run).all() for run in runs):
        return None
    return np.stack(runs)


def kept_epochs(num_epochs: int, most: int) -> list[int]:
    """At most so many epochs, evenly spread, counted from 0; the first and the last among them."""
    kept = np.linspace(0, num_epochs - 1, min(most, num_epochs)).round().astype(int)
    return [int(epoch) for epoch in np.unique(kept)]


def thin(runs: npt.NDArray[np.float64], epochs: Sequence[int]) -> dict[str, list[int | None]]:
    """Mean and sample std over runs [n, epochs] at some epochs, in hundredths of a percent.

    None where there is no value; the std is left out for a single run.
    """
    kept = runs[:, epochs]
    curves = {"mean": kept.mean(axis=0)}
    if len(kept) > 1:
        curves["std"] = kept.std(axis=0, ddof=1)
    return {
        name: [None if np.isnan(value) else round(100 * value) for value in values.tolist()]
        for name, values in curves.items()
    }
