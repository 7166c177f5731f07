"""Statistics of repeated runs. Spread is always the sample standard deviation (ddof = 1)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean and spread of repeated runs, in the unit of the values.

    Attributes:
        mean: arithmetic mean.
        std: sample standard deviation (ddof = 1); None for a single value, which has none.
        n: number of values.
    """

    mean: float
    std: float | None
    n: int


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Difference a - b of two methods over the seeds that both have run.

    Attributes:
        mean: mean of the differences.
        std: their sample standard deviation (ddof = 1).
        n: number of pairs.
        low: lower end of the 95 % t-interval of the mean.
        high: upper end.
    """

    mean: float
    std: float
    n: int
    low: float
    high: float


def summary(values: Sequence[float]) -> Summary:
    """Mean, sample std and number of `values`.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values to summarise")
    std = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Summary(float(np.mean(values)), std, len(values))


def paired_difference(a: Mapping[int, float], b: Mapping[int, float]) -> PairedDifference:
    """Difference a - b of values by seed, with the 95 % Student interval of its mean.

    Runs at one seed share split, candidate sets and order of batches, so a seed is a pair. Equal
    differences at all seeds give an interval of width zero.

    Raises:
        ValueError: the seeds differ (a mean over what happens to be there compares nothing), or
            there are fewer than two.
    """
    if a.keys() != b.keys():
        raise ValueError(f"values are not paired: seeds {sorted(a)} against {sorted(b)}")
    if len(a) < 2:
        raise ValueError(f"an interval needs at least 2 pairs, got {len(a)}")
    differences = [a[seed] - b[seed] for seed in sorted(a)]
    mean, std, n = float(np.mean(differences)), float(np.std(differences, ddof=1)), len(a)
    margin = float(stats.t.ppf(0.975, n - 1)) * std / math.sqrt(n)
    return PairedDifference(mean, std, n, mean - margin, mean + margin)
