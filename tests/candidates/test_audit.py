"""Candidate sets: the law of every policy, nesting, determinism, and what `check` refuses."""

from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pllbench.candidates.audit import audit, check, digest, generate
from pllbench.candidates.processes import PROCESSES, Candidates, Labels, size_law
from pllbench.spec import CandidateSpec, Policy, Process

POLICIES: tuple[Policy, ...] = get_args(Policy)

# (C, q): expected number of candidates under free, force, resample, to the digits printed.
EXPECTED_SIZES = [
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
]


def uniform(q: float, policy: Policy = "force") -> CandidateSpec:
    return CandidateSpec(process="uniform", q=q, policy=policy)


def labels(num_rows: int, num_classes: int) -> Labels:
    return np.arange(num_rows, dtype=np.int64) % num_classes


def test_every_process_is_implemented() -> None:
    assert set(PROCESSES) == set(get_args(Process))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("num_classes", "q", "free", "force", "resample"), EXPECTED_SIZES)
def test_mean_size_is_that_of_the_policy(
    num_classes: int, q: float, free: float, force: float, resample: float, policy: Policy
) -> None:
    expected = {"free": free, "force": force, "resample": resample}[policy]
    weights = size_law(num_classes - 1, q, policy)
    sizes = np.arange(1, num_classes + 1)
    assert np.average(sizes, weights=weights) == pytest.approx(expected, abs=6e-5)

    y = labels(20_000, num_classes)
    drawn = generate(y, num_classes, uniform(q, policy), seed=0).sum(axis=1)
    sigma = drawn.std() / len(y) ** 0.5
    assert abs(drawn.mean() - expected) < 4 * sigma + 6e-5


@pytest.mark.parametrize("policy", POLICIES)
def test_wrong_labels_are_equally_likely_and_independent_given_free(policy: Policy) -> None:
    num_rows, num_classes, q = 40_000, 5, 0.3
    y = np.full(num_rows, 2, dtype=np.int64)
    wrong = np.delete(generate(y, num_classes, uniform(q, policy), seed=3), 2, axis=1)
    none = (1 - q) ** 4
    share = {"free": q, "force": q + none / 4, "resample": q / (1 - none)}[policy]
    sigma = (share * (1 - share) / num_rows) ** 0.5
    assert np.abs(wrong.mean(axis=0) - share).max() < 4.5 * sigma
    if policy == "free":  # then the sets are as likely as four coins make them
        patterns = wrong @ (1 << np.arange(4))
        counts = np.bincount(patterns, minlength=16)
        sizes = np.array([bin(i).count("1") for i in range(16)])
        expected = num_rows * q**sizes * (1 - q) ** (4 - sizes)
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
    y = labels(50, num_classes)
    small, large = (
        generate(y, num_classes, uniform(q, policy), seed) for q in (min(rates), max(rates))
    )
    assert not (small & ~large).any()
    assert small[np.arange(50), y].all()


@pytest.mark.parametrize("policy", ["force", "resample"])
@pytest.mark.parametrize("num_classes", [2, 3, 10])
def test_no_singletons_but_under_free(num_classes: int, policy: Policy) -> None:
    y = labels(2000, num_classes)
    assert generate(y, num_classes, uniform(0.05, policy), 0).sum(axis=1).min() == 2
    assert generate(y, num_classes, uniform(0.05, "free"), 0).sum(axis=1).min() == 1


def test_rates_at_their_ends() -> None:
    y = labels(500, 10)
    alone = np.eye(10, dtype=np.bool_)[y]
    assert (generate(y, 10, uniform(0, "free"), 0) == alone).all()
    assert (generate(y, 10, uniform(0, "force"), 0).sum(axis=1) == 2).all()
    with pytest.raises(ValueError, match="resample needs q > 0"):
        uniform(0, "resample")
    with pytest.raises(ValueError, match="'resample' needs q > 0"):
        size_law(9, 0.0, "resample")
    for policy in POLICIES:
        assert generate(y, 10, uniform(1, policy), 0).all()
    tiny = generate(y, 10, uniform(1e-10, "resample"), 0)
    assert (tiny.sum(axis=1) == 2).all()


