"""The examples of docs/methods/clpl.md, CLPL's convexity and twin."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench_methods.clpl import CLPL
from tests.methods.fakes import (
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_candidates,
    random_problem,
    sets,
)


def convex_loss(scores: Tensor, candidates: Tensor) -> Tensor:
    """Loss [B] at scores [B, C]."""
    return make(CLPL, random_problem(candidates)).losses(scores, candidates)


SCORES = torch.tensor([[[0.4, -0.5, 0.3]]])


def test_loss_and_gradient_at_the_scores() -> None:
    """Example 1."""
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), SCORES)
    method = make(CLPL, problem)
    step = method.loss(batch)
    step.loss.backward()
    assert step.loss.item() == pytest.approx(0.6725, abs=1e-6)
    gradient = logit_gradient(method.network)[0, 0].tolist()
    assert gradient == pytest.approx([-0.65, 1.0, -0.65], abs=1e-6)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == [0]


def test_probabilities_in_the_place_of_scores() -> None:
    """Example 2: they would keep the other label's term at 1.69; the scores have driven it to 0."""
    candidates = sets({0, 2}, num_classes=3)
    probs = torch.tensor([[0.5, 0.3, 0.2]])
    assert convex_loss(probs, candidates).item() == pytest.approx(2.1125, abs=1e-6)
    assert convex_loss(torch.tensor([[1.0, -1.0, 1.0]]), candidates).item() == 0


def test_a_full_set_asks_its_mean_score_to_reach_1() -> None:
    """Example 3."""
    loss = convex_loss(SCORES[0], sets({0, 1, 2}, num_classes=3))
    assert loss.item() == pytest.approx(0.871111, abs=1e-6)


def test_a_singleton_is_one_against_all() -> None:
    loss = convex_loss(SCORES[0], sets({1}, num_classes=3)).item()
    assert loss == pytest.approx(1.5**2 + 1.4**2 + 1.3**2, abs=1e-5)


def test_it_is_convex_in_the_scores() -> None:
    candidates = random_candidates(24)
    a, b = 3 * normal(24, 5), 3 * normal(24, 5, seed=1)
    for share in (0.1, 0.5, 0.8):
        chord = torch.lerp(convex_loss(a, candidates), convex_loss(b, candidates), share)
        assert (convex_loss(torch.lerp(a, b, share), candidates) <= chord + 1e-4).all()


def test_twin() -> None:
    candidates, scores = random_candidates(12), normal(1, 12, 5)
    problem, batch = lookup_problem(candidates, scores)
    expected = 0.0
    for z, inside in zip(scores[0].double().numpy(), candidates.numpy(), strict=True):
        expected += max(0.0, 1 - z[inside].mean()) ** 2 / 12
        expected += np.square(np.maximum(0.0, 1 + z[~inside])).sum() / 12
    assert make(CLPL, problem).loss(batch).loss.item() == pytest.approx(expected, rel=1e-5)
