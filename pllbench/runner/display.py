"""Progress of a grid: on a terminal, in a notebook, in a log."""

import html
import io
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from pllbench.budget import Criterion
from pllbench.grid.plan import PlannedRun
from pllbench.runner.progress import Observer
from pllbench.training.trainer import Progress as EpochProgress
from pllbench.validation import FieldError

SETTLING_SECONDS = 2.0
"""No estimate of the time left is shown before it rests on this much time."""

QUIET_SECONDS = 60.0
"""Plain lines: a log that has been silent for so long gets one about the run that ends an epoch."""

_GAP = 2
"""Spaces between columns."""

_PAGE_WIDTH = 100
"""Characters of a line in a notebook."""

_PAGE_SECONDS = 0.3
"""A notebook is shown a new state at most this often."""

_NUMBER_WIDTHS = (9, 8, 8)
"""Widths of a running cell's columns after its name: epoch, accuracy and time."""


def duration(seconds: float) -> str:
    """Seconds as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


@dataclass(slots=True)
class _Running:
    """A run that is being executed; `first` is the epoch that it started or went on at."""

    run: PlannedRun
    since: float
    first: int = 0
    progress: EpochProgress | None = None

    @property
    def epochs_done(self) -> int:
        return self.progress.epoch + 1 if self.progress else self.first

    @property
    def epochs_here(self) -> int:
        return self.epochs_done - self.first


class Display(Observer):
    """Progress of a grid on a console: a live view on a terminal, plain lines elsewhere.

    Attributes:
        console: where it is shown.
        total: runs to execute.
        criterion: shown of trials of a search, in the place of test accuracy.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.total = 0
        self.criterion: Criterion | None = None
        self._until: Mapping[str, int] = {}
        self._running: dict[str, _Running] = {}
        self._ended = 0
        self._failed = 0
        self._waiting = 0
        self._stopping = False
        self._epochs_left = 0  # running ones included
        self._epochs_here = 0  # trained here, by runs that have ended
        self._first_report: float | None = None
        self._printed_at = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.fields[runs]} runs"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._task = self._bar.add_task("", total=1, runs="", left="")
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4)

    @property
    def repaints(self) -> bool:
        """Whether what is shown changes in its place, so that a run that ends leaves no line."""
        return self.console.is_terminal

    def pausing(self, until: Mapping[str, int], criterion: Criterion) -> None:
        """Runs that begin next are trials, which pause after so many epochs, by run_id."""
        self._until, self.criterion = until, criterion

    def begun(self, runs: Sequence[PlannedRun]) -> None:
        """These runs are to be executed; on a terminal, the live view starts."""
        self.total, self._ended = len(runs), 0
        self._epochs_left = sum(map(self._length, runs))
        self._bar.update(self._task, total=max(1, self._epochs_left))
        if self.console.is_terminal:
            self._live.start()
        self._changed()

    def ended(self) -> None:
        """The live view ends; its last state stays."""
        if self.console.is_terminal:
            self._live.stop()
        self._changed()

    def started(self, run: PlannedRun) -> None:
        """A run has begun."""
        self._waiting = 0
        self._running[run.spec.run_id] = _Running(run, time.monotonic())
        self._changed()

    def progressed(self, run: PlannedRun, progress: EpochProgress) -> None:
        """A run has ended an epoch."""
        self._reported()
        entry = self._running[run.spec.run_id]
        if entry.progress is None:
            entry.first = progress.epoch
        entry.progress = progress
        silent = time.monotonic() - self._printed_at > QUIET_SECONDS
        if silent and not self.repaints:
            epoch = f"epoch {progress.epoch + 1} of {run.spec.train.epochs}"
            self._print(f"[{self._ended}/{self.total}] {run.title}: {epoch}")
        self._changed()

    def finished(self, run: PlannedRun, accuracy: float | None, seconds: float) -> None:
        """A run is stored; `accuracy` is a fraction."""
        if self.criterion is not None:
            self.paused(run, run.spec.train.epochs)
            return
        self._reported()
        entry = self._running[run.spec.run_id]
        self._epochs_here += self._length(run) - entry.first
        outcome = "done" if accuracy is None else f"{100 * accuracy:.2f} %"
        self._end(run, f"{outcome} in {duration(seconds)}")

    def failed(self, run: PlannedRun, reason: str) -> None:
        """A run has failed, here or in another process."""
        self._failed += 1
        self._end(run, f"FAILED: {reason}", style="bold red")

    def passed_over(self, run: PlannedRun) -> None:
        """Another process has finished a run."""
        self._end(run, "done by another process")

    def stopped(self, run: PlannedRun) -> None:
        """A run has saved its state on request."""
        self._running.pop(run.spec.run_id)
        self._print(f"{run.title}: stopped, the next run of this command goes on", "yellow")

    def paused(self, run: PlannedRun, epochs: int) -> None:
        """A run has come to where it pauses, after so many epochs."""
        self._reported()
        entry = self._running[run.spec.run_id]
        self._epochs_here += epochs - entry.first
        self._end(run, f"{epochs} of {run.spec.train.epochs} epochs")

    def warned(self, line: str) -> None:
        """A damaged file was found."""
        self._print(line, "yellow")

    def waiting(self, num_runs: int) -> None:
        """All that is left is runs that other processes work on."""
        if not self._waiting and not self.repaints:
            self._print(_waiting(num_runs))
        self._waiting = num_runs
        self._changed()

    def stopping(self) -> None:
        """Running cells have been asked to stop. Prints nothing: signal handlers may call it."""
        self._stopping = True

    def _changed(self) -> None:
        """Called whenever there is something new to show; rich looks for itself."""

    def _reported(self) -> None:
        if self._first_report is None:
            self._first_report = time.monotonic()

    def _end(self, run: PlannedRun, outcome: str, style: str = "") -> None:
        self._running.pop(run.spec.run_id, None)
        self._ended += 1
        self._epochs_left -= self._length(run)
        if style or not self.repaints:
            self._print(f"[{self._ended}/{self.total}] {run.title}: {outcome}", style)
        self._changed()

    def _print(self, line: str, style: str = "") -> None:
        self._printed_at = time.monotonic()
        self.console.print(Text(line, style=style), highlight=False, soft_wrap=True)

    def _length(self, run: PlannedRun) -> int:
        """Epochs to which a run goes here."""
        return self._until.get(run.spec.run_id, run.spec.train.epochs)

    def _time_left(self, running: Sequence[_Running]) -> str:
        """Estimated from the epochs trained since the first report."""
        trained = self._epochs_here + sum(entry.epochs_here for entry in running)
        left = self._epochs_left - sum(entry.epochs_done for entry in running)
        elapsed = time.monotonic() - self._first_report if self._first_report else 0.0
        if not (trained and left > 0) or elapsed < SETTLING_SECONDS:
            return ""
        return f"about {duration(elapsed * left / trained)} left"

    def _render(self) -> Group:
        running = list(self._running.values())  # another thread refreshes the live view
        cells = Table.grid(padding=(0, _GAP))
        room = self.console.width - sum(_NUMBER_WIDTHS) - _GAP * len(_NUMBER_WIDTHS)
        cells.add_column(overflow="ellipsis", no_wrap=True, max_width=max(4, room))
        for width in _NUMBER_WIDTHS:
            cells.add_column(justify="right", no_wrap=True, min_width=width)
        for entry in running:
            elapsed = duration(time.monotonic() - entry.since)
            cells.add_row(Text(entry.run.title), *self._numbers(entry), elapsed)
        epochs = self._epochs_left - sum(entry.epochs_done for entry in running)
        total = self._bar.tasks[0].total or 1
        self._bar.update(
            self._task,
            completed=total - epochs,
            runs=f"{self._ended}/{self.total}",
            left=self._time_left(running),
        )
        lines = [Text(f"{self._failed} failed", style="bold red")] if self._failed else []
        if self._waiting:
            lines.append(Text(_waiting(self._waiting), style="dim"))
        if self._stopping:
            text = "stopping at the end of the epoch; Ctrl-C again stops at once"
            lines.append(Text(text, style="yellow"))
        return Group(cells, self._bar, *lines)

    def _numbers(self, entry: _Running) -> tuple[str, str]:
        if entry.progress is None:
            return "-", "-"
        value: float | None = getattr(entry.progress, self.criterion or "accuracy")
        percent = "-" if value is None else f"{100 * value:.2f} %"
        return f"{entry.epochs_done}/{entry.run.spec.train.epochs}", percent


