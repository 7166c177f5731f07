"""A file system that has no locks: what is there is read, and runs are refused in one line."""

import errno
import fcntl
import json
from pathlib import Path

import pytest

from pllbench.results.workspace import Workspace
from pllbench.runner.annotator import annotate
from tests.commands import GRID, contents, pllbench, refused
from tests.factories import CPU, RELATIVE, make_dataset, make_spec


@pytest.fixture(autouse=True)
def _no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)


def test_status_counts_records_and_unfinished_runs(grid_results: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    (results / "records").parent.mkdir()
    (results / "records").symlink_to(grid_results / "records")
    for number, error in enumerate(("it went wrong", None)):
        space = Workspace.of(results, str(number) * 16)
        space.folder.mkdir(parents=True)
        (space.folder / "lock").touch()
        if error:
            space.error.write_text(error)
    answer = pllbench("status", "--results", results, "--json")
    found = json.loads(answer.out)
    assert answer.code == 0
    assert {name: found[name] for name in ("done", "failed", "running", "missing")} == {
        "done": 8,
        "failed": 1,
        "running": 0,
        "missing": 1,
    }
    assert pllbench("table", "--results", results).code == 0


def test_run_is_refused_in_one_line_that_names_the_folder(tmp_path: Path) -> None:
    message = refused("run", *GRID, "--results", tmp_path / "results")
    assert message == (
        f"--results {tmp_path / 'results'}: No locks available (it cannot be locked); name a "
        "folder on another file system"
    )
    assert contents(tmp_path) == {}


def test_a_workspace_names_its_path(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No locks available") as caught:
        Workspace.of(tmp_path, "run").acquire()
    assert caught.value.filename == str(tmp_path / "work" / "run" / "lock")


def test_an_annotator_names_its_path(tmp_path: Path) -> None:
    spec = make_spec(candidates=RELATIVE.model_copy(update={"annotator_network": "linear"}))
    with pytest.raises(OSError, match="No locks available") as caught:
        annotate(spec, make_dataset(), CPU, tmp_path / "annotators")
    assert Path(caught.value.filename).parent == tmp_path / "annotators"
