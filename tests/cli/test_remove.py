"""`pllbench remove`."""

import json
from pathlib import Path

import pytest

from pllbench.results.kept import conflicts_folder, kept_path
from pllbench.results.records import read_records, record_path, write_record
from pllbench.results.workspace import Workspace
from tests.commands import contents, pllbench, refused
from tests.factories import CURVES, make_record, make_spec, store

CC, RC = make_spec("cc", train={"epochs": 3}), make_spec("rc", train={"epochs": 3})


@pytest.fixture
def results(tmp_path: Path) -> Path:
    root = store(tmp_path / "results", [make_record(spec, 80.0) for spec in (CC, RC)])
    kept_path(record_path(root, CC), "predictions").write_bytes(b"scores")
    return root


def left(results: Path) -> list[str]:
    return [record.spec.method for record in read_records(results)[0]]


def test_first_it_is_only_said_what_would_go(results: Path) -> None:
    before = contents(results)
    answer = pllbench("remove", "--methods", "cc", "--results", results)
    assert (answer.code, answer.err) == (0, "")
    run, counts = answer.out.splitlines()
    assert run == f"{CC.run_id}  CC (epochs=3) · digits q=0.3 · seed 0"
    assert counts == "1 runs, 3 files, 0.0 MB: nothing is removed yet: --yes does"
    assert contents(results) == before


def test_then_all_files_of_the_runs_go_and_no_others(results: Path) -> None:
    path = record_path(results, CC)
    beside = conflicts_folder(path, "0123456789abcdef")
    write_record(beside / "elsewhere", make_record(CC, 70.0), CURVES)
    (beside / f"{CC.run_id}.json").write_bytes(b"another outcome")
    others = {p: data for p, data in contents(results).items() if "cc" not in p.parts}
    answer = pllbench("remove", "--methods", "cc", "--results", results, "--yes", "--json")
    facts = json.loads(answer.out)
    assert (facts["removed"], facts["files"]) == (True, 4)
    [run] = facts["runs"]
    assert run["run_id"] == CC.run_id
    assert str(path) in run["files"]
    assert left(results) == ["rc"]
    remaining = contents(results)
    assert {p: data for p, data in remaining.items() if p in others} == others
    assert all("elsewhere" in p.parts for p in remaining.keys() - others.keys())


def test_folders_that_are_empty_then_go_too(results: Path) -> None:
    assert pllbench("remove", CC.run_id[:5], "--results", results, "--yes").code == 0
    assert left(results) == ["rc"]
    assert sorted(p.name for p in (results / "records" / "digits").iterdir()) == ["rc"]
    assert pllbench("remove", RC.run_id, "--results", results, "--yes").code == 0
    assert list((results / "records").iterdir()) == []


def test_what_names_no_run_or_all_of_them_is_refused(results: Path, tmp_path: Path) -> None:
    before = contents(results)
    assert refused("remove", "--results", results, "--yes").startswith(
        "--yes: name runs or a selection"
    )
    assert "no run there whose id begins" in refused("remove", "xyz", "--results", results, "--yes")
    assert "none of the 2 runs here meets" in refused(
        *("remove", "--q", "0.9", "--results", results, "--yes")
    )
    assert "unknown method" in refused("remove", "--methods", "ccc", "--results", results)
    assert "no such folder" in refused("remove", "--results", tmp_path / "nowhere")
    assert contents(results) == before


def test_ids_are_taken_from_the_selection_alone(results: Path) -> None:
    arguments = ("remove", RC.run_id, "--methods", "cc", "--results", results)
    assert "no run there whose id begins" in refused(*arguments)


def test_a_run_that_is_being_done_again_stays(results: Path) -> None:
    workspace = Workspace.for_run(results, CC.run_id)
    assert workspace.acquire()
    reason = refused("remove", CC.run_id, "--results", results, "--yes")
    assert reason.endswith(f"run {CC.run_id} is being done again: stop that first")
    workspace.release()
    assert left(results) == ["cc", "rc"]
