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

    Raises:
        ValueError: the sets are malformed; or are of numbers where the estimator predicts text, as
            a matrix is, whose classes are 0..C-1, or the other way round.
    """
    candidates, classes = as_candidates(y)
    predicted = np.asarray(estimator.predict(X))
    check_consistent_length(predicted, candidates)
    of_text = [isinstance(labels.tolist()[0], str) for labels in (classes, predicted)]
    if of_text[0] != of_text[1]:
        raise ValueError(
            f"candidate sets: classes such as {classes[0]!s}, predictions such as {predicted[0]!s}"
            f": give sets of labels, or a data frame with a column a class"
        )
    inside: Candidates = candidates & (predicted[:, None] == classes)
    return float(inside.any(axis=1).mean())
