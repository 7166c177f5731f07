"""Workspaces: one owner at a time, freed by its death, and what is known of an unfinished run."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pllbench.results import workspace
from pllbench.results.status import Status, folder_status
from pllbench.results.workspace import DEAD_SECONDS, Workspace
from tests.factories import make_record, make_spec, store

OWNER = """
import sys
from pathlib import Path
from pllbench.results.workspace import Workspace
space = Workspace(Path(sys.argv[1]))
print(space.acquire(), flush=True)
sys.stdin.readline()
space.release()
"""


class Owner:
    """Another process that tries to own a workspace and keeps it until it is told to let go."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.owns = process.stdout.readline().strip() == "True"

    def let_go(self) -> None:
        self.process.communicate("\n")

    def die(self) -> None:
        self.process.kill()
        self.process.wait()


Start = Callable[[], Owner]


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace.for_run(tmp_path, "run-1")


@pytest.fixture
def start(space: Workspace) -> Iterator[Start]:
    """Starts a process that tries to own the workspace; all of them end with the test."""
    command = [sys.executable, "-c", OWNER, str(space.folder)]
    with ExitStack() as stack:

        def start() -> Owner:
            pipe = subprocess.PIPE
            process = stack.enter_context(
                subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
            )
            stack.callback(process.kill)
            return Owner(process)

        yield start


def test_a_run_that_nobody_has_touched_is_missing(space: Workspace, tmp_path: Path) -> None:
    assert space.folder == tmp_path / "work" / "run-1"
    assert space.state() == "missing"
    assert not space.folder.exists()


def test_one_of_two_processes_owns_a_run(space: Workspace, start: Start) -> None:
    assert start().owns
    assert not space.acquire()
    assert not start().owns
    assert space.state() == "running"


@pytest.mark.parametrize("end", [Owner.let_go, Owner.die])
def test_a_run_is_free_when_its_owner_lets_go_or_dies(
    space: Workspace, start: Start, end: Callable[[Owner], None]
) -> None:
    owner = start()
    assert space.state() == "running"
    end(owner)
    assert space.state() == "missing"
    assert space.acquire()
    assert not start().owns


def test_one_process_cannot_own_a_run_twice(space: Workspace) -> None:
    assert space.acquire()
    again = Workspace(space.folder)
    assert not again.acquire()
    assert again.state() == "running"
    space.release()
    assert again.acquire()


def test_looking_at_a_run_does_not_take_it(space: Workspace, start: Start) -> None:
    assert space.acquire()
    space.release()
    assert [space.state(), space.state()] == ["missing", "missing"]
    assert start().owns


def test_a_failure_keeps_its_reason_and_frees_the_run(space: Workspace) -> None:
    assert space.acquire()
    space.fail("loss is nan at epoch 3, step 0 of 5\n\nTraceback\nü")
    assert space.state() == "failed"
    assert space.reason() == "loss is nan at epoch 3, step 0 of 5"
    assert space.error.read_text("utf-8").endswith("Traceback\nü")


def test_a_new_try_is_no_failure_until_it_fails(space: Workspace) -> None:
    assert space.acquire()
    space.fail("first")
    assert space.acquire()
    assert space.state() == "running"
    space.release()  # interrupted
    assert space.state() == "missing"
    assert space.acquire()
    space.fail("second")
    assert (space.state(), space.reason()) == ("failed", "second")


def test_a_reason_that_is_gone_or_empty(space: Workspace) -> None:
    assert space.reason() == "no reason was stored"
    assert space.acquire()
    space.fail("")
    assert space.reason() == "no reason was stored"


@pytest.mark.parametrize("name", ["lock", "error.txt", "owner.json", "run.json"])
def test_a_fifo_is_not_waited_for(space: Workspace, name: str) -> None:
    space.folder.mkdir(parents=True)
    os.mkfifo(space.folder / name)
    assert space.state() == "missing"
    assert space.reason() == "no reason was stored"
    assert space.description() == (space.folder.name, None)


