"""From planned runs to records: skip what is done, execute the rest, store what comes back."""

import signal
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rich.console import Console

from pllbench.data import dataset as datasets
from pllbench.data.custom import OwnData
from pllbench.grid.plan import PlannedRun
from pllbench.results import records
from pllbench.results.status import name_of
from pllbench.results.workspace import HEARTBEAT_SECONDS, Workspace
from pllbench.runner import annotator as annotators
from pllbench.runner.engine import Engine, EpochEnded, Event, Failed, Finished, Started, Stopped
from pllbench.runner.job import Job
from pllbench.runner.progress import Display
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.task import require_fit

POLL_SECONDS = 0.5
"""How often the runs that another process works on are looked at."""

MAX_REASON = 300
"""Characters of a failure's reason that are shown; its traceback is stored in full."""


@dataclass(frozen=True, slots=True)
class Options:
    """How runs are executed; nothing here changes a number.

    Attributes:
        results: the results folder.
        data_dir: folder of the data sets.
        device: auto, cpu or cuda.
        noisy: candidate sets may lack the true label.
        checkpoint_every: epochs between two checkpoints of a run.
    """

    results: Path
    data_dir: Path
    device: str = "auto"
    noisy: bool = False
    checkpoint_every: int = 10

    @property
    def annotators(self) -> Path:
        """Folder of the scores of annotators."""
        return self.results / "work" / "annotators"


@dataclass(slots=True)
class Summary:
    """What became of a grid.

    Attributes:
        skipped: runs that were done before.
        done: runs done now, here or by another process meanwhile.
        failed: failed runs, each with its reason.
        left: the others.
        interrupted: whether it was stopped before its end.
    """

    skipped: int = 0
    done: int = 0
    failed: list[tuple[PlannedRun, str]] = field(default_factory=list)
    left: int = 0
    interrupted: bool = False


