"""MCL-MSE: the examples of docs/methods/mcl_mse.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.mcl_mse import MCLMSE, squared_error
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax

P = [0.5, 0.3, 0.2]


def test_squared_errors_of_the_classes() -> None:
    """Example 1."""
    torch.testing.assert_close(squared_error(log(P)), torch.tensor([[0.38, 0.78, 0.98]]))


def test_non_candidates_are_subtracted_and_not_divided_by() -> None:
    """Example 2: a misplaced bracket in one released code divides by their loss instead."""
    loss, _ = loss_and_gradient(MCLMSE, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(0.58, abs=1e-6)


def test_a_singleton_is_the_squared_error_of_its_label() -> None:
    """Example 3."""
    for label, expected in enumerate([0.38, 0.78, 0.98]):
        loss, _ = loss_and_gradient(MCLMSE, log(P)[None], sets({label}, num_classes=3))
        assert loss == pytest.approx(expected, abs=1e-6)


def test_twin_of_loss_and_gradient() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)

    def twin(logits: torch.Tensor) -> float:
        probs, total = softmax(logits), 0.0
        for v, i in np.ndindex(3, 8):
            errors = [((probs[v, i] - np.eye(5)[k]) ** 2).sum() for k in range(5)]
            num_complementary = 5 - int(candidates[i].sum())
            if num_complementary > 0:
                for k in range(5):
                    weight = 1 if candidates[i, k] else 1 - 4 / num_complementary
                    total += weight * errors[k] / 24
        return total

    loss, gradient = loss_and_gradient(MCLMSE, logits, candidates)
    assert loss == pytest.approx(twin(logits), rel=1e-5)
    for v, i, k in ((0, 2, 1), (1, 4, 0), (2, 7, 3)):
        shift = torch.zeros(3, 8, 5, dtype=torch.float64)
        shift[v, i, k] = 1e-6
        slope = (twin(logits.double() + shift) - twin(logits.double() - shift)) / 2e-6
        assert gradient[v, i, k].item() == pytest.approx(slope, rel=1e-4, abs=1e-7)
