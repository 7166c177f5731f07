"""From planned runs to records: skip what is done, execute the rest, store what comes back."""

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rich.console import Console

from pllbench import datasets, records
from pllbench.display import Display
from pllbench.engines import Engine, EpochEnded, Event, Failed, Finished, Started, Stopped
from pllbench.execution import Job
from pllbench.grid import PlannedRun
from pllbench.workspace import Workspace

POLL_SECONDS = 0.5
"""How often the runs that another process works on are looked at."""


@dataclass(frozen=True, slots=True)
class Options:
    """How runs are executed; nothing here changes a number.

    Attributes:
        results: the results folder.
        data_dir: folder of the data sets.
        device: auto, cpu or cuda.
        noisy: candidate sets may lack the true label.
        checkpoint_every: epochs between two checkpoints of a run.
        places: runs at a time.
    """

    results: Path
    data_dir: Path
    device: str = "auto"
    noisy: bool = False
    checkpoint_every: int = 10
    places: int = 1


@dataclass(slots=True)
class Summary:
    """What became of a grid.

    Attributes:
        skipped: runs that were done before.
        done: runs done now, here or by another process meanwhile.
        failed: failed runs, each with its reason.
        interrupted: whether it was stopped before its end.
    """

    skipped: int = 0
    done: int = 0
    failed: list[tuple[PlannedRun, str]] = field(default_factory=list)
    interrupted: bool = False


def preflight(planned: Sequence[PlannedRun], options: Options) -> None:
    """Check, before any run starts, what would stop them all.

    Raises:
        ValueError: the results folder is not writable, or a data file is missing.
    """
    probe = options.results / ".writable"
    try:
        options.results.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(
            f"--results {options.results}: not writable ({error.strerror}); name another folder"
        ) from error
    for name in dict.fromkeys(run.spec.dataset for run in planned):
        datasets.require_files(name, options.data_dir)


def run_grid(
    planned: Sequence[PlannedRun], engine: Engine, options: Options, console: Console
) -> Summary:
    """Execute every planned run that has no record yet, and store the records.

    A run that another process works on is passed over and waited for; if its owner dies, it is
    taken over. A run that fails leaves its reason in its workspace and is tried again by the next
    call. The first Ctrl-C lets running cells save their state and stops; the second ends at once.
    """
    summary = Summary()
    unique = {run.spec.run_id: run for run in planned}  # rows may share runs
    pending = [run for run in unique.values() if not records.is_done(options.results, run.spec)]
    summary.skipped = len(unique) - len(pending)
    if not pending:
        return summary
    preflight(pending, options)
    with Display(console, len(pending), options.places) as display, _interruptible(engine, summary):
        grid = _Grid(options, display, summary)
        while pending and not summary.interrupted:
            busy: list[PlannedRun] = []
            for event in engine.run(grid.jobs(pending, busy)):
                grid.handle(event)
            pending = busy
            if pending:
                time.sleep(POLL_SECONDS)
    return summary


class _Grid:
    """The runs that this process owns, from lock to record."""

    def __init__(self, options: Options, display: Display, summary: Summary) -> None:
        self.options = options
        self.display = display
        self.summary = summary
        self.owned: dict[str, tuple[PlannedRun, Workspace]] = {}

    def jobs(self, pending: Sequence[PlannedRun], busy: list[PlannedRun]) -> Iterator[Job]:
        """Jobs of the runs that can be locked; the others are added to `busy`."""
        options = self.options
        for run in pending:
            space = Workspace.of(options.results, run.spec.run_id)
            if not space.acquire():
                busy.append(run)
                continue
            if records.is_done(options.results, run.spec):
                space.finish()
                self.summary.done += 1
                self.display.passed_over(run.spec, run.label)
                continue
            self.owned[run.spec.run_id] = (run, space)
            yield Job(
                run.spec,
                options.data_dir,
                options.device,
                options.noisy,
                space.checkpoint,
                options.checkpoint_every,
            )

    def handle(self, event: Event) -> None:
        """Show an event, and store what it brings."""
        spec = event.job.spec
        run, space = self.owned[spec.run_id]
        match event:
            case Started():
                self.display.started(spec, run.label)
                return
            case EpochEnded():
                self.display.progressed(spec, event.progress)
                return
            case Finished():
                self._store(run, space, event)
            case Failed():
                self._fail(run, space, event.reason, event.details)
            case Stopped():
                space.release()
                self.display.stopped(spec)
        del self.owned[spec.run_id]

    def _store(self, run: PlannedRun, space: Workspace, event: Finished) -> None:
        try:
            records.write(self.options.results, event.record, event.curves)
        except OSError as error:
            self._fail(run, space, f"its record could not be written: {error}", "")
            return
        space.finish()
        self.summary.done += 1
        result = event.record.result
        self.display.finished(run.spec, result.accuracy["last10"], event.record.provenance.seconds)

    def _fail(self, run: PlannedRun, space: Workspace, reason: str, details: str) -> None:
        line = " ".join(reason.split())
        try:
            space.fail(f"{line}\n\n{details}")
        except OSError as error:
            line = f"{line} (and its error could not be stored: {error})"
            space.release()
        self.summary.failed.append((run, line))
        self.display.failed(run.spec, line)


@contextmanager
def _interruptible(engine: Engine, summary: Summary) -> Iterator[None]:
    """The first Ctrl-C asks the engine to stop, the second raises KeyboardInterrupt."""

    def on_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's
        if summary.interrupted:
            raise KeyboardInterrupt
        summary.interrupted = True
        engine.stop()

    previous = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
