"""Every method's run, killed at random moments and resumed, ends as if nobody had disturbed it.

`tools/kill_test.py` does the same to whole commands, more often.
"""

import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

from pllbench.registry import load_method, method_entries
from pllbench.runner.engine import Finished, RunFailed
from pllbench.runner.job import Job
from pllbench.runner.local_engine import LocalEngine
from tests import plugins
from tests.factories import make_jobs, plan_lost

METHODS = [
    name
    for name, entry in method_entries().items()
    if "pllbench_methods" in entry.module and load_method(name).gradient  # others have no epochs
]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    plugins.write_lost(folder, rows=150)
    return folder


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    engine = LocalEngine(1)
    yield engine
    engine.close()


def run_once(engine: LocalEngine, job: Job, epochs: int | None) -> Finished | RunFailed:
    """The last event of a run; its worker is killed after its next `epochs` checkpoints."""
    ended = threading.Event()
    last, killer = None, None
    for event in engine.run(iter([job])):
        last = event
        if killer is None and epochs is not None and job.checkpoint:
            [worker] = engine._workers
            killer = threading.Thread(
                target=kill, args=(worker.process, job.checkpoint, epochs, ended)
            )
            killer.start()
    ended.set()
    if killer:
        killer.join()
    assert isinstance(last, Finished | RunFailed)
    return last


def kill(process: BaseProcess, checkpoint: Path, epochs: int, ended: threading.Event) -> None:
    for _ in range(epochs):
        before = written_at(checkpoint)
        while written_at(checkpoint) == before and not ended.wait(0.001):
            pass
    if not ended.wait(random.uniform(0, 0.02)):
        process.kill()
        wait([process.sentinel])  # or the next job may be given to it


def written_at(checkpoint: Path) -> int:
    return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_killed_run_ends_as_a_straight_one(
    engine: LocalEngine, data_dir: Path, tmp_path: Path, method: str
) -> None:
    [job] = make_jobs(data_dir, plan_lost(method, epochs=8, batch_size=16))
    straight = run_once(engine, job, None)
    assert isinstance(straight, Finished)
    options = replace(job.options, checkpoint_every=1)
    job = replace(job, options=options, checkpoint=tmp_path / "checkpoint.pt")
    chance = random.Random(method)
    for _ in range(2):
        event = run_once(engine, job, chance.randint(1, 2))
        if isinstance(event, Finished):
            break
        assert event.reason == "the worker was killed by the system (out of memory?)"
    else:
        event = run_once(engine, job, None)
    assert isinstance(event, Finished)
    assert event.record.provenance.resumed_from
    assert event.record.spec == straight.record.spec
    assert event.record.result == straight.record.result
    assert event.curves.keys() == straight.curves.keys()
    for name, column in straight.curves.items():
        np.testing.assert_array_equal(event.curves[name], column)
