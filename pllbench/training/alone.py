"""Training in the caller's own process, where other threads may train as well."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock = threading.Lock()


@contextmanager
def alone() -> Iterator[None]:
    """One thread of the process at a time, with one torch thread, as in a worker of a grid.

    Runs draw from torch's global generator, which threads share.
    """
    with _lock:
        num_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(num_threads)
