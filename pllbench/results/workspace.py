"""`results/work/<run_id>/`: what a run that is not finished leaves on disk.

A lock and the name of its owner while a process works on it, its checkpoint, and the error of its
last failure. The folder goes when the record is written.

The operating system frees the lock of a process that dies. Some network file systems keep locks to
one machine, so an owner on another machine counts as alive while its heartbeat is recent.
"""

import fcntl
import json
import os
import shutil
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pllbench.results.files import lock_file, read_regular, write_atomic
from pllbench.spec import RunSpec

HEARTBEAT_SECONDS = 10.0
"""How often an owner tells that it lives."""

DEAD_SECONDS = 60.0
"""An owner on another machine that has not told so for this time is dead."""


@cache
def machine() -> str:
    """Identity of this machine since its last start, shared by its containers as locks are."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()


@dataclass(slots=True)
class Workspace:
    """The folder of one unfinished run.

    Attributes:
        folder: `results/work/<run_id>`; may not exist.
    """

    folder: Path
    _lock: int | None = None

    @classmethod
    def for_run(cls, results: Path, run_id: str) -> "Workspace":
        """The workspace of the run `run_id` below the results folder."""
        return cls(results / "work" / run_id)

    @property
    def checkpoint(self) -> Path:
        """Its checkpoint file; may not exist."""
        return self.folder / "checkpoint.pt"

    @property
    def error(self) -> Path:
        """Reason and traceback of the last failure; may not exist."""
        return self.folder / "error.txt"

    @property
    def owner(self) -> Path:
        """Machine and process that work on the run; its age is the time since a heartbeat."""
        return self.folder / "owner.json"

    @property
    def run(self) -> Path:
        """What run it is: its title and spec; may not exist."""
        return self.folder / "run.json"

    def describe(self, title: str, spec: RunSpec) -> None:
        """Store what run it is, which `status` says of a run without a record."""
        facts = {"title": title, "spec": spec.model_dump(mode="json")}
        write_atomic(self.run, json.dumps(facts).encode(), durable=False)

    def description(self) -> tuple[str, RunSpec | None]:
        """Title and spec as `describe` stored them; the folder's name and None without."""
        try:
            facts = json.loads(read_regular(self.run))
            return str(facts["title"]), RunSpec.parse(facts["spec"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return self.folder.name, None

    def acquire(self) -> bool:
        """Make this process the run's owner; False where another one is.

        Raises:
            OSError: the folder cannot be written, or its file system has no locks.
        """
        assert self._lock is None, "a workspace is acquired once"
        path = self.folder / "lock"
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT)
            except FileNotFoundError:  # the last owner finished and removed the folder just now
                continue
            try:
                lock_file(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, path)
                current = os.stat(path)  # noqa: PTH116 - pairs with os.fstat
            except BlockingIOError:
                os.close(handle)
                return False
            except FileNotFoundError:
                os.close(handle)
                continue
            except OSError:
                os.close(handle)
                raise
            if current.st_ino != os.fstat(handle).st_ino:
                os.close(handle)
                continue
            os.utime(handle)  # the file system's own clock: those of two machines differ
            if self._owned_elsewhere(os.fstat(handle).st_mtime):
                os.close(handle)
                return False
            self._lock = handle
            self._take()
            return True

    def _take(self) -> None:
        facts = {"host": socket.gethostname(), "machine": machine(), "pid": os.getpid()}
        try:
            write_atomic(self.owner, json.dumps(facts).encode(), durable=False)
            self.error.unlink(missing_ok=True)  # of an earlier try
        except BaseException:
            self.release()
            raise

    def _owned_elsewhere(self, now: float) -> bool:
        """Whether a process of another machine works on the run."""
        try:
            facts = json.loads(read_regular(self.owner))
            heartbeat = self.owner.stat().st_mtime
        except (OSError, ValueError, RecursionError):
            return False
        other = isinstance(facts, dict) and facts.get("machine") != machine()
        return other and abs(now - heartbeat) < DEAD_SECONDS  # one from the future says nothing

    def heartbeat(self) -> None:
        """Tell other machines that the owner lives."""
        with suppress(OSError):  # the run has just ended, or the disk is away for a while
            os.utime(self.owner)

    def release(self) -> None:
        """Let go of the run; the folder stays, for the next try."""
        assert self._lock is not None, "only an owner releases"
        with suppress(OSError):  # read-only by now; it ages
            self.owner.unlink()
        os.close(self._lock)
        self._lock = None

    def finish(self) -> None:
        """Remove the folder and let go of the run: its record is written.

        A checkpoint that could not be read stays, under the name it was moved aside to.
        """
        with suppress(FileNotFoundError):  # someone has tidied up
            for path in self.folder.iterdir():
                if ".unreadable" not in path.name and path.name != "lock":
                    path.unlink(missing_ok=True)
            if [path.name for path in self.folder.iterdir()] == ["lock"]:
                shutil.rmtree(self.folder)
        self.release()

    def fail(self, reason: str) -> None:
        """Store why the run failed (first line) and the traceback, and let go of it."""
        write_atomic(self.error, reason.encode())
        self.release()

    def state(self) -> Literal["running", "failed", "missing"]:
        """What is known of a run that has no record."""
        try:
            handle = os.open(self.folder / "lock", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:  # there is none, or it is not ours to read
            return "missing"
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return "running"
        except OSError:  # a file system without locks: where it has some, an owner has a heartbeat
            pass
        finally:
            os.close(handle)
        if self._owned_elsewhere(time.time()):
            return "running"
        return "failed" if self.error.exists() else "missing"

    def reason(self) -> str:
        """First line of the last failure."""
        try:
            lines = read_regular(self.error).decode("utf-8", errors="replace").splitlines()
        except OSError:  # another process tries the run again
            lines = []
        return lines[0] if lines else "no reason was stored"
