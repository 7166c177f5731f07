"""`pllbench rerun`, and files that runs keep."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from pllbench.results.kept import kept_path
from pllbench.results.records import read_record, read_records, record_path
from pllbench.results.workspace import Workspace
from pllbench.spec import RunSpec
from tests.commands import contents, pllbench, refused, same
from tests.data.files import save_npz
from tests.factories import make_record, make_spec, store


@pytest.fixture
def results(grid_results: Path, tmp_path: Path) -> Path:
    """A copy of the folder of eight runs."""
    return shutil.copytree(grid_results, tmp_path / "results")


def first(results: Path) -> tuple[Path, RunSpec]:
    """Path and spec of the first stored run."""
    record = read_records(results)[0][0]
    return record_path(results, record.spec), record.spec


def test_a_run_is_done_again_bit_for_bit_and_keeps_what_is_asked_for(
    results: Path, grid_results: Path
) -> None:
    path, spec = first(results)
    before, former = contents(results), read_record(path).provenance
    answer = pllbench(
        *("rerun", spec.run_id[:8], "--keep", "predictions,model", "--jobs", 1),
        *("--results", results),
    )
    assert answer.code == 0, answer.err
    assert answer.out.endswith(": the same numbers\n")
    assert answer.err.endswith("1 done, 0 failed\n")
    assert same(results, grid_results)
    assert contents(results).keys() - before.keys() == {
        kept_path(path, "predictions"),
        kept_path(path, "model"),
    }
    assert not list(path.parent.glob("*.stale"))
    provenance = read_record(path).provenance
    assert provenance.started >= former.started
    assert provenance.seconds != former.seconds
    shown = json.loads(pllbench("show", spec.run_id, "--results", results, "--json").out)
    assert list(shown["class_accuracy"]) == [str(label) for label in range(10)]
    stored = np.load(kept_path(path, "predictions"))
    assert shown["class_accuracy"]["3"] == stored["class_accuracy"][3]
    text = pllbench("show", spec.run_id, "--results", results).out
    assert "test accuracy by class, last epoch\n" in text


def test_other_numbers_are_said_and_the_old_record_is_kept(results: Path) -> None:
    path, spec = first(results)
    record = read_record(path)
    accuracy = dict.fromkeys(record.result.accuracy, 0.5)
    changed = record.model_copy(
        update={"result": record.result.model_copy(update={"accuracy": accuracy})}
    )
    store(results, [changed])
    old = path.read_bytes()
    arguments = ("rerun", spec.run_id, "--jobs", 1, "--results", results, "--json")
    answer = pllbench(*arguments)
    assert answer.code == 0, answer.err
    facts = json.loads(answer.out)
    assert (facts["done"], facts["failed"], facts["left"]) == (1, 0, 0)
    [repeated] = facts["repeated"]
    assert repeated["run_id"] == spec.run_id
    assert repeated["difference"].startswith("result accuracy.last is 0.5, not 0.")
    assert path.with_name(f"{path.name}.stale").read_bytes() == old
    assert read_record(path).result == record.result
    assert "done again, the old one is" in answer.err


def test_a_failed_run_is_done_as_its_workspace_has_it(results: Path) -> None:
    path, spec = first(results)
    title = "CC · digits"
    path.unlink()
    workspace = Workspace.for_run(results, spec.run_id)
    assert workspace.acquire()
    workspace.describe(title, spec)
    workspace.fail("ValueError: wrong")
    answer = pllbench("rerun", spec.run_id, "--jobs", 1, "--results", results)
    assert answer.code == 0, answer.err
    assert answer.out == ""
    assert read_record(path).spec == spec
    assert not workspace.folder.exists()


def test_own_data_are_named(tmp_path: Path) -> None:
    data, results = save_npz(tmp_path), tmp_path / "results"
    selection = ("--methods", "pl_knn", "--datasets", data, "--q", 0.3, "--seeds", "0,")
    assert pllbench("run", *selection, "--jobs", 1, "--results", results).code == 0
    [record] = read_records(results)[0]
    arguments = ("rerun", record.run_id, "--jobs", 1, "--results", results)
    reason = refused(*arguments)
    assert reason.startswith(f"--datasets: run {record.run_id} is on mine of the digest ")
    save_npz(tmp_path, "other", y=np.arange(40) % 2)
    assert refused(*arguments, "--datasets", tmp_path / "other.npz") == reason
    answer = pllbench(*arguments, "--datasets", data)
    assert answer.code == 0, answer.err
    assert answer.out.endswith(": the same numbers\n")


def test_runs_that_nothing_here_can_repeat_are_refused(results: Path, tmp_path: Path) -> None:
    specs = {
        "cc is of version": make_spec("cc", version=99),
        "the suite is of version": make_spec("cc", core_version=99),
        "unknown key 'rho'": make_spec("cc", hparams={"rho": 1.0}),
        "unknown method 'gone'": make_spec("gone"),
        f"--data-dir {tmp_path}: the files of lost": make_spec("cc", "lost", None),
    }
    store(results, [make_record(spec, 80.0) for spec in specs.values()])
    before = contents(results)
    for words, spec in specs.items():
        arguments = ("rerun", spec.run_id, "--results", results, "--data-dir", tmp_path)
        assert words in refused(*arguments)
    assert contents(results) == before


def test_a_record_of_another_folder_is_not_done_into_this_one(
    results: Path, tmp_path: Path
) -> None:
    path, _ = first(results)
    line = refused("rerun", path, "--results", tmp_path / "others")
    assert line == f"--results {tmp_path / 'others'}: {path} is in another folder: name that"
    assert not (tmp_path / "others").exists()


def test_wrong_requests_are_refused(results: Path) -> None:
    _, spec = first(results)
    arguments = ("--results", results)
    assert "no run there whose id begins" in refused("rerun", "xyz", *arguments)
    assert refused("rerun", spec.run_id, "--keep", "scores", *arguments) == (
        "--keep scores: known: model, predictions"
    )
    assert "--device tpu" in refused("rerun", spec.run_id, "--device", "tpu", *arguments)
    assert "Missing argument" in refused("rerun", *arguments)
    assert "an entry is empty" in refused("run", "--methods", "cc", "--keep", "model,")
