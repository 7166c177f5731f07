"""What becomes of planned runs, with an engine that executes them in the test's own process."""

import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.results import records, workspace
from pllbench.results.workspace import Workspace
from pllbench.runner.engine import Engine, Event, Failed, Finished, Stopped
from pllbench.runner.job import Job, execute
from pllbench.runner.run_grid import Options, Summary, run_grid
from tests import plugins


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    plugins.write_lost(folder)
    return folder


@pytest.fixture
def options(tmp_path: Path, data_dir: Path) -> Options:
    return Options(tmp_path / "results", data_dir, "cpu")


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
            yield Failed(job, "ValueError: wrong\nin two lines", "the traceback")
        elif self._stopping:
            yield Stopped(job)
        else:
            yield Finished(job, *execute(job))

    def _end(self, job: Job) -> None:
        raise AssertionError("there is no time limit")


def planned(*methods: str, seeds: tuple[int, ...] = (0, 1)) -> list[PlannedRun]:
    flags = (Setting(reason="--epochs", train={"epochs": 1}),)
    return plan(Selection(methods=methods, datasets=("lost",), seeds=seeds, flags=flags))


def run(
    runs: list[PlannedRun], engine: InlineEngine, options: Options
) -> tuple[Summary, list[str]]:
    """The summary, and the lines that were printed."""
    output = io.StringIO()
    summary = run_grid(runs, engine, options, Console(file=output, width=300))
    return summary, output.getvalue().splitlines()


def counts(summary: Summary) -> tuple[int, int, int, int]:
    return summary.done, summary.skipped, len(summary.failed), summary.left


def test_finished_runs_are_stored_and_skipped(options: Options) -> None:
    engine = InlineEngine()
    summary, lines = run(planned("cc"), engine, options)
    assert counts(summary) == (2, 0, 0, 0)
    assert [line.split(":")[0] for line in lines] == [
        "[1/2] CC (epochs=1) · lost · seed 0",
        "[2/2] CC (epochs=1) · lost · seed 1",
    ]
    summary, lines = run(planned("rc", "cc"), engine, options)
    assert counts(summary) == (2, 2, 0, 0)
    assert engine.executed == [("cc", 0), ("cc", 1), ("rc", 0), ("rc", 1)]
    assert len(records.query(options.results)[0]) == 4
    assert not list((options.results / "work").iterdir())


def test_a_run_that_two_rows_share_is_executed_once(options: Options) -> None:
    engine = InlineEngine()
    summary, _ = run(planned("cc") + planned("cc"), engine, options)
    assert counts(summary) == (2, 0, 0, 0)


def test_a_failed_run_leaves_its_reason_and_no_record_and_is_tried_again(
    options: Options,
) -> None:
    runs = planned("cc", "rc", seeds=(0,))
    summary, lines = run(runs, InlineEngine("cc"), options)
    assert counts(summary) == (1, 0, 1, 0)
    [(failed, reason)] = summary.failed
    assert (failed.name, reason) == ("cc", "ValueError: wrong in two lines")
    assert "[1/2] CC (epochs=1) · lost · seed 0: FAILED: ValueError: wrong in two lines" in lines
    space = Workspace.of(options.results, failed.spec.run_id)
    assert space.error.read_text() == "ValueError: wrong in two lines\n\nthe traceback"
    summary, _ = run(runs, InlineEngine(), options)
    assert counts(summary) == (1, 1, 0, 0)
    assert not space.folder.exists()


def test_a_long_reason_is_cut_on_the_screen(options: Options) -> None:
    class Wordy(InlineEngine):
        def _events(self) -> Iterator[Event]:
            yield Failed(self._given.pop(), "x" * 5000, "the whole story")

    summary, _ = run(planned("cc", seeds=(0,)), Wordy(), options)
    [(failed, reason)] = summary.failed
    assert len(reason) == 300
    assert "the whole story" in Workspace.of(options.results, failed.spec.run_id).error.read_text()


def test_a_record_that_cannot_be_written_fails_its_run_alone(options: Options) -> None:
    runs = planned("cc", "rc", seeds=(0,))
    place = records.record_path(options.results, runs[0].spec).parent
    place.parent.mkdir(parents=True)
    place.touch()  # a file where the folder of the records should be
    summary, _ = run(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 1, 0)
    assert "its record could not be written" in summary.failed[0][1]


