"""Uniform flipping and uniform sets: the law of every policy, and nesting in the rate."""

import subprocess
import sys
from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pllbench.candidates.processes import Candidates, binomial, size_weights
from pllbench.spec import Policy
from tests.candidates.helpers import draw, labels, sizes, spec

POLICIES: tuple[Policy, ...] = get_args(Policy)


def flip(num_rows: int, num_classes: int, q: float, policy: Policy, seed: int = 0) -> Candidates:
    """Sets of uniform flipping; the true labels are every class in turn."""
    return draw(labels(num_rows, num_classes), num_classes, "uniform", seed, q=q, policy=policy)


@given(st.integers(1, 1000), st.integers(0, 10**6))
def test_the_binomial_law_is_that_of_scipy_bit_for_bit(num: int, millionths: int) -> None:
    p, counts = millionths / 10**6, np.arange(num + 1)
    assert np.array_equal(binomial(counts, num, p), stats.binom.pmf(counts, num, p))


def test_another_scipy_is_asked_for_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special._ufuncs", None)
    assert binomial(np.arange(3), 2, 0.5).tolist() == pytest.approx([0.25, 0.5, 0.25])


def test_sets_are_generated_without_the_import_of_scipy_s_laws() -> None:
    program = (
        "import sys, numpy\n"
        "from pllbench.candidates.processes import size_weights\n"
        "size_weights(9, 0.3, 'free')\n"
        "print('scipy.stats' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("num_classes", "q", "free", "force", "resample"),
    [
        (10, 0.1, 1.9, 2.2874, 2.4692),
        (10, 0.3, 3.7, 3.7404, 3.8135),
        (10, 0.5, 5.5, 5.5020, 5.5088),
        (10, 0.7, 7.3, 7.3000, 7.3001),
        (100, 0.01, 1.99, 2.3597, 2.5708),
        (100, 0.05, 5.95, 5.9562, 5.9810),
        (100, 0.1, 10.9, 10.9, 10.9003),
        (100, 0.2, 20.8, 20.8, 20.8),
        (9, 0.1, 1.8, 2.2305, 2.4047),
        (9, 0.7, 6.6, 6.6001, 6.6004),
    ],
)
def test_mean_size_is_that_of_the_policy(
    num_classes: int, q: float, free: float, force: float, resample: float, policy: Policy
) -> None:
    """Expected numbers of candidates, to the digits printed."""
    expected = {"free": free, "force": force, "resample": resample}[policy]
    weights = size_weights(num_classes - 1, q, policy)
    assert np.average(np.arange(1, num_classes + 1), weights=weights) == pytest.approx(
        expected, abs=6e-5
    )
    drawn = sizes(flip(20_000, num_classes, q, policy))
    sigma = drawn.std() / 20_000**0.5
    assert abs(drawn.mean() - expected) < 4 * sigma + 6e-5


@pytest.mark.parametrize("policy", POLICIES)
def test_wrong_labels_are_equally_likely_and_independent_given_free(policy: Policy) -> None:
    num_rows, num_classes, q = 40_000, 5, 0.3
    y = np.full(num_rows, 2, dtype=np.int64)
    sets = draw(y, num_classes, "uniform", seed=3, q=q, policy=policy)
    wrong = np.delete(sets, 2, axis=1)
    none = (1 - q) ** 4
    share = {"free": q, "force": q + none / 4, "resample": q / (1 - none)}[policy]
    sigma = (share * (1 - share) / num_rows) ** 0.5
    assert np.abs(wrong.mean(axis=0) - share).max() < 4.5 * sigma
    if policy == "free":  # then the sets are as likely as four coins make them
        patterns = wrong @ (1 << np.arange(4))
        counts = np.bincount(patterns, minlength=16)
        num_heads = np.array([bin(i).count("1") for i in range(16)])
        expected = num_rows * q**num_heads * (1 - q) ** (4 - num_heads)
        assert stats.chisquare(counts, expected).pvalue > 1e-4


@given(
    seed=st.integers(0, 2**32),
    num_classes=st.integers(2, 12),
    rates=st.tuples(st.floats(1e-6, 1), st.floats(1e-6, 1)),
    policy=st.sampled_from(POLICIES),
)
def test_a_larger_rate_only_adds_candidates(
    seed: int, num_classes: int, rates: tuple[float, float], policy: Policy
) -> None:
    small, large = (flip(50, num_classes, q, policy, seed) for q in (min(rates), max(rates)))
    assert not (small & ~large).any()


