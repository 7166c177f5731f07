"""ABS-MAE: the examples of docs/methods/abs_mae.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.abs_mae import ABSMAE
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax

P = [0.5, 0.3, 0.2]


def test_loss_and_gradient() -> None:
    """Example 1."""
    loss, gradient = loss_and_gradient(ABSMAE, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(1.3, abs=1e-6)
    expected = torch.tensor([-0.15, 0.21, -0.06])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


def test_the_gradient_fades_where_no_candidate_is_probable() -> None:
    """Example 2."""
    logits = torch.tensor([[[0.0, 12.0, 0.0]]])
    loss, gradient = loss_and_gradient(ABSMAE, logits, sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(2.0, abs=2e-5)
    assert 0 < gradient.abs().max() < 2e-5


@pytest.mark.parametrize(("num_classes", "expected"), [(3, 4 / 3), (10, 1.8)])
def test_a_full_set_is_a_constant(num_classes: int, expected: float) -> None:
    """Example 3."""
    full = torch.ones(1, num_classes, dtype=torch.bool)
    loss, gradient = loss_and_gradient(ABSMAE, normal(1, 1, num_classes), full)
    assert loss == pytest.approx(expected, abs=1e-6)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-6, rtol=0)


def test_twin_by_the_distance_to_every_candidate() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, twin = softmax(logits), 0.0
    for v, i in np.ndindex(3, 8):
        inside = [k for k in range(5) if candidates[i, k]]
        distances = [np.abs(probs[v, i] - np.eye(5)[k]).sum() for k in inside]
        twin += np.mean(distances) / 24
    loss, _ = loss_and_gradient(ABSMAE, logits, candidates)
    assert loss == pytest.approx(twin, rel=1e-5)
