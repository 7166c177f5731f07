"""SCL-EXP: the examples of docs/methods/scl_exp.md, and its twin."""

import math

import numpy as np
import pytest
import torch

from pllbench_methods.scl_exp import SCLEXP
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax

P = [0.5, 0.3, 0.2]


def test_loss_of_one_pair() -> None:
    """Example 1: the gradient is p_1 exp(p_1) (onehot(1) - p)."""
    loss, gradient = loss_and_gradient(SCLEXP, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(1.349859, abs=1e-6)
    expected = torch.tensor([-0.202479, 0.283470, -0.080992])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("logit", "expected"), [(40.0, math.e), (-40.0, 1.0)])
def test_the_loss_lies_between_1_and_e(logit: float, expected: float) -> None:
    """Example 2."""
    loss, gradient = loss_and_gradient(
        SCLEXP, torch.tensor([[[logit, 0.0]]]), sets({1}, num_classes=2)
    )
    assert loss == pytest.approx(expected, abs=1e-6)
    assert gradient.abs().max() < 1e-6


@pytest.mark.parametrize("reduction", ["pairs", "instances"])
def test_twin(reduction: str) -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, pairs = softmax(logits), np.argwhere(~candidates.numpy())
    twin = sum(np.exp(probs[:, i, k]).mean() for i, k in pairs)
    loss, _ = loss_and_gradient(SCLEXP, logits, candidates, reduction=reduction)
    assert loss == pytest.approx(twin / (len(pairs) if reduction == "pairs" else 8), rel=1e-5)
