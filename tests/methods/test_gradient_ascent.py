"""GA: the examples of docs/methods/gradient_ascent.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench.training.step import take_step
from pllbench_methods.gradient_ascent import GradientAscent
from pllbench_methods.non_negative import NonNegative
from tests.methods.fakes import (
    log,
    lookup_problem,
    loss_and_gradient,
    make,
    normal,
    random_candidates,
    sets,
    sgd,
    softmax,
)
from tests.methods.test_non_negative import OTHERS, ROWS, naive_risks

NEGATIVE = ([0.02, 0.49, 0.49], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4])


def test_without_a_negative_risk_it_is_the_unbiased_risk() -> None:
    """Example 1."""
    loss, gradient = loss_and_gradient(GradientAscent, log(*ROWS)[None], OTHERS)
    assert loss == pytest.approx(1.910728, abs=1e-5)
    _, expected = loss_and_gradient(NonNegative, log(*ROWS)[None], OTHERS)
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize(("count_weight", "expected"), [(False, 0.501359), (True, 3 * 0.501359)])
def test_with_a_negative_risk_only_the_negative_ones_count(
    count_weight: bool, expected: float
) -> None:
    """Example 2, every row three times: three pairs with class 0."""
    logits = log(*NEGATIVE)[None].repeat(1, 3, 1)
    candidates = OTHERS.repeat(3, 1)
    loss, _ = loss_and_gradient(GradientAscent, logits, candidates, count_weight=count_weight)
    assert loss == pytest.approx(expected, abs=1e-5)


def test_a_class_that_is_rarely_a_candidate_has_a_negative_risk_from_the_start() -> None:
    """Example 3."""
    candidates = sets({1}, {1}, {1, 2}, num_classes=3)
    loss, _ = loss_and_gradient(GradientAscent, torch.zeros(1, 3, 3), candidates)
    assert loss == pytest.approx(0.219722, abs=1e-6)


def test_a_step_raises_the_negative_risk() -> None:
    problem, batch = lookup_problem(OTHERS, log(*NEGATIVE)[None])
    method = make(GradientAscent, problem, num_strong=0)
    optimizer = sgd(method, lr=0.05)
    losses = [take_step(method, batch, optimizer).loss.item() for _ in range(3)]
    assert losses[0] > losses[1] > losses[2] > 0  # the loss is minus the risk


def test_each_view_has_a_sign_of_its_own() -> None:
    """One view has a negative risk, the other has none."""
    views = torch.stack([log(*NEGATIVE), log(*ROWS)])
    loss, _ = loss_and_gradient(GradientAscent, views, OTHERS)
    assert loss == pytest.approx((0.501359 + 1.910728) / 2, abs=1e-5)


def test_full_sets_alone_cost_nothing() -> None:
    logits, full = normal(1, 4, 3), sets(*[{0, 1, 2}] * 4, num_classes=3)
    loss, gradient = loss_and_gradient(GradientAscent, logits, full)
    assert loss == 0
    assert (gradient == 0).all()


@pytest.mark.parametrize("count_weight", [False, True])
def test_twin(count_weight: bool) -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    pairs = ~candidates.numpy()
    prior, counts = pairs.sum(0) / pairs.sum(), pairs.sum(0)
    losses, twin = -np.log(softmax(logits)), 0.0
    for v in range(3):
        risks = naive_risks(losses[v], candidates, prior)
        if min(risks) >= 0:
            twin += sum(risks) / 3
        else:
            for k in range(5):
                twin -= min(risks[k], 0) * (counts[k] if count_weight else 1) / 3
    loss, _ = loss_and_gradient(GradientAscent, logits, candidates, count_weight=count_weight)
    assert loss == pytest.approx(twin, rel=1e-4)
