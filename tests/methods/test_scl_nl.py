"""SCL-NL: the examples of docs/methods/scl_nl.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.scl_nl import SCLNL
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax

P = [0.5, 0.3, 0.2]


def test_loss_of_one_pair() -> None:
    """Example 1: the gradient is p_1 / (1 - p_1) * (onehot(1) - p)."""
    loss, gradient = loss_and_gradient(SCLNL, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(0.356675, abs=1e-6)
    expected = torch.tensor([-0.214286, 0.3, -0.085714])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("reduction", "expected"), [("pairs", 0.272903), ("instances", 0.409355)])
def test_mean_over_pairs_or_over_instances(reduction: str, expected: float) -> None:
    """Example 2: three pairs of two instances."""
    logits = log(P, [0.6, 0.1, 0.3])[None]
    candidates = sets({0, 2}, {0}, num_classes=3)
    loss, _ = loss_and_gradient(SCLNL, logits, candidates, reduction=reduction)
    assert loss == pytest.approx(expected, abs=1e-6)


def test_no_floor_under_the_complement() -> None:
    """Example 3: with 1e-6 under the logarithm it would be 13.8155, without gradient."""
    loss, gradient = loss_and_gradient(
        SCLNL, torch.tensor([[[40.0, 0.0]]]), sets({1}, num_classes=2)
    )
    assert loss == pytest.approx(40.0, abs=1e-5)
    torch.testing.assert_close(gradient[0, 0], torch.tensor([1.0, -1.0]))


@pytest.mark.parametrize("reduction", ["pairs", "instances"])
def test_twin(reduction: str) -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, pairs = softmax(logits), np.argwhere(~candidates.numpy())
    twin = sum(-np.log(1 - probs[:, i, k]).mean() for i, k in pairs)
    loss, _ = loss_and_gradient(SCLNL, logits, candidates, reduction=reduction)
    assert loss == pytest.approx(twin / (len(pairs) if reduction == "pairs" else 8), rel=1e-5)
