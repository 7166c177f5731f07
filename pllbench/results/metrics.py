"""What a table can show of a run's test rows: accuracy, or that of long-tailed classes by group."""

from collections.abc import Mapping
from typing import Literal

ClassMetric = Literal["balanced", "many", "medium", "few"]
"""A metric that weighs classes equally; runs on long-tailed training rows have them."""

Metric = Literal["accuracy", ClassMetric]

DEFAULT_METRIC: Metric = "accuracy"

METRICS: Mapping[Metric, str] = {
    "accuracy": "test accuracy",
    "balanced": "mean of the classes' test accuracies",
    "many": "mean test accuracy of the third of the classes with the most training rows",
    "medium": "mean test accuracy of the classes in between",
    "few": "mean test accuracy of the third of the classes with the fewest training rows",
}
"""Metrics in printed order, in words."""


def column_of(metric: ClassMetric) -> str:
    """Name of the per-epoch column that holds it."""
    return f"{metric}_accuracy"
