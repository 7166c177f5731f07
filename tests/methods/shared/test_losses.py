"""Shared losses against slow float64 twins, at extreme logits, and their gradients.

The worked examples are those of docs/methods/primitives.md.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pllbench_methods.shared.confidence import uniform_confidence
from pllbench_methods.shared.losses import (
    kl_divergence,
    log_candidate_prob,
    log_complement,
    non_candidate_losses,
    smallest_pairs,
    soft_cross_entropy,
)
from tests.methods.fakes import softmax
from tests.methods.shared.helpers import (
    B,
    C,
    V,
    assert_twin,
    extreme_logits,
    random_logits,
    random_sets,
    random_target,
)


@pytest.fixture(scope="module")
def candidates() -> Tensor:
    return random_sets()


def test_log_candidate_prob_equals_its_slow_twin(candidates: Tensor) -> None:
    logits = random_logits()
    twin = np.log((softmax(logits) * candidates.numpy()).sum(-1))
    assert_twin(log_candidate_prob(logits, candidates), twin)


def test_log_complement_equals_its_slow_twin() -> None:
    logits = random_logits()
    assert_twin(log_complement(logits), np.log(1 - softmax(logits)))


def test_non_candidate_losses_equal_their_slow_twin() -> None:
    logits, candidates = random_logits(), random_sets()
    twin = -(np.log(1 - softmax(logits)) * ~candidates.numpy()).sum(-1)
    assert_twin(non_candidate_losses(logits, candidates), twin)


def test_log_complement_is_exact_where_the_probability_rounds_to_one() -> None:
    result = log_complement(torch.tensor([[40.0, 0.0, 0.0]]))
    assert result[0, 0].item() == pytest.approx(math.log(2) - 40, rel=1e-6)
    assert result[0, 1].item() == pytest.approx(-math.exp(-40), rel=1e-5)


def test_log_complement_of_equal_logits() -> None:
    torch.testing.assert_close(
        log_complement(torch.zeros(1, 4)), torch.full((1, 4), math.log(3 / 4))
    )


def test_soft_cross_entropy_equals_its_slow_twin() -> None:
    logits, target = random_logits(), random_target()
    twin = -(target.double().numpy() * np.log(softmax(logits))).sum(-1)
    assert_twin(soft_cross_entropy(logits.log_softmax(-1), target), twin)


def test_kl_divergence_equals_its_slow_twin() -> None:
    logits, target = random_logits(), random_target()
    probs, weights = softmax(logits), target.double().numpy()
    twin = np.zeros((V, B))
    for v in range(V):
        for i in range(B):
            for k in range(C):
                if weights[i, k] > 0:
                    twin[v, i] += weights[i, k] * np.log(weights[i, k] / probs[v, i, k])
    assert_twin(kl_divergence(target, logits.log_softmax(-1)), twin)


@given(seed=st.integers(0, 10_000), halves=st.integers(0, 2 * 64))
def test_smallest_pairs_equal_their_slow_twin(candidates: Tensor, seed: int, halves: int) -> None:
    assert candidates.sum() == 64
    losses, count = random_logits(seed), halves / 2
    chosen = smallest_pairs(losses, candidates, count)
    for view in range(V):
        pairs = [(losses[view, i, k].item(), int(i), int(k)) for i, k in candidates.nonzero()]
        smallest = {(i, k) for _, i, k in sorted(pairs)[: math.floor(count)]}
        assert {(int(i), int(k)) for i, k in chosen[view].nonzero()} == smallest


def test_smallest_pairs_breaks_ties_by_position_and_takes_a_tensor() -> None:
    candidates = torch.tensor([[False, True], [True, True]])
    chosen = smallest_pairs(torch.zeros(2, 2), candidates, torch.tensor(2))
    assert chosen.tolist() == [[False, True], [True, False]]


def test_gradients_agree_with_finite_differences(candidates: Tensor) -> None:
    logits = random_logits()[:, :4].double().requires_grad_()
    sets, target = candidates[:4], random_target()[:4].double()
    assert torch.autograd.gradcheck(lambda z: log_candidate_prob(z, sets), logits)
    assert torch.autograd.gradcheck(log_complement, logits)
    assert torch.autograd.gradcheck(lambda z: soft_cross_entropy(z.log_softmax(-1), target), logits)
    assert torch.autograd.gradcheck(lambda z: kl_divergence(target, z.log_softmax(-1)), logits)


@pytest.mark.parametrize(
    "name", ["log_candidate_prob", "log_complement", "soft_cross_entropy", "kl"]
)
def test_extreme_logits_give_finite_losses_and_gradients(name: str) -> None:
    logits, sets = extreme_logits()
    logits.requires_grad_()
    log_probs = logits.log_softmax(-1)
    target = uniform_confidence(sets)
    losses = {
        "log_candidate_prob": lambda: log_candidate_prob(logits, sets),
        "log_complement": lambda: log_complement(logits),
        "soft_cross_entropy": lambda: soft_cross_entropy(log_probs, target),
        "kl": lambda: kl_divergence(target, log_probs),
    }[name]()
    losses.sum().backward()
    assert losses.isfinite().all()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad.abs().sum() > 0
