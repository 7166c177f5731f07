"""Two runners on one grid, one of them killed half-way: nothing is lost and nothing done twice."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pllbench import records
from tests import plugins

NUM_RUNS = 40

GRID = ["--datasets", "lost", "--seeds", str(NUM_RUNS), "--epochs", "2", "--methods", "steady"]


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Path]:
    with plugins.installed(tmp_path):
        plugins.write_lost(tmp_path, rows=400)
        yield tmp_path


def start(workshop: Path, name: str) -> "subprocess.Popen[bytes]":
    """A runner, in a process group of its own; its log is the file `name`."""
    command = [sys.executable, "-m", "pllbench.cli", "run", *GRID, "--jobs", "1"]
    command += ["--results", str(workshop / "results"), "--data-dir", str(workshop)]
    with (workshop / name).open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_a_grid_of_two_runners_of_which_one_is_killed(workshop: Path) -> None:
    survivor, victim = start(workshop, "survivor"), start(workshop, "victim")
    try:
        deadline = time.monotonic() + 120
        finished = 0
        while finished < NUM_RUNS // 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            finished = len(list((workshop / "results").glob("records/*/*/*.json")))
        kill(victim)
        assert survivor.wait(120) == 0
    finally:
        kill(survivor)
        kill(victim)
    found, unreadable = records.query(workshop / "results")
    assert (len(found), unreadable) == (NUM_RUNS, [])
    log = (workshop / "survivor").read_text()
    assert re.search(r"^pllbench: \d+ done, \d+ were done before, 0 failed$", log, re.MULTILINE)
    assert not list((workshop / "results" / "work").iterdir())
