"""Statistics of repeated runs. Spread is always the sample standard deviation (ddof = 1)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy  # loads its parts on first use: `stats` takes long, and few tables need it

ALPHA = 0.05
"""Level of all tests and intervals."""

_ROUNDING = 1e-9
"""A smaller spread is a rounding error of equal numbers."""

_MAX_ENUMERATED = 13
"""Up to this number of pairs all sign patterns are enumerated, which is exact with ties too."""


@dataclass(frozen=True, slots=True)
class MeanStd:
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
class Interval:
    """A difference of means with its 95 % interval."""

    mean: float
    low: float
    high: float


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


def mean_std(values: Sequence[float]) -> MeanStd:
    """Mean, sample std and number of `values`.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values to average")
    std = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return MeanStd(float(np.mean(values)), std, len(values))


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
    margin = t_quantile(n) * std / math.sqrt(n)
    return PairedDifference(mean, std, n, mean - margin, mean + margin)


def t_quantile(n: int) -> float:
    """Half width of the 95 % Student interval of a mean of `n` values, in standard errors."""
    return float(scipy.special.stdtrit(n - 1, 1 - ALPHA / 2))


def welch_difference(a: MeanStd, b: MeanStd) -> Interval | None:
    """Difference a - b of two independent means, with its 95 % Welch interval.

    None where a side is a single value, which has no spread. Two sides without spread give an
    interval of width zero.
    """
    if a.std is None or b.std is None:
        return None
    parts = a.std**2 / a.n, b.std**2 / b.n
    mean, variance = a.mean - b.mean, sum(parts)
    if variance == 0:
        return Interval(mean, mean, mean)
    freedom = variance**2 / (parts[0] ** 2 / (a.n - 1) + parts[1] ** 2 / (b.n - 1))
    margin = float(scipy.stats.t.ppf(0.975, freedom)) * math.sqrt(variance)
    return Interval(mean, mean - margin, mean + margin)


def paired_t_p(a: Mapping[int, float], b: Mapping[int, float]) -> float | None:
    """p-value of the two-sided paired t test; None where the differences have no spread.

    Raises:
        ValueError: as `paired_difference`.
    """
    difference = paired_difference(a, b)
    if difference.std < _ROUNDING:
        return None
    statistic = abs(difference.mean) / (difference.std / math.sqrt(difference.n))
    return 2 * float(scipy.stats.t.sf(statistic, difference.n - 1))


def wilcoxon_p(a: Mapping[int, float], b: Mapping[int, float]) -> float | None:
    """p-value of the two-sided Wilcoxon signed-rank test over the pairs that differ.

    Exact up to 13 pairs, and up to 50 without ties. None where n is too small for this test: n
    pairs cannot go below 2 / 2^n, which is .0625 for 5.

    Raises:
        ValueError: as `paired_difference`.
    """
    paired_difference(a, b)  # raises if the values are not paired
    differences = np.round([a[seed] - b[seed] for seed in sorted(a)], 9)  # equal steps are ties
    differences = differences[differences != 0]
    if len(differences) == 0 or smallest_wilcoxon_p(len(differences)) > ALPHA:
        return None
    n = len(differences)
    method = scipy.stats.PermutationMethod(n_resamples=2**n) if n <= _MAX_ENUMERATED else "auto"
    return float(scipy.stats.wilcoxon(differences, method=method).pvalue)


def smallest_wilcoxon_p(n: int) -> float:
    """The p-value of the Wilcoxon signed-rank test where all `n` differences have one sign."""
    return 2.0 ** (1 - n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, which bounds the chance of any false positive among them."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks of methods over independent blocks; 1 is best, ties share their mean rank.

    Attributes:
        by_block: ranks of each method, one a block.
        average: mean of them.
        num_blocks: number of blocks.
        friedman_p: p-value of Friedman's test that all methods are alike; None with fewer than
            three methods or two blocks, or where all are tied.
        critical_difference: average ranks that lie further apart differ (Nemenyi, 5 %).
    """

    by_block: Mapping[str, tuple[float, ...]]
    average: Mapping[str, float]
    num_blocks: int
    friedman_p: float | None
    critical_difference: float

    def renamed(self, names: Mapping[str, str]) -> "Ranks":
        """The same under other names."""
        return replace(
            self,
            by_block={names[key]: ranks for key, ranks in self.by_block.items()},
            average={names[key]: average for key, average in self.average.items()},
        )


def rank(scores: Mapping[str, Sequence[float]]) -> Ranks:
    """Ranks of methods by their scores, one a block; higher is better.

    Raises:
        ValueError: fewer than two methods, or they do not have the same number of blocks.
    """
    values = np.array(list(scores.values()), dtype=float) if _is_matrix(scores) else np.empty(0)
    if values.size == 0 or len(values) < 2:
        raise ValueError("ranks need at least two methods with a score in every block")
    ranks = scipy.stats.rankdata(-values, axis=0)
    num_methods, num_blocks = values.shape
    friedman = math.nan
    if num_methods > 2 and num_blocks > 1 and np.ptp(ranks) > 0:
        friedman = float(scipy.stats.friedmanchisquare(*values).pvalue)
    return Ranks(
        by_block={name: tuple(map(float, row)) for name, row in zip(scores, ranks, strict=True)},
        average=dict(zip(scores, map(float, ranks.mean(axis=1)), strict=True)),
        num_blocks=num_blocks,
        friedman_p=None if math.isnan(friedman) else friedman,
        critical_difference=critical_difference(num_methods, num_blocks),
    )


def critical_difference(num_methods: int, num_blocks: int) -> float:
    """Nemenyi's critical difference of average ranks at 5 % (Demsar, JMLR 2006, section 3.2.2)."""
    spread = float(scipy.stats.studentized_range.ppf(1 - ALPHA, num_methods, math.inf))
    return spread / math.sqrt(2) * math.sqrt(num_methods * (num_methods + 1) / (6 * num_blocks))


def cliques(
    averages: Sequence[float], distance: float, *, alone: bool = False
) -> list[tuple[float, float]]:
    """Ends of each longest run of ascending `averages` that lie within less than `distance`.

    With `alone` also of runs of one.
    """
    runs: list[tuple[float, float]] = []
    for i, low in enumerate(averages):
        high = max(average for average in averages[i:] if average - low < distance)
        single = high == low and list(averages).count(low) == 1
        if (alone or not single) and (not runs or high > runs[-1][1]):
            runs.append((low, high))
    return runs


def _is_matrix(scores: Mapping[str, Sequence[float]]) -> bool:
    return len({len(row) for row in scores.values()}) == 1
