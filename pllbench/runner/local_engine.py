"""Runs in worker processes on this machine."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from pllbench.runner.engine import (
    POLL_SECONDS,
    REPORT_SECONDS,
    Engine,
    EpochEnded,
    Event,
    RunFailed,
    attempt,
)
from pllbench.runner.job import Job
from pllbench.runner.main_module import without_main
from pllbench.training.trainer import Progress

PRELOADED = [__name__]
"""Imported once, by the fork server, with all that it imports."""


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Worker:
    """A process that executes one job after another, at the other end of a pipe."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        # Ctrl-C is for the process that runs the engine. That it is blocked is inherited, by
        # workers too, and this works in any thread. Only for this moment: the start below takes
        # seconds, until the fork server has imported torch.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs,), daemon=True)
        with without_main():
            self.process.start()
        theirs.close()  # so that the death of the process ends the pipe
        self.job: Job | None = None
        self.started_at = 0.0
        self.asked_to_stop = False

    def give(self, job: Job) -> None:
        self.job, self.started_at = job, time.monotonic()
        self._send(job)

    def ask_to_stop(self) -> None:
        if self.job and not self.asked_to_stop:
            self.asked_to_stop = True
            self._send(None)

    def _send(self, message: Job | None) -> None:
        with suppress(BrokenPipeError):  # it has died; the end of its pipe will tell
            self.connection.send(message)

    def end(self) -> int | None:
        """Kill the process; gives its exit code."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode


class LocalEngine(Engine):
    """Worker processes on this machine, one torch thread each, alive from run to run.

    A worker that dies fails its run alone and is replaced.
    """

    def __init__(self, jobs: int, timeout: float | None = None) -> None:
        super().__init__(timeout)
        self.places = jobs
        self._workers: list[_Worker] = []

    def close(self) -> None:
        """Kill all workers."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _has_place(self) -> bool:
        return len(self._running()) < self.places

    def _begin(self, job: Job) -> None:
        self._idle_worker().give(job)

    def _idle_worker(self) -> _Worker:
        """A worker without a job; a new one where none is alive."""
        for worker in [worker for worker in self._workers if worker.job is None]:
            if worker.process.is_alive():
                return worker
            self._remove(worker)
        self._workers.append(_Worker())
        return self._workers[-1]

    def _running(self) -> list[tuple[Job, float | None]]:
        return [(worker.job, worker.started_at) for worker in self._workers if worker.job]

    def _ask_to_stop(self) -> None:
        for worker in self._workers:
            worker.ask_to_stop()

    def _events(self) -> Iterator[Event]:
        busy = {worker.connection: worker for worker in self._workers if worker.job}
        for connection in wait(list(busy), timeout=POLL_SECONDS):
            yield self._receive(busy[connection])  # type: ignore[index]

    def _receive(self, worker: _Worker) -> Event:
        assert worker.job is not None
        try:
            event: Event = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join(5)
            return RunFailed(worker.job, _cause_of_death(self._remove(worker)))
        if not isinstance(event, EpochEnded):
            worker.job = None
        return event

    def _end(self, job: Job) -> None:
        [worker] = [worker for worker in self._workers if worker.job is job]
        self._remove(worker)

    def _remove(self, worker: _Worker) -> int | None:
        """Kill a worker; gives its exit code."""
        self._workers.remove(worker)
        return worker.end()


def _cause_of_death(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return "the worker was killed by the system (out of memory?)"
    if code is not None and code < 0:
        return f"the worker died of {signal.Signals(-code).name}"
    return f"the worker ended with exit code {code}"


class _RunnerGone(BaseException):  # no error of the run, so `attempt` lets it pass
    """The process at the other end of the pipe has died."""


def _work(connection: Connection) -> None:
    """Main function of a worker process."""
    import torch

    torch.set_num_threads(1)
    with suppress(_RunnerGone):
        while True:
            job = _receive_job(connection)
            if job is not None:  # a request to stop may arrive after the run has ended
                _tell(connection, _execute(job, connection))


def _execute(job: Job, connection: Connection) -> Event:
    reported_at = 0.0

    def on_epoch(progress: Progress) -> bool:
        nonlocal reported_at
        if time.monotonic() - reported_at > REPORT_SECONDS:
            _tell(connection, EpochEnded(job, progress))
            reported_at = time.monotonic()
        if not connection.poll():
            return True
        _receive_job(connection)  # a request to stop
        return False

    return attempt(job, on_epoch)


def _receive_job(connection: Connection) -> Job | None:
    """The next job, or None for a request to stop."""
    try:
        message: Job | None = connection.recv()
    except (EOFError, ConnectionResetError) as error:
        raise _RunnerGone from error
    return message


def _tell(connection: Connection, event: Event) -> None:
    try:
        connection.send(event)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise _RunnerGone from error
