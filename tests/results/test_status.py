"""The state of runs, read from a results folder."""

from pathlib import Path

import numpy as np
import pytest

from pllbench.grid.plan import Selection
from pllbench.results import records
from pllbench.results.status import (
    Estimate,
    Status,
    estimate,
    failed_runs,
    folder_status,
    selection_status,
)
from pllbench.results.workspace import Workspace
from tests.factories import make_plan, make_record, make_spec


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Seeds 0 and 1 are done, 2 has failed, 3 is running, 4 was stopped; 5 never started."""
    for seed in (0, 1):
        record = make_record(make_spec(seed=seed), 90.0)
        records.write_record(tmp_path, record, {"accuracy": np.array([0.9])})
    workspaces = {
        seed: Workspace.for_run(tmp_path, make_spec(seed=seed).run_id) for seed in (2, 3, 4)
    }
    for workspace in workspaces.values():
        assert workspace.acquire()
    workspaces[2].fail("RuntimeError: no luck\n\nTraceback")
    workspaces[4].release()
    return tmp_path


def select(*seeds: int) -> Selection:
    return Selection(methods=("cc",), datasets=("digits",), q=(0.3,), seeds=seeds)


def test_status_of_a_selection(results: Path) -> None:
    failures = (("CC · digits q=0.3 · seed 2", "RuntimeError: no luck"),)
    assert selection_status(select(*range(6)), [results]) == Status(2, 1, 1, 2, failures)


def test_status_of_a_folder(results: Path) -> None:
    failures = ((make_spec(seed=2).run_id, "RuntimeError: no luck"),)
    assert folder_status([results]) == Status(2, 1, 1, 1, failures)


def test_failed_runs_are_those_without_a_record(results: Path) -> None:
    run_id = make_spec(seed=2).run_id
    assert failed_runs([results], set()) == {run_id: (run_id, "RuntimeError: no luck")}
    assert failed_runs([results], {run_id}) == {}


def test_status_of_a_selection_that_was_never_run(tmp_path: Path) -> None:
    assert selection_status(select(0), [tmp_path / "nowhere"]) == Status(0, 0, 0, 1)
    with pytest.raises(ValueError, match=r"^results .*nowhere: no such folder$"):
        folder_status([tmp_path / "nowhere"])


def test_a_record_that_is_cut_off_is_named_and_not_counted(results: Path) -> None:
    path = records.record_path(results, make_spec(seed=1))
    path.write_bytes(path.read_bytes()[:-20])
    status = folder_status([results])
    assert status.done == 1
    assert [str(path) in reason for reason in status.unreadable] == [True]
    expected = Status(0, 0, 0, 1, unreadable=status.unreadable)
    assert selection_status(select(1), [results]) == expected


def test_the_folder_of_annotators_is_no_run(results: Path) -> None:
    before = folder_status([results])
    (results / "work" / "annotators").mkdir()
    assert folder_status([results]) == before


def test_stray_files_among_the_workspaces_are_no_runs(results: Path) -> None:
    (results / "work" / ".DS_Store").touch()
    assert folder_status([results]).missing == 1


def test_hours_left_are_judged_by_epochs_of_the_same_method_and_data_set() -> None:
    record = make_record(make_spec(seed=0), 90.0)
    timed = record.model_copy(
        update={"provenance": record.provenance.model_copy(update={"seconds": 3600.0})}
    )
    specs = [make_spec(seed=seed) for seed in (0, 1)]
    specs += [make_spec(seed=2, train={"epochs": 400}), make_spec("rc"), make_spec("rc", seed=1)]
    twice = make_plan([*specs, *specs])  # rows may share runs
    assert estimate(twice, [timed]) == Estimate(runs=5, done=1, hours_left=3.0, unestimated=2)


def test_without_records_no_hours_are_estimated() -> None:
    assert estimate(make_plan([make_spec()]), []) == Estimate(1, 0, None, 1)
