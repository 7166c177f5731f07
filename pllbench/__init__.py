"""pllbench, the benchmark suite for partial-label learning.

`PartialLabelClassifier` trains on candidate sets in scikit-learn's way, `covering_rate_scorer`
scores it without true labels. Plug-ins import `pllbench.method`, their tests `pllbench.testing`.
The rest is mapped in `docs/architecture.md`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pllbench.estimator import PartialLabelClassifier
    from pllbench.scoring import covering_rate_scorer

__all__ = ["PartialLabelClassifier", "covering_rate_scorer"]

_PLACES = {
    "PartialLabelClassifier": "pllbench.estimator",
    "covering_rate_scorer": "pllbench.scoring",
}
"""Where the names are defined; they are imported when they are asked for."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'pllbench' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
