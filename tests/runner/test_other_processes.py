"""Runs that another process works on; it is played by a lock that this process holds."""

import os
import threading
import time

import pytest

from pllbench.results import records, workspace
from pllbench.results.workspace import Workspace
from pllbench.runner.job import Job, RunOptions, execute
from tests.factories import plan_lost
from tests.inline_engine import InlineEngine, counts, run_inline


def test_a_run_of_another_process_is_waited_for(options: RunOptions) -> None:
    runs = plan_lost("cc", seeds=(0, 1))
    other = Workspace.for_run(options.results, runs[0].spec.run_id)
    assert other.acquire()
    record, curves = execute(Job(runs[0].spec, runs[0].data, options))

    def finish() -> None:
        records.write_record(options.results, record, curves)
        other.finish()

    engine = InlineEngine()
    later = threading.Timer(0.2, finish)
    later.start()
    summary, lines = run_inline(runs, engine, options)
    later.join()
    assert counts(summary) == (2, 0, 0, 0)
    assert engine.executed == [("cc", 1)]
    assert "waiting for 1 run of another process" in lines
    assert lines[-1] == "[2/2] CC (epochs=1) · lost · seed 0: done by another process"


def test_a_run_whose_owner_died_is_taken_over(options: RunOptions) -> None:
    runs = plan_lost("cc", seeds=(0, 1))
    other = Workspace.for_run(options.results, runs[0].spec.run_id)
    assert other.acquire()
    engine = InlineEngine()
    later = threading.Timer(0.2, other.release)
    later.start()
    summary, _ = run_inline(runs, engine, options)
    later.join()
    assert counts(summary) == (2, 0, 0, 0)
    assert engine.executed == [("cc", 1), ("cc", 0)]


def test_a_run_that_fails_in_another_process_is_not_tried_again_at_once(
    options: RunOptions,
) -> None:
    runs = plan_lost("cc", seeds=(0, 1))
    other = Workspace.for_run(options.results, runs[0].spec.run_id)
    assert other.acquire()
    engine = InlineEngine()
    later = threading.Timer(0.2, other.fail, ["it went wrong there"])
    later.start()
    summary, _ = run_inline(runs, engine, options)
    later.join()
    assert counts(summary) == (1, 0, 1, 0)
    assert summary.failed[0][1] == "it went wrong there"
    assert engine.executed == [("cc", 1)]


def test_a_run_of_another_machine_is_taken_over_when_its_heart_stops(
    options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = plan_lost("cc")
    space = Workspace.for_run(options.results, runs[0].spec.run_id)
    space.folder.mkdir(parents=True)
    (space.folder / "lock").touch()
    space.owner.write_text('{"machine": "another"}')
    monkeypatch.setattr(workspace, "DEAD_SECONDS", 1.0)
    summary, lines = run_inline(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 0, 0)
    assert lines[0] == "waiting for 1 run of another process"


def test_owned_runs_beat(options: RunOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pllbench.runner.run_grid.HEARTBEAT_SECONDS", 0.05)
    runs = plan_lost("cc")
    owner = Workspace.for_run(options.results, runs[0].spec.run_id).owner

    def wait_for_a_beat(job: Job) -> None:
        os.utime(owner, (0, 0))
        deadline = time.monotonic() + 20
        while not owner.stat().st_mtime:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    summary, _ = run_inline(runs, InlineEngine(before=wait_for_a_beat), options)
    assert counts(summary) == (1, 0, 0, 0)