def test_two_classes() -> None:
    y = labels(4000, 2)
    assert generate(y, 2, uniform(0.3, "force"), 0).all()
    full = generate(y, 2, uniform(0.3, "free"), 0).all(axis=1)
    assert abs(full.mean() - 0.3) < 4 * (0.3 * 0.7 / 4000) ** 0.5
    with pytest.raises(ValueError, match="at least 2 classes"):
        generate(np.zeros(3, dtype=np.int64), 1, uniform(0.3), 0)


def test_labels_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.\.9, they run from 1 to 10"):
        generate(np.arange(1, 11), 10, uniform(0.3), 0)


def test_sets_depend_on_the_seed_alone() -> None:
    y = labels(300, 10)
    torch.manual_seed(0)
    first = generate(y, 10, uniform(0.3), seed=7)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    assert (generate(y, 10, uniform(0.3), seed=7) == first).all()
    assert torch.equal(torch.get_rng_state(), state)
    assert (generate(y, 10, uniform(0.3), seed=8) != first).any()


def test_sets_are_those_of_earlier_versions() -> None:
    """A change of this digest changes results: bump `CORE_VERSION` with it."""
    y = labels(1000, 10)
    assert digest(generate(y, 10, uniform(0.3), seed=0)) == "e36c42ea5c66dfed"


@pytest.mark.parametrize(("num_rows", "num_classes"), [(2000, 1000), (3, 300)])
def test_many_classes(num_rows: int, num_classes: int) -> None:
    y = labels(num_rows, num_classes)
    sets = generate(y, num_classes, uniform(0.01), 0)
    assert sets.shape == (num_rows, num_classes)
    check(sets, y, noisy=False, where="sets")


def some_sets() -> tuple[Candidates, Labels]:
    y = labels(40, 4)
    return generate(y, 4, uniform(0.4), 0), y


@pytest.mark.parametrize("noisy", [False, True])
def test_a_row_without_candidates_is_always_refused(noisy: bool) -> None:
    sets, y = some_sets()
    sets[17] = False
    sets[23] = False
    with pytest.raises(
        ValueError, match=r"^a\.mat: row 17 \(counted from 0\) has no candidate \(2 of 40 rows\)$"
    ):
        check(sets, y, noisy=noisy, where="a.mat")


def test_a_row_without_its_true_label_needs_permission() -> None:
    sets, y = some_sets()
    sets[5] = [True, False, True, True]
    assert y[5] == 1
    with pytest.raises(ValueError, match=r"row 5 .* true label 1 .*\(1 of 40 rows\).*noisy"):
        check(sets, y, noisy=False, where="a.mat")
    check(sets, y, noisy=True, where="a.mat")
    assert audit(sets, y).without_true == 1 / 40


def test_sets_of_other_rows_are_refused() -> None:
    sets, y = some_sets()
    with pytest.raises(ValueError, match=r"shape \(40, 4\) for 39 true labels"):
        check(sets, y[:-1], noisy=False, where="a.mat")
    with pytest.raises(ValueError, match=r"shape \(40,\)"):
        check(sets[:, 0], y, noisy=False, where="a.mat")


def test_audit_counts() -> None:
    sets = np.array([[1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]], dtype=np.bool_)
    facts = audit(sets, np.array([0, 1, 2, 2]))
    assert (facts.num_rows, facts.num_classes) == (4, 3)
    assert (facts.mean, facts.min, facts.max) == (2.0, 1, 3)
    assert (facts.singletons, facts.full, facts.without_true) == (0.25, 0.25, 0.25)
    assert facts.digest == digest(sets)


def test_digest_tells_shapes_and_sets_apart() -> None:
    sets = np.zeros((4, 6), dtype=np.bool_)
    other = sets.copy()
    other[3, 5] = True
    digests = {digest(sets), digest(other), digest(sets.reshape(6, 4)), digest(sets[:, :5])}
    assert len(digests) == 4
    assert digest(np.asfortranarray(other)) == digest(other)
    assert all(len(d) == 16 for d in digests)
