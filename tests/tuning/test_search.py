"""Trials are executed and halved; kills, workers and test labels change nothing."""

import multiprocessing
import os
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pllbench.grid.protocol import Setting
from pllbench.results.curves import read_curves
from pllbench.results.model_selection import HoldoutCurves, holdout_score
from pllbench.results.records import read_records, record_path
from pllbench.runner.job import Job, RunOptions
from pllbench.runner.local_engine import LocalEngine
from pllbench.training.task import Task, make_task
from pllbench.tuning.search import is_settings_fault, look, shares
from pllbench.tuning.space import spaces_folder
from pllbench.tuning.study import Trial
from pllbench.tuning.tune import Tuned, TuningPlan
from tests.commands import broken
from tests.inline_engine import InlineEngine
from tests.tuning.helpers import journal, on_lost, run


def outcomes(trials: list[Trial]) -> Counter[str]:
    return Counter(trial.outcome for trial in trials)


def only(tuned: Tuned) -> list[Trial]:
    """The trials of the one cell."""
    [trials] = tuned.trials.values()
    return trials


def test_shares_and_looks() -> None:
    assert shares(3) == (1 / 9, 1 / 3, 1)
    assert shares(2) == (1 / 4, 1 / 2, 1)
    assert shares(1) == (1,)
    assert [look(200, share) for share in shares(3)] == [23, 67, 200]
    assert [look(9, share) for share in shares(3)] == [1, 3, 9]
    assert [look(1, share) for share in shares(3)] == [1, 1, 1]


def test_the_better_third_goes_on(options: RunOptions) -> None:
    tuned = run(on_lost("cc"), options)
    trials = only(tuned)
    assert [trial.number for trial in trials] == list(range(9))
    assert outcomes(trials) == {"complete": 1, "pruned": 8}
    lengths = Counter(len(trial.scores) for trial in trials)
    assert lengths == {1: 6, 2: 2, 3: 1}
    assert {epochs for trial in trials for epochs in trial.scores} == {1, 3, 9}
    on, off = (
        [t.scores[1] for t in trials if (len(t.scores) > 1) == more] for more in (True, False)
    )
    assert min(on) >= max(off)
    [best] = (trial for trial in trials if trial.outcome == "complete")
    assert best.scores[9] == best.value
    assert [choice.trial for choice in tuned.choices] == [best]


def test_the_value_of_a_trial_is_the_criterion_of_its_hold_out(options: RunOptions) -> None:
    tuned = run(on_lost("cc", trials=3, halving=1, criterion="approximated_accuracy"), options)
    [cell], folder = tuned.cells, tuned.study.folder
    for trial in only(tuned):
        [of_trial] = cell.runs(trial.number)
        curves = read_curves(record_path(folder, of_trial.spec))
        mean = curves["approximated_accuracy"].mean()
        assert trial.value == pytest.approx(mean, abs=1e-12)
        assert trial.tie == pytest.approx(curves["covering_rate"].mean(), abs=1e-12)
        assert trial.scores == {9: trial.value}
    assert outcomes(only(tuned)) == {"complete": 3}


def test_two_seeds_are_averaged(options: RunOptions) -> None:
    tuned = run(on_lost("cc", trials=2, halving=1, seeds=[100, 105]), options)
    [cell] = tuned.cells
    trial = only(tuned)[1]
    values = []
    for of_seed in cell.runs(1):
        curves = HoldoutCurves.of(read_curves(record_path(tuned.study.folder, of_seed.spec)))
        values.append(holdout_score(curves, "covering_rate", 9))
    assert trial.value == pytest.approx(sum(values) / 2, abs=1e-12)
    assert len(trial.run_ids) == 2


