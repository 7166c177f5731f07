"""GFWS: the examples of docs/methods/gfws.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.gfws import GFWS
from tests.methods.fakes import (
    geometric_mean,
    log,
    lookup_problem,
    loss_and_gradient,
    make,
    normal,
    random_candidates,
    sets,
    softmax,
)

P = [0.5, 0.3, 0.2]


def test_loss_and_gradient_of_one_view() -> None:
    """Example 1: .356675 + .954945 + .116885."""
    logits, candidates = log(P)[None], sets({0, 2}, num_classes=3)
    loss, gradient = loss_and_gradient(GFWS, logits, candidates)
    assert loss == pytest.approx(1.428505, abs=1e-6)
    expected = torch.tensor([-0.411905, 0.596667, -0.184762])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)
    without, _ = loss_and_gradient(GFWS, logits, candidates, balance=0.0)
    assert without == pytest.approx(0.356675 + 0.954945, abs=1e-6)


@pytest.mark.parametrize(("num_classes", "expected"), [(10, 0.230259), (100, 0.460517)])
def test_balance_term_of_a_uniform_mean_prediction(num_classes: int, expected: float) -> None:
    """Example 2: two opposite predictions have a uniform mean."""
    logits = torch.zeros(1, 2, num_classes)
    logits[0, 0, : num_classes // 2] = -20.0
    logits[0, 1, num_classes // 2 :] = -20.0
    candidates = torch.ones(2, num_classes, dtype=torch.bool)
    loss, _ = loss_and_gradient(GFWS, logits, candidates)
    without, _ = loss_and_gradient(GFWS, logits, candidates, balance=0.0)
    assert loss - without == pytest.approx(expected, abs=1e-5)


def test_balance_term_pulls_a_single_row_towards_equal_shares() -> None:
    """Example 3: .1 (p - 1 / C)."""
    logits, candidates = log(P)[None], sets({0, 2}, num_classes=3)
    _, gradient = loss_and_gradient(GFWS, logits, candidates)
    _, without = loss_and_gradient(GFWS, logits, candidates, balance=0.0)
    expected = torch.tensor([0.016667, -0.003333, -0.013333])
    torch.testing.assert_close((gradient - without)[0, 0], expected, atol=1e-6, rtol=0)


def test_all_views_learn_the_weak_views_confidence() -> None:
    """Example 4: cross entropies .954945, 1.022757, 1.411396 with the weak view's target."""
    views = log(P, [0.6, 0.3, 0.1], [0.2, 0.4, 0.4])[:, None]
    loss, _ = loss_and_gradient(GFWS, views, sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(1.603259, abs=1e-6)


def test_no_gradient_flows_through_the_target() -> None:
    views = log(P, [0.6, 0.3, 0.1])[:, None]
    _, gradient = loss_and_gradient(GFWS, views, sets({0, 2}, num_classes=3), balance=0.0)
    target = np.array([0.5 / 0.7, 0, 0.2 / 0.7])
    np.testing.assert_allclose(
        gradient[1, 0].numpy(), (np.array([0.6, 0.3, 0.1]) - target) / 2, atol=1e-6
    )


def test_no_floor_under_the_mean_prediction() -> None:
    """Example 5: a floor of 1e-6 would stop the term at .1 * 13.8155 / 2 = .69."""
    logits, candidates = torch.tensor([[[0.0, -1000.0]]]), sets({0, 1}, num_classes=2)
    loss, _ = loss_and_gradient(GFWS, logits, candidates)
    without, _ = loss_and_gradient(GFWS, logits, candidates, balance=0.0)
    assert loss - without == pytest.approx(50.0, abs=1e-4)


def test_improbable_candidates_leave_a_finite_target() -> None:
    logits = torch.tensor([[[0.0, -1000.0, -1000.0]]])
    loss, gradient = loss_and_gradient(GFWS, logits, sets({1, 2}, num_classes=3), balance=0.0)
    assert loss == pytest.approx(1000 + 1000 - np.log(2), abs=1e-3)
    expected = torch.tensor([2.0, -1.0, -1.0])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-4, rtol=0)


def test_pseudo_label_is_the_weak_views_best_candidate() -> None:
    views = log(P, [0.1, 0.2, 0.7])[:, None]
    problem, batch = lookup_problem(sets({1, 2}, num_classes=3), views)
    pseudo = make(GFWS, problem, num_strong=1).loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [1]


def test_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, mask = softmax(logits), candidates.numpy()
    target = geometric_mean(probs[:1], candidates)
    twin = -(np.log(1 - probs[0]) * ~mask).sum(-1).mean()
    twin -= (target * np.log(probs)).sum(-1).mean()
    twin -= 0.3 * np.log(probs[0].mean(0)).mean()
    loss, _ = loss_and_gradient(GFWS, logits, candidates, balance=0.3)
    assert loss == pytest.approx(twin, rel=1e-5)
