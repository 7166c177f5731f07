"""Runs in the caller's own thread, one after another: breakpoints and prints work there."""

import threading
import time
from collections.abc import Iterator, Sequence

import torch

from pllbench.runner.engine import REPORT_SECONDS, Engine, EpochEnded, Event, attempt
from pllbench.runner.job import Job
from pllbench.training.trainer import Progress

_training = threading.Lock()
"""One trains at a time: runs draw from torch's global generator, which threads share."""


class InlineEngine(Engine):
    """Executes a job while its events are waited for, with one torch thread."""

    in_process = True

    def __init__(self) -> None:
        super().__init__()
        self._job: Job | None = None

    def close(self) -> None:
        """Nothing is left to end."""

    def _has_place(self) -> bool:
        return self._job is None

    def _begin(self, job: Job) -> None:
        self._job = job

    def _running(self) -> Sequence[tuple[Job, float | None]]:
        return [(self._job, None)] if self._job else []

    def _ask_to_stop(self) -> None:
        """`on_epoch` looks for itself."""

    def _events(self) -> Iterator[Event]:
        job, self._job = self._job, None
        assert job is not None
        reported_at = 0.0

        def on_epoch(progress: Progress) -> bool:
            nonlocal reported_at
            if time.monotonic() - reported_at > REPORT_SECONDS:
                self.tell(EpochEnded(job, progress))
                reported_at = time.monotonic()
            return not self.stopping

        with _training:
            num_threads = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                event = attempt(job, on_epoch)
            finally:
                torch.set_num_threads(num_threads)
        yield event

    def _end(self, job: Job) -> None:  # noqa: ARG002 - as all engines
        raise AssertionError("there is no timeout")
