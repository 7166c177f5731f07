"""Results that are loaded from Python."""

from pathlib import Path

import pytest

from pllbench import api
from tests.factories import make_plan, make_records, make_spec


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"results {tmp_path}: no records there"):
        api.load(tmp_path).table()
    with pytest.raises(ValueError, match=r"results .*elsewhere: no such folder"):
        api.load(tmp_path / "elsewhere")


def test_a_selection_without_finished_runs_is_refused() -> None:
    planned = make_plan([make_spec("rc")])
    results = api.Results(Path("results"), make_records([90]), planned=planned)
    with pytest.raises(ValueError, match="results: none of the 1 runs of this selection is done"):
        results.table()
