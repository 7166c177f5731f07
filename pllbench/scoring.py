"""Scores of predictions where true labels are not known."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from pllbench.candidates.forms import as_candidates
from pllbench.candidates.processes import Candidates


def covering_rate_scorer(estimator: Any, X: Any, y: Any) -> float:  # noqa: N803
    """Share of rows whose predicted label is one of their candidates: a scorer without true labels.

    For `GridSearchCV(..., scoring=pllbench.covering_rate_scorer)` and its like.

    Args:
        estimator: fitted; a pipeline may be around it.
        X: rows.
        y: their candidate sets, in any form that `PartialLabelClassifier.fit` takes.
    """
    candidates, classes = as_candidates(y)
    predicted = estimator.predict(X)
    check_consistent_length(predicted, candidates)
    inside: Candidates = candidates & (np.asarray(predicted)[:, None] == classes)
    return float(inside.any(axis=1).mean())
