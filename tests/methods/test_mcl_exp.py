"""MCL-EXP: the examples of docs/methods/mcl_exp.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.mcl_exp import MCLEXP
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax

P = [0.5, 0.3, 0.2]


def test_ten_classes() -> None:
    """Example 1."""
    logits = log([0.2] * 3 + [0.4 / 7] * 7)[None]
    loss, _ = loss_and_gradient(MCLEXP, logits, sets({0, 1, 2}, num_classes=10))
    assert loss == pytest.approx(0.705615, abs=1e-6)


def test_loss_and_gradient() -> None:
    """Example 2."""
    loss, gradient = loss_and_gradient(MCLEXP, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(0.993171, abs=1e-6)
    expected = torch.tensor([-0.148976, 0.208566, -0.059590])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


def test_a_singleton_has_weight_one() -> None:
    """Example 3."""
    loss, _ = loss_and_gradient(MCLEXP, log(P)[None], sets({0}, num_classes=3))
    assert loss == pytest.approx(0.606531, abs=1e-6)


def test_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, twin = softmax(logits), 0.0
    for v, i in np.ndindex(3, 8):
        inside = [k for k in range(5) if candidates[i, k]]
        if len(inside) < 5:
            twin += 4 / (5 - len(inside)) * np.exp(-probs[v, i, inside].sum()) / 24
    loss, _ = loss_and_gradient(MCLEXP, logits, candidates)
    assert loss == pytest.approx(twin, rel=1e-5)
