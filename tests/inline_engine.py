"""An engine that executes jobs in the test's own process, and what a grid on it says."""

import io
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console

from pllbench.grid.plan import PlannedRun
from pllbench.results.kept import Kept
from pllbench.results.summary import GridSummary
from pllbench.runner.display import Display
from pllbench.runner.engine import Engine, Event, Finished, RunFailed, Stopped, attempt
from pllbench.runner.job import Job, RunOptions, execute
from pllbench.runner.run_grid import run_grid


class InlineEngine(Engine):
    """Executes jobs here, and fails those of `failing` methods.

    Attributes:
        executed: methods and seeds, in the order of execution.
        before: called with each job before it is executed.
    """

    def __init__(self, *failing: str, before: Callable[[Job], object] = lambda job: None) -> None:
        super().__init__()
        self.failing = failing
        self.before = before
        self.executed: list[tuple[str, int]] = []
        self._given: list[Job] = []

    def close(self) -> None:
        pass

    def _has_place(self) -> bool:
        return not self._given

    def _begin(self, job: Job) -> None:
        self._given.append(job)

    def _running(self) -> list[tuple[Job, float | None]]:
        return [(job, None) for job in self._given]

    def _ask_to_stop(self) -> None:
        raise AssertionError("no job goes on while the test does")

    def _events(self) -> Iterator[Event]:
        job = self._given.pop()
        self.before(job)
        self.executed.append((job.spec.method, job.spec.seed))
        if job.spec.method in self.failing:
            yield RunFailed(job, "ValueError: wrong\nin two lines", "the traceback")
        elif self.stopping:
            yield Stopped(job)
        elif job.until:
            yield attempt(job, lambda _: True)
        else:
            kept: dict[Kept, bytes] = {}
            yield Finished(job, *execute(job, kept=kept), kept=kept)

    def _end(self, job: Job) -> None:
        raise AssertionError("there is no time limit")


def run_inline(
    planned: Sequence[PlannedRun], engine: Engine, options: RunOptions
) -> tuple[GridSummary, list[str]]:
    """The summary of a grid, and the lines that were printed."""
    output = io.StringIO()
    summary = run_grid(planned, engine, options, Display(Console(file=output, width=1000)))
    return summary, output.getvalue().splitlines()


def counts(summary: GridSummary) -> tuple[int, int, int, int]:
    """Runs that are done, were skipped, have failed and are left."""
    return summary.done, summary.skipped, len(summary.failed), summary.left
