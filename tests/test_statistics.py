import math

import pytest
from scipy import stats

from pllbench.statistics import paired_difference, summary


def test_the_spread_is_the_sample_standard_deviation() -> None:
    found = summary([90.0, 92.0, 94.0])
    assert (found.mean, found.std, found.n) == (92.0, 2.0, 3)


def test_one_value_has_no_spread() -> None:
    assert summary([92.0]).std is None


def test_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        summary([])


def test_a_paired_difference_agrees_with_scipys_paired_t_test() -> None:
    a, b = {0: 92.0, 1: 93.5, 2: 91.0, 3: 95.0}, {3: 94.0, 2: 90.5, 1: 91.5, 0: 91.8}
    seeds = sorted(a)
    expected = stats.ttest_rel([a[s] for s in seeds], [b[s] for s in seeds])
    low, high = expected.confidence_interval(0.95)
    found = paired_difference(a, b)
    assert found.n == 4
    assert found.mean == pytest.approx(0.925)
    assert found.std == pytest.approx(
        math.sqrt(sum((d - 0.925) ** 2 for d in (0.2, 2, 0.5, 1)) / 3)
    )
    assert (found.low, found.high) == pytest.approx((low, high))


def test_equal_differences_give_an_interval_of_width_zero() -> None:
    found = paired_difference({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0})
    assert (found.mean, found.std, found.low, found.high) == (1.0, 0.0, 1.0, 1.0)


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
