import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pllbench.reports.statistics import (
    cliques,
    critical_difference,
    holm,
    mean_std,
    paired_difference,
    paired_t_p,
    rank,
    smallest_wilcoxon_p,
    welch_difference,
    wilcoxon_p,
)


def test_the_spread_is_the_sample_standard_deviation() -> None:
    average = mean_std([90.0, 92.0, 94.0])
    assert (average.mean, average.std, average.n) == (92.0, 2.0, 3)


def test_one_value_has_no_spread() -> None:
    assert mean_std([92.0]).std is None


def test_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean_std([])


def test_a_paired_difference_agrees_with_scipys_paired_t_test() -> None:
    a, b = {0: 92.0, 1: 93.5, 2: 91.0, 3: 95.0}, {3: 94.0, 2: 90.5, 1: 91.5, 0: 91.8}
    seeds = sorted(a)
    expected = stats.ttest_rel([a[s] for s in seeds], [b[s] for s in seeds])
    low, high = expected.confidence_interval(0.95)
    difference = paired_difference(a, b)
    assert difference.n == 4
    assert difference.mean == pytest.approx(0.925)
    assert difference.std == pytest.approx(
        math.sqrt(sum((d - 0.925) ** 2 for d in (0.2, 2, 0.5, 1)) / 3)
    )
    assert (difference.low, difference.high) == pytest.approx((low, high))


def test_equal_differences_give_an_interval_of_width_zero() -> None:
    difference = paired_difference({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0})
    assert (difference.mean, difference.std, difference.low, difference.high) == (
        1.0,
        0.0,
        1.0,
        1.0,
    )


@pytest.mark.parametrize(
    ("b", "message"),
    [({0: 1.0, 2: 1.0}, r"not paired: seeds \[0, 1\] against \[0, 2\]"), ({0: 1.0}, "not paired")],
)
def test_values_without_a_partner_are_refused(b: dict[int, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_difference({0: 1.0, 1: 1.0}, b)


def test_one_pair_has_no_interval() -> None:
    with pytest.raises(ValueError, match="at least 2 pairs, got 1"):
        paired_difference({0: 1.0}, {0: 2.0})


def test_a_welch_difference_agrees_with_scipy() -> None:
    a, b = [90.0, 92.0, 95.0], [88.0, 89.5, 88.7, 90.1]
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    difference = welch_difference(mean_std(a), mean_std(b))
    assert difference is not None
    assert (difference.low, difference.high) == pytest.approx(tuple(expected))


def test_a_single_value_has_no_welch_interval() -> None:
    assert welch_difference(mean_std([90.0]), mean_std([88.0, 89.0])) is None


@settings(max_examples=30)
@given(st.lists(st.integers(-3, 3).filter(bool), min_size=6, max_size=8))
def test_wilcoxons_test_is_exact_with_ties(differences: list[int]) -> None:
    """Against all sign patterns of the ranks, gone through one by one."""
    pairs = dict(enumerate(map(float, differences)))
    p_value = wilcoxon_p(pairs, dict.fromkeys(pairs, 0.0))
    ranks = stats.rankdata(np.abs(differences))
    observed = abs(np.sign(differences) @ ranks)
    patterns = np.array(list(itertools.product((-1, 1), repeat=len(differences))))
    assert p_value == pytest.approx(np.mean(np.abs(patterns @ ranks) >= observed))


def test_wilcoxons_test_needs_six_pairs_that_differ() -> None:
    assert smallest_wilcoxon_p(5) == 0.0625
    zero = dict.fromkeys(range(6), 0.0)
    assert wilcoxon_p(dict(enumerate([1.0, 2, 3, 4, 5, 6])), zero) == pytest.approx(1 / 32)
    assert wilcoxon_p(dict(enumerate([1.0, 2, 3, 4, 5, 0])), zero) is None


def test_equal_differences_have_no_t_test() -> None:
    assert paired_t_p({0: 2.1, 1: 3.1}, {0: 1.0, 1: 2.0}) is None


def test_holms_adjustment() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_critical_difference_is_nemenyis() -> None:
    assert critical_difference(8, 4) == pytest.approx(5.250, abs=0.0005)
    # Demsar's table 5: q = 2.569 for four classifiers, over 14 data sets.
    assert critical_difference(4, 14) == pytest.approx(2.569 * (20 / 84) ** 0.5, abs=0.001)


def test_ranks_share_ties_and_friedmans_test_is_scipys() -> None:
    scores = {"a": [9.0, 8.0, 7.0], "b": [9.0, 7.0, 6.0], "c": [1.0, 2.0, 3.0]}
    ranks = rank(scores)
    assert ranks.by_block == {"a": (1.5, 1, 1), "b": (1.5, 2, 2), "c": (3, 3, 3)}
    assert ranks.friedman_p == pytest.approx(stats.friedmanchisquare(*scores.values()).pvalue)
    assert rank({"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [1.0, 1.0]}).friedman_p is None


@pytest.mark.parametrize("scores", [{}, {"a": [1.0]}, {"a": [1.0], "b": [1.0, 2.0]}])
def test_ranks_of_nothing_are_refused(scores: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="at least two methods"):
        rank(scores)


@pytest.mark.parametrize(
    ("averages", "distance", "expected"),
    [
        ([1, 2, 3, 4], 1.5, [(1, 2), (2, 3), (3, 4)]),
        ([1, 2, 3, 4], 2.5, [(1, 3), (2, 4)]),
        ([1, 2, 3, 4], 5, [(1, 4)]),
        ([1, 2, 3, 4], 1, []),
        ([1.5, 1.5, 3], 1, [(1.5, 1.5)]),
    ],
)
def test_cliques_are_the_longest_runs_that_do_not_differ(
    averages: list[float], distance: float, expected: list[tuple[float, float]]
) -> None:
    assert cliques(averages, distance) == expected


def test_cliques_of_one() -> None:
    assert cliques([1, 2, 3], 1, alone=True) == [(1, 1), (2, 2), (3, 3)]
    assert cliques([1, 1.5, 3], 1, alone=True) == [(1, 1.5), (3, 3)]
