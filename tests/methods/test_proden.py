"""The worked examples of docs/methods/proden.md, and PRODEN against a slow float64 twin."""

import numpy as np
import pytest
import torch

from pllbench.training.step import take_step
from pllbench_methods.proden import PRODEN
from tests.methods.fakes import (
    geometric_mean,
    log,
    lookup_problem,
    make,
    normal,
    random_candidates,
    sets,
    sgd,
    softmax,
)

P = [0.5, 0.3, 0.2]
RENEWED = torch.tensor([[0.714286, 0, 0.285714]])


def test_loss_and_confidence_of_the_first_epoch() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(PRODEN, problem, num_strong=0)
    assert method.loss(batch).loss.item() == pytest.approx(1.151293, abs=1e-6)
    torch.testing.assert_close(method.confidence, RENEWED, atol=1e-6, rtol=0)


@pytest.mark.parametrize("lr", [0.1, 1.0])
def test_the_confidence_is_that_before_the_step(lr: float) -> None:
    logits = torch.tensor([[[5.0, 3.0, 2.0]]]).log()
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), logits)
    method = make(PRODEN, problem, num_strong=0)
    take_step(method, batch, sgd(method, lr))
    torch.testing.assert_close(method.confidence, RENEWED, atol=1e-6, rtol=0)


def test_a_zero_weight_times_an_infinite_log_is_zero() -> None:
    logits = torch.tensor([[[200.0, 0.0, -200.0]]])
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), logits)
    method = make(PRODEN, problem, num_strong=0)
    method.confidence.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
    assert method.loss(batch).loss.item() == 0


def test_a_candidate_of_weight_zero_comes_back() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(PRODEN, problem, num_strong=0)
    method.confidence.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
    method.loss(batch)
    torch.testing.assert_close(method.confidence, RENEWED, atol=1e-6, rtol=0)


def test_confidence_of_three_views_is_their_geometric_mean() -> None:
    views = log([0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.2, 0.4, 0.4])[:, None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views)
    method = make(PRODEN, problem)
    method.loss(batch)
    expected = torch.tensor([[0.661869, 0, 0.338131]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_no_gradient_flows_into_the_confidence() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(PRODEN, problem, num_strong=0)
    method.loss(batch)
    assert not method.confidence.requires_grad


def test_pseudo_label_is_that_of_the_target_not_of_the_renewed_confidence() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(PRODEN, problem, num_strong=0)
    method.confidence.copy_(torch.tensor([[0.2, 0.0, 0.8]]))
    pseudo = method.loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]
    assert method.confidence.argmax(1).tolist() == [0]


def test_loss_and_confidence_equal_their_slow_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(PRODEN, problem, view_reduction="sum")
    method.loss(batch)
    weights = geometric_mean(softmax(logits), candidates)
    np.testing.assert_allclose(method.confidence.numpy(), weights, rtol=1e-5)
    twin = -(weights * np.log(softmax(logits))).sum(-1).mean(-1).sum()
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
