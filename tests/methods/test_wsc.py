"""The examples of docs/methods/wsc.md, WSC's options and its twin."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench_methods.dpll import DPLL
from pllbench_methods.wsc import WSC, WSCHparams, capped, spectral_loss
from tests.methods.fakes import (
    Array,
    geometric_mean,
    log,
    lookup_problem,
    make,
    normal,
    random_batches,
    random_candidates,
    random_problem,
    sets,
    softmax,
    start_epoch,
    trained,
)

FIRST = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
SECOND = torch.tensor([[0.8, 0.6], [0.0, 0.5]])
CONFIDENCE = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
CANDIDATES = random_candidates()


def spectral(**hparams: float) -> float:
    return spectral_loss(FIRST, SECOND, CONFIDENCE, WSCHparams.parse(hparams)).item()


def twin_of_the_contrast(first: Array, second: Array, weights: Array, hparams: WSCHparams) -> float:
    num, num_classes = weights.shape
    attraction = 2 * hparams.alpha * sum(first[i] @ second[i] for i in range(num)) / num
    alike = 0.0
    for a, b in ((first, second), (first, first), (second, second)):
        for i in range(num):
            for j in range(num):
                if i != j:
                    alike += (weights[i] @ weights[j]) * (a[i] @ b[j])
    alike *= 2 * hparams.beta / 3 / (num * (num - 1))
    both = [*first, *second]
    squares = [(both[a] @ both[b]) ** 2 for a in range(2 * num) for b in range(2 * num) if a != b]
    factor = hparams.repulsion * (hparams.alpha + hparams.beta / num_classes) ** 2
    return float(factor * np.mean(squares) - attraction - alike)


def test_parts_of_the_contrast() -> None:
    """Example 1."""
    assert spectral(alpha=1, beta=0, repulsion=0) == pytest.approx(-1.3, abs=1e-6)
    assert spectral(alpha=0, beta=12, repulsion=0) == pytest.approx(-0.576, abs=1e-6)
    assert spectral(alpha=1, beta=12, repulsion=1) == pytest.approx(3.707333, abs=1e-6)
    repelled = 3.707333 + 1.3 + 0.576
    assert repelled == pytest.approx(5.583333, abs=1e-6)


def test_is_its_twin() -> None:
    """Example 1."""
    first, second, weights = (x.double().numpy() for x in (FIRST, SECOND, CONFIDENCE))
    twin = twin_of_the_contrast(first, second, weights, WSCHparams())
    assert twin == pytest.approx(3.707333, abs=1e-6)


def test_embeddings_are_shortened_and_never_lengthened() -> None:
    """Example 2."""
    found = capped(torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]))
    torch.testing.assert_close(found, torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]))


def test_a_zero_embedding_has_a_finite_gradient() -> None:
    rows = torch.zeros(2, 3, requires_grad=True)
    capped(rows).sum().backward()
    assert rows.grad is not None
    assert rows.grad.tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    ("settings", "num_classes", "factor"),
    [({}, 10, 4.84), ({"alpha": 2, "beta": 300, "repulsion": 3}, 100, 75)],
)
def test_factor_of_the_repulsion(
    settings: dict[str, float], num_classes: int, factor: float
) -> None:
    """Example 3: orthogonal attractions and one pair of equal embeddings leave the factor alone."""
    first = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    second = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    weights = F.one_hot(torch.tensor([0, 1]), num_classes).float()  # no agreement
    loss = spectral_loss(first, second, weights, WSCHparams.parse(settings)).item()
    assert loss == pytest.approx(factor * 2 / 12, rel=1e-6)  # 2 of the 12 ordered pairs


@pytest.mark.parametrize(("epoch", "weight"), [(0, 0.0), (50, 0.25), (100, 0.5), (199, 0.995)])
def test_weight_of_contrast_and_consistency(epoch: int, weight: float) -> None:
    """Example 4."""
    logits = log([0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.2, 0.4, 0.4])[:, None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), logits)
    method = make(WSC, problem, alpha=0, beta=0)
    method.epoch = epoch
    target = np.array([0.5, 0, 0.5])
    divergences = [
        sum(t * np.log(t / p) for t, p in zip(target, view, strict=True) if t > 0)
        for view in ([0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.2, 0.4, 0.4])
    ]
    expected = -np.log(0.7) + weight * sum(divergences)
    # Without alpha and beta the contrast is 0, whatever the head says.
    assert method.loss(batch).loss.item() == pytest.approx(expected, abs=1e-5)


def test_without_contrast_wsc_is_dpll_with_a_ramp_over_the_run() -> None:
    """Example 5."""
    wsc = make(WSC, random_problem(CANDIDATES), alpha=0, beta=0, refresh="all")
    dpll = make(DPLL, random_problem(CANDIDATES), ramp_epochs=200)
    epochs = [0, 1, 50, 199]
    trained(wsc, CANDIDATES, epochs)
    trained(dpll, CANDIDATES, epochs)
    torch.testing.assert_close(wsc.network.state_dict(), dpll.network.state_dict())
    torch.testing.assert_close(wsc.confidence, dpll.confidence)


@pytest.mark.parametrize("refresh", ["weak", "all"])
def test_twin_of_loss_and_confidence(refresh: str) -> None:
    num = 6
    candidates, logits = random_candidates(num), normal(3, num, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(WSC, problem, refresh=refresh, lambda_max=0.8)
    method.head = nn.Sequential(nn.Linear(3 * num, 4))
    method.epoch = 150
    stored = normal(num, 5, seed=3).masked_fill(~candidates, -torch.inf).softmax(1)
    method.confidence.copy_(stored)
    probs, mask, target = softmax(logits), candidates.numpy(), stored.double().numpy()
    twin = -(np.log(1 - probs[0]) * ~mask).sum(-1).mean()
    for v in range(3):
        for i in range(num):
            for k in np.flatnonzero(mask[i]):
                divergence = target[i, k] * np.log(target[i, k] / probs[v, i, k])
                twin += 0.8 * 0.75 * divergence / num
    with torch.no_grad():
        rows = method.head(torch.eye(3 * num)).double().numpy()  # features are one-hot codes
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    contrast = twin_of_the_contrast(rows[num : 2 * num], rows[2 * num :], target, method.hparams)
    loss = method.loss(batch).loss.item()
    assert loss == pytest.approx(twin + 0.8 * 0.75 * contrast, rel=1e-5)
    renewed = geometric_mean(probs[:1] if refresh == "weak" else probs, candidates)
    np.testing.assert_allclose(method.confidence.numpy(), renewed, rtol=1e-5)


def test_gradient_of_the_contrast_agrees_with_finite_differences() -> None:
    first = normal(3, 2).double().requires_grad_()
    second = normal(3, 2, seed=1).double().requires_grad_()
    weights = normal(3, 4, seed=2).double().softmax(1)

    def loss(a: Tensor, b: Tensor) -> Tensor:
        return spectral_loss(capped(a), capped(b), weights, WSCHparams())

    assert torch.autograd.gradcheck(loss, (first, second))


def test_a_batch_of_one_has_no_other_instance_to_agree_with() -> None:
    first, second = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.6, 0.8]])
    loss = spectral_loss(first, second, CONFIDENCE[:1], WSCHparams(beta=0))
    assert loss.item() == pytest.approx(0.6**2 - 2 * 0.6)


def test_contrast_trains_encoder_and_head_and_confidence_carries_no_gradient() -> None:
    method = make(WSC, random_problem(CANDIDATES))
    start_epoch(method, 100)
    method.loss(next(random_batches(method, CANDIDATES))).loss.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in method.parameters())
    assert not method.confidence.requires_grad


def test_pseudo_label_is_that_of_the_stored_confidence() -> None:
    problem, batch = lookup_problem(
        sets({0, 2}, num_classes=3), log([0.5, 0.3, 0.2]).expand(3, 1, 3)
    )
    method = make(WSC, problem)
    assert method.views == ("weak", "strong", "strong")
    method.confidence.copy_(torch.tensor([[0.2, 0.0, 0.8]]))
    pseudo = method.loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]