def test_pruned_trials_leave_their_columns_and_no_record(options: RunOptions) -> None:
    tuned = run(on_lost("cc"), options)
    folder = tuned.study.folder
    found, unreadable = read_records(folder)
    [complete] = (trial for trial in only(tuned) if trial.outcome == "complete")
    assert ([record.run_id for record in found], unreadable) == ([*complete.run_ids], [])
    for trial in only(tuned):
        for name in trial.paused:
            curves = read_curves(folder / "paused" / name)
            assert len(curves["accuracy"]) == max(trial.scores)
    assert sum(len(trial.paused) for trial in only(tuned)) == 8
    assert not list((folder / "work").iterdir()), "nothing else is left of them"
    assert not (options.results / "records").exists()


def test_a_trial_that_does_not_go_on_leaves_its_checkpoint_no_longer_than_needed(
    options: RunOptions,
) -> None:
    left: list[int] = []
    work = options.results / "tuning" / "try" / "work"
    engine = InlineEngine(before=lambda job: left.append(len([*work.glob("*/checkpoint.pt")])))
    run(on_lost("cc", trials=9), options, engine)
    # nine runs to the first look, then three go on, then one
    assert left == [0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 3, 3, 1]


def test_more_trials_are_a_lot_of_their_own(options: RunOptions) -> None:
    first = only(run(on_lost("cc", trials=3), options))
    tuned = run(on_lost("cc", trials=9), options)
    assert only(tuned)[:3] == first
    assert tuned.study.file.trials == (3, 6)
    assert outcomes(only(tuned)[3:]) == {"complete": 1, "pruned": 5}
    assert tuned.choices[0].budget.trials == (3, 6)
    fewer = run(on_lost("cc", trials=3), options)
    assert fewer.study.file.trials == (3, 6), "none is taken away"


def test_a_method_that_comes_later_is_given_the_same(options: RunOptions) -> None:
    run(on_lost("cc", trials=3), options)
    run(on_lost("cc", trials=6), options)
    tuned = run(on_lost("rc", trials=6), options)
    assert tuned.choices[0].budget.trials == (3, 3)
    assert outcomes(only(tuned)) == {"complete": 2, "pruned": 4}


def run_and_die(wanted: TuningPlan, options: RunOptions, jobs: int) -> None:
    """The search in a process that is killed before one of its jobs."""
    engine = InlineEngine()

    def die(job: Job) -> None:
        if len(engine.executed) == jobs:
            os.kill(os.getpid(), signal.SIGKILL)

    engine.before = die
    run(wanted, options, engine)


def test_a_study_that_is_killed_again_and_again_ends_as_a_straight_one(
    options: RunOptions, tmp_path: Path
) -> None:
    wanted = on_lost("cc", "rc", trials=6)
    straight = run(wanted, options)
    there, kills = replace(options, results=tmp_path / "killed"), 0
    context = multiprocessing.get_context("fork")  # it has torch imported already
    while True:
        process = context.Process(target=run_and_die, args=(wanted, there, 3))
        process.start()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        kills += 1
    assert kills >= 5
    tuned = run(wanted, there)
    assert tuned.trials == straight.trials
    assert tuned.benchmark == straight.benchmark
    assert journal(there) == journal(options)
    records = [read_records(one.study.folder)[0] for one in (straight, tuned)]
    assert [r.result for r in records[0]] == [r.result for r in records[1]]


def test_two_processes_share_a_study(options: RunOptions, tmp_path: Path) -> None:
    wanted = on_lost("cc", "rc", trials=6)
    alone = run(wanted, options)
    there = replace(options, results=tmp_path / "shared")
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=run, args=(wanted, there)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    engine = InlineEngine()
    assert run(wanted, there, engine).trials == alone.trials
    assert engine.executed == []
    added = [line for line in journal(there) if "intermediate_values" in line]
    assert len(added) == 12, "none twice"


def test_two_workers_find_what_one_finds(options: RunOptions, tmp_path: Path) -> None:
    wanted = on_lost("cc", "rc", trials=6)
    alone = run(wanted, options)
    there = replace(options, results=tmp_path / "two")
    with LocalEngine(2) as engine:
        assert run(wanted, there, engine).trials == alone.trials


