"""Two runners on one grid, one of them killed half-way: nothing is lost and nothing done twice."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from pllbench.results import records
from pllbench.results.curves import read_curves
from pllbench.runner.job import execute
from tests import plugins
from tests.factories import make_jobs, plan_lost

NUM_RUNS = 40

EPOCHS = 4

GRID = ["--datasets", "lost", "--seeds", str(NUM_RUNS), "--epochs", str(EPOCHS)]

DONE = re.compile(rf"^\[\d+/{NUM_RUNS}\] .* seed (\d+): [\d.]+ % in ", re.MULTILINE)
"""What a runner says of a run that it has done itself."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with plugins.installed(tmp_path):
        plugins.write_lost(tmp_path, rows=400)
        yield tmp_path


def start(folder: Path, name: str) -> "subprocess.Popen[bytes]":
    """A runner, in a process group of its own; its log is the file `name`."""
    command = [sys.executable, "-m", "pllbench", "run", "--methods", "slow", *GRID]
    command += ["--jobs", "1", "--results", str(folder / "results"), "--data-dir", str(folder)]
    with (folder / name).open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def done_by(folder: Path, name: str) -> set[int]:
    """Seeds of the runs that a runner has done itself."""
    return {int(seed) for seed in DONE.findall((folder / name).read_text())}


def owned_by(folder: Path, process: "subprocess.Popen[bytes]") -> list[str]:
    """Ids of the runs that a runner works on."""
    found = []
    for path in (folder / "results" / "work").glob("*/owner.json"):
        with suppress(FileNotFoundError):  # its run has just ended
            if json.loads(path.read_bytes())["pid"] == process.pid:
                found.append(path.parent.name)
    return found


def kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_a_grid_of_two_runners_of_which_one_is_killed(folder: Path) -> None:
    other, killed = start(folder, "other"), start(folder, "killed")
    lost: list[str] = []
    try:
        deadline = time.monotonic() + 240
        while not lost:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            num_done = len(list((folder / "results").glob("records/*/*/*.json")))
            if num_done >= NUM_RUNS // 2 and done_by(folder, "killed"):
                os.killpg(killed.pid, signal.SIGSTOP)  # amid a run, not between two
                lost = owned_by(folder, killed)
                os.killpg(killed.pid, signal.SIGCONT if not lost else signal.SIGKILL)
        assert other.wait(240) == 0
    finally:
        kill(other)
        kill(killed)
    log = (folder / "other").read_text()
    assert re.search(r"^pllbench: \d+ done, \d+ were done before, 0 failed$", log, re.MULTILINE)
    assert not list((folder / "results" / "work").iterdir())
    there, here = done_by(folder, "killed"), done_by(folder, "other")
    assert not there & here
    # The killed one may have died between a record and its line.
    assert len(there | here) >= NUM_RUNS - 1
    found, unreadable = records.read_records(folder / "results")
    assert (len(found), unreadable) == (NUM_RUNS, [])
    by_id = {record.run_id: record for record in found}
    assert set(lost) < by_id.keys()
    planned = plan_lost("slow", seeds=range(NUM_RUNS), epochs=EPOCHS)
    for job in make_jobs(folder, planned):
        with patch("time.sleep"):
            straight, curves = execute(job)
        record = by_id[job.spec.run_id]
        assert (record.spec, record.result) == (straight.spec, straight.result)
        columns = read_curves(records.record_path(folder / "results", job.spec))
        np.testing.assert_equal(columns, curves)
