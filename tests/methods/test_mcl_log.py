"""MCL-LOG: the examples of docs/methods/mcl_log.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.mcl_log import MCLLOG
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax


def test_ten_classes() -> None:
    """Example 1."""
    logits = log([0.2] * 3 + [0.4 / 7] * 7)[None]
    loss, _ = loss_and_gradient(MCLLOG, logits, sets({0, 1, 2}, num_classes=10))
    assert loss == pytest.approx(0.656776, abs=1e-6)


def test_loss_and_gradient() -> None:
    """Example 2: twice those of CC."""
    logits, candidates = log([0.5, 0.3, 0.2])[None], sets({0, 2}, num_classes=3)
    loss, gradient = loss_and_gradient(MCLLOG, logits, candidates)
    assert loss == pytest.approx(0.713350, abs=1e-6)
    expected = torch.tensor([-0.428571, 0.6, -0.171429])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


def test_no_floor_under_the_probability() -> None:
    """Example 3."""
    logits = torch.tensor([[[0.0, -1000.0, -1000.0]]])
    loss, _ = loss_and_gradient(MCLLOG, logits, sets({1}, num_classes=3))
    assert loss == pytest.approx(1000.0, abs=1e-3)


def test_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, twin = softmax(logits), 0.0
    for v, i in np.ndindex(3, 8):
        inside = [k for k in range(5) if candidates[i, k]]
        if len(inside) < 5:
            twin -= 4 / (5 - len(inside)) * np.log(probs[v, i, inside].sum()) / 24
    loss, _ = loss_and_gradient(MCLLOG, logits, candidates)
    assert loss == pytest.approx(twin, rel=1e-5)
