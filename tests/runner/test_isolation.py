"""One run after another in one process: the second has the numbers of a run by itself."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.results.records import Result
from pllbench.results.workspace import Workspace
from pllbench.runner.engine import Finished, RunFailed, Stopped, attempt
from pllbench.runner.job import Job, RunOptions
from pllbench.runner.local_engine import LocalEngine
from tests.commands import on_lost, pllbench
from tests.factories import make_jobs, plan_lost

LEAVING = {
    "leaves_dtype": "the default dtype",
    "leaves_device": "the default device",
    "leaves_grad_mode": "the grad mode",
    "leaves_hook": "hooks of torch (forward_hooks): ",
    "leaves_patch": "pllbench.training.evaluation.accuracy",
    "leaves_directory": "the working directory",
    "leaves_environment": "the environment: MISBEHAVING",
}
"""What methods of the plug-in leave changed in their process."""


@pytest.fixture(autouse=True)
def _plugin(plugin_folder: Path) -> None:
    pass


def job(folder: Path, method: str) -> Job:
    [made] = make_jobs(folder, plan_lost(method, epochs=3, batch_size=16))
    return made


def on_rows(path: Path, *methods: str) -> dict[str, Job]:
    """Runs on a fixed split without scaling, whose test rows lie in the data set's memory."""
    flags = (Setting(reason="--train", train={"epochs": 10}),)
    selection = Selection(methods=methods, datasets=(str(path),), q=(0.1,), seeds=(0,), flags=flags)
    return {made.spec.method: made for made in make_jobs(path.parent, plan(selection))}


def result_of(job: Job) -> Result:
    event = attempt(job, lambda _: True)
    assert isinstance(event, Finished)
    assert event.changed == ()
    return event.record.result


@pytest.mark.parametrize("method", LEAVING)
def test_what_a_method_leaves_is_named_and_gone_when_the_next_run_begins(
    plugin_folder: Path, method: str
) -> None:
    alone = result_of(job(plugin_folder, "cc"))
    event = attempt(job(plugin_folder, method), lambda _: True)
    assert isinstance(event, RunFailed if method == "leaves_grad_mode" else Finished)
    [name] = event.changed
    assert name.startswith(LEAVING[method])
    assert result_of(job(plugin_folder, "cc")) == alone


def test_a_method_that_predicts_in_place_changes_no_row_of_the_data_set(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4
    x = 4 * np.eye(4)[y] + rng.normal(size=(120, 4))
    np.savez(tmp_path / "rows.npz", x=x, y=y, num_train=90)
    jobs = on_rows(tmp_path / "rows.npz", "cc", "writes_to_rows")
    alone = result_of(jobs["cc"])
    assert alone.accuracy["last"] > 0.9
    result_of(jobs["writes_to_rows"])
    assert result_of(jobs["cc"]) == alone


def test_checkpoints_stay_in_the_results_folder_when_a_method_changes_the_directory(
    plugin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = RunOptions(Path("results"), plugin_folder, "cpu")
    path = Workspace.for_run(options.results, "0" * 16).checkpoint
    path.parent.mkdir(parents=True)
    halting = replace(job(plugin_folder, "wandering"), options=options, checkpoint=path)
    event = attempt(halting.with_absolute_paths(), lambda progress: progress.epoch < 1)
    assert isinstance(event, Stopped)
    assert event.changed == ("the working directory",)
    assert (tmp_path / "results" / "work" / ("0" * 16) / "checkpoint.pt").exists()


def test_a_worker_whose_run_left_something_is_replaced(
    engine: LocalEngine, plugin_folder: Path
) -> None:
    def finished(method: str) -> Finished:
        *_, last = engine.run(iter([job(plugin_folder, method)]))
        assert isinstance(last, Finished)
        return last

    assert finished("steady").changed == ()
    assert len(engine._workers) == 1
    assert finished("leaves_dtype").changed == ("the default dtype",)
    assert engine._workers == []
    assert finished("cc").record.result == result_of(job(plugin_folder, "cc"))


def test_a_run_says_what_it_left(plugin_folder: Path, tmp_path: Path) -> None:
    answer = pllbench(
        *("run", *on_lost("leaves_dtype", results=tmp_path), "--jobs", 1),
        *("--data-dir", plugin_folder),
    )
    assert answer.code == 0, answer.err
    said = "seed 0: changed what all runs of its process share, put back: the default dtype\n"
    assert answer.err.count(said) == 1
