"""Worker processes: a run that goes wrong fails alone, and the others go on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path

import pytest
import torch

from pllbench.runner.engine import EpochEnded, Event, Finished, RunFailed, Started, Stopped
from pllbench.runner.job import Job
from pllbench.runner.local_engine import LocalEngine
from tests.commands import broken
from tests.factories import make_jobs, plan_lost


@pytest.fixture(scope="module")
def folder(plugin_folder: Path) -> Iterator[Path]:
    """A plug-in whose methods go wrong, and a data set."""
    with broken(plugin_folder):
        yield plugin_folder


def jobs(folder: Path, *methods: str, epochs: int = 4, seeds: int = 1) -> list[Job]:
    planned = plan_lost(*methods, seeds=range(seeds), epochs=epochs, batch_size=16)
    return make_jobs(folder, planned)


def run(engine: LocalEngine, jobs: list[Job]) -> dict[str, list[Event]]:
    """Events by run, as `method/seed`."""
    found: dict[str, list[Event]] = {}
    for event in engine.run(iter(jobs)):
        spec = event.job.spec
        found.setdefault(f"{spec.method}/{spec.seed}", []).append(event)
    return found


def test_each_kind_of_failure_is_told_and_the_next_run_succeeds(
    engine: LocalEngine, folder: Path
) -> None:
    wrong = (
        "raising",
        "interrupting",
        "out_of_memory",
        "end_of_file",
        "exiting",
        "killed",
        "diverging",
        "one_row",
    )
    methods = [name for method in wrong for name in (method, "steady")]
    batch = jobs(folder, *wrong) + jobs(folder, "steady", seeds=len(wrong))
    batch.sort(key=lambda job: job.spec.seed)
    events = run(engine, batch)
    reasons = {}
    for name, (first, *_, last) in events.items():
        assert isinstance(first, Started)
        if name.startswith("steady"):
            assert isinstance(last, Finished)
        else:
            assert isinstance(last, RunFailed), f"{name} did not fail"
            reasons[name] = last.reason
    assert len(events) == len(methods)
    assert reasons == {
        "raising/0": "RuntimeError: a line,\nand [another] one",
        "interrupting/0": "KeyboardInterrupt",
        "out_of_memory/0": "MemoryError",
        "end_of_file/0": "EOFError: a cache of the method was cut off",
        "exiting/0": "the worker ended with exit code 3",
        "killed/0": "the worker was killed by the system (out of memory?)",
        "diverging/0": "FloatingPointError: loss is nan at epoch 1, step 1 of 5",
        "one_row/0": "ValueError: predict gives float32 scores of shape [1, 3] for 20 rows of 3 "
        "classes, must be floating-point numbers [20, 3]",
    }


def test_a_failure_brings_its_traceback(engine: LocalEngine, folder: Path) -> None:
    (*_, failed) = run(engine, jobs(folder, "raising"))["raising/0"]
    assert isinstance(failed, RunFailed)
    assert "go_wrong" in failed.details


def test_a_run_that_hangs_is_ended_and_its_worker_replaced(folder: Path) -> None:
    engine = LocalEngine(1, timeout=3)
    try:
        events = run(engine, jobs(folder, "hanging", "steady"))
    finally:
        engine.close()
    last = events["hanging/0"][-1]
    assert isinstance(last, RunFailed)
    assert last.reason == "took longer than its timeout of 3 s"
    assert isinstance(events["steady/0"][-1], Finished)


def test_a_worker_that_can_use_its_gpu_no_more_is_replaced(
    engine: LocalEngine, folder: Path
) -> None:
    events = run(engine, jobs(folder, "breaking_gpu"))["breaking_gpu/0"]
    assert isinstance(events[-1], RunFailed)
    assert events[-1].reason == "RuntimeError: CUDA error: device-side assert triggered"
    assert events[-1].broken
    assert engine._workers == []
    assert isinstance(run(engine, jobs(folder, "steady"))["steady/0"][-1], Finished)
    [failed] = run(engine, jobs(folder, "raising"))["raising/0"][-1:]
    assert isinstance(failed, RunFailed)
    assert not failed.broken
    assert len(engine._workers) == 1


def children(folder: Path) -> list[int]:
    """Processes that methods of the plug-in have started since the last time."""
    path = folder / "pids"
    found = [int(line) for line in path.read_text().split()]
    path.unlink()
    assert found
    return found


def has_ended(pid: int, seconds: float = 30) -> bool:
    """Whether a process is gone within this time; one that nobody has waited for is gone, too."""
    status = Path(f"/proc/{pid}/stat")
    until = time.monotonic() + seconds
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def test_a_method_that_forks_its_process_fails_its_run_alone(
    engine: LocalEngine, folder: Path
) -> None:
    events = run(engine, jobs(folder, "forking", "steady", epochs=6))
    failed = events["forking/0"][-1]
    assert isinstance(failed, RunFailed)
    assert failed.reason == (
        "RuntimeError: a method must not fork its process: the copy would train as well"
    )
    assert isinstance(events["steady/0"][-1], Finished)


@pytest.mark.parametrize(
    ("method", "timeout", "reason"),
    [
        ("starting", 10, "took longer than its timeout of 10 s"),
        # What was started holds the worker's end of the pipe.
        ("starting_and_exiting", 60, "the worker ended with exit code 3"),
        ("starting_apart", 10, "took longer than its timeout of 10 s"),
        ("starting_apart_and_exiting", 60, "the worker ended with exit code 3"),
    ],
)
def test_what_a_method_has_started_ends_with_its_worker(
    folder: Path, method: str, timeout: float, reason: str
) -> None:
    with LocalEngine(1, timeout) as engine:
        last = run(engine, jobs(folder, method))[f"{method}/0"][-1]
        assert isinstance(last, RunFailed)
        assert last.reason == reason
        assert all(has_ended(pid) for pid in children(folder))


def test_what_a_method_has_started_ends_with_the_runner(folder: Path) -> None:
    """A process of its own, which is killed."""
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(folder)], cwd=Path(__file__).parents[2]
    )
    until = time.monotonic() + 60
    while not (folder / "pids").exists():
        assert time.monotonic() < until
        time.sleep(0.1)
    runner.kill()
    runner.wait()
    assert all(has_ended(pid) for pid in children(folder))


RUNNER = """
import sys
from pathlib import Path
from pllbench.runner.local_engine import LocalEngine
from tests.factories import make_jobs, plan_lost
jobs = make_jobs(Path(sys.argv[1]), plan_lost("starting_and_going_on", epochs=400, batch_size=16))
with LocalEngine(1) as engine:
    list(engine.run(iter(jobs)))