class NotebookDisplay(Display):
    """Progress of a grid below a cell of a notebook: one output, which is written anew."""

    def __init__(self) -> None:
        super().__init__(_text_console())
        self._handle: Any = None
        self._shown_at = 0.0
        self._lines: list[str] = []

    @property
    def repaints(self) -> bool:
        """It does."""
        return True

    def begun(self, runs: Sequence[PlannedRun]) -> None:
        """These runs are to be executed."""
        self._open()
        super().begun(runs)

    def ended(self) -> None:
        """The last state stays."""
        self._shown_at = 0.0
        super().ended()

    def warned(self, line: str) -> None:
        """Something is wrong, or special; it is shown at once, since no run may follow."""
        self._shown_at = 0.0
        super().warned(line)
        self._open()

    def _open(self) -> None:
        """Make the output, where there is none yet."""
        from IPython.display import display

        if self._handle is None:
            self._handle = display(self._page(), raw=True, display_id=True)

    def _print(self, line: str, style: str = "") -> None:  # noqa: ARG002 - no colours
        self._lines.append(line)
        self._changed()

    def _changed(self) -> None:
        now = time.monotonic()
        if self._handle is not None and now - self._shown_at >= _PAGE_SECONDS:
            self._shown_at = now
            self._handle.update(self._page(), raw=True)

    def _page(self) -> Mapping[str, str]:
        with self.console.capture() as captured:
            if self.total:
                self.console.print(self._render())
        text = "\n".join((*self._lines, captured.get().rstrip())).rstrip()
        return {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"}


class Quiet(Observer):
    """Shows nothing but warnings, and those as Python does."""

    def warned(self, line: str) -> None:
        """Something is wrong, or special, that stops no run."""
        warnings.warn(line, stacklevel=2)


def _text_console() -> Console:
    """A console of plain text, which rich would else turn into outputs of the notebook."""
    text = io.StringIO()
    return Console(file=text, width=_PAGE_WIDTH, force_jupyter=False, force_terminal=False)


def choose_observer(progress: bool | Observer) -> Observer:
    """Who is told of the progress of a grid.

    Args:
        progress: an observer; or True for what suits the place (a live view on a terminal, one
            output below the cell of a notebook, lines on standard error elsewhere), False for none.

    Raises:
        FieldError: it is something else.
    """
    if isinstance(progress, Observer):
        return progress
    if not isinstance(progress, bool):
        raise FieldError("progress", "must be True, False or an Observer", repr(progress))
    if not progress:
        return Quiet()
    return NotebookDisplay() if _in_notebook() else Display(Console(stderr=True))


def _in_notebook() -> bool:
    """Whether the caller's output goes to a page; IPython on a terminal has no kernel."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def _waiting(num_runs: int) -> str:
    return f"waiting for {num_runs} {'runs' if num_runs > 1 else 'run'} of another process"