def test_a_workspace_that_cannot_be_written_fails_its_run_alone(options: Options) -> None:
    runs = planned("cc", "rc", seeds=(0,))
    folder = Workspace.of(options.results, runs[0].spec.run_id).folder
    folder.parent.mkdir(parents=True)
    folder.touch()
    summary, _ = run(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 1, 0)
    assert "its workspace could not be written" in summary.failed[0][1]


# Runs that another process works on: it is played by a lock that this process holds.


def test_a_run_of_another_process_is_waited_for(options: Options) -> None:
    runs = planned("cc")
    other = Workspace.of(options.results, runs[0].spec.run_id)
    assert other.acquire()
    record, curves = execute(Job(runs[0].spec, options.data_dir, "cpu"))

    def finish() -> None:
        records.write(options.results, record, curves)
        other.finish()

    engine = InlineEngine()
    later = threading.Timer(0.2, finish)
    later.start()
    summary, lines = run(runs, engine, options)
    later.join()
    assert counts(summary) == (2, 0, 0, 0)
    assert engine.executed == [("cc", 1)]
    assert "waiting for 1 run of another process" in lines
    assert lines[-1] == "[2/2] CC (epochs=1) · lost · seed 0: done by another process"


def test_a_run_whose_owner_died_is_taken_over(options: Options) -> None:
    runs = planned("cc")
    other = Workspace.of(options.results, runs[0].spec.run_id)
    assert other.acquire()
    engine = InlineEngine()
    later = threading.Timer(0.2, other.release)
    later.start()
    summary, _ = run(runs, engine, options)
    later.join()
    assert counts(summary) == (2, 0, 0, 0)
    assert engine.executed == [("cc", 1), ("cc", 0)]


def test_a_run_that_fails_in_another_process_is_not_tried_again_at_once(
    options: Options,
) -> None:
    runs = planned("cc")
    other = Workspace.of(options.results, runs[0].spec.run_id)
    assert other.acquire()
    engine = InlineEngine()
    later = threading.Timer(0.2, other.fail, ["it went wrong there"])
    later.start()
    summary, _ = run(runs, engine, options)
    later.join()
    assert counts(summary) == (1, 0, 1, 0)
    assert summary.failed[0][1] == "it went wrong there"
    assert engine.executed == [("cc", 1)]