"""


def test_a_worker_that_dies_between_two_runs_is_replaced(folder: Path) -> None:
    engine = LocalEngine(1)
    try:
        run(engine, jobs(folder, "steady"))
        [worker] = engine._workers
        assert worker.process.pid
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.join()
        events = run(engine, jobs(folder, "steady"))
    finally:
        engine.close()
    assert isinstance(events["steady/0"][-1], Finished)


def test_workers_stay_from_run_to_run(engine: LocalEngine, folder: Path) -> None:
    run(engine, jobs(folder, "steady"))
    [first] = engine._workers
    run(engine, jobs(folder, "steady", seeds=3))
    assert engine._workers == [first]


def test_no_more_workers_than_jobs_are_started(folder: Path) -> None:
    engine = LocalEngine(4)
    try:
        run(engine, jobs(folder, "steady"))
        assert len(engine._workers) == 1
    finally:
        engine.close()


def test_progress_is_told_in_order(engine: LocalEngine, folder: Path) -> None:
    events = run(engine, jobs(folder, "slow", epochs=8))["slow/0"]
    told = [event.progress.epoch for event in events if isinstance(event, EpochEnded)]
    assert told == sorted(set(told))
    assert len(told) > 1


def test_jobs_are_taken_one_by_one_as_places_become_free(engine: LocalEngine, folder: Path) -> None:
    taken: list[Job] = []

    def source() -> Iterator[Job]:
        for job in jobs(folder, "steady", seeds=3):
            taken.append(job)
            yield job

    for event in engine.run(source()):
        if isinstance(event, Finished):
            assert event.job is not taken[-1]
            assert len(taken) == event.job.spec.seed + 1


def test_a_request_to_stop_saves_the_state_of_a_run_and_takes_no_other(
    engine: LocalEngine, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint.pt"
    batch = [replace(job, checkpoint=path) for job in jobs(folder, "slow", epochs=500, seeds=2)]
    started = time.monotonic()
    last: list[Event] = []
    for event in engine.run(iter(batch)):
        if isinstance(event, EpochEnded):
            engine.stop()
        last.append(event)
    assert isinstance(last[-1], Stopped)
    assert {event.job.spec.seed for event in last} == {0}
    assert path.exists()
    assert time.monotonic() - started < 40


def test_where_no_worker_can_start_the_caller_still_hears_of_ctrl_c(
    engine: LocalEngine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(forkserver, "ensure_running", refuse)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(OSError, match="no more processes"):
        next(engine.run(iter(make_jobs(folder, plan_lost("cc")))))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert signal.SIGINT not in before


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_an_assertion_in_a_kernel_fails_its_run_alone(engine: LocalEngine, folder: Path) -> None:
    on_gpu = [
        replace(job, options=replace(job.options, device="cuda"))
        for job in jobs(folder, "out_of_bounds", "steady")
    ]
    events = run(engine, on_gpu)
    failed = events["out_of_bounds/0"][-1]
    assert isinstance(failed, RunFailed)
    assert failed.broken
    assert isinstance(events["steady/0"][-1], Finished)
