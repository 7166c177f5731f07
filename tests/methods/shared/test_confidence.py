"""Confidence against slow float64 twins, and at extreme logits."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pllbench_methods.shared.confidence import confidence, restrict, uniform_confidence
from tests.methods.fakes import geometric_mean, softmax
from tests.methods.shared.helpers import (
    B,
    assert_twin,
    extreme_logits,
    random_logits,
    random_sets,
)


@pytest.fixture(scope="module")
def candidates() -> Tensor:
    return random_sets()


def test_uniform_confidence_is_one_over_the_number_of_candidates(candidates: Tensor) -> None:
    twin = [[float(c) / sum(row) for c in row] for row in candidates.tolist()]
    assert_twin(uniform_confidence(candidates), twin)


def test_restrict_leaves_only_candidates(candidates: Tensor) -> None:
    logits = random_logits()[0]
    kept = restrict(logits, candidates)
    assert torch.equal(kept[candidates], logits[candidates])
    assert torch.equal(kept.isinf(), ~candidates)


def test_confidence_is_the_normalised_geometric_mean(candidates: Tensor) -> None:
    logits = random_logits()
    assert_twin(confidence(logits, candidates), geometric_mean(softmax(logits), candidates))


def test_confidence_is_equal_from_restricted_and_unrestricted_probabilities(
    candidates: Tensor,
) -> None:
    logits = random_logits()
    restricted = softmax(logits) * candidates.numpy()
    restricted /= restricted.sum(-1, keepdims=True)
    assert_twin(confidence(logits, candidates), geometric_mean(restricted, candidates))
    torch.testing.assert_close(
        confidence(logits, candidates), confidence(logits.log_softmax(-1), candidates)
    )


def test_confidence_broadcasts_over_networks(candidates: Tensor) -> None:
    logits = torch.stack([random_logits(0), random_logits(1)])
    both = confidence(logits, candidates)
    assert torch.equal(both[1], confidence(logits[1], candidates))


@given(st.integers(0, 10_000), st.floats(0.01, 200))
def test_confidence_rows_sum_to_one_and_are_zero_off_the_candidates(
    candidates: Tensor, seed: int, scale: float
) -> None:
    weights = confidence(scale * random_logits(seed), candidates)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B))
    assert (weights >= 0).all()
    assert (weights[~candidates] == 0).all()


def test_confidence_carries_no_gradient(candidates: Tensor) -> None:
    assert not confidence(random_logits().requires_grad_(), candidates).requires_grad


def test_confidence_of_extreme_logits_is_finite() -> None:
    logits, sets = extreme_logits()
    weights = confidence(logits[None], sets)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))
