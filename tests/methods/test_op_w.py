"""OP-W: the examples of docs/methods/op_w.md, and its twin."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from pllbench_methods.op_w import OPW, order_preserving_weights
from tests.methods.fakes import loss_and_gradient, normal, random_candidates, sets


def naive_weights(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """softmax(u) * softmax(z) + 1e-6 with u = 1 / softmax(-z), of one row."""
    u = np.exp(z) * np.exp(-z).sum()
    selected = np.exp(u - u.max())
    weights = selected / selected.sum() * np.exp(z) / np.exp(z).sum() + 1e-6
    return np.asarray(weights)


def test_loss_of_one_pair_without_weight() -> None:
    """Example 1: the gradient is onehot(2) - softmax(-z)."""
    loss, gradient = loss_and_gradient(
        OPW, torch.tensor([[[1.0, 0.0, -1.0]]]), sets({0, 1}, num_classes=3), weighted=False
    )
    assert loss == pytest.approx(0.407606, abs=1e-6)
    expected = torch.tensor([-0.090031, -0.244728, 0.334759])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


def test_weights_and_loss_of_one_pair() -> None:
    """Example 2."""
    logits = torch.tensor([1.0, 0.0, -1.0])
    torch.testing.assert_close(
        order_preserving_weights(logits),
        torch.tensor([0.664604, 0.000219, 7e-6]),
        atol=5e-7,
        rtol=0,
    )
    loss, _ = loss_and_gradient(OPW, logits[None, None], sets({0, 1}, num_classes=3))
    assert loss == pytest.approx(2.9e-6, abs=1e-7)


@pytest.mark.parametrize(
    ("complementary", "expected", "steepest"), [(0, 6.786441, 1.330131), (3, 2.2e-6, 1e-6)]
)
def test_only_the_predicted_class_is_penalised(
    complementary: int, expected: float, steepest: float
) -> None:
    """Example 3."""
    logits = torch.zeros(1, 1, 10)
    logits[0, 0, 0] = 5.0
    candidates = ~torch.eye(10, dtype=torch.bool)[complementary][None]
    loss, gradient = loss_and_gradient(OPW, logits, candidates)
    assert loss == pytest.approx(expected, rel=1e-3)
    if complementary == 0:
        assert gradient.abs().max().item() == pytest.approx(steepest, abs=1e-4)
    else:
        assert 0 < gradient.abs().max() < steepest


@pytest.mark.parametrize("top", [10.0, 25.0, 30.0])
def test_the_largest_exponent_changes_no_weight(top: float) -> None:
    """u itself would be up to 1e13 here; in float32, it overflows from logits of 88 on."""
    z = torch.tensor([top, top - 1e-4, 0.0, -0.5])
    expected = naive_weights(z.double().numpy())
    np.testing.assert_allclose(order_preserving_weights(z).numpy(), expected, rtol=1e-3)


def test_huge_logits_select_the_prediction() -> None:
    """Example 4."""
    weights = order_preserving_weights(torch.tensor([0.0, 4000.0, -4000.0]))
    torch.testing.assert_close(weights, torch.tensor([1e-6, 1 + 1e-6, 1e-6]))


def test_the_weight_carries_gradient() -> None:
    logits = normal(1, 1, 4)
    candidates = sets({0, 2}, num_classes=4)
    _, gradient = loss_and_gradient(OPW, logits, candidates, reduction="instances")

    def twin(z: NDArray[np.float64]) -> float:
        losses = z + np.log(np.exp(-z).sum())
        return float((naive_weights(z) * losses)[[1, 3]].sum())

    z = logits[0, 0].double().numpy()
    for k in range(4):
        shift = 1e-6 * np.eye(4)[k]
        slope = (twin(z + shift) - twin(z - shift)) / 2e-6
        assert gradient[0, 0, k].item() == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("reduction", ["pairs", "instances"])
@pytest.mark.parametrize("weighted", [True, False])
def test_twin(reduction: str, weighted: bool) -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    z, pairs, twin = logits.double().numpy(), np.argwhere(~candidates.numpy()), 0.0
    for v in range(3):
        for i, k in pairs:
            weight = naive_weights(z[v, i])[k] if weighted else 1.0
            twin += weight * (z[v, i, k] + np.log(np.exp(-z[v, i]).sum())) / 3
    loss, _ = loss_and_gradient(OPW, logits, candidates, reduction=reduction, weighted=weighted)
    assert loss == pytest.approx(twin / (len(pairs) if reduction == "pairs" else 8), rel=1e-4)
