"""What a person sees while a grid runs: a live view on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from pllbench.runs import name_of
from pllbench.spec import RunSpec
from pllbench.trainer import Progress as EpochProgress


def duration(seconds: float) -> str:
    """Seconds as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


class Display:
    """Progress of a grid on `console`. A context manager; every method may be called at any time.

    Attributes:
        console: where it is shown; decides between live view and plain lines.
        total: runs to execute.
        places: runs at a time, for the estimate of the time left.
    """

    def __init__(self, console: Console, total: int, places: int) -> None:
        self.console = console
        self.total = total
        self.places = places
        self._running: dict[str, tuple[RunSpec, str, float, EpochProgress | None]] = {}
        self._seconds: list[float] = []
        self._ended = 0
        self._failed = 0
        self._bar = Progress(
            TextColumn("[bold]runs"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._task = self._bar.add_task("runs", total=total, left="")
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def started(self, spec: RunSpec, label: str) -> None:
        """A run has begun."""
        self._running[spec.run_id] = (spec, label, time.monotonic(), None)

    def progressed(self, spec: RunSpec, progress: EpochProgress) -> None:
        """A run has ended an epoch."""
        _, label, since, _ = self._running[spec.run_id]
        self._running[spec.run_id] = (spec, label, since, progress)

    def finished(self, spec: RunSpec, accuracy: float, seconds: float) -> None:
        """A run is stored; `accuracy` is a fraction."""
        self._seconds.append(seconds)
        self._end(spec, f"{100 * accuracy:.2f} % in {duration(seconds)}")

    def failed(self, spec: RunSpec, reason: str) -> None:
        """A run has failed."""
        self._failed += 1
        self._end(spec, f"FAILED: {reason}", style="bold red")

    def stopped(self, spec: RunSpec) -> None:
        """A run has saved its state on request."""
        self._end(spec, "stopped, goes on with the next run", style="yellow")

    def passed_over(self, spec: RunSpec, label: str) -> None:
        """A run that another process has finished."""
        self._running[spec.run_id] = (spec, label, time.monotonic(), None)
        self._end(spec, "done by another process")

    def note(self, text: str) -> None:
        """A line between the others."""
        self.console.print(Text(text), highlight=False)

    def _end(self, spec: RunSpec, outcome: str, style: str = "") -> None:
        _, label, _, _ = self._running.pop(spec.run_id)
        self._ended += 1
        self._bar.update(self._task, completed=self._ended, left=self._left())
        if style or not self.console.is_terminal:
            line = f"[{self._ended}/{self.total}] {name_of(spec, label)}: {outcome}"
            self.console.print(Text(line, style=style), highlight=False, soft_wrap=True)

    def _left(self) -> str:
        """Time left, from the mean of the runs so far."""
        remaining = self.total - self._ended
        if not self._seconds or not remaining:
            return ""
        mean = sum(self._seconds) / len(self._seconds)
        return f"about {duration(mean * remaining / self.places)} left"

    def _render(self) -> Group:
        cells = Table.grid(padding=(0, 2))
        cells.add_column(overflow="ellipsis", no_wrap=True)
        for column in range(3):
            cells.add_column(justify="right", no_wrap=True, min_width=(12, 10, 8)[column])
        for spec, label, since, progress in self._running.values():
            epoch, accuracy = ("-", "-") if progress is None else _numbers(spec, progress)
            cells.add_row(
                Text(name_of(spec, label)), epoch, accuracy, duration(time.monotonic() - since)
            )
        failures = [Text(f"{self._failed} failed", style="bold red")] if self._failed else []
        return Group(cells, self._bar, *failures)


def _numbers(spec: RunSpec, progress: EpochProgress) -> tuple[str, str]:
    return f"{progress.epoch + 1}/{spec.train.epochs}", f"{100 * progress.accuracy:.2f} %"
