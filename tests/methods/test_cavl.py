"""CAVL: the examples of docs/methods/cavl.md, and its twin."""

import math

import numpy as np
import pytest
import torch

from pllbench.training.step import take_step
from pllbench_methods.cavl import CAVL, activation_values
from tests.methods.fakes import (
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_candidates,
    sets,
    sgd,
    softmax,
)


def label_of(logits: list[float], candidate_set: set[int]) -> list[float]:
    """The confidence after a visit with these logits."""
    candidates = sets(candidate_set, num_classes=len(logits))
    problem, batch = lookup_problem(candidates, torch.tensor([[logits]]))
    method = make(CAVL, problem, num_strong=0)
    method.after_step(batch)
    row: list[float] = method.confidence[0].tolist()
    return row


def test_activation_values_are_not_monotone() -> None:
    """Example 1."""
    values = activation_values(torch.tensor([0.5, 1.0, 2.0, (1 + math.sqrt(2)) / 2]))
    torch.testing.assert_close(values, torch.tensor([0.25, 0.0, 2.0, 0.25]))
    assert label_of([0.5, 1.0, 2.0], {0, 1}) == [1, 0, 0]


def test_the_label_is_a_candidate_where_all_their_values_are_negative() -> None:
    """Example 2: the released code multiplies by the mask, and class 2, with 0, wins."""
    values = activation_values(torch.tensor([-1.0, -2.0, 3.0]))
    assert values.tolist() == [-2, -6, 6]
    assert label_of([-1.0, -2.0, 3.0], {0, 1}) == [1, 0, 0]


def test_a_constant_added_to_the_logits_changes_the_label() -> None:
    """Example 3."""
    assert label_of([0.5, 1.0], {0, 1}) == [1, 0]
    assert label_of([1.5, 2.0], {0, 1}) == [0, 1]


def test_a_singleton_is_cross_entropy_from_the_first_step() -> None:
    """Example 4."""
    logits = normal(1, 1, 4)
    problem, batch = lookup_problem(sets({2}, num_classes=4), logits)
    method = make(CAVL, problem, num_strong=0)
    for _ in range(2):
        expected = -np.log(softmax(method.network.classifier.weight.T)[0, 2])
        assert take_step(method, batch, sgd(method)).loss.item() == pytest.approx(
            expected, rel=1e-5
        )


def test_first_visit_is_uniform_and_the_label_comes_from_the_updated_network() -> None:
    """The step takes the logits of the candidates from (1.3, 1) to (8.527, 8.946)."""
    assert label_of([1.3, 1.0, 3.0], {0, 1}) == [1, 0, 0]
    logits = torch.tensor([[[1.3, 1.0, 3.0]]])
    problem, batch = lookup_problem(sets({0, 1}, num_classes=3), logits)
    method = make(CAVL, problem, num_strong=0)
    log_probs = np.log(softmax(logits))[0, 0]
    loss = take_step(method, batch, sgd(method, lr=20.0)).loss.item()
    assert loss == pytest.approx(-(log_probs[0] + log_probs[1]) / 2, rel=1e-5)
    moved = method.network.classifier.weight.detach()[:, 0]
    torch.testing.assert_close(moved[:2], torch.tensor([8.527, 8.946]), atol=1e-3, rtol=0)
    step = method.loss(batch)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == [1]
    assert step.loss.item() == pytest.approx(-np.log(softmax(moved))[1], rel=1e-5)


def test_gradient_is_that_of_cross_entropy_with_the_stored_label() -> None:
    problem, batch = lookup_problem(sets({0, 1}, num_classes=3), torch.tensor([[[0.5, 1.0, 2.0]]]))
    method = make(CAVL, problem, num_strong=0)
    method.after_step(batch)
    method.loss(batch).loss.backward()
    expected = softmax(torch.tensor([0.5, 1.0, 2.0])) - [1, 0, 0]
    np.testing.assert_allclose(
        logit_gradient(method.network)[0, 0].numpy(), expected, rtol=1e-5, atol=1e-7
    )


def test_twin_over_views() -> None:
    candidates, logits = random_candidates(8), 2 * normal(3, 8, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(CAVL, problem)
    method.after_step(batch)
    mean, probs = logits.double().numpy().mean(0), softmax(logits)
    twin = 0.0
    for i in range(8):
        inside = [k for k in range(5) if candidates[i, k]]
        label = max(inside, key=lambda k: mean[i, k] * abs(1 - mean[i, k]))
        assert method.confidence[i].tolist() == np.eye(5)[label].tolist()
        twin -= np.log(probs[:, i, label]).mean() / 8
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