def test_permuted_test_labels_change_nothing_that_is_chosen(
    options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = on_lost("cc", "asyco", trials=6)
    straight = run(wanted, options)

    def permuted(*arguments: Any, **options: Any) -> Task:
        task = make_task(*arguments, **options)
        return replace(task, test_y=(task.test_y + 1) % task.candidates.shape[1])

    monkeypatch.setattr("pllbench.runner.job.make_task", permuted)
    there = replace(options, results=tmp_path / "permuted")
    tuned = run(wanted, there)
    before, after = (read_records(one.study.folder)[0] for one in (straight, tuned))
    assert [r.run_id for r in before] == [r.run_id for r in after]
    assert [r.result.accuracy for r in before] != [r.result.accuracy for r in after]
    assert tuned.trials == straight.trials
    assert journal(there) == journal(options)
    assert tuned.path.read_text() == straight.path.read_text()
    told = tuned.frame().drop(columns="run_ids")
    assert told.equals(straight.frame().drop(columns="run_ids"))


def test_settings_that_diverge_end_their_trial(plugin_folder: Path, tmp_path: Path) -> None:
    there = RunOptions(tmp_path, plugin_folder, "cpu")
    space = tmp_path / "spaces"
    write_space(space, "diverging")
    small = Setting(reason="--train batch_size=16", train={"batch_size": 16})
    wanted = replace(on_lost("diverging", trials=3, halving=1, flags=[small]), spaces=space)
    with broken(plugin_folder):
        tuned = run(wanted, there)
    trials = only(tuned)
    assert (tuned.summary.failed, tuned.choices) == ([], [])
    assert outcomes(trials) == {"failed": 3}
    assert trials[0].reason == "FloatingPointError: loss is nan at epoch 1, step 1 of 5"
    assert is_settings_fault(trials[0].reason)
    again = InlineEngine()
    assert only(run(wanted, there, again)) == trials
    assert again.executed == [], "they are decided"


def test_another_failure_holds_up_its_method_alone_until_it_is_mended(
    plugin_folder: Path, tmp_path: Path
) -> None:
    there = RunOptions(tmp_path, plugin_folder, "cpu")
    space = tmp_path / "spaces"
    for name in ("raising", "steady"):
        write_space(space, name)
    wanted = replace(on_lost("raising", "steady", trials=3), spaces=space)
    with broken(plugin_folder):
        tuned = run(wanted, there)
    assert {run.name for run, _ in tuned.summary.failed} == {"raising"}
    assert [len(trials) for trials in tuned.trials.values()] == [0, 3]
    assert [choice.cell.base.name for choice in tuned.choices] == ["steady"]
    mended = run(wanted, there)
    assert [len(trials) for trials in mended.trials.values()] == [3, 3]
    assert mended.summary.failed == []


def write_space(folder: Path, method: str) -> None:
    """An empty space, beside a copy of the suite's shared one."""
    folder.mkdir(exist_ok=True)
    (folder / f"{method}.toml").write_text("")
    (folder / "shared.toml").write_bytes((spaces_folder() / "shared.toml").read_bytes())


def test_a_method_without_epochs_is_tuned_by_whole_runs(
    options: RunOptions, tmp_path: Path
) -> None:
    space = tmp_path / "spaces"
    write_space(space, "pl_knn")
    text = "[hparams.num_neighbours]\nlow = 2\nhigh = 20\nsource = 's'\n"
    (space / "pl_knn.toml").write_text(text)
    tuned = run(replace(on_lost("pl_knn", "cc", trials=3), spaces=space), options)
    fitted, trained = tuned.trials.values()
    assert outcomes(fitted) == {"complete": 3}
    assert outcomes(trained) == {"complete": 1, "pruned": 2}
    assert len({trial.settings["hparams.num_neighbours"] for trial in fitted}) > 1


def test_a_search_that_is_stopped_says_so_and_goes_on(options: RunOptions) -> None:
    engine = InlineEngine()
    engine.before = lambda job: engine.stop() if len(engine.executed) == 4 else None
    tuned = run(on_lost("cc", trials=6), options, engine)
    assert tuned.summary.interrupted
    assert only(tuned) == []
    assert len(only(run(on_lost("cc", trials=6), options))) == 6
