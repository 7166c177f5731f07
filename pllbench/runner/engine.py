"""Where runs happen. An engine takes jobs and gives events; what to run is not its concern.

`local_engine` has worker processes on this machine, `ray_engine` the tasks of a cluster. The loop
that all of them share is `Engine.run`.
"""

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from pllbench.data.readers.base import Dataset
from pllbench.results.curves import Curves
from pllbench.results.kept import Kept
from pllbench.results.records import Record
from pllbench.runner.device import is_broken
from pllbench.runner.job import Job, execute, job_dataset
from pllbench.training.isolation import ProcessState, forks_refused
from pllbench.training.trainer import Interrupted, Progress

REPORT_SECONDS = 0.2
"""A worker tells of its progress at most this often."""

POLL_SECONDS = 0.5
"""How often an engine looks for overdue runs and requests to stop."""


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
    """A run is done; nothing is stored yet.

    Attributes:
        job: the run.
        record: what is known of it.
        curves: its per-epoch columns.
        changed: names of what it changed in its process; put back.
        kept: content of the files that it was asked to keep, by kind.
    """

    job: Job
    record: Record
    curves: Curves
    changed: tuple[str, ...] = ()
    kept: Mapping[Kept, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFailed:
    """A run has failed.

    Attributes:
        job: the run.
        reason: one line.
        details: traceback, where there is one.
        changed: names of what it changed in its process; put back.
        broken: the process can use its GPU no more.
    """

    job: Job
    reason: str
    details: str = ""
    changed: tuple[str, ...] = ()
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """A run was interrupted on request, or pauses; its state is in its checkpoint.

    Attributes:
        job: the run.
        curves: its per-epoch columns so far, if it pauses.
        changed: names of what it changed in its process; put back.
    """

    job: Job
    curves: Curves | None = None
    changed: tuple[str, ...] = ()


Event = Started | EpochEnded | Finished | RunFailed | Stopped


class Engine(ABC):
    """Executes jobs somewhere, in as many places as it has.

    Attributes:
        timeout: seconds after which a run fails; None for no limit.
        stopping: whether it was asked to stop.
        tell: called with what happens between the events of `run`, where jobs are executed there.
        in_process: whether jobs are executed in this process.
        elsewhere: whether jobs are executed on other machines, with devices of their own.
    """

    in_process: ClassVar[bool] = False
    elsewhere: ClassVar[bool] = False

    def __init__(self, timeout: float | None = None) -> None:
        self.timeout = timeout
        self.stopping = False
        self.tell: Callable[[Event], None] = lambda _: None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(self, jobs: Iterator[Job]) -> Iterator[Event]:
        """Execute all jobs, taken one by one as places become free; events in order per job."""
        while True:
            while not self.stopping and self._has_place() and (job := next(jobs, None)):
                self._begin(job)
                yield Started(job)
            if not self._running():
                return
            if self.stopping:
                self._ask_to_stop()
            yield from self._events()
            yield from self._overdue()

    def stop(self) -> None:
        """Ask running jobs to save their state and stop; no further ones are taken.

        May be called from a signal handler, while `run` is at work.
        """
        self.stopping = True  # `run` tells the workers: a signal may have come amid a message

    def _overdue(self) -> Iterator[Event]:
        if self.timeout is None:
            return
        now = time.monotonic()
        for job, since in self._running():
            if since is not None and now - since > self.timeout:
                self._end(job)
                yield RunFailed(job, f"took longer than its timeout of {self.timeout:g} s")

    @abstractmethod
    def close(self) -> None:
        """End all workers at once."""

    @abstractmethod
    def _has_place(self) -> bool:
        """Whether one more job can begin."""

    @abstractmethod
    def _begin(self, job: Job) -> None:
        """Give a job to a worker."""

    @abstractmethod
    def _running(self) -> Sequence[tuple[Job, float | None]]:
        """Jobs that were given and have not ended, each with the `time.monotonic` of its begin.

        None while a job waits for its worker.
        """

    @abstractmethod
    def _ask_to_stop(self) -> None:
        """Ask all running jobs to stop at the end of their epoch; may be called again."""

    @abstractmethod
    def _events(self) -> Iterator[Event]:
        """What running jobs have reported; waits for at most `POLL_SECONDS`."""

    @abstractmethod
    def _end(self, job: Job) -> None:
        """End a running job at once; nothing more is told of it."""


def attempt(
    job: Job,
    on_epoch: Callable[[Progress], bool],
    dataset: Dataset | None = None,
    failures: tuple[type[BaseException], ...] = (Exception,),
) -> Finished | RunFailed | Stopped:
    """Execute a job in this process: `execute`, with whatever a method raises as an event.

    Ctrl-C ends the process in which a user waits, so it is none of the usual `failures`.
    What the method changes in the process is put back for the next run, and named in the event.
    """
    kept: dict[Kept, bytes] = {}
    before = None
    event: Finished | RunFailed | Stopped
    try:
        if dataset is None:
            dataset = job_dataset(job)  # first: readers import libraries that set things up
        before = ProcessState.capture()
        with forks_refused():
            event = Finished(job, *execute(job, on_epoch, dataset, kept), kept=kept)
    except Interrupted as stop:
        event = Stopped(job, stop.curves)
    except failures as error:  # they fail their run alone
        reason = ": ".join(filter(None, (type(error).__name__, str(error))))
        event = RunFailed(job, reason, traceback.format_exc(), broken=is_broken())
        if event.broken:
            return event  # nothing else in this process can be relied on
    return replace(event, changed=tuple(before.restore())) if before else event
