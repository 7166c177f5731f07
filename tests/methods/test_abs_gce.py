"""ABS-GCE: the examples of docs/methods/abs_gce.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.abs_gce import ABSGCE
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax

P = [0.5, 0.3, 0.2]


def test_loss_and_gradient() -> None:
    """Example 1."""
    loss, gradient = loss_and_gradient(ABSGCE, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(0.757355, abs=1e-6)
    expected = torch.tensor([-0.072860, 0.140956, -0.068095])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


def test_exponent_one_is_half_the_absolute_error() -> None:
    """Example 2."""
    loss, gradient = loss_and_gradient(
        ABSGCE, log(P)[None], sets({0, 2}, num_classes=3), exponent=1.0
    )
    assert loss == pytest.approx(0.65, abs=1e-6)
    expected = torch.tensor([-0.075, 0.105, -0.03])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


def test_a_small_exponent_is_averaged_cross_entropy() -> None:
    """Example 3."""
    loss, _ = loss_and_gradient(ABSGCE, log(P)[None], sets({0, 2}, num_classes=3), exponent=1e-3)
    assert loss == pytest.approx(1.151293, abs=2e-3)


def test_improbable_candidates_cost_a_bounded_amount() -> None:
    """Example 4."""
    logits = torch.tensor([[[-1000.0, 0.0, -1000.0]]])
    loss, gradient = loss_and_gradient(ABSGCE, logits, sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(1 / 0.7, abs=1e-6)
    assert gradient.isfinite().all()


def test_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, twin = softmax(logits), 0.0
    for v, i in np.ndindex(3, 8):
        inside = [k for k in range(5) if candidates[i, k]]
        twin += np.mean([(1 - probs[v, i, k] ** 0.4) / 0.4 for k in inside]) / 24
    loss, _ = loss_and_gradient(ABSGCE, logits, candidates, exponent=0.4)
    assert loss == pytest.approx(twin, rel=1e-5)
