"""LWS and LWC: the examples of docs/methods/lws.md, and their twins."""

import numpy as np
import pytest
import torch

from pllbench.training.step import take_step
from pllbench_methods.lws import LWS
from tests.methods.fakes import (
    geometric_mean,
    log,
    logit_gradient,
    lookup_problem,
    loss_and_gradient,
    make,
    normal,
    random_candidates,
    random_problem,
    sets,
    sgd,
    softmax,
    start_epoch,
    trained,
)

P = [0.5, 0.3, 0.2]


@pytest.mark.parametrize(("beta", "expected"), [(0.0, 0.333333), (1.0, 0.540820), (2.0, 0.748306)])
def test_first_visit_weighs_all_classes_equally(beta: float, expected: float) -> None:
    """Example 1."""
    logits, candidates = torch.tensor([[[1.0, -1.0, 0.5]]]), sets({0, 1}, num_classes=3)
    loss, _ = loss_and_gradient(LWS, logits, candidates, beta=beta)
    assert loss == pytest.approx(expected, abs=1e-6)


def test_candidates_and_others_are_weighted_each_among_themselves_after_the_step() -> None:
    """Example 2; an implementation that leaves the weights as they were has averaged losses."""
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(LWS, problem, num_strong=0)
    torch.testing.assert_close(method.confidence, torch.full((1, 3), 1 / 3))
    method.after_step(batch)
    expected = torch.tensor([[0.714286, 1, 0.285714]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_weights_come_from_the_weights_after_the_step() -> None:
    logits = torch.tensor([[[1.0, -1.0, 0.5]]])
    problem, batch = lookup_problem(sets({0, 1}, num_classes=3), logits)
    method = make(LWS, problem, num_strong=0)
    take_step(method, batch, sgd(method, lr=10.0))
    moved = method.network.classifier.weight.detach().T[None]
    assert not torch.allclose(moved, logits, atol=0.1)
    expected = geometric_mean(softmax(moved), batch.candidates)
    np.testing.assert_allclose(method.confidence.numpy() * batch.candidates.numpy(), expected, 1e-5)
    assert method.confidence[0, 2] == 1


def test_gradient_with_stored_weights() -> None:
    """Example 3."""
    problem, batch = lookup_problem(sets({0, 1}, num_classes=3), torch.tensor([[[1.0, -1.0, 0.5]]]))
    method = make(LWS, problem, num_strong=0)
    method.confidence.copy_(torch.tensor([[0.7, 0.3, 1.0]]))
    loss = method.loss(batch).loss
    loss.backward()
    assert loss.item() == pytest.approx(1.030036, abs=1e-6)
    expected = torch.tensor([-0.137628, -0.058984, 0.235004])
    torch.testing.assert_close(logit_gradient(method.network)[0, 0], expected, atol=1e-6, rtol=0)


def test_the_sigmoid_loss_saturates_where_a_candidate_is_confidently_denied() -> None:
    """Example 4."""
    logits = torch.tensor([[[-30.0, -100.0, -100.0]]])
    loss, gradient = loss_and_gradient(LWS, logits, sets({0}, num_classes=3))
    assert loss == pytest.approx(0.333333, abs=1e-6)
    assert gradient.abs().max() < 1e-13
    _, gradient = loss_and_gradient(
        LWS, logits, sets({0, 1, 2}, num_classes=3), surrogate="cross_entropy"
    )
    assert gradient.abs().max() > 0.3


def test_cross_entropy_with_the_weights_of_both_groups() -> None:
    """Example 5."""
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(LWS, problem, num_strong=0, surrogate="cross_entropy")
    method.after_step(batch)
    assert method.loss(batch).loss.item() == pytest.approx(1.311619, abs=2e-6)


def test_no_floor_under_the_probabilities_of_cross_entropy() -> None:
    """Example 6: with 1e-8 under the logarithm it would be 18.42."""
    problem, batch = lookup_problem(sets({1}, num_classes=2), torch.tensor([[[0.0, -1000.0]]]))
    method = make(LWS, problem, num_strong=0, surrogate="cross_entropy")
    for weights in ([1.0, 0.0], [0.0, 1.0]):  # that of the non-candidate, of the candidate
        method.confidence.copy_(torch.tensor([weights]))
        assert method.loss(batch).loss.item() == pytest.approx(1000.0, abs=1e-3)


def test_pseudo_label_is_the_candidate_of_the_largest_stored_weight() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log([0.9, 0.05, 0.05])[None])
    method = make(LWS, problem, num_strong=0)
    method.confidence.copy_(torch.tensor([[0.2, 1.0, 0.8]]))
    pseudo = method.loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]


def test_both_groups_of_a_row_sum_to_one_once_it_is_visited() -> None:
    candidates = random_candidates()
    method = trained(make(LWS, random_problem(candidates)), candidates, range(1))
    inside = (method.confidence * candidates).sum(1)
    torch.testing.assert_close(inside, torch.ones(24))
    outside = (method.confidence * ~candidates).sum(1)
    torch.testing.assert_close(outside, (~candidates.all(1)).float())


def test_full_sets_have_no_other_group() -> None:
    candidates = torch.ones(24, 5, dtype=torch.bool)
    method = make(LWS, random_problem(candidates))
    start_epoch(method, 0)
    trained(method, candidates, range(2))
    torch.testing.assert_close(method.confidence.sum(1), torch.ones(24))
    assert all(p.isfinite().all() for p in method.parameters())


@pytest.mark.parametrize("surrogate", ["sigmoid", "cross_entropy"])
def test_twin_of_loss_and_weights_over_views(surrogate: str) -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(LWS, problem, surrogate=surrogate, beta=1.7)
    method.after_step(batch)
    z, probs = logits.double().numpy(), softmax(logits)
    weights = geometric_mean(probs, candidates)
    for i in range(8):
        others = [k for k in range(5) if not candidates[i, k]]
        means = np.prod(probs[:, i, others], axis=0) ** (1 / 3)
        weights[i, others] = means / means.sum() if others else []
    np.testing.assert_allclose(method.confidence.numpy(), weights, rtol=1e-5)
    twin = 0.0
    for v, i, k in np.ndindex(3, 8, 5):
        if surrogate == "sigmoid":
            up, down = 1 / (1 + np.exp(z[v, i, k])), 1 / (1 + np.exp(-z[v, i, k]))
        else:
            up, down = -np.log(probs[v, i, k]), -np.log(1 - probs[v, i, k])
        twin += weights[i, k] * (up if candidates[i, k] else 1.7 * down) / 24
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
