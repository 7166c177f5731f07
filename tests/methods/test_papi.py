"""The examples of docs/methods/papi.md, PaPi's state and its twin."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.method import Batch
from pllbench_methods.papi import PaPi, PaPiHparams, alignment
from pllbench_methods.shared.contrastive import updated_prototypes
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.mixup import draw_partners, draw_share
from tests.methods.fakes import (
    log,
    lookup_problem,
    make,
    normal,
    random_batches,
    random_candidates,
    random_problem,
    sets,
    softmax,
)


def bare(weak: Tensor, strong: Tensor, candidates: Tensor, **hparams: object) -> tuple[PaPi, Batch]:
    """PaPi with a lookup network and no head: the embedding of a row is its one-hot code."""
    problem, batch = lookup_problem(candidates, torch.stack([weak, strong]), epochs=500)
    method = make(PaPi, problem, embedding_size=2 * len(weak), **hparams)
    method.encoder.head = nn.Sequential()
    return method, batch


def at_epoch(method: PaPi, epoch: int) -> PaPi:
    method.epoch = epoch
    return method


def test_alignment_of_a_mixed_instance() -> None:
    """Example 1."""
    target, partners = torch.tensor([[0.7, 0.3], [0.1, 0.9]]), torch.tensor([1, 0])
    log_probs = log([0.6, 0.4], [0.6, 0.4])
    divergence = alignment(log_probs, target, partners, 0.25)[0].item()
    assert divergence == pytest.approx(0.418396, abs=1e-6)
    blend = 0.25 * target[0] + 0.75 * target[1]
    cross_entropy = soft_cross_entropy(log_probs[0], blend).item()
    assert cross_entropy == pytest.approx(0.814924, abs=1e-6)
    assert cross_entropy - divergence == pytest.approx(0.396528, abs=1e-6)


def test_alignment_has_the_gradient_of_cross_entropy_with_the_mixed_target() -> None:
    logits = normal(4, 3).requires_grad_()
    target, partners = normal(4, 3, seed=1).softmax(-1), torch.tensor([2, 0, 3, 1])
    blend = 0.3 * target + 0.7 * target[partners]
    log_probs = logits.log_softmax(-1)
    (found,) = torch.autograd.grad(
        alignment(log_probs, target, partners, 0.3).sum(), logits, retain_graph=True
    )
    (expected,) = torch.autograd.grad(soft_cross_entropy(log_probs, blend).sum(), logits)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("epoch", "phi", "momentum"), [(0, 0.95, 0.9), (250, 0.875, 0.7), (500, 0.8, 0.5)]
)
def test_shares_that_are_kept(epoch: int, phi: float, momentum: float) -> None:
    """Example 2."""
    hparams = PaPiHparams()
    assert hparams.phi(epoch / 500) == pytest.approx(phi)
    assert hparams.proto_momentum(epoch / 500) == pytest.approx(momentum)


@pytest.mark.parametrize(("epoch", "weight"), [(0, 0.0), (5, 0.5), (10, 1.0), (400, 1.0)])
def test_weight_of_the_alignment(epoch: int, weight: float) -> None:
    """Example 2."""

    def aligned(epoch: int) -> float:
        """What the alignment adds to the loss, with a confidence that stays as it is."""
        losses = []
        for align_weight in (0.0, 1.0):
            options = {"align_weight": align_weight, "phi_start": 1.0, "phi_end": 1.0}
            weak, strong = normal(3, 4), normal(3, 4, seed=1)
            method, batch = bare(weak, strong, random_candidates(3, 4), **options)
            method.prototypes.copy_(F.normalize(normal(4, 6, seed=2), dim=1))
            torch.manual_seed(0)
            losses.append(at_epoch(method, epoch).loss(batch).loss.item())
        return losses[1] - losses[0]

    assert aligned(epoch) == pytest.approx(weight * aligned(100), abs=1e-6)
    assert aligned(100) > 0.1


def test_a_prototype_after_one_embedding() -> None:
    """Example 3."""
    found = updated_prototypes(
        torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([0]), 0.9
    )
    torch.testing.assert_close(found, torch.tensor([[0.993884, 0.110432]]), atol=1e-6, rtol=0)


def test_the_confidence_moves_to_the_classifier_before_the_loss() -> None:
    """Example 4."""
    logits = log([0.5, 0.3, 0.2])
    method, batch = bare(logits, logits, sets({0, 2}, num_classes=3))
    step = method.loss(batch)
    expected = torch.tensor([[0.510714, 0, 0.489286]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)
    loss = -(0.510714 * math.log(0.5) + 0.489286 * math.log(0.2))
    assert step.loss.item() == pytest.approx(loss, abs=1e-5)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == [0]


def test_phi_of_one_leaves_the_confidence() -> None:
    candidates = random_candidates()
    method = make(PaPi, random_problem(candidates), phi_start=1.0)
    before = method.confidence.clone()
    method.loss(next(random_batches(method, candidates)))
    assert torch.equal(method.confidence, before)


def test_pseudo_label_is_that_of_the_updated_confidence() -> None:
    logits = log([0.9, 0.05, 0.05])
    method, batch = bare(logits, logits, sets({0, 2}, num_classes=3), phi_start=0.5, phi_end=0.5)
    method.confidence.copy_(torch.tensor([[0.4, 0.0, 0.6]]))
    pseudo = method.loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [0]


@pytest.mark.parametrize("epoch", [0, 250])
def test_twin_of_loss_confidence_and_prototypes(epoch: int) -> None:
    num = 6
    candidates = random_candidates(num)
    weak, strong = normal(num, 5), normal(num, 5, seed=1)
    method, batch = bare(weak, strong, candidates)
    old = F.normalize(normal(5, 2 * num, seed=2), dim=1)
    stored = normal(num, 5, seed=3).masked_fill(~candidates, -math.inf).softmax(1)
    method.prototypes.copy_(old)
    method.confidence.copy_(stored)
    torch.manual_seed(7)
    share, partners = draw_share(8.0, batch.index.device), draw_partners(batch.index).tolist()
    torch.manual_seed(7)
    loss = at_epoch(method, epoch).loss(batch).loss.item()

    mask = candidates.numpy()
    inside = softmax(weak) * mask / (softmax(weak) * mask).sum(1, keepdims=True)
    phi, momentum = (0.95, 0.9) if epoch == 0 else (0.875, 0.7)
    target = phi * stored.double().numpy() + (1 - phi) * inside
    twin = -(target * np.log(softmax(weak))).sum(1).mean()
    codes, prototypes = np.eye(2 * num), old.double().numpy()
    for view in (0, num):
        for i in range(num):
            blend = share * codes[view + i] + (1 - share) * codes[view + partners[i]]
            scores = prototypes @ (blend / np.linalg.norm(blend)) / 0.3
            log_probs = scores - np.log(np.exp(scores).sum())
            for weight, j in ((share, i), (1 - share, partners[i])):
                for k in np.flatnonzero(target[j]):
                    divergence = target[j, k] * (np.log(target[j, k]) - log_probs[k])
                    twin += min(epoch / 10, 1) * weight * divergence / num
    assert loss == pytest.approx(twin, rel=1e-5)
    np.testing.assert_allclose(method.confidence.numpy(), target, rtol=1e-5)

    for view, logits in ((0, weak), (num, strong)):
        for i, label in enumerate((softmax(logits) * mask).argmax(1)):
            prototypes[label] = momentum * prototypes[label] + (1 - momentum) * codes[view + i]
    prototypes /= np.linalg.norm(prototypes, axis=1, keepdims=True)
    np.testing.assert_allclose(method.prototypes.numpy(), prototypes, rtol=1e-5, atol=1e-7)


def test_gradient_reaches_the_head_and_no_prototype() -> None:
    candidates = random_candidates()
    method = at_epoch(make(PaPi, random_problem(candidates)), 100)
    method.prototypes.copy_(F.normalize(normal(5, 128), dim=1))
    method.loss(next(random_batches(method, candidates))).loss.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in method.encoder.parameters())
    assert not method.prototypes.requires_grad


def test_without_alignment_and_memory_papi_trains_on_its_own_confidence() -> None:
    """With phi = 0 and no alignment the target is the current c, so the gradient is p - c."""
    logits = log([0.5, 0.3, 0.2])
    method, batch = bare(
        logits, logits, sets({0, 2}, num_classes=3), phi_start=0, phi_end=0, align_weight=0
    )
    method.loss(batch).loss.backward()
    gradient = method.encoder.network.classifier.weight.grad
    assert gradient is not None
    expected = torch.tensor([-0.214286, 0.3, -0.085714])
    torch.testing.assert_close(gradient[:, 0], expected, atol=1e-6, rtol=0)


def test_views_and_prediction() -> None:
    logits = torch.tensor([[3.0, 1.0, 2.0]])
    method, batch = bare(logits, torch.zeros(1, 3), sets({0, 2}, num_classes=3))
    assert method.views == ("weak", "strong")
    assert torch.equal(method.predict(batch.x[0]), logits)
