"""IDGP: the examples of docs/methods/idgp.md, its stages, its rates, and its twin."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench.spec import TrainSpec
from pllbench.training.optimizer import make_optimizer
from pllbench.training.step import take_step
from pllbench_methods.idgp import IDGP, generation_weights, set_losses
from pllbench_methods.proden import PRODEN
from tests.methods.fakes import (
    Array,
    assert_equal_states,
    log,
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_candidates,
    random_problem,
    sets,
    sgd,
    softmax,
    trained,
)

LATE = 20  # the first epoch after both warm-ups, where consistency still has no weight
OFF = {
    "classifier_weight": 0.0,
    "guided_classifier_weight": 0.0,
    "generator_weight": 0.0,
    "guided_generator_weight": 0.0,
}


def logit(*values: float) -> Tensor:
    return torch.tensor([values]).logit()


def example(**hparams: float) -> tuple[IDGP, Batch]:
    """f = [0.5, 0.3, 0.2], g = [0.2, 0.6, 0.9], candidates {0, 1}; consistency has no weight."""
    problem, batch = lookup_problem(
        sets({0, 1}, num_classes=3),
        log([0.5, 0.3, 0.2])[None],
        logit(0.2, 0.6, 0.9)[None],
        epochs=520,
    )
    method = make(IDGP, problem, num_strong=0, **(OFF | hparams))
    method.epoch = LATE
    method.confidence.copy_(torch.tensor([[0.6, 0.4, 0]]))
    return method, batch


def test_weights_of_the_generation_process() -> None:
    """Example 1."""
    weights = generation_weights(
        logit(0.2, 0.6, 0.9), torch.tensor([0]), sets({0, 1}, num_classes=3)
    )
    expected = torch.tensor([[0.272727, 0.727273, 0]])
    torch.testing.assert_close(weights, expected, atol=1e-6, rtol=0)
    method, batch = example(guided_classifier_weight=1)
    assert method.loss(batch).loss.item() == pytest.approx(1.064657, abs=1e-6)


def test_generator_with_its_own_past() -> None:
    """Example 2."""
    method, batch = example(generator_weight=1)
    assert method.occurrence.tolist() == [[1, 1, 0]]
    assert method.loss(batch).loss.item() == pytest.approx(4.422849, abs=1e-5)


def test_generator_guided_by_the_classifier() -> None:
    """Example 3."""
    method, batch = example(guided_generator_weight=1)
    loss = method.loss(batch).loss.item()
    assert loss == pytest.approx(4.905922, abs=1e-5)
    first = -(0.625 * math.log(0.8) + 0.375 * math.log(0.4))
    assert first == pytest.approx(0.483074, abs=1e-6)
    assert loss - first == pytest.approx(4.422849, abs=1e-5)


def test_a_large_set_does_not_underflow() -> None:
    """Example 4: a product over all candidates, as released, is 0 in float32, then 0 / 0."""
    scores = torch.full((1, 60), 0.05).logit()
    scores[0, 7] = torch.tensor(0.95).logit()  # 1 - h is 0.05 for the pseudo label
    candidates = torch.ones(1, 60, dtype=torch.bool)
    assert (torch.full((60,), 0.05).prod() == 0).item()
    weights = generation_weights(scores, torch.tensor([7]), candidates)
    torch.testing.assert_close(weights, torch.full((1, 60), 1 / 60))


def test_the_classifier_alone_is_proden() -> None:
    """Example 5."""
    candidates = random_candidates()
    problem = random_problem(candidates, epochs=520)
    method = make(IDGP, problem, num_strong=0, **(OFF | {"classifier_weight": 1.0}))
    proden = make(PRODEN, random_problem(candidates), num_strong=0)
    trained(method, candidates, [20] * 3)
    trained(proden, candidates, [20] * 3)
    assert_equal_states(method.network, proden.network, tolerance=1e-6)
    torch.testing.assert_close(method.confidence, proden.confidence)


def test_first_the_classifier_learns_then_the_generator_then_both() -> None:
    candidates = random_candidates(6)
    for epoch, moves in ((9, (True, False)), (10, (False, True)), (19, (False, True))):
        problem, batch = lookup_problem(
            candidates, normal(3, 6, 5), normal(3, 6, 5, seed=1), epochs=520
        )
        method = make(IDGP, problem)
        method.epoch = epoch
        start = method.confidence.clone(), method.occurrence.clone()
        take_step(method, batch, sgd(method))
        for network, moved in zip((method.network, method.generator), moves, strict=True):
            weight = network.classifier.weight
            assert (weight.grad is not None and bool(weight.grad.abs().sum() > 0)) is moved
        for buffer, before, moved in zip(
            (method.confidence, method.occurrence), start, moves, strict=True
        ):
            assert torch.equal(buffer, before) is not moved


def test_warm_up_losses_sum_over_views() -> None:
    candidates = random_candidates(6)
    scores, marks = normal(3, 6, 5), normal(3, 6, 5, seed=1)
    problem, batch = lookup_problem(candidates, scores, marks, epochs=520)
    method = make(IDGP, problem, classifier_temperature=2.0, generator_temperature=0.5)
    uniform = candidates.numpy() / candidates.numpy().sum(1, keepdims=True)
    twin = -(uniform * np.log(softmax(scores / 2))).sum(2).mean(1).sum()
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
    method.epoch = 10
    g = 1 / (1 + np.exp(-marks.double().numpy() / 0.5))
    twin = -np.where(candidates.numpy(), np.log(g), np.log(1 - g)).sum(2).mean(1).sum()
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
    expected = g[0] * candidates.numpy()
    np.testing.assert_allclose(method.occurrence.numpy(), expected, rtol=1e-5)


def naive_set_loss(g: Array, target: Array) -> Array:
    return np.asarray(-(target * np.log(g) + (1 - target) * np.log(1 - g)).sum(-1))


def test_set_losses_twin() -> None:
    marks, target = normal(3, 6, 5), normal(6, 5, seed=1).sigmoid()
    twin = naive_set_loss(1 / (1 + np.exp(-marks.double().numpy())), target.double().numpy())
    np.testing.assert_allclose(set_losses(marks, target).numpy(), twin, rtol=1e-5)


@pytest.mark.parametrize(("epoch", "consistency"), [(20, 0.0), (70, 0.4), (120, 0.8), (519, 0.8)])
def test_twin_of_the_joint_loss(epoch: int, consistency: float) -> None:
    candidates = random_candidates(6)
    scores, marks = normal(3, 6, 5), normal(3, 6, 5, seed=1)
    problem, batch = lookup_problem(candidates, scores, marks, epochs=520)
    method = make(
        IDGP,
        problem,
        classifier_temperature=2.0,
        generator_temperature=0.5,
        classifier_weight=0.3,
        guided_classifier_weight=0.7,
        generator_weight=1.1,
        guided_generator_weight=1.9,
        lambda_max=0.8,
    )
    method.epoch = epoch
    mask = candidates.numpy()
    d = softmax(normal(6, 5, seed=2)) * mask
    d /= d.sum(1, keepdims=True)
    b = softmax(normal(6, 5, seed=3)) * mask
    method.confidence.copy_(torch.tensor(d))
    method.occurrence.copy_(torch.tensor(b))
    twin = 0.0
    for view in range(3):
        f = softmax(scores[view] / 2)
        g = 1 / (1 + np.exp(-marks[view].double().numpy() / 0.5))
        h = np.where(np.eye(5)[d.argmax(1)] == 1, 1 - g, g)
        w = (1 - h) / h * mask
        w /= w.sum(1, keepdims=True)
        fit = f * mask / (f * mask).sum(1, keepdims=True)
        own, guided = -(d * np.log(f)).sum(1), -(w * np.log(f)).sum(1)
        guided_set = -(fit * np.log(1 - g)).sum(1) + naive_set_loss(g, mask.astype(float))
        plain = softmax(scores[view])
        marked = 1 / (1 + np.exp(-marks[view].double().numpy()))
        safe_d, safe_b = np.where(mask, d, 1.0), np.where(mask, b, 1.0)
        away = (d * (np.log(safe_d) - np.log(plain))).sum(1)
        away += (b * (np.log(safe_b) - np.log(marked))).sum(1)
        losses = 0.3 * own + 0.7 * guided + 1.1 * naive_set_loss(g, b) + 1.9 * guided_set
        twin += (losses + consistency * away).mean()
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == d.argmax(1).tolist()
    first = softmax(scores[0] / 2) * mask
    expected = first / first.sum(1, keepdims=True)
    np.testing.assert_allclose(method.confidence.numpy(), expected, rtol=1e-5)
    expected = mask / (1 + np.exp(-marks[0].double().numpy() / 0.5))
    np.testing.assert_allclose(method.occurrence.numpy(), expected, rtol=1e-5)


def test_neither_network_learns_from_a_loss_of_the_other() -> None:
    for weights, moves in (
        ({"guided_classifier_weight": 1.0}, (True, False)),
        ({"guided_generator_weight": 1.0}, (False, True)),
    ):
        method, batch = example(**weights)
        method.loss(batch).loss.backward()
        gradients = [logit_gradient(net) for net in (method.network, method.generator)]
        assert [bool(gradient.abs().sum() > 0) for gradient in gradients] == list(moves)


def test_the_generator_has_rates_of_its_own() -> None:
    candidates = random_candidates()
    options = {"generator_lr_factor": 0.2, "generator_weight_decay_factor": 0.1}
    method = make(IDGP, random_problem(candidates), **options)
    groups = method.param_groups()
    assert [group.lr_factor for group in groups] == [1.0, 0.2]
    assert [group.weight_decay_factor for group in groups] == [1.0, 0.1]
    make_optimizer(method, TrainSpec(weight_decay=1e-4))  # every parameter is in one group
    held = [set(map(id, group.params)) for group in groups]
    assert held == [set(map(id, net.parameters())) for net in (method.network, method.generator)]


def test_by_default_both_networks_have_one_rate() -> None:
    groups = make(IDGP, random_problem(random_candidates())).param_groups()
    assert {(group.lr_factor, group.weight_decay_factor) for group in groups} == {(1.0, 1.0)}


def test_predicts_with_the_temperature_of_the_classifier() -> None:
    problem, batch = lookup_problem(
        sets({0, 2}, num_classes=3), torch.tensor([[[3.0, 1, 2]]]), normal(1, 1, 3)
    )
    method = make(IDGP, problem, classifier_temperature=2.0)
    assert method.predict(batch.x[0]).tolist() == [[1.5, 0.5, 1.0]]
