"""pllbench, the benchmark suite for partial-label learning.

`pllbench.run` executes a grid, `pllbench.load` reads the records of a folder, `pllbench.tune`
searches settings; what they give is described in `docs/python.md`. `PartialLabelClassifier` trains
on candidate sets in scikit-learn's way, `covering_rate_scorer` scores it without true labels.
Plug-ins import `pllbench.method`, their tests `pllbench.testing`. The rest is mapped in
`docs/architecture.md`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pllbench.data.arrays import Arrays
    from pllbench.estimator import PartialLabelClassifier
    from pllbench.interface import load, run, tune
    from pllbench.reports.results import Results
    from pllbench.scoring import covering_rate_scorer

__all__ = [
    "Arrays",
    "PartialLabelClassifier",
    "Results",
    "covering_rate_scorer",
    "load",
    "run",
    "tune",
]

_PLACES = {
    "Arrays": "pllbench.data.arrays",
    "PartialLabelClassifier": "pllbench.estimator",
    "Results": "pllbench.reports.results",
    "covering_rate_scorer": "pllbench.scoring",
    "load": "pllbench.interface",
    "run": "pllbench.interface",
    "tune": "pllbench.interface",
}
"""Where the names are defined; they are imported when they are asked for."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'pllbench' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
