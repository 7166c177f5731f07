"""L-W: the examples of docs/methods/l_w.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.l_w import LW
from pllbench_methods.scl_nl import SCLNL
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax


@pytest.mark.parametrize(("weighted", "expected"), [(False, 1.072919), (True, 1.448441)])
def test_loss_of_one_pair(weighted: bool, expected: float) -> None:
    """Example 1."""
    loss, _ = loss_and_gradient(
        LW, log([0.5, 0.3, 0.2])[None], sets({0, 2}, num_classes=3), weighted=weighted
    )
    assert loss == pytest.approx(expected, abs=1e-6)


def test_the_gradient_fades_where_a_complementary_label_is_certain() -> None:
    """Example 2: that of SCL-NL does not."""
    logits = torch.zeros(1, 1, 10)
    logits[0, 0, 0] = 8.0
    candidates = ~torch.eye(10, dtype=torch.bool)[:1]
    loss, gradient = loss_and_gradient(LW, logits, candidates)
    assert loss == pytest.approx(3.235155, abs=1e-5)
    assert gradient.abs().max().item() == pytest.approx(0.002126, abs=1e-6)
    loss, gradient = loss_and_gradient(SCLNL, logits, candidates)
    assert loss == pytest.approx(5.805790, abs=1e-5)
    assert gradient.abs().max().item() == pytest.approx(0.996990, abs=1e-6)


@pytest.mark.parametrize(("place", "expected"), [(0, 3.237287), (1, 2.237287)])
def test_without_weight_the_loss_is_bounded(place: int, expected: float) -> None:
    """Example 3: C = 10, the complementary label 0 certain or impossible."""
    logits = torch.zeros(1, 1, 10)
    logits[0, 0, place] = 100.0
    candidates = ~torch.eye(10, dtype=torch.bool)[:1]
    loss, _ = loss_and_gradient(LW, logits, candidates, weighted=False)
    assert loss == pytest.approx(expected, abs=1e-5)


def test_the_weight_carries_gradient() -> None:
    """Example 1, by differences of the loss."""
    logits, candidates = log([0.5, 0.3, 0.2])[None], sets({0, 2}, num_classes=3)
    _, gradient = loss_and_gradient(LW, logits, candidates)

    def twin(z: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        others = 1 - np.exp(z) / np.exp(z).sum()
        return float(-(1 + others[1] / 2) * (others[1] - np.log(np.exp(others).sum())))

    z = logits[0, 0].double().numpy()
    for k in range(3):
        shift = 1e-6 * np.eye(3)[k]
        slope = (twin(z + shift) - twin(z - shift)) / 2e-6
        assert gradient[0, 0, k].item() == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("reduction", ["pairs", "instances"])
@pytest.mark.parametrize("weighted", [True, False])
def test_twin(reduction: str, weighted: bool) -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, pairs, twin = softmax(logits), np.argwhere(~candidates.numpy()), 0.0
    for v in range(3):
        for i, k in pairs:
            others = np.exp(1 - probs[v, i])
            weight = 1 + weighted * (1 - probs[v, i, k]) / 4
            twin -= weight * np.log(others[k] / others.sum()) / 3
    loss, _ = loss_and_gradient(LW, logits, candidates, reduction=reduction, weighted=weighted)
    assert loss == pytest.approx(twin / (len(pairs) if reduction == "pairs" else 8), rel=1e-5)
