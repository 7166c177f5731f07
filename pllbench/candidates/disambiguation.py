"""Which candidate of each row is the true label, by weights of the classes.

Letters in shape comments: N instances, C classes.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pllbench.candidates.forms import Classes
from pllbench.candidates.processes import Candidates

if TYPE_CHECKING:
    import pandas as pd


def disambiguated(
    candidates: Candidates, confidence: npt.NDArray[np.floating], classes: Classes
) -> "pd.DataFrame":
    """A row for each instance: its candidates, the label of the highest weight, and the next one.

    Args:
        candidates: [N, C].
        confidence: weights of the classes, [N, C].
        classes: what the columns stand for, [C].

    Returns:
        Columns `candidates` (tuples), `label`, `confidence` (its weight), and `second` (None where
        the next label has no weight).
    """
    import pandas as pd

    order = np.argsort(-confidence, axis=1, kind="stable")
    best, second = order[:, 0], order[:, 1]
    names = classes.astype(object)
    pairs = zip(confidence, second, strict=True)
    return pd.DataFrame(
        {
            "candidates": [tuple(names[row]) for row in candidates],
            "label": classes[best],
            "confidence": confidence.max(axis=1),
            "second": pd.Series(
                [names[k] if weights[k] > 0 else None for weights, k in pairs], dtype=object
            ),
        }
    )