def preflight(planned: Sequence[PlannedRun], options: Options) -> None:
    """Check, before any run starts and anything is written, what would stop many of them.

    Data sets are read, so that a malformed one is found at once.

    Raises:
        ValueError: a data file is missing or malformed, a run's settings do not fit its data, or
            the results folder is not writable.
    """
    cells: dict[OwnData | str, dict[str, PlannedRun]] = defaultdict(dict)
    for run in planned:
        cells[run.own or run.spec.dataset].setdefault(run.spec.cell, run)
    for name in cells:
        if isinstance(name, str):
            datasets.require_files(name, options.data_dir)
    for name, runs in cells.items():
        dataset = datasets.load(name, options.data_dir, noisy=options.noisy)
        for run in runs.values():
            try:
                require_fit(run.spec, dataset)
            except ValueError as error:
                raise ValueError(f"{name_of(run)}: {error}") from error
    for folder in (options.results, options.results / "records", options.results / "work"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise ValueError(
                f"--results {folder}: not writable ({error.strerror}); name another folder"
            ) from error


def run_grid(
    planned: Sequence[PlannedRun], engine: Engine, options: Options, console: Console
) -> Summary:
    """Execute every planned run that has no record yet, and store the records.

    A run that another process works on is passed over and waited for; if its owner dies, it is
    taken over. A run that fails, here or there, leaves its reason in its workspace and is tried
    again by the next call. The first Ctrl-C lets running cells save their state and stops; the
    second ends at once.
    """
    summary = Summary()
    unique = {run.spec.run_id: run for run in planned}  # rows may share runs
    pending = [run for run in unique.values() if not records.is_done(options.results, run.spec)]
    summary.skipped = len(unique) - len(pending)
    if not pending:
        return summary
    preflight(pending, options)
    with Display(console, pending) as display, _interruptible(engine, summary, display):
        grid = _Grid(options, display, summary)
        with _beating(grid):
            while pending and not summary.interrupted:
                grid.passed_over.clear()
                for event in engine.run(grid.jobs(pending)):
                    grid.handle(event)
                pending = list(grid.passed_over.values())
                if pending:
                    display.waiting(len(pending))
                    time.sleep(POLL_SECONDS)
    summary.left = len(unique) - summary.skipped - summary.done - len(summary.failed)
    return summary


class _Grid:
    """The runs of a grid, from lock to record.

    Attributes:
        owned: runs that this process works on, by id, with their locked workspaces.
        passed_over: runs that another process was found to work on, by id.
    """

    def __init__(self, options: Options, display: Display, summary: Summary) -> None:
        self.options = options
        self.display = display
        self.summary = summary
        self.owned: dict[str, tuple[PlannedRun, Workspace]] = {}
        self.passed_over: dict[str, PlannedRun] = {}
        self._seen_elsewhere: set[str] = set()

    def jobs(self, pending: Sequence[PlannedRun]) -> Iterator[Job]:
        """Jobs of those runs that can be locked; the others are passed over."""
        options = self.options
        for run in pending:
            run_id = run.spec.run_id
            space = Workspace.of(options.results, run_id)
            if run_id in self._seen_elsewhere and space.state() == "failed":
                self._count_failure(run, space.reason())
                continue
            try:
                acquired = space.acquire()
            except OSError as error:
                self._count_failure(run, f"its workspace could not be written: {error}")
                continue
            if not acquired:
                self.passed_over[run_id] = run
                self._seen_elsewhere.add(run_id)
                continue
            if records.is_done(options.results, run.spec):
                space.finish()
                self.summary.done += 1
                self.display.passed_over(run)
                continue
            try:
                self._set_aside(run, space)
            except OSError as error:
                self._fail(run, space, f"a damaged file could not be moved aside: {error}", "")
                continue
            self.owned[run_id] = (run, space)
            yield Job(
                run.spec,
                options.data_dir,
                options.device,
                options.noisy,
                space.checkpoint,
                options.checkpoint_every,
                options.annotators,
                run.own,
            )

    def _set_aside(self, run: PlannedRun, space: Workspace) -> None:
        """What an earlier try has left damaged is named, and kept under another name."""
        damaged = (
            records.set_aside(self.options.results, run.spec),
            Checkpoints(space.checkpoint, run.spec.run_id).set_aside(),
            annotators.set_aside(self.options.annotators, run.spec),
        )
        for line in filter(None, damaged):
            self.display.warned(line)

    def beat(self) -> None:
        """Tell processes on other machines that this one lives."""
        for _, space in list(self.owned.values()):
            space.beat()

    def handle(self, event: Event) -> None:
        """Show an event, and store what it brings."""
        run, space = self.owned[event.job.spec.run_id]
        match event:
            case Started():
                self.display.started(run)
                return
            case EpochEnded():
                self.display.progressed(run, event.progress)
                return
            case Finished():
                self._store(run, space, event)
            case Failed():
                self._fail(run, space, event.reason, event.details)
            case Stopped():
                space.release()
                self.display.stopped(run)
        del self.owned[run.spec.run_id]

    def _store(self, run: PlannedRun, space: Workspace, event: Finished) -> None:
        try:
            records.write(self.options.results, event.record, event.curves)
        except OSError as error:
            self._fail(run, space, f"its record could not be written: {error}", "")
            return
        space.finish()
        self.summary.done += 1
        result = event.record.result
        self.display.finished(run, result.accuracy["last10"], event.record.provenance.seconds)

    def _fail(self, run: PlannedRun, space: Workspace, reason: str, details: str) -> None:
        line = " ".join(reason.split())[:MAX_REASON]
        try:
            space.fail(f"{line}\n\n{details}")
        except OSError as error:
            line = f"{line} (and its error could not be stored: {error})"
            space.release()
        self._count_failure(run, line)

    def _count_failure(self, run: PlannedRun, reason: str) -> None:
        self.summary.failed.append((run, reason))
        self.display.failed(run, reason)


@contextmanager
def _beating(grid: _Grid) -> Iterator[None]:
    """A thread beats for the grid: the engine may wait for hours."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            grid.beat()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _interruptible(engine: Engine, summary: Summary, display: Display) -> Iterator[None]:
    """The first Ctrl-C asks the engine to stop, the second raises KeyboardInterrupt."""

    def on_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's
        if summary.interrupted:
            raise KeyboardInterrupt
        summary.interrupted = True
        display.stopping()
        engine.stop()

    previous = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
