"""Commands that are interrupted, killed, or work side by side."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from pllbench.cli.run import interruptible
from pllbench.results.summary import GridSummary
from pllbench.runner.display import Display
from pllbench.runner.job import Job, RunOptions
from pllbench.runner.run_grid import run_grid
from tests.commands import broken, on_lost, pllbench, same, stored
from tests.factories import plan_lost
from tests.inline_engine import InlineEngine, counts

Process = subprocess.Popen[bytes]


@contextmanager
def started(*arguments: object, log: Path) -> Iterator[Process]:
    """A process of its own, which is killed at the end."""
    command = [sys.executable, "-m", "pllbench", *map(str, arguments)]
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(pattern: str, folder: Path, process: Process) -> Path:
    """The first file of `pattern` that appears below `folder`."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if found := next(folder.glob(pattern), None):
            return found
        assert process.poll() is None, "it ended too early"
        time.sleep(0.05)
    raise AssertionError(f"{pattern} did not appear")


def slow_grid(plugin_folder: Path, results: Path) -> list[object]:
    """A run, and then one that is slow enough to be caught after its first checkpoint."""
    selection = on_lost("steady", "slow", results=results, epochs=40)
    return ["run", *selection, "--data-dir", plugin_folder, "--jobs", 1, "--checkpoint-every", 3]


@pytest.fixture(scope="module")
def uninterrupted_results(plugin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of `slow_grid` without any disturbance."""
    results = tmp_path_factory.mktemp("uninterrupted")
    assert pllbench(*slow_grid(plugin_folder, results)).code == 0
    return results


def resumed_from(results: Path) -> list[list[int]]:
    paths = sorted((results / "records").glob("lost/slow/*.json"))
    return [json.loads(path.read_bytes())["provenance"]["resumed_from"] for path in paths]


def test_an_interrupted_grid_goes_on(
    plugin_folder: Path, uninterrupted_results: Path, tmp_path: Path
) -> None:
    results, log = tmp_path / "results", tmp_path / "log"
    with started(*slow_grid(plugin_folder, results), log=log) as process:
        wait_for("records/lost/steady/*.json", results, process)
        checkpoint = wait_for("work/*/checkpoint.pt", results, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    lines = log.read_text().splitlines()
    stopped = "stopped, the next run of this command goes on"
    assert f"slow (epochs=40, batch_size=16) · lost · seed 0: {stopped}" in lines
    assert lines[-1] == (
        "pllbench: 1 done, 0 were done before, 0 failed, 1 left: the same command goes on"
    )
    assert checkpoint.exists()
    answer = pllbench(*slow_grid(plugin_folder, results))
    assert answer.code == 0
    assert answer.err.endswith("1 done, 1 were done before, 0 failed\n")
    assert same(results, uninterrupted_results)
    [[epoch]] = resumed_from(results)
    assert 3 <= epoch < 40
    assert not list((results / "work").iterdir())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="sees processes in /proc")
def test_an_interrupt_while_the_first_worker_starts(plugin_folder: Path, tmp_path: Path) -> None:
    """Which takes seconds: the fork server imports torch."""
    results = tmp_path / "results"
    with started(*slow_grid(plugin_folder, results), log=tmp_path / "log") as process:
        wait_for("work/*/lock", results, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not any(b"forkserver" in command_of(child) for child in children.read_text().split()):
            assert process.poll() is None, "it ended too early"
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert len(stored(results)) < 2


def command_of(process: str) -> bytes:
    try:
        return Path("/proc", process, "cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def test_a_grid_whose_runner_was_killed_goes_on(
    plugin_folder: Path, uninterrupted_results: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    with started(*slow_grid(plugin_folder, results), log=tmp_path / "log") as process:
        wait_for("records/lost/steady/*.json", results, process)
        wait_for("work/*/checkpoint.pt", results, process)
        process.kill()
    assert pllbench(*slow_grid(plugin_folder, results)).code == 0
    assert same(results, uninterrupted_results)
    [[epoch]] = resumed_from(results)
    assert epoch % 3 == 0


def test_a_second_interrupt_ends_at_once(plugin_folder: Path, tmp_path: Path) -> None:
    selection = on_lost("hanging", results=tmp_path / "results")
    command = ["run", *selection, "--data-dir", plugin_folder, "--checkpoint-every", 1]
    log = tmp_path / "log"
    with broken(plugin_folder), started(*command, log=log) as process:
        checkpoint = wait_for("work/*/checkpoint.pt", tmp_path / "results", process)
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        assert process.poll() is None, "the epoch has not ended"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    [line] = log.read_text().splitlines()
    assert line.startswith("data set 'lost': ")  # a stand-in for the known file
    assert checkpoint.exists()


def test_two_runners_share_a_grid(plugin_folder: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    selection = on_lost("slow", results=results, epochs=10, seeds=6)
    command = ["run", *selection, "--data-dir", plugin_folder, "--jobs", 1]
    logs = [tmp_path / "one", tmp_path / "two"]
    with started(*command, log=logs[0]) as one, started(*command, log=logs[1]) as two:
        assert (one.wait(120), two.wait(120)) == (0, 0)
    assert len(stored(results)) == 6
    finished = [re.findall(r"seed (\d): \d+\.\d\d %", log.read_text()) for log in logs]
    assert sorted(finished[0] + finished[1]) == list("012345"), "each run was executed once"
    assert all(log.read_text().endswith("6 done, 0 were done before, 0 failed\n") for log in logs)


def run_interruptibly(
    *methods: str, interrupts: int, options: RunOptions
) -> tuple[GridSummary, list[str]]:
    """A grid that is interrupted before its first run ends: its summary, and what is printed."""

    def interrupt(job: Job) -> None:
        for _ in range(interrupts):
            signal.raise_signal(signal.SIGINT)

    output, engine = io.StringIO(), InlineEngine(before=interrupt)
    display = Display(Console(file=output, width=300))
    with interruptible(engine, display):
        summary = run_grid(plan_lost(*methods, seeds=(0, 1)), engine, options, display)
    return summary, output.getvalue().splitlines()


@pytest.fixture
def options(plugin_folder: Path, tmp_path: Path) -> RunOptions:
    return RunOptions(tmp_path / "results", plugin_folder, "cpu")


def test_the_first_interrupt_stops_the_engine(options: RunOptions) -> None:
    before = signal.getsignal(signal.SIGINT)
    summary, lines = run_interruptibly("cc", "rc", interrupts=1, options=options)
    assert summary.interrupted
    assert counts(summary) == (0, 0, 0, 4)
    assert lines == ["CC (epochs=1) · lost · seed 0: stopped, the next run of this command goes on"]
    assert signal.getsignal(signal.SIGINT) is before
    summary, _ = run_interruptibly("cc", "rc", interrupts=0, options=options)
    assert counts(summary) == (4, 0, 0, 0)


def test_the_second_interrupt_ends_at_once(options: RunOptions) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_interruptibly("cc", interrupts=2, options=options)
    assert signal.getsignal(signal.SIGINT) is before
