"""`pllbench status`."""

import json
from pathlib import Path

from tests.commands import GRID, pllbench


def test_status_counts_a_selection(grid_results: Path) -> None:
    answer = pllbench("status", *GRID, "--seeds", "2,", "--results", grid_results, "--json")
    assert json.loads(answer.out) == {"done": 8, "failed": 0, "running": 0, "missing": 4}
    assert (
        pllbench("status", "--results", grid_results).out
        == "8 done, 0 failed, 0 running, 0 missing\n"
    )


def test_records_that_cannot_be_read_are_named_and_not_counted(
    grid_results: Path, tmp_path: Path
) -> None:
    path = tmp_path / "records" / "digits" / "cc" / f"{'0' * 16}.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    answer = pllbench("status", "--results", tmp_path)
    assert answer.out == "0 done, 0 failed, 0 running, 0 missing\n"
    assert answer.err.startswith(f"pllbench: not counted: {path}: ")
