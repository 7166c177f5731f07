"""The worked examples of docs/methods/dpll.md, and DPLL against a slow float64 twin."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench_methods.dpll import DPLL
from tests.methods.fakes import (
    geometric_mean,
    log,
    lookup_problem,
    make,
    normal,
    random_candidates,
    sets,
    softmax,
)

P = [0.5, 0.3, 0.2]


def loss_at(epoch: int, logits: Tensor, candidates: Tensor, **hparams: object) -> float:
    problem, batch = lookup_problem(candidates, logits)
    method = make(DPLL, problem, num_strong=len(logits) - 1, **hparams)
    method.epoch = epoch
    return method.loss(batch).loss.item()


@pytest.mark.parametrize(
    ("candidate_set", "expected"), [({0, 2}, 0.356675), ({0}, 0.579818), ({0, 1, 2}, 0.0)]
)
def test_supervised_term_pushes_non_candidates_down(
    candidate_set: set[int], expected: float
) -> None:
    loss = loss_at(0, log(P)[None], sets(candidate_set, num_classes=3))
    assert loss == pytest.approx(expected, abs=1e-6)


def test_consistency_is_the_kl_divergence() -> None:
    logits, candidates = log(P)[None], sets({0, 2}, num_classes=3)
    consistency = loss_at(100, logits, candidates) - loss_at(0, logits, candidates)
    assert consistency == pytest.approx(0.458145, abs=1e-6)
    assert consistency == pytest.approx(1.151293 - 0.693147, abs=2e-6)


def test_confidence_is_the_geometric_mean_of_the_views_before_the_step() -> None:
    views = log([0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.2, 0.4, 0.4])[:, None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views)
    method = make(DPLL, problem)
    method.loss(batch)
    expected = torch.tensor([[0.661869, 0, 0.338131]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("epoch", "weight"), [(0, 0.0), (50, 0.5), (100, 1.0), (150, 1.0)])
def test_weight_of_the_consistency_term(epoch: int, weight: float) -> None:
    loss = loss_at(epoch, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(0.356675 + weight * 0.458145, abs=1e-6)


def test_no_floor_under_the_complement() -> None:
    loss = loss_at(0, torch.tensor([[[40.0, 0.0]]]), sets({1}, num_classes=2))
    assert loss == pytest.approx(40.0, abs=1e-5)


def test_copies_of_an_instance_have_its_loss() -> None:
    logits = normal(3, 1, 4)
    candidates = sets({0, 2}, num_classes=4)
    one = loss_at(100, logits, candidates)
    many = loss_at(100, logits.expand(3, 5, 4), candidates.expand(5, 4))
    assert many == pytest.approx(one, rel=1e-6)


def test_supervised_term_sees_the_weak_view_alone_and_consistency_sums_over_views() -> None:
    views = log(P, [0.2, 0.4, 0.4])[:, None]
    candidates = sets({0, 2}, num_classes=3)
    assert loss_at(0, views, candidates) == pytest.approx(0.356675, abs=1e-6)
    second = -math.log(2) - 0.5 * math.log(0.2 * 0.4)
    expected = 0.356675 + 0.458145 + second
    assert loss_at(100, views, candidates) == pytest.approx(expected, abs=2e-6)


def test_loss_equals_its_slow_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(DPLL, problem, lambda_max=0.8, ramp_epochs=40)
    method.loss(batch)
    method.epoch = 30
    probs, mask = softmax(logits), candidates.numpy()
    weights = geometric_mean(probs, candidates)
    twin = -(np.log(1 - probs[0]) * ~mask).sum(-1).mean()
    for v in range(3):
        for i in range(8):
            for k in np.flatnonzero(mask[i]):
                term = weights[i, k] * np.log(weights[i, k] / probs[v, i, k])
                twin += 0.8 * 0.75 * term / 8
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