def test_a_run_of_another_machine_is_taken_over_when_its_heart_stops(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = planned("cc", seeds=(0,))
    space = Workspace.of(options.results, runs[0].spec.run_id)
    space.folder.mkdir(parents=True)
    (space.folder / "lock").touch()
    space.owner.write_text('{"machine": "another"}')
    monkeypatch.setattr(workspace, "DEAD_SECONDS", 1.0)
    summary, lines = run(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 0, 0)
    assert lines[0] == "waiting for 1 run of another process"


def test_owned_runs_beat(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pllbench.runner.run_grid.HEARTBEAT_SECONDS", 0.05)
    runs = planned("cc", seeds=(0,))
    owner = Workspace.of(options.results, runs[0].spec.run_id).owner

    def wait_for_a_beat(job: Job) -> None:
        os.utime(owner, (0, 0))
        deadline = time.monotonic() + 20
        while not owner.stat().st_mtime:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    summary, _ = run(runs, InlineEngine(before=wait_for_a_beat), options)
    assert counts(summary) == (1, 0, 0, 0)


# What an earlier try has left damaged.


def test_a_damaged_record_is_named_and_kept_when_its_run_is_done_again(options: Options) -> None:
    runs = planned("cc", seeds=(0,))
    run(runs, InlineEngine(), options)
    path = records.record_path(options.results, runs[0].spec)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    summary, lines = run(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 0, 0)
    assert lines[0].startswith(f"{path}: not readable as JSON")
    curves = path.with_suffix(".npz").name
    assert lines[0].endswith(f"; moved to {path.name}.unreadable and {curves}.unreadable")
    assert path.with_name(f"{path.name}.unreadable").read_bytes() == whole[:100]
    [record], unreadable = records.query(options.results)
    assert (record.run_id, unreadable) == (runs[0].spec.run_id, [])
    assert path.with_suffix(".npz").exists()


@pytest.mark.parametrize("damage", ["missing", "a bit"])
def test_a_run_with_damaged_curves_is_done_again(options: Options, damage: str) -> None:
    runs = planned("cc", seeds=(0, 1))
    run(runs, InlineEngine(), options)
    path = records.record_path(options.results, runs[0].spec)
    file = path.with_suffix(".npz")
    whole = file.read_bytes()
    file.unlink()
    moved = [f"{path.name}.unreadable"]
    if damage == "a bit":
        at = len(whole) // 2
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        moved.append(f"{file.name}.unreadable")
    summary, lines = run(runs, InlineEngine(), options)
    assert counts(summary) == (1, 1, 0, 0)
    assert lines[0].startswith(f"{file}: not readable (")
    assert lines[0].endswith(f"; moved to {' and '.join(moved)}")
    assert {found.name for found in path.parent.glob("*.unreadable")} == set(moved)
    assert file.read_bytes() == whole
    assert run(runs, InlineEngine(), options)[0].skipped == 2


def test_a_damaged_checkpoint_is_named_and_kept_and_its_run_starts_anew(options: Options) -> None:
    runs = planned("cc", seeds=(0,))
    space = Workspace.of(options.results, runs[0].spec.run_id)
    space.folder.mkdir(parents=True)
    space.checkpoint.write_bytes(b"PK\3\4 cut")
    summary, lines = run(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 0, 0)
    assert lines[0].startswith(f"{space.checkpoint}: not a checkpoint of this run (")
    assert lines[0].endswith("; moved to checkpoint.pt.unreadable, the run starts anew")
    kept = space.folder / "checkpoint.pt.unreadable"
    assert kept.read_bytes() == b"PK\3\4 cut"


# Ctrl-C.


def test_the_first_interrupt_stops_the_engine(options: Options) -> None:
    def interrupt(job: Job) -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    engine = InlineEngine(before=interrupt)
    summary, lines = run(planned("cc", "rc"), engine, options)
    assert summary.interrupted
    assert counts(summary) == (0, 0, 0, 4)
    assert lines == ["CC (epochs=1) · lost · seed 0: stopped, the next run of this command goes on"]
    assert signal.getsignal(signal.SIGINT) is before
    summary, _ = run(planned("cc", "rc"), InlineEngine(), options)
    assert counts(summary) == (4, 0, 0, 0)


def test_the_second_interrupt_ends_at_once(options: Options) -> None:
    def interrupt(job: Job) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(planned("cc"), InlineEngine(before=interrupt), options)


# Before anything starts.


def test_a_missing_data_file_is_found_before_anything_is_written(tmp_path: Path) -> None:
    engine = InlineEngine()
    options = Options(tmp_path / "results", tmp_path, "cpu")
    with pytest.raises(ValueError, match=r"^data set 'lost': no file .*lost\.mat; get it from"):
        run(planned("cc"), engine, options)
    assert not engine.executed
    assert not options.results.exists()


def test_a_malformed_data_file_is_found_before_anything_is_written(tmp_path: Path) -> None:
    plugins.write_lost(tmp_path).write_bytes(b"no matrix")
    engine = InlineEngine()
    options = Options(tmp_path / "results", tmp_path, "cpu")
    with pytest.raises(ValueError, match=r"lost\.mat: not a \.mat file, or cut off"):
        run(planned("cc"), engine, options)
    assert not engine.executed
    assert not options.results.exists()


def test_a_results_folder_that_is_a_file_is_refused(tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "results").touch()
    options = Options(tmp_path / "results", data_dir, "cpu")
    with pytest.raises(ValueError, match=r"^--results .*: not writable \(File exists\); name "):
        run(planned("cc"), InlineEngine(), options)


@pytest.mark.parametrize("name", ["records", "work"])
def test_a_file_in_place_of_a_folder_is_found_before_any_run(options: Options, name: str) -> None:
    options.results.mkdir()
    (options.results / name).touch()
    engine = InlineEngine()
    with pytest.raises(ValueError, match=rf"^--results .*/{name}: not writable \(File exists\)"):
        run(planned("cc"), engine, options)
    assert not engine.executed


def test_nothing_is_asked_of_a_finished_grid(options: Options, tmp_path: Path) -> None:
    run(planned("cc"), InlineEngine(), options)
    gone = Options(options.results, tmp_path / "gone", "cpu")
    summary, lines = run(planned("cc"), InlineEngine(), gone)
    assert counts(summary) == (0, 2, 0, 0)
    assert lines == []
