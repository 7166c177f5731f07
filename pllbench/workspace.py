"""`results/work/<run_id>/`: what a run that is not finished leaves on disk.

A lock while a process works on it, its checkpoint, and the error of its last failure. The folder
goes when the record is written. The operating system frees the lock of a process that dies.
"""

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pllbench.records import write_atomic


@dataclass(slots=True)
class Workspace:
    """The folder of one unfinished run.

    Attributes:
        folder: `results/work/<run_id>`; may not exist.
    """

    folder: Path
    _lock: int | None = None

    @classmethod
    def of(cls, results: Path, run_id: str) -> "Workspace":
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

    def acquire(self) -> bool:
        """Make this process the run's owner; False where another one is.

        Raises:
            OSError: the folder cannot be written.
        """
        assert self._lock is None, "a workspace is acquired once"
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT)
            except FileNotFoundError:  # the last owner finished and removed the folder just now
                continue
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                current = os.stat(self.folder / "lock")  # noqa: PTH116 - pairs with os.fstat
            except BlockingIOError:
                os.close(handle)
                return False
            except FileNotFoundError:
                os.close(handle)
                continue
            if current.st_ino == os.fstat(handle).st_ino:
                self._lock = handle
                self.error.unlink(missing_ok=True)  # of an earlier try
                return True
            os.close(handle)

    def release(self) -> None:
        """Let go of the run; the folder stays, for the next try."""
        assert self._lock is not None, "only an owner releases"
        os.close(self._lock)
        self._lock = None

    def finish(self) -> None:
        """Remove the folder and let go of the run: its record is written.

        A checkpoint that could not be read stays, under the name it was moved aside to.
        """
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
            handle = os.open(self.folder / "lock", os.O_RDONLY)
        except FileNotFoundError:
            return "missing"
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return "running"
        finally:
            os.close(handle)
        return "failed" if self.error.exists() else "missing"

    def reason(self) -> str:
        """First line of the last failure."""
        try:
            lines = self.error.read_text("utf-8", errors="replace").splitlines()
        except FileNotFoundError:  # another process tries the run again
            lines = []
        return lines[0] if lines else "no reason was stored"
