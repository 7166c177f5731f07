"""From planned runs to records: skip what is done, execute the rest, store what comes back."""

import fcntl
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.content import files_digest, other_files
from pllbench.data.dataset import load_dataset, require_files
from pllbench.grid.plan import PlannedRun
from pllbench.results import records
from pllbench.results.curves import Curves, num_epochs
from pllbench.results.equality import Numbers, first_difference, read_numbers
from pllbench.results.files import lock_file
from pllbench.results.kept import without_kept, write_kept
from pllbench.results.model_selection import DEFAULT_RULE
from pllbench.results.paused import write_paused
from pllbench.results.summary import GridSummary
from pllbench.results.workspace import HEARTBEAT_SECONDS, Workspace
from pllbench.runner import annotator
from pllbench.runner.device import resolve_device
from pllbench.runner.engine import Engine, EpochEnded, Event, Finished, RunFailed, Started, Stopped
from pllbench.runner.job import Job, RunOptions
from pllbench.runner.origin import origin_id, run_origin
from pllbench.runner.progress import Observer
from pllbench.runner.stale import DoneRuns
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.graph import require_cuda
from pllbench.training.task import require_fit
from pllbench.validation import FieldError, visible_line

RETRY_SECONDS = 0.5
"""How often the runs that another process works on are looked at."""

MAX_REASON = 300
"""Characters of a failure's reason that are shown; its traceback is stored in full."""


