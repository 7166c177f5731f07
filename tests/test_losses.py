"""Shared losses against slow float64 twins, at extreme logits, and their gradients."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pllbench_methods.shared.confidence import confidence, restrict, uniform_confidence
from pllbench_methods.shared.disambiguation import disambiguation_losses
from pllbench_methods.shared.losses import (
    kl_divergence,
    log_candidate_prob,
    log_complement,
    log_dot,
    non_candidate_losses,
    smallest_pairs,
    soft_cross_entropy,
)
from pllbench_methods.shared.schedules import ramp
from tests.methods.fakes import geometric_mean, random_candidates, softmax

V, B, C = 3, 24, 5
CANDIDATES = random_candidates(B, C)
EXTREME = torch.tensor(
    [[200.0, -200.0, 0.0], [-200.0, 200.0, 200.0], [0.0, 0.0, -200.0], [200.0, 200.0, 200.0]]
)
EXTREME_CANDIDATES = torch.tensor([[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 1]], dtype=torch.bool)


def random_logits(seed: int = 0) -> Tensor:
    return 3 * torch.randn(V, B, C, generator=torch.Generator().manual_seed(seed))


def random_target(seed: int = 9) -> Tensor:
    return confidence(random_logits(seed), CANDIDATES)


def assert_twin(result: Tensor, twin: object) -> None:
    assert result.dtype == torch.float32
    np.testing.assert_allclose(result.numpy(), np.asarray(twin), rtol=1e-5, atol=1e-6)


def test_uniform_confidence_is_one_over_the_number_of_candidates() -> None:
    twin = [[float(c) / sum(row) for c in row] for row in CANDIDATES.tolist()]
    assert_twin(uniform_confidence(CANDIDATES), twin)


def test_restrict_leaves_only_candidates() -> None:
    logits = random_logits()[0]
    kept = restrict(logits, CANDIDATES)
    assert torch.equal(kept[CANDIDATES], logits[CANDIDATES])
    assert torch.equal(kept.isinf(), ~CANDIDATES)


def test_confidence_is_the_normalised_geometric_mean() -> None:
    logits = random_logits()
    assert_twin(confidence(logits, CANDIDATES), geometric_mean(softmax(logits), CANDIDATES))


def test_confidence_is_equal_from_restricted_and_unrestricted_probabilities() -> None:
    logits = random_logits()
    restricted = softmax(logits) * CANDIDATES.numpy()
    restricted /= restricted.sum(-1, keepdims=True)
    assert_twin(confidence(logits, CANDIDATES), geometric_mean(restricted, CANDIDATES))
    torch.testing.assert_close(
        confidence(logits, CANDIDATES), confidence(logits.log_softmax(-1), CANDIDATES)
    )


def test_confidence_broadcasts_over_networks() -> None:
    logits = torch.stack([random_logits(0), random_logits(1)])
    both = confidence(logits, CANDIDATES)
    assert torch.equal(both[1], confidence(logits[1], CANDIDATES))


@given(st.integers(0, 10_000), st.floats(0.01, 200))
def test_confidence_rows_sum_to_one_and_are_zero_off_the_candidates(
    seed: int, scale: float
) -> None:
    weights = confidence(scale * random_logits(seed), CANDIDATES)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B))
    assert (weights >= 0).all()
    assert (weights[~CANDIDATES] == 0).all()


def test_confidence_carries_no_gradient() -> None:
    assert not confidence(random_logits().requires_grad_(), CANDIDATES).requires_grad


def test_log_candidate_prob_twin() -> None:
    logits = random_logits()
    twin = np.log((softmax(logits) * CANDIDATES.numpy()).sum(-1))
    assert_twin(log_candidate_prob(logits, CANDIDATES), twin)


def test_log_complement_twin() -> None:
    logits = random_logits()
    assert_twin(log_complement(logits), np.log(1 - softmax(logits)))


def test_non_candidate_losses_twin() -> None:
    logits = random_logits()
    twin = -(np.log(1 - softmax(logits)) * ~CANDIDATES.numpy()).sum(-1)
    assert_twin(non_candidate_losses(logits, CANDIDATES), twin)


def test_log_complement_is_exact_where_the_probability_rounds_to_one() -> None:
    result = log_complement(torch.tensor([[40.0, 0.0, 0.0]]))
    assert result[0, 0].item() == pytest.approx(math.log(2) - 40, rel=1e-6)
    assert result[0, 1].item() == pytest.approx(-math.exp(-40), rel=1e-5)


def test_log_complement_of_equal_logits() -> None:
    torch.testing.assert_close(
        log_complement(torch.zeros(1, 4)), torch.full((1, 4), math.log(3 / 4))
    )


def test_log_dot_twin() -> None:
    logits = random_logits()
    probs = softmax(logits)
    log_probs = logits.log_softmax(-1)
    twin = [[[view[i] @ view[j] for j in range(B)] for i in range(B)] for view in probs]
    assert_twin(log_dot(log_probs, log_probs), np.log(twin))
    assert_twin(log_dot(log_probs, log_complement(logits)), np.log(1 - np.asarray(twin)))


def test_log_dot_of_disjoint_supports() -> None:
    log_probs = torch.tensor([[200.0, -200.0], [-200.0, 200.0]]).log_softmax(-1)
    expected = torch.tensor([[0.0, math.log(2) - 400], [math.log(2) - 400, 0.0]])
    torch.testing.assert_close(log_dot(log_probs, log_probs), expected)


def test_log_dot_stays_finite_beyond_the_range_of_float64() -> None:
    logits = torch.tensor([[2000.0, -2000.0], [-2000.0, 2000.0]], requires_grad=True)
    log_probs = logits.log_softmax(-1)
    dots = log_dot(log_probs, log_probs)
    dots.sum().backward()
    assert dots[0, 1].item() == pytest.approx(math.log(2) - 700)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_soft_cross_entropy_twin() -> None:
    logits, target = random_logits(), random_target()
    twin = -(target.double().numpy() * np.log(softmax(logits))).sum(-1)
    assert_twin(soft_cross_entropy(logits.log_softmax(-1), target), twin)


def test_kl_divergence_twin() -> None:
    logits, target = random_logits(), random_target()
    probs, weights = softmax(logits), target.double().numpy()
    twin = np.zeros((V, B))
    for v in range(V):
        for i in range(B):
            for k in range(C):
                if weights[i, k] > 0:
                    twin[v, i] += weights[i, k] * np.log(weights[i, k] / probs[v, i, k])
    assert_twin(kl_divergence(target, logits.log_softmax(-1)), twin)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_disambiguation_losses_twin(gamma: float) -> None:
    logits, target = random_logits(), random_target()
    probs = softmax(logits)
    twin = -np.log((probs * CANDIDATES.numpy()).sum(-1))
    twin -= gamma * (target.double().numpy() * np.log(probs)).sum(-1)
    assert_twin(disambiguation_losses(logits, target, CANDIDATES, gamma), twin)


@given(st.integers(0, 10_000), st.integers(0, 2 * int(CANDIDATES.sum())))
def test_smallest_pairs_twin(seed: int, halves: int) -> None:
    losses, count = random_logits(seed), halves / 2
    chosen = smallest_pairs(losses, CANDIDATES, count)
    for view in range(V):
        pairs = [(losses[view, i, k].item(), int(i), int(k)) for i, k in CANDIDATES.nonzero()]
        smallest = {(i, k) for _, i, k in sorted(pairs)[: math.floor(count)]}
        assert {(int(i), int(k)) for i, k in chosen[view].nonzero()} == smallest


def test_smallest_pairs_breaks_ties_by_position_and_takes_a_tensor() -> None:
    candidates = torch.tensor([[False, True], [True, True]])
    chosen = smallest_pairs(torch.zeros(2, 2), candidates, torch.tensor(2))
    assert chosen.tolist() == [[False, True], [True, False]]


def test_ramp_rises_to_one_and_stays() -> None:
    assert [ramp(t, 100) for t in (0, 25, 100, 150)] == [0, 0.25, 1, 1]


def test_gradients_agree_with_finite_differences() -> None:
    logits = random_logits()[:, :4].double().requires_grad_()
    candidates, target = CANDIDATES[:4], random_target()[:4].double()

    def log_dots(z: Tensor) -> Tensor:
        return log_dot(z.log_softmax(-1), log_complement(z))

    assert torch.autograd.gradcheck(lambda z: log_candidate_prob(z, candidates), logits)
    assert torch.autograd.gradcheck(log_complement, logits)
    assert torch.autograd.gradcheck(log_dots, logits)
    assert torch.autograd.gradcheck(lambda z: soft_cross_entropy(z.log_softmax(-1), target), logits)
    assert torch.autograd.gradcheck(lambda z: kl_divergence(target, z.log_softmax(-1)), logits)


@pytest.mark.parametrize(
    "name", ["log_candidate_prob", "log_complement", "log_dot", "soft_cross_entropy", "kl"]
)
def test_extreme_logits_give_finite_losses_and_gradients(name: str) -> None:
    logits = EXTREME.clone().requires_grad_()
    log_probs = logits.log_softmax(-1)
    target = uniform_confidence(EXTREME_CANDIDATES)
    losses = {
        "log_candidate_prob": lambda: log_candidate_prob(logits, EXTREME_CANDIDATES),
        "log_complement": lambda: log_complement(logits),
        "log_dot": lambda: torch.cat(
            [log_dot(log_probs, log_probs), log_dot(log_probs, log_complement(logits))]
        ),
        "soft_cross_entropy": lambda: soft_cross_entropy(log_probs, target),
        "kl": lambda: kl_divergence(target, log_probs),
    }[name]()
    losses.sum().backward()
    assert losses.isfinite().all()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad.abs().sum() > 0


def test_confidence_of_extreme_logits_is_finite() -> None:
    weights = confidence(EXTREME[None], EXTREME_CANDIDATES)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))
