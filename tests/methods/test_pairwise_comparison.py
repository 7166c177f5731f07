"""PC: the examples of docs/methods/pairwise_comparison.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.pairwise_comparison import PairwiseComparison
from tests.methods.fakes import loss_and_gradient, normal, random_candidates, sets


def test_loss_of_one_pair() -> None:
    """Example 1: codes that compare the label with itself have .776289, (C - 1) / 2 more."""
    logits = torch.tensor([[[1.0, 0.0, -1.0]]])
    loss, _ = loss_and_gradient(PairwiseComparison, logits, sets({0, 1}, num_classes=3))
    assert loss == pytest.approx(-0.223711, abs=1e-6)
    assert loss == pytest.approx(0.776289 - 1, abs=1e-6)


@pytest.mark.parametrize(("rest", "expected"), [(50.0, -4851.0), (-50.0, 4950.0)])
def test_the_loss_is_bounded(rest: float, expected: float) -> None:
    """Example 2: C = 100, the complementary label's logit 0 far below or above all others."""
    logits = torch.full((1, 1, 100), rest)
    logits[0, 0, 7] = 0.0
    candidates = torch.ones(1, 100, dtype=torch.bool)
    candidates[0, 7] = False
    loss, _ = loss_and_gradient(PairwiseComparison, logits, candidates)
    assert loss == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("reduction", ["pairs", "instances"])
def test_twin(reduction: str) -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    z, pairs, twin = logits.double().numpy(), np.argwhere(~candidates.numpy()), 0.0
    for v in range(3):
        for i, k in pairs:
            others = [j for j in range(5) if j != k]
            sigmoids = sum(1 / (1 + np.exp(z[v, i, j] - z[v, i, k])) for j in others)
            twin += (4 * sigmoids - 5 * 4 / 2 + 4) / 3
    loss, _ = loss_and_gradient(PairwiseComparison, logits, candidates, reduction=reduction)
    assert loss == pytest.approx(twin / (len(pairs) if reduction == "pairs" else 8), rel=1e-5)
