"""Runs in the caller's own thread."""

import threading
from pathlib import Path

import pytest
import torch

from pllbench.runner.engine import EpochEnded, Event, Finished, Started, Stopped
from pllbench.runner.inline_engine import InlineEngine
from pllbench.runner.job import Job
from tests import plugins
from tests.factories import make_jobs, plan_lost


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    plugins.write_lost(tmp_path)
    return make_jobs(tmp_path, plan_lost("cc", seeds=(0, 1), epochs=3))


def test_jobs_are_executed_one_after_another_here(jobs: list[Job]) -> None:
    engine = InlineEngine()
    told: list[Event] = []
    engine.tell = told.append
    events = list(engine.run(iter(jobs)))
    assert [type(event) for event in events] == [Started, Finished, Started, Finished]
    assert [event.job for event in events] == [jobs[0], jobs[0], jobs[1], jobs[1]]
    assert [(type(event), event.job) for event in told] == [(EpochEnded, job) for job in jobs]


def test_a_request_to_stop_is_met_at_the_end_of_an_epoch(jobs: list[Job]) -> None:
    engine = InlineEngine()
    engine.tell = lambda _: engine.stop()
    events = list(engine.run(iter(jobs)))
    assert [type(event) for event in events] == [Started, Stopped]


def test_the_callers_threads_and_random_numbers_stay(jobs: list[Job]) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        state = torch.get_rng_state()
        seen: list[int] = []
        engine = InlineEngine()
        engine.tell = lambda _: seen.append(torch.get_num_threads())
        list(engine.run(iter(jobs)))
        assert seen == [1, 1]
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), state)
    finally:
        torch.set_num_threads(before)


def test_one_trains_at_a_time(jobs: list[Job]) -> None:
    inside: list[str] = []

    def work(job: Job) -> None:
        engine = InlineEngine()
        engine.tell = lambda _: inside.append(threading.current_thread().name)
        inside.append(type(list(engine.run(iter([job])))[-1]).__name__)

    threads = [threading.Thread(target=work, args=(job,), name="epoch") for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(inside) == ["Finished", "Finished", "epoch", "epoch"]
