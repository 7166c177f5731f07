"""Where runs happen. An engine takes jobs and gives events; what to run is not its concern."""

import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Protocol

from pllbench.datasets import Dataset
from pllbench.execution import Job, execute
from pllbench.records import Curves, Record
from pllbench.trainer import Interrupted, Progress

REPORT_SECONDS = 0.2
"""A worker tells of its progress at most this often."""

POLL_SECONDS = 0.5
"""How often an engine looks for overdue runs and requests to stop."""

PRELOADED = [__name__, "torch._dynamo"]
"""Imported once, by the fork server; the first step of any optimizer imports the latter."""


@dataclass(frozen=True, slots=True)
class Started:
    """A run has begun."""

    job: Job


@dataclass(frozen=True, slots=True)
class EpochEnded:
    """A run has made progress."""

    job: Job
    progress: Progress


@dataclass(frozen=True, slots=True)
class Finished:
    """A run is done; nothing is stored yet."""

    job: Job
    record: Record
    curves: Curves


@dataclass(frozen=True, slots=True)
class Failed:
    """A run has failed.

    Attributes:
        job: the run.
        reason: one line.
        details: traceback, where there is one.
    """

    job: Job
    reason: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A run was interrupted on request; its state is in its checkpoint."""

    job: Job


Event = Started | EpochEnded | Finished | Failed | Stopped


class Engine(Protocol):
    """Executes jobs somewhere."""

    def run(self, jobs: Iterator[Job]) -> Iterator[Event]:
        """Execute all jobs, taken one by one as places become free; events in order per job."""
        ...

    def stop(self) -> None:
        """Ask running jobs to save their state and stop; no further ones are taken.

        May be called from a signal handler, while `run` is at work.
        """
        ...

    def close(self) -> None:
        """End all workers at once."""
        ...


def attempt(
    job: Job, on_epoch: Callable[[Progress], bool], dataset: Dataset | None = None
) -> Finished | Failed | Stopped:
    """Execute a job in this process: `execute`, with whatever a method raises as an event."""
    try:
        return Finished(job, *execute(job, on_epoch, dataset))
    except Interrupted:
        return Stopped(job)
    except Exception as error:  # noqa: BLE001 - it fails its run alone
        reason = ": ".join(filter(None, (type(error).__name__, str(error))))
        return Failed(job, reason, traceback.format_exc())


class _Worker:
    """A process that executes one job after another, at the other end of a pipe."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs,), daemon=True)
        # Ctrl-C is the runner's to handle. That it is ignored is inherited, by the fork server too.
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.process.start()
        signal.signal(signal.SIGINT, handler)
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


class LocalEngine:
    """Worker processes on this machine, one torch thread each, alive from run to run.

    A worker that dies fails its run alone and is replaced.
    """

    def __init__(self, jobs: int, timeout: float | None = None) -> None:
        self.places = jobs
        self.timeout = timeout
        self._workers: list[_Worker] = []
        self._stopping = False

    def run(self, jobs: Iterator[Job]) -> Iterator[Event]:
        """Execute all jobs; see `Engine.run`."""
        exhausted = False
        while True:
            while not exhausted and not self._stopping and self._has_place():
                job = next(jobs, None)
                if job is None:
                    exhausted = True
                    break
                self._idle_worker().give(job)
                yield Started(job)
            busy = {worker.connection: worker for worker in self._workers if worker.job}
            if not busy:
                return
            if self._stopping:
                for worker in busy.values():
                    worker.ask_to_stop()
            for connection in wait(list(busy), timeout=POLL_SECONDS):
                yield self._receive(busy[connection])  # type: ignore[index]
            yield from self._overdue()

    def stop(self) -> None:
        """Ask running jobs to stop at the end of their epoch; see `Engine.stop`."""
        self._stopping = True  # `run` tells the workers: a signal may have come amid a message

    def close(self) -> None:
        """Kill all workers."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _has_place(self) -> bool:
        return sum(worker.job is not None for worker in self._workers) < self.places

    def _idle_worker(self) -> _Worker:
        """A worker without a job, started where there is none that lives."""
        for worker in [worker for worker in self._workers if worker.job is None]:
            if worker.process.is_alive():
                return worker
            worker.end()
            self._workers.remove(worker)
        self._workers.append(_Worker())
        return self._workers[-1]

    def _receive(self, worker: _Worker) -> Event:
        assert worker.job is not None
        try:
            event: Event = worker.connection.recv()
        except (EOFError, OSError):
            return self._lost(worker, "")
        if not isinstance(event, EpochEnded):
            worker.job = None
        return event

    def _overdue(self) -> Iterator[Event]:
        if self.timeout is None:
            return
        for worker in list(self._workers):
            if worker.job and time.monotonic() - worker.started_at > self.timeout:
                yield self._lost(worker, f"took longer than --timeout {self.timeout:g} s")

    def _lost(self, worker: _Worker, reason: str) -> Failed:
        job = worker.job
        assert job is not None
        if not reason:
            worker.process.join(5)
        code = worker.end()
        self._workers.remove(worker)
        return Failed(job, reason or _cause_of_death(code))


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
