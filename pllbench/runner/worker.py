"""A worker process: jobs come in through a pipe, and events go out through it.

The process leads a group of its own, and adopts what its methods leave behind, so that all that
they start ends with it.
"""

import ctypes
import os
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection

import torch

from pllbench.runner.descendants import adopt_orphans, kill_descendants
from pllbench.runner.device import free_memory
from pllbench.runner.engine import REPORT_SECONDS, EpochEnded, Event, attempt
from pllbench.runner.job import Job
from pllbench.training.trainer import Progress

LIBC = ctypes.CDLL(None)

KEPT = 2**30
"""Bytes: what a run frees stays with the process until the run ends, if it is less."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


class _RunnerGone(BaseException):  # no error of the run, so `attempt` lets it pass
    """The process at the other end of the pipe has died."""


def work(connection: Connection) -> None:
    """Main function of a worker process."""
    os.setpgid(0, 0)
    adopt_orphans()
    prepare_worker()
    try:
        with suppress(_RunnerGone):
            while True:
                job = _receive_job(connection)
                if job is not None:  # a request to stop may arrive after the run has ended
                    _tell(connection, _execute(job, connection))
    finally:  # a method may end this process
        kill_descendants(os.getpid())
    os.killpg(0, signal.SIGKILL)


def prepare_worker() -> None:
    """One torch thread; with glibc, freed memory stays with the process. No number changes.

    The compiler asks for a lock of tqdm, which by default is a semaphore of the system, and left
    behind where a worker is killed, as all of them are in the end.

    A step frees tensors of some MiB and asks for as much again. Left alone, glibc gives them back
    to the system, which hands them out cleared: up to a fifth of a step.
    """
    torch.set_num_threads(1)
    with suppress(ImportError):
        from tqdm import tqdm

        tqdm.set_lock(threading.RLock())
    if hasattr(LIBC, "mallopt"):  # glibc
        LIBC.mallopt(M_MMAP_THRESHOLD, KEPT)
        LIBC.mallopt(M_TRIM_THRESHOLD, KEPT)


def give_back_memory() -> None:
    """What a run has freed, so that the peak of the next one is its own."""
    free_memory()
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)


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

    # Ctrl-C is blocked here, so it is the method that raises what stands for it.
    event = attempt(job, on_epoch, failures=(Exception, KeyboardInterrupt))
    give_back_memory()
    return event


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