@pytest.mark.parametrize("policy", ["force", "resample"])
@pytest.mark.parametrize("num_classes", [2, 3, 10])
def test_no_singletons_but_under_free(num_classes: int, policy: Policy) -> None:
    assert sizes(flip(2000, num_classes, 0.05, policy)).min() == 2
    assert sizes(flip(2000, num_classes, 0.05, "free")).min() == 1


def test_rates_at_their_ends() -> None:
    alone = np.eye(10, dtype=np.bool_)[labels(500, 10)]
    assert (flip(500, 10, 0, "free") == alone).all()
    assert (sizes(flip(500, 10, 0, "force")) == 2).all()
    with pytest.raises(ValueError, match="resample needs q > 0"):
        spec("uniform", q=0, policy="resample")
    with pytest.raises(ValueError, match="'resample' needs q > 0"):
        size_weights(9, 0.0, "resample")
    for policy in POLICIES:
        assert flip(500, 10, 1, policy).all()
    assert (sizes(flip(500, 10, 1e-10, "resample")) == 2).all()


def test_two_classes() -> None:
    assert flip(4000, 2, 0.3, "force").all()
    full = flip(4000, 2, 0.3, "free").all(axis=1)
    assert abs(full.mean() - 0.3) < 4 * (0.3 * 0.7 / 4000) ** 0.5


@pytest.mark.parametrize(("num_rows", "num_classes"), [(2000, 1000), (3, 300)])
def test_many_classes(num_rows: int, num_classes: int) -> None:
    sets = flip(num_rows, num_classes, 0.01, "force")
    assert sets.shape == (num_rows, num_classes)


def test_three_classes_have_three_uniform_sets_equally_often() -> None:
    sets = draw(np.zeros(30_000, dtype=np.int64), 3, "uniform-set")
    found = Counter(tuple(np.flatnonzero(row)) for row in sets)
    assert set(found) == {(0,), (0, 1), (0, 2)}
    assert stats.chisquare(list(found.values())).pvalue > 1e-4


def test_sizes_of_uniform_sets_of_four_classes() -> None:
    counts = np.bincount(sizes(draw(labels(35_000, 4), 4, "uniform-set")))[1:]
    assert stats.chisquare(counts, np.array([1, 3, 3]) * 35_000 / 7).pvalue > 1e-4


@pytest.mark.parametrize("num_classes", [2, 3, 10, 63, 64, 100, 300, 1000])
@pytest.mark.parametrize("source", ["paper", "code"])
def test_uniform_sets_of_any_number_of_classes_are_never_full(
    num_classes: int, source: str
) -> None:
    drawn = sizes(draw(labels(2000, num_classes), num_classes, "uniform-set", sizes=source))
    assert drawn.max() < num_classes
    n = num_classes - 1
    mean = num_classes / 2
    if source == "paper":  # 1 + n / 2, given that it is not the full set
        mean = 1 + n / 2 - (n / 2) / (2.0**n - 1)
    spread = num_classes**0.5 / 2
    assert drawn.mean() == pytest.approx(mean, abs=4 * spread / 2000**0.5)


def test_uniform_sets_are_coins_given_that_the_set_is_not_full() -> None:
    y = np.zeros(64_000, dtype=np.int64)
    ours = draw(y, 5, "uniform-set")
    coins = draw(y, 5, "uniform", q=0.5, policy="free")
    coins = coins[~coins.all(axis=1)]
    code = 1 << np.arange(5)
    pair = [np.bincount(sets @ code, minlength=32) for sets in (ours, coins)]
    table = np.array([counts for counts in np.array(pair).T if counts.any()]).T
    assert table.shape[1] == 15
    assert stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize(
    ("num_classes", "paper", "code"), [(10, 5.4912, 5.0), (4, 16 / 7, 2.0), (3, 5 / 3, 1.5)]
)
def test_mean_sizes_of_the_paper_and_of_its_code(
    num_classes: int, paper: float, code: float
) -> None:
    y = labels(40_000, num_classes)
    for expected, source in ((paper, "paper"), (code, "code")):
        drawn = sizes(draw(y, num_classes, "uniform-set", sizes=source))
        assert drawn.mean() == pytest.approx(expected, abs=4 * drawn.std() / 200)