def preflight(planned: Sequence[PlannedRun], options: RunOptions) -> None:
    """Check, before any run starts and anything is written, what would stop many of them.

    Data sets are read, so that a malformed one is found at once.

    Raises:
        ValueError: a data file is missing or malformed, a run's settings do not fit its data, or
            the results folder is not writable, on a file system without locks, or holds folders
            that differ in case alone.
    """
    cells: dict[DatasetInfo, dict[str, PlannedRun]] = defaultdict(dict)
    for run in planned:
        cells[run.data].setdefault(run.spec.cell, run)
    for info in cells:
        require_files(info, options.data_dir)
    for info, runs in cells.items():
        dataset = load_dataset(info, options.data_dir, noisy=options.noisy)
        for run in runs.values():
            try:
                require_fit(run.spec, dataset, noisy=options.noisy)
            except ValueError as error:
                raise ValueError(f"{run.title}: {error}") from error
    records.require_own_folders(options.results, [run.spec for run in planned])
    for folder in (options.results, options.results / "records", options.results / "work"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            reason = f"not writable ({error.strerror}); name another folder"
            raise FieldError("results", reason, folder) from error
    try:
        with tempfile.TemporaryFile(dir=options.results / "work") as file:
            lock_file(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB, options.results / "work")
    except OSError as error:
        reason = f"{error.strerror}; name a folder on another file system"
        raise FieldError("results", reason, options.results) from error


def run_grid(
    planned: Sequence[PlannedRun],
    engine: Engine,
    options: RunOptions,
    observer: Observer,
    until: Mapping[str, int] | None = None,
) -> GridSummary:
    """Execute every planned run that has no record yet, and store the records.

    Runs named in `until`, by run_id, pause after so many epochs: their columns so far are stored
    (`results.paused`), they count as done, and a later call goes on from there.

    A run that another process works on is passed over and waited for; if its owner dies, it is
    taken over. A run that fails, here or there, leaves its reason in its workspace and is tried
    again by the next call. When the engine is asked to stop, running ones save their state.

    Raises:
        FieldError: a record is stale, and `options` do not say what becomes of it.
        ValueError: as `preflight`, or a run asks for graphs of a device that knows none.
    """
    summary = GridSummary()
    unique = {run.spec.run_id: run for run in planned}  # rows may share runs
    done = DoneRuns(options, until)
    pending = [run for run in unique.values() if not done.has(run)]
    summary.skipped = len(unique) - len(pending)
    if pending:
        if not engine.elsewhere:
            _require_graphs(pending, options.device)
        preflight(pending, options)
    for info in dict.fromkeys(run.data for run in planned):
        if line := other_files(info, options.data_dir):
            _warn(line, summary, observer)
    for line in (*done.warnings(), *_without_kept(unique.values(), pending, options)):
        _warn(line, summary, observer)
    if not pending:
        return summary
    grid = _Grid(observer, summary, done)
    engine.tell = grid.handle
    observer.begun(pending)
    try:
        with _heartbeats(grid):
            while pending and not engine.stopping:
                grid.passed_over.clear()
                for event in engine.run(grid.jobs(pending)):
                    grid.handle(event)
                pending = list(grid.passed_over.values())
                if pending:
                    observer.waiting(len(pending))
                    time.sleep(RETRY_SECONDS)
    finally:
        grid.release()
        observer.ended()
    summary.interrupted = engine.stopping
    summary.left = len(unique) - summary.skipped - summary.done - len(summary.failed)
    return summary


def _require_graphs(planned: Iterable[PlannedRun], device: str) -> None:
    """Raise ValueError if a run replays its steps from a graph, and its device knows none."""
    for run in planned:
        if run.spec.train.graph:
            try:
                require_cuda(resolve_device(device))
            except ValueError as error:
                raise ValueError(f"{run.title}: {error}") from error


def _warn(line: str, summary: GridSummary, observer: Observer) -> None:
    summary.warnings.append(line)
    observer.warned(line)


def _without_kept(
    runs: Iterable[PlannedRun], pending: Sequence[PlannedRun], options: RunOptions
) -> Iterator[str]:
    """A line where runs that were done before have not kept what is asked for now."""
    done = [run for run in runs if run not in pending]
    paths = [records.record_path(options.results, run.spec) for run in done]
    if options.keep and (number := without_kept(paths, options.keep)):
        kinds = " or ".join(options.keep)
        yield f"done before, without {kinds} kept: {number}; `pllbench rerun` does runs again"


class _Grid:
    """The runs of a grid, from lock to record.

    Attributes:
        owned: runs that this process works on, by id, with their locked workspaces.
        passed_over: runs that another process was found to work on, by id.
    """

    def __init__(self, observer: Observer, summary: GridSummary, done: DoneRuns) -> None:
        self.options = done.options
        self.observer = observer
        self.summary = summary
        self.done = done
        self.owned: dict[str, tuple[PlannedRun, Workspace]] = {}
        self.passed_over: dict[str, PlannedRun] = {}
        self._seen_elsewhere: set[str] = set()

    def jobs(self, pending: Sequence[PlannedRun]) -> Iterator[Job]:
        """Jobs of those runs that can be locked; the others are passed over."""
        options = self.options
        for run in pending:
            run_id = run.spec.run_id
            workspace = Workspace.for_run(options.results, run_id)
            if run_id in self._seen_elsewhere and workspace.state() == "failed":
                self._count_failure(run, workspace.reason())
                continue
            try:
                acquired = workspace.acquire()
            except OSError as error:
                self._count_failure(run, f"its workspace could not be written: {error}")
                continue
            if not acquired:
                self.passed_over[run_id] = run
                self._seen_elsewhere.add(run_id)
                continue
            try:
                if self.done.has(run):
                    if self.done.has_record(run):
                        workspace.finish()
                    else:
                        workspace.release()
                    self.summary.done += 1
                    self.observer.passed_over(run)
                    continue
                self._quarantine(run, workspace)
            except ValueError as error:  # a stale record that another process has just written
                self._fail(run, workspace, str(error), "")
                continue
            except OSError as error:
                self._fail(run, workspace, f"a damaged file could not be moved aside: {error}", "")
                continue
            workspace.describe(run.title, run.spec)
            self.owned[run_id] = (run, workspace)
            pause = self.done.until.get(run_id)
            job = Job(run.spec, run.data, options, workspace.checkpoint, options.annotators, pause)
            yield job.with_absolute_paths()

    def _quarantine(self, run: PlannedRun, workspace: Workspace) -> None:
        """What is damaged or stale is named, and kept under another name."""
        results, spec = self.options.results, run.spec
        digest = files_digest(run.data, self.options.data_dir)
        moved = [
            records.quarantine_damaged_record(results, spec),
            Checkpoints(workspace.checkpoint, origin_id(spec, digest)).quarantine_damaged(),
            annotator.quarantine_damaged_scores(self.options.annotators, spec, run.data, digest),
        ]
        again = self.options.again
        if records.record_path(results, spec).exists() and not again:  # whole, and yet not done
            moved.append(records.set_stale_aside(results, spec))
        for line in filter(None, moved):
            _warn(line, self.summary, self.observer)

    def release(self) -> None:
        """Let go of runs that have not ended: the engine was left by an error, or by Ctrl-C."""
        while self.owned:
            self.owned.popitem()[1][1].release()

    def heartbeat(self) -> None:
        """Tell processes on other machines that this one is alive."""
        for _, workspace in list(self.owned.values()):
            workspace.heartbeat()

    def handle(self, event: Event) -> None:
        """Show an event, and store what it brings."""
        run_id = event.job.spec.run_id
        run, workspace = self.owned[run_id]
        if isinstance(event, Started):
            self.observer.started(run)
            return
        if isinstance(event, EpochEnded):
            self.observer.progressed(run, event.progress)
            return
        del self.owned[run_id]
        if event.changed:
            changed = ", ".join(event.changed)
            line = f"{run.title}: changed what all runs of its process share, put back: {changed}"
            _warn(line[:MAX_REASON], self.summary, self.observer)
        match event:
            case Finished():
                self._store(run, workspace, event)
            case RunFailed():
                self._fail(run, workspace, event.reason, event.details)
            case Stopped():
                self._stop(run, workspace, event.curves)

    def _store(self, run: PlannedRun, workspace: Workspace, event: Finished) -> None:
        try:
            if self.options.again:
                self._compare(run, event)
            write_kept(records.record_path(self.options.results, run.spec), event.kept)
            records.write_record(self.options.results, event.record, event.curves)
        except OSError as error:
            self._fail(run, workspace, f"its record could not be written: {error}", "")
            return
        workspace.finish()
        self.summary.done += 1
        accuracy = event.record.result.accuracy.get(DEFAULT_RULE)
        self.observer.finished(run, accuracy, event.record.provenance.seconds)

    def _compare(self, run: PlannedRun, event: Finished) -> None:
        """Note whether a run that was done again gave the same; other numbers are set aside."""
        results = self.options.results
        path = records.record_path(results, run.spec)
        if not path.exists():
            return
        differing = first_difference(read_numbers(path), Numbers(event.record, event.curves))
        self.summary.repeated.append((run, differing))
        if differing is not None:
            _warn(records.set_stale_aside(results, run.spec), self.summary, self.observer)

    def _stop(self, run: PlannedRun, workspace: Workspace, curves: Curves | None) -> None:
        if curves is None:
            workspace.release()
            self.observer.stopped(run)
            return
        try:
            write_paused(self.options.results, run_origin(run, self.options.data_dir), curves)
        except OSError as error:
            self._fail(run, workspace, f"its columns could not be written: {error}", "")
            return
        workspace.release()
        self.summary.done += 1
        self.observer.paused(run, num_epochs(curves))

    def _fail(self, run: PlannedRun, workspace: Workspace, reason: str, details: str) -> None:
        line = visible_line(reason)[:MAX_REASON]
        try:
            workspace.fail(f"{line}\n\n{details}")
        except OSError as error:
            line = f"{line} (and its error could not be stored: {error})"
            workspace.release()
        self._count_failure(run, line)

    def _count_failure(self, run: PlannedRun, reason: str) -> None:
        self.summary.failed.append((run, reason))
        self.observer.failed(run, reason)


@contextmanager
def _heartbeats(grid: _Grid) -> Iterator[None]:
    """A thread sends heartbeats for the grid: the engine may wait for hours."""
    ended = threading.Event()

    def send() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            grid.heartbeat()

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
