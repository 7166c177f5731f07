"""Columns of paused runs."""

from pathlib import Path

import numpy as np

from pllbench.results.paused import paused_path, read_paused, write_paused
from tests.factories import CURVES


def test_columns_come_back_as_they_were(tmp_path: Path) -> None:
    assert read_paused(tmp_path, "0123-4567") is None
    write_paused(tmp_path, "0123-4567", CURVES)
    found = read_paused(tmp_path, "0123-4567")
    assert found is not None
    assert found.keys() == CURVES.keys()
    for name, column in CURVES.items():
        np.testing.assert_array_equal(found[name], column)


def test_damaged_columns_are_moved_aside_and_do_not_count(tmp_path: Path) -> None:
    write_paused(tmp_path, "0123-4567", CURVES)
    path = paused_path(tmp_path, "0123-4567")
    path.write_bytes(path.read_bytes()[:-5])
    assert read_paused(tmp_path, "0123-4567") is None
    assert [found.name for found in tmp_path.glob("paused/*")] == ["0123-4567.npz.unreadable"]
