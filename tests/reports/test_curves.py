"""Curves of cells, side by side and thinned."""

import numpy as np

from pllbench.reports.aggregate import build_table
from pllbench.reports.curves import kept_epochs, stack_runs, thin
from tests.factories import PROTOCOL, make_records


def test_runs_of_a_cell_are_stacked_in_percent() -> None:
    runs = make_records([90, 91])
    [(_, cell)] = build_table(runs, PROTOCOL).cells
    columns = {
        run.run_id: {"accuracy": np.array([0.1, 0.2]) * (i + 1), "none": np.full(2, np.nan)}
        for i, run in enumerate(runs)
    }
    stacked = stack_runs(cell, columns, "accuracy")
    assert stacked is not None
    np.testing.assert_allclose(stacked, [[10, 20], [20, 40]])
    assert stack_runs(cell, columns, "none") is None
    assert stack_runs(cell, columns, "absent") is None


def test_the_first_and_the_last_epoch_are_kept() -> None:
    assert kept_epochs(200, 5) == [0, 50, 100, 149, 199]
    assert kept_epochs(3, 60) == [0, 1, 2]
    assert kept_epochs(1, 60) == [0]


def test_thinned_curves_are_hundredths_of_a_percent() -> None:
    runs = np.array([[10.004, 50.0, np.nan], [20.0, 52.0, 60.0]])
    assert thin(runs, [0, 1, 2]) == {"mean": [1500, 5100, None], "std": [707, 141, None]}
    assert thin(runs[1:], [0, 2]) == {"mean": [2000, 6000]}
