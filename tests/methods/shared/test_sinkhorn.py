"""Optimal transport: against its plain iteration, and where that one breaks."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench_methods.shared.sinkhorn import sinkhorn
from tests.methods.fakes import Array, normal, random_candidates


def plain_sinkhorn(weights: Array, prior: Array, iterations: int) -> Array:
    """Rows that sum to 1, by scaling columns and rows in turn."""
    rows = np.full(len(weights), 1 / len(weights))
    for _ in range(iterations):
        columns = prior / (rows @ weights)
        rows = 1 / len(weights) / (weights @ columns)
    return np.asarray(len(weights) * rows[:, None] * weights * columns)


def plan(scores: Tensor, prior: Tensor, iterations: int = 50) -> Tensor:
    return (scores + sinkhorn(scores, prior.log(), iterations)).softmax(1)


@pytest.mark.parametrize("iterations", [1, 5, 50])
def test_twin(iterations: int) -> None:
    candidates, prior = random_candidates(), torch.tensor([0.5, 0.2, 0.15, 0.1, 0.05])
    scores = (2 * normal(24, 5)).masked_fill(~candidates, -math.inf)
    twin = plain_sinkhorn(scores.double().exp().numpy(), prior.double().numpy(), iterations)
    found = plan(scores, prior, iterations)
    np.testing.assert_allclose(found.numpy(), twin, rtol=1e-4, atol=1e-6)


def test_rows_sum_to_one_on_the_candidates_and_columns_to_the_prior() -> None:
    candidates, prior = random_candidates(200), torch.tensor([0.3, 0.2, 0.2, 0.2, 0.1])
    found = plan(normal(200, 5).masked_fill(~candidates, -math.inf), prior)
    torch.testing.assert_close(found.sum(1), torch.ones(200))
    assert (found[~candidates] == 0).all()
    torch.testing.assert_close(found.mean(0), prior, atol=1e-4, rtol=0)


def test_a_row_without_labels_does_not_count() -> None:
    scores, prior = normal(8, 3), torch.tensor([0.6, 0.3, 0.1])
    longer = torch.cat([scores, torch.full((2, 3), -math.inf)])
    torch.testing.assert_close(sinkhorn(longer, prior.log(), 9), sinkhorn(scores, prior.log(), 9))


def test_constants_of_a_row_and_of_the_prior_do_not_matter() -> None:
    scores, prior = normal(8, 3), torch.tensor([0.6, 0.3, 0.1])
    shifted = scores + torch.linspace(-500, 500, 8)[:, None]
    torch.testing.assert_close(plan(shifted, 7 * prior), plan(scores, prior), atol=1e-4, rtol=1e-4)


def test_a_label_that_no_row_can_have_gets_nothing() -> None:
    scores = torch.tensor([[0.0, 1.0, -math.inf], [2.0, 0.0, -math.inf]])
    found = plan(scores, torch.tensor([0.4, 0.4, 0.2]))
    assert found.isfinite().all()
    assert found[:, 2].tolist() == [0, 0]
    torch.testing.assert_close(found[:, :2], plan(scores[:, :2], torch.tensor([0.5, 0.5])))


@pytest.mark.parametrize("scale", [1e3, 1e5])
def test_extreme_scores_stay_finite(scale: float) -> None:
    candidates = random_candidates()
    scores = (scale * normal(24, 5)).masked_fill(~candidates, -math.inf)
    found = plan(scores, torch.tensor([0.9, 0.05, 0.03, 0.01, 0.01]))
    assert found.isfinite().all()
    torch.testing.assert_close(found.sum(1), torch.ones(24))
