"""`pllbench show`."""

import json
import math
from pathlib import Path

import pytest

from pllbench.cli.show import SPARK_WIDTH, sparkline
from pllbench.results.records import record_path
from pllbench.results.workspace import Workspace
from tests.commands import pllbench, refused
from tests.factories import make_record, make_spec, store

SPEC = make_spec("cc", train={"epochs": 3}, holdout=0.25)
RUN = SPEC.run_id


@pytest.fixture
def results(tmp_path: Path) -> Path:
    record = make_record(SPEC, 80.0, {"covering_rate": 75.0})
    return store(tmp_path / "results", [record, make_record(make_spec("rc"), 70.0)])


def test_a_run_is_shown_whole(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    answer = pllbench("show", RUN[:6], "--results", results)
    assert (answer.code, answer.err) == (0, "")
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert lines[0] == "CC (epochs=3, holdout=0.25) · digits q=0.3 · seed 0"
    assert lines[1] == str(record_path(results, SPEC))
    assert "method cc, version 1" in lines
    assert "holdout share=0.25" in lines
    assert "candidates process=uniform, q=0.3, policy=force" in lines
    assert "accuracy, last10 80.00%" in lines
    assert "accuracy, oracle 80.00% (epoch 0)" in lines
    assert "rows training=80, test=20, hold-out=0" in lines
    assert "device cpu" in lines
    assert "accuracy 0.8 0.8 ▁▁▁" in lines


def test_a_program_reads_record_and_curves(results: Path) -> None:
    facts = json.loads(pllbench("show", RUN, "--results", results, "--json").out)
    path = record_path(results, SPEC)
    stored = json.loads(path.read_text())
    assert {part: facts[part] for part in ("spec", "result", "provenance")} == {
        part: stored[part] for part in ("spec", "result", "provenance")
    }
    assert (facts["run_id"], facts["path"], facts["state"]) == (RUN, str(path), "done")
    assert facts["curves"]["accuracy"] == pytest.approx([0.8, 0.8, 0.8])
    assert facts["others"] == []


def test_a_failed_run_is_shown_with_its_traceback(tmp_path: Path) -> None:
    workspace = Workspace.for_run(tmp_path, RUN)
    assert workspace.acquire()
    workspace.describe("CC · digits", SPEC)
    workspace.fail("ValueError: wrong\n\nTraceback:\n  line 3")
    answer = pllbench("show", RUN, "--results", tmp_path)
    assert answer.code == 0
    assert answer.out.startswith(f"CC · digits\n{workspace.folder}: failed\n")
    assert answer.out.endswith("\nValueError: wrong\n\nTraceback:\n  line 3\n")
    facts = json.loads(pllbench("show", RUN, "--results", tmp_path, "--json").out)
    assert (facts["state"], facts["run_id"]) == ("failed", RUN)
    assert facts["spec"]["method"] == "cc"


def test_a_stopped_run_without_a_description_is_shown(tmp_path: Path) -> None:
    workspace = Workspace.for_run(tmp_path, RUN)
    assert workspace.acquire()
    workspace.release()
    answer = pllbench("show", RUN, "--results", tmp_path)
    assert answer.out == f"{RUN}\n{workspace.folder}: stopped\n"


def test_ids_that_name_no_run_or_several_are_refused(results: Path) -> None:
    assert refused("show", "xyz", "--results", results) == (
        f"{results}: no run there whose id begins with 'xyz'"
    )
    assert "2 runs there begin with ''" in refused("show", "", "--results", results)
    assert "no such folder" in refused("show", RUN, "--results", results / "nowhere")
    assert "not readable" in refused("show", results / "nothing.json")
    path = record_path(results, SPEC)
    path.with_suffix(".npz").unlink()
    assert refused("show", RUN, "--results", results).startswith(str(path.with_suffix(".npz")))


def test_a_sparkline_has_a_character_for_each_epoch_or_the_mean_of_several() -> None:
    assert sparkline([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == "▁▂▃▄▅▆▇█"
    assert sparkline([7.0, 0.0]) == "█▁"
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([math.nan, 0.0, 7.0, math.nan]) == " ▁█ "
    assert sparkline([math.nan]) == " "
    halves = sparkline([float(i // 2) for i in range(2 * SPARK_WIDTH)])
    assert len(halves) == SPARK_WIDTH
    assert (halves[0], halves[-1]) == ("▁", "█")
