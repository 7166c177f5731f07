"""The process that workers are forked from: it imports torch once for all of them.

Its import takes as long as that of the process which runs the engine, and passes beside it. This
module needs no torch, so that it can be started first.
"""

import multiprocessing
import signal
from multiprocessing import forkserver

PRELOADED = ["pllbench.runner.worker"]
"""Imported once, with all that they import."""


def start() -> None:
    """Start it, unless it runs. It ends with this process."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
    # Ctrl-C is for the process that runs the engine. That it is blocked is inherited, by workers
    # too, and this works in any thread.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
