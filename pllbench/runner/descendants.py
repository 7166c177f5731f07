"""What the methods in a worker have started, down to the last grandchild, wherever it has gone.

A process that begins a session of its own is in no group of the worker's; its parents still tell
whose it is. This is known on Linux alone.
"""

import ctypes
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # of Linux' prctl.h

SECONDS = 5.0
"""Processes that have not ended so long after they were killed wait for a device."""


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that they stay descendants."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(PR_SET_CHILD_SUBREAPER, *map(ctypes.c_ulong, (1, 0, 0, 0)))


def kill_descendants(pid: int) -> None:
    """Kill all processes that a process has started, and those that these have; not itself."""
    until = time.monotonic() + SECONDS
    while (found := _descendants(pid)) and time.monotonic() < until:
        for descendant in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(descendant, signal.SIGKILL)
        time.sleep(0.01)  # until they have ended: one may have started another meanwhile


def _descendants(pid: int) -> list[int]:
    """Those that have not ended."""
    children: dict[int, list[int]] = {}
    running = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, parent = path.read_bytes().rpartition(b")")[2].split()[:2]  # names may have both
            child = int(path.parent.name)
            children.setdefault(int(parent), []).append(child)
            if state not in (b"Z", b"X"):
                running.add(child)
    found = list(children.get(pid, []))
    for descendant in found:
        found += children.get(descendant, [])
    return [descendant for descendant in found if descendant in running]
