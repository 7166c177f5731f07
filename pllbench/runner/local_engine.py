"""Runs in worker processes on this machine."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from joblib import cpu_count

from pllbench.runner import fork_server
from pllbench.runner.descendants import kill_descendants
from pllbench.runner.engine import POLL_SECONDS, Engine, Event, Finished, RunFailed, Stopped
from pllbench.runner.job import Job
from pllbench.runner.main_module import without_main
from pllbench.runner.worker import work


def num_cores() -> int:
    """Cores that this process may use: affinity, a container's quota and Slurm's share count."""
    cores: int = cpu_count()
    share = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(cores, int(share)) if share.isdecimal() and int(share) else cores


class _Worker:
    """A process that executes one job after another, at the other end of a pipe."""

    def __init__(self) -> None:
        fork_server.start()
        context = multiprocessing.get_context("forkserver")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=work, args=(theirs,), daemon=True)
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
        """Kill the process and what its methods have started; gives its exit code."""
        if (pid := self.process.pid) and self.process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)  # so that it starts nothing more
            kill_descendants(pid)
        with suppress(ProcessLookupError):  # it has not begun to lead a group
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode


class LocalEngine(Engine):
    """Worker processes on this machine, one torch thread each, alive from run to run.

    A worker that dies fails its run alone and is replaced; so is one whose run left traces in it,
    or a GPU that it can use no more. Workers do not import the script that opens the engine.
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
        sources: dict[object, _Worker] = {}
        for worker in self._workers:
            if worker.job:
                sources[worker.connection] = worker
                # A pipe stays open while a child of the process lives.
                sources[worker.process.sentinel] = worker
        ready = wait(list(sources), timeout=POLL_SECONDS)  # type: ignore[arg-type]
        for worker in dict.fromkeys(sources[source] for source in ready):
            yield self._receive(worker)

    def _receive(self, worker: _Worker) -> Event:
        assert worker.job is not None
        try:
            event: Event | None = worker.connection.recv() if worker.connection.poll() else None
        except (EOFError, OSError):
            event = None
        if event is None:  # the process has died
            worker.process.join(5)
            return RunFailed(worker.job, _cause_of_death(self._remove(worker)))
        if isinstance(event, Finished | RunFailed | Stopped):
            worker.job = None
            # Not all that a method may change can be put back, and a GPU's context never.
            if event.changed or (isinstance(event, RunFailed) and event.broken):
                self._remove(worker)
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
