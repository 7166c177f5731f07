"""Training in the caller's own process, where other threads may train as well."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from rich.console import Console
from rich.progress import Progress as Bar

from pllbench.training.trainer import Progress

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


@contextmanager
def shown_epochs(name: str, epochs: int, *, on: bool) -> Iterator[Callable[[Progress], bool]]:
    """A function to be called after every epoch; if `on`, it moves a bar on a terminal's stderr."""
    console = Console(stderr=True)
    bar = Bar(console=console, disable=not (on and console.is_terminal))
    task = bar.add_task(name, total=epochs)

    def on_epoch(progress: Progress) -> bool:
        bar.start()  # what fails before the first epoch shows none
        bar.update(task, completed=progress.epoch + 1)
        return True

    try:
        yield on_epoch
    finally:
        bar.stop()
