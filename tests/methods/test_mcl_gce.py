"""MCL-GCE: the examples of docs/methods/mcl_gce.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.mcl_gce import MCLGCE
from pllbench_methods.shared.label_losses import generalised_cross_entropy
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax

P = [0.5, 0.3, 0.2]


def test_generalised_cross_entropies_of_the_classes() -> None:
    """Example 1."""
    losses = generalised_cross_entropy(log(P), 0.7)
    expected = torch.tensor([[0.549183, 0.813555, 0.965527]])
    torch.testing.assert_close(losses, expected, atol=1e-6, rtol=0)


def test_non_candidates_are_subtracted_and_not_divided_by() -> None:
    """Example 2: one released code has .285536 and 1.252835."""
    loss, _ = loss_and_gradient(MCLGCE, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(0.701154, abs=1e-6)
    logits, candidates = log([0.4, 0.3, 0.2, 0.1])[None], sets({0, 1}, num_classes=4)
    loss, _ = loss_and_gradient(MCLGCE, logits, candidates)
    assert loss == pytest.approx(0.435378, abs=1e-6)


def test_a_singleton_is_the_loss_of_its_label() -> None:
    """Example 3."""
    loss, _ = loss_and_gradient(MCLGCE, log(P)[None], sets({0}, num_classes=3))
    assert loss == pytest.approx(0.549183, abs=1e-6)


def test_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, twin = softmax(logits), 0.0
    for v, i in np.ndindex(3, 8):
        losses = (1 - probs[v, i] ** 0.4) / 0.4
        num_complementary = 5 - int(candidates[i].sum())
        if num_complementary > 0:
            for k in range(5):
                weight = 1 if candidates[i, k] else 1 - 4 / num_complementary
                twin += weight * losses[k] / 24
    loss, _ = loss_and_gradient(MCLGCE, logits, candidates, exponent=0.4)
    assert loss == pytest.approx(twin, rel=1e-5)
