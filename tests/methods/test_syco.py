"""The worked examples of docs/methods/syco.md, and SyCo against a slow float64 twin."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench_methods.shared.confidence import confidence
from pllbench_methods.syco import SyCo
from tests.methods.fakes import (
    geometric_mean,
    log,
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_candidates,
    sets,
    softmax,
)

WARMUP, LATER = 10, 120


def at(
    epoch: int, first: Tensor, second: Tensor, candidates: Tensor, **hparams: object
) -> tuple[SyCo, Batch]:
    problem, batch = lookup_problem(candidates, first, second)
    method = make(SyCo, problem, **{"tau": 1.0, "num_strong": len(first) - 1, **hparams})
    method.epoch = epoch
    return method, batch


def distillation(first: Tensor, second: Tensor, candidates: Tensor) -> float:
    """What mutual distillation adds at gamma = 1: warm-up past epoch 120 switches it off."""
    with_it, without = (at(LATER, first, second, candidates, warmup=warmup) for warmup in (20, 200))
    return with_it[0].loss(with_it[1]).loss.item() - without[0].loss(without[1]).loss.item()


def test_symmetric_distillation() -> None:
    candidates = sets({0, 1}, num_classes=2)
    added = distillation(log([0.5, 0.5])[None], log([0.7, 0.3])[None], candidates)
    assert added == pytest.approx(0.169460, abs=1e-6)
    assert added == pytest.approx(0.082283 + 0.087177, abs=1e-6)


def test_swapping_the_networks_leaves_the_loss_unchanged() -> None:
    candidates = random_candidates(8)
    logits = [normal(3, 8, 5), normal(3, 8, 5, seed=1)]
    weights = [confidence(normal(1, 8, 5, seed=s), candidates) for s in (2, 3)]
    losses = []
    for order in ((0, 1), (1, 0)):
        method, batch = at(LATER, logits[order[0]], logits[order[1]], candidates)
        method.confidence.copy_(weights[order[0]])
        method.peer_confidence.copy_(weights[order[1]])
        losses.append(method.loss(batch).loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@pytest.mark.parametrize(("epoch", "depends"), [(WARMUP, False), (LATER, True)])
def test_before_the_warmup_ends_gradients_do_not_depend_on_the_peer(
    epoch: int, depends: bool
) -> None:
    candidates, first = random_candidates(8), normal(3, 8, 5)
    gradients = []
    for seed in (1, 2):
        method, batch = at(epoch, first, normal(3, 8, 5, seed=seed), candidates)
        method.loss(batch).loss.backward()
        gradients.append(logit_gradient(method.network, 3))
    assert torch.equal(gradients[0], gradients[1]) is not depends


def test_equal_networks_do_not_distil() -> None:
    logits = normal(3, 8, 5)
    assert distillation(logits, logits, random_candidates(8)) == pytest.approx(0, abs=1e-6)


def test_loss_and_confidence_of_each_network_equal_their_slow_twin() -> None:
    candidates = random_candidates(8)
    logits = [normal(3, 8, 5), normal(3, 8, 5, seed=1)]
    method, batch = at(60, logits[0], logits[1], candidates)  # gamma .6
    method.loss(batch)
    weights = [geometric_mean(softmax(z), candidates) for z in logits]
    np.testing.assert_allclose(method.confidence.numpy(), weights[0], rtol=1e-5)
    np.testing.assert_allclose(method.peer_confidence.numpy(), weights[1], rtol=1e-5)
    twin = 0.0
    for z, w, other in zip(logits, weights, reversed(logits), strict=True):
        p, teacher = softmax(z), softmax(other)[0]
        twin -= np.log((p * candidates.numpy()).sum(-1)).mean()
        twin -= 0.6 * (w * np.log(p)).sum(-1).mean()
        twin += 0.6 * (teacher * np.log(teacher / p[0])).sum(-1).mean()
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)


def test_first_network_predicts_and_extras_share_its_temperature() -> None:
    first, second = torch.tensor([[[8.0, 0.0]]]), torch.tensor([[[0.0, 4.0]]])
    method, batch = at(0, first, second, sets({0, 1}, num_classes=2), tau=2.0)
    assert method.predict(batch.x[0]).tolist() == [[4, 0]]
    found = {name: scores.tolist() for name, scores in method.predictions(batch.x[0]).items()}
    assert found == {"": [[4, 0]], "peer": [[0, 2]], "ensemble": [[2, 1]]}
