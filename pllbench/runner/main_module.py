"""Starting processes that do not import the script that starts them."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_swapped = threading.Lock()


@contextmanager
def without_main() -> Iterator[None]:
    """Let `multiprocessing` find an empty main module.

    A new process imports the main module of its starter, so that what it was asked to do can be
    found there. Of workers nothing is found there: methods have modules, or are sent by value. A
    script without a main guard, which would start all over again in each of them, needs none.
    """
    with _swapped:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