def test_a_finished_run_leaves_nothing(space: Workspace) -> None:
    assert space.acquire()
    space.checkpoint.write_bytes(b"state")
    space.finish()
    assert not space.folder.exists()
    assert space.state() == "missing"
    assert space.acquire()


def test_a_folder_that_is_gone_is_no_error_at_the_end(space: Workspace) -> None:
    assert space.acquire()
    shutil.rmtree(space.folder)
    space.finish()
    assert not space.folder.exists()
    assert space.acquire()


def test_a_finished_run_keeps_what_was_moved_aside(space: Workspace) -> None:
    assert space.acquire()
    space.checkpoint.write_bytes(b"state")
    (space.folder / "checkpoint.pt.unreadable-2").write_bytes(b"damaged")
    space.finish()
    assert {path.name for path in space.folder.iterdir()} == {"checkpoint.pt.unreadable-2", "lock"}
    assert space.state() == "missing"


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("a file")
    with pytest.raises(OSError, match="work"):
        Workspace.for_run(tmp_path, "run-1").acquire()


def test_what_a_done_run_left_behind_does_not_count(tmp_path: Path) -> None:
    spec = make_spec()
    space = Workspace.for_run(tmp_path, spec.run_id)
    assert space.acquire()
    (space.folder / "checkpoint.pt.unreadable").write_bytes(b"damaged")
    store(tmp_path, [make_record(spec, 50.0)])
    space.finish()
    assert folder_status([tmp_path]) == Status(done=1, failed=0, running=0, missing=0)


# Owners on other machines: locks may not reach them, so they are believed while their heart beats.


def owned_elsewhere(space: Workspace, age: float) -> None:
    """Leave what the owner on another machine leaves, its last beat `age` seconds ago."""
    space.folder.mkdir(parents=True)
    (space.folder / "lock").touch()
    space.owner.write_text('{"host": "node7", "machine": "another", "pid": 1}')
    then = time.time() - age
    os.utime(space.owner, (then, then))


def test_a_run_whose_owner_beats_elsewhere_is_passed_over(space: Workspace) -> None:
    owned_elsewhere(space, DEAD_SECONDS - 30)
    assert space.state() == "running"
    assert not space.acquire()
    assert "node7" in space.owner.read_text()


def test_a_run_is_taken_over_after_missed_heartbeats(space: Workspace, start: Start) -> None:
    owned_elsewhere(space, DEAD_SECONDS + 1)
    assert space.state() == "missing"
    assert space.acquire()
    assert json.loads(space.owner.read_bytes())["pid"] == os.getpid()
    assert not start().owns


def test_a_beat_from_the_future_is_no_sign_of_life(space: Workspace) -> None:
    """As a clock that was wrong leaves it."""
    owned_elsewhere(space, -1e8)
    assert space.state() == "missing"
    assert space.acquire()


def test_a_beat_is_seen_elsewhere(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert space.acquire()
    os.utime(space.owner, (0, 0))
    space.heartbeat()
    there = Workspace(space.folder)
    # As where a file system keeps locks to one machine.
    monkeypatch.setattr(fcntl, "flock", lambda handle, operation: None)
    monkeypatch.setattr(workspace, "machine", lambda: "another")
    assert not there.acquire()
    assert there.state() == "running"
    os.utime(space.owner, (0, 0))
    assert there.acquire()


def test_an_owner_that_lets_go_is_not_waited_for(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert space.acquire()
    space.fail("it went wrong")
    monkeypatch.setattr(workspace, "machine", lambda: "another")
    assert space.state() == "failed"
    assert space.acquire()


@pytest.mark.parametrize("content", [b"", b"\0" * 40, b"[1]", b'{"machine', b"[" * 100_000, b"{}"])
def test_an_owner_file_that_says_nothing_is_no_owner(space: Workspace, content: bytes) -> None:
    owned_elsewhere(space, DEAD_SECONDS + 1)
    space.owner.write_bytes(content)
    assert space.acquire() == (content != b"{}")  # `{}` is somebody's, if not ours


def test_a_beat_without_a_folder_is_no_error(space: Workspace) -> None:
    space.heartbeat()
