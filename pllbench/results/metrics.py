"""What a table can show of a run: accuracies of its test rows; without true labels, criteria."""

from collections.abc import Collection, Mapping
from typing import Literal, get_args

from pllbench.budget import Criterion

ClassMetric = Literal["balanced", "many", "medium", "few"]
"""A metric that weighs classes equally; runs on long-tailed training rows have them."""

Metric = Literal["accuracy", ClassMetric, Criterion]

DEFAULT_METRIC: Metric = "accuracy"

METRICS: Mapping[Metric, str] = {
    "accuracy": "test accuracy",
    "balanced": "mean of the classes' test accuracies",
    "many": "mean test accuracy of the third of the classes with the most training rows",
    "medium": "mean test accuracy of the classes in between",
    "few": "mean test accuracy of the third of the classes with the fewest training rows",
    "covering_rate": "share of hold-out rows whose predicted label is a candidate",
    "approximated_accuracy": "mean probability of the predicted label among the candidates of a "
    "hold-out row, 0 where it is none",
}
"""Metrics in printed order, in words."""


CLASS_METRICS: tuple[ClassMetric, ...] = get_args(ClassMetric)

CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
"""What takes the place of accuracy where true labels are not known."""


def printed_metric(metric: Metric) -> str:
    """A metric as headers name it."""
    return metric.replace("_", " ")


def axis_label(metric: Metric) -> str:
    """A metric in percent, at the axis of a plot."""
    named = f"{printed_metric(metric)} of the hold-out" if metric in CRITERIA else "test accuracy"
    return f"{named} (%)"


def quantity_of(metrics: Collection[Metric]) -> str:
    """What numbers of these metrics are together, as titles begin."""
    criteria, others = ({*CRITERIA} & {*metrics}, {*metrics} - {*CRITERIA})
    if criteria and others:
        return "Test accuracy, or criteria of the hold-out"
    return "Criteria of the hold-out" if criteria else "Test accuracy"


def column_of(metric: ClassMetric) -> str:
    """Name of the per-epoch column that holds it."""
    return f"{metric}_accuracy"
