"""pllbench, the benchmark suite for partial-label learning.

`pllbench.run` executes a grid, `pllbench.load` reads the records of a folder; what they give is
described in `docs/python.md`. Plug-ins import `pllbench.method`, their tests `pllbench.testing`.
The rest is mapped in `docs/architecture.md`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pllbench.api import Results
    from pllbench.data.arrays import Arrays
    from pllbench.interface import load, run

__all__ = ["Arrays", "Results", "load", "run"]

_PLACES = {
    "Arrays": "pllbench.data.arrays",
    "Results": "pllbench.api",
    "load": "pllbench.interface",
    "run": "pllbench.interface",
}
"""Where the names are defined; they are imported when they are asked for."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'pllbench' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
