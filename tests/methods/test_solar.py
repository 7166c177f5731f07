"""The examples of docs/methods/solar.md, SoLar's stages and its twin."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench.testing.support import toy_spec, toy_task, train_in_pieces
from pllbench.training.step import take_step
from pllbench.training.trainer import train
from pllbench_methods.proden import PRODEN
from pllbench_methods.shared.confidence import restrict, uniform_confidence
from pllbench_methods.shared.selection import mix_chosen, smallest_by_class
from pllbench_methods.shared.sinkhorn import sinkhorn
from pllbench_methods.solar import SoLar
from tests.methods.fakes import (
    Array,
    assert_equal_states,
    log,
    lookup_problem,
    make,
    normal,
    random_batches,
    random_candidates,
    random_instances,
    random_problem,
    sets,
    sgd,
    softmax,
    start_epoch,
    trained,
)
from tests.methods.shared.test_sinkhorn import plain_sinkhorn

CANDIDATES = random_candidates()
PRIOR = torch.tensor([0.4, 0.25, 0.15, 0.15, 0.05])


def transported(probs: list[list[float]], prior: list[float]) -> Tensor:
    """Labels of rows with these probabilities on their candidates, 0 off them."""
    scores = 3 * torch.tensor(probs).log()
    return (scores + sinkhorn(scores, torch.tensor(prior).log(), 50)).softmax(1)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        ([0.5, 0.5], [[0.813246, 0.186754], [0.186754, 0.813246]]),
        ([0.9, 0.1], [[0.987942, 0.012058], [0.812058, 0.187942]]),
    ],
)
def test_transport(prior: list[float], expected: list[list[float]]) -> None:
    """Example 1."""
    found = transported([[0.8, 0.2], [0.6, 0.4]], prior)
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-6, rtol=0)


def test_where_the_prior_cannot_be_met_quickly() -> None:
    """Example 2."""
    found = transported([[0.8, 0.2], [0.6, 0.0]], [0.5, 0.5])
    expected = torch.tensor([[0.0100, 0.9900], [1.0, 0.0]])
    torch.testing.assert_close(found, expected, atol=5e-5, rtol=0)


def test_rows_that_are_chosen_of_a_class() -> None:
    """Example 3."""
    labels = torch.tensor([3] * 40 + [0] * 216)
    chosen = smallest_by_class(normal(256), labels, 256 * 0.2 * torch.full((10,), 0.1))
    assert chosen[:40].sum() == 6
    assert chosen.sum() == 12


@pytest.mark.parametrize(
    ("epoch", "stage_epoch", "progress"),
    [(0, 0, 0), (25, 25, 0.5), (99, 99, 1), (100, 0, 0), (125, 25, 0.5), (200, 100, 1)],
)
def test_stages_of_1100_epochs(epoch: int, stage_epoch: int, progress: float) -> None:
    """Example 4."""
    method = make(SoLar, random_problem(CANDIDATES, epochs=1100))
    method.epoch = epoch
    assert (method.stage_epoch, method.progress) == (stage_epoch, progress)
    assert method.restarts() is (epoch == 100)


@pytest.mark.parametrize(("epochs", "second"), [(1100, 100), (200, 19), (6, 1), (11, 1), (12, 2)])
def test_the_second_stage_keeps_its_proportion(epochs: int, second: int) -> None:
    method = make(SoLar, random_problem(CANDIDATES, epochs=epochs))
    restarting = []
    for method.epoch in range(epochs):
        if method.restarts():
            restarting.append(method.epoch)
    assert restarting == [second]


@pytest.mark.parametrize("estimation_epochs", [0.0, 1100.0])
def test_a_single_stage_never_restarts(estimation_epochs: float) -> None:
    problem = random_problem(CANDIDATES, epochs=20)
    method = make(SoLar, problem, estimation_epochs=estimation_epochs)
    for method.epoch in range(20):
        assert not method.restarts()
        assert method.stage_epoch == method.epoch


def test_second_stage_begins_with_a_new_network_and_keeps_the_prior() -> None:
    method = make(SoLar, random_problem(CANDIDATES, epochs=11), gamma_estimation=0.5)
    trained(method, CANDIDATES, [0])
    old, prior = method.network.classifier.weight.clone(), method.prior.clone()
    start_epoch(method, 1, random_instances(CANDIDATES))
    assert method.restarts()
    # The second network that a problem of the tests makes is another one than its first.
    fresh = random_problem(CANDIDATES)
    fresh.make_network()
    assert_equal_states(method.network, fresh.make_network())
    assert not torch.allclose(method.network.classifier.weight, old)
    assert torch.equal(method.confidence, uniform_confidence(CANDIDATES))
    assert not torch.equal(method.prior, prior)  # the last estimate of the first stage
    assert method.prior.sum().item() == pytest.approx(1)
    assert method.training


@pytest.mark.parametrize(("epoch", "gamma"), [(1, 0.1), (2, 0.1), (3, 0.01), (5, 0.01)])
def test_prior_moves_towards_the_predicted_shares(epoch: int, gamma: float) -> None:
    method = make(SoLar, random_problem(CANDIDATES, epochs=22))  # second stage from epoch 2 on
    method.prior.copy_(PRIOR)
    method.network.eval()
    counts = np.zeros(5)
    with torch.no_grad():
        for batch in random_instances(CANDIDATES).batches():
            probs = softmax(method.network(batch.x[0])[0]) * batch.candidates.numpy()
            for label in probs.argmax(1):
                counts[label] += 1
    start_epoch(method, epoch, random_instances(CANDIDATES))
    expected = (1 - gamma) * PRIOR.double().numpy() + gamma * counts / 24
    np.testing.assert_allclose(method.prior.numpy(), expected, rtol=1e-5)


def test_first_epoch_of_a_stage_is_proden_on_the_weak_view() -> None:
    solar = make(SoLar, random_problem(CANDIDATES, epochs=20))
    proden = make(PRODEN, random_problem(CANDIDATES, epochs=20), num_strong=0)
    optimizers = sgd(solar), sgd(proden)
    for batch in random_batches(solar, CANDIDATES):
        take_step(solar, batch, optimizers[0])
        take_step(proden, Batch(batch.x[:1], batch.index, batch.candidates), optimizers[1])
    torch.testing.assert_close(
        dict(solar.network.named_parameters()), dict(proden.network.named_parameters())
    )
    torch.testing.assert_close(solar.confidence, proden.confidence)


def made(num: int, queue_size: int) -> tuple[SoLar, Batch, Tensor, Tensor]:
    """SoLar at epoch 19 of 1100, its batch, and the logits of both views."""
    candidates = random_candidates(num)
    weak, strong = 2 * normal(num, 5), normal(num, 5, seed=1)
    problem, batch = lookup_problem(candidates, torch.stack([weak, strong]), epochs=1100)
    method = make(SoLar, problem, queue_size=queue_size)
    method.prior.copy_(PRIOR)
    inside = normal(num, 5, seed=2).masked_fill(~candidates, -math.inf).softmax(1)
    method.confidence.copy_(inside)
    method.epoch = 19
    return method, batch, weak, strong


def chosen_twin(probs: Array, labels: Array, rho: float) -> list[int]:
    """Reliable rows, by a loop over the classes."""
    num = len(probs)
    losses = -(labels * np.log(probs)).sum(1)
    chosen = {i for i in range(num) if labels[i] @ probs[i] > 0.99}
    for label, share in enumerate(PRIOR.double().tolist()):
        rows = [i for i in range(num) if labels[i].argmax() == label]
        number = max(math.ceil(num * share * rho), 1)
        chosen |= set(sorted(rows, key=lambda i: losses[i])[:number])
    return sorted(chosen)


@pytest.mark.parametrize("queue_size", [16384, 6])
def test_twin_of_the_loss(queue_size: int) -> None:
    num = 12
    method, batch, weak, strong = made(num, queue_size)
    queue = normal(queue_size, 5, seed=5).softmax(1)
    method.queue.copy_(queue)
    stored = method.confidence.double().numpy().copy()
    torch.manual_seed(3)
    step = method.loss(batch)

    probs, mask = softmax(weak), batch.candidates.numpy()
    pool = (probs * mask) ** 3
    if queue_size == 6:  # 19 epochs of 12 rows have filled it
        pool = np.concatenate([queue.double().numpy() ** 3, pool])
    labels = plain_sinkhorn(pool, PRIOR.double().numpy(), 50)[-num:]
    progress = 19 / 50
    chosen = chosen_twin(probs, labels, 0.2 + 0.4 * progress)
    assert 0 < len(chosen) < num
    others = [i for i in range(num) if i not in chosen]
    torch.manual_seed(3)
    flags = torch.zeros(num).bool().index_fill(0, torch.tensor(chosen), True)
    mixing = mix_chosen(torch.eye(num), torch.eye(num), flags, 4.0)[0].double().numpy()
    mixed_probs = softmax(torch.tensor(mixing) @ weak.double())

    def cross_entropy(target: Array, probs: Array) -> Array:
        return np.asarray(-(target * np.log(probs)).sum(1))

    reliable = cross_entropy(labels, probs)[chosen].mean()
    reliable += cross_entropy(labels, softmax(strong))[chosen].mean()
    reliable += cross_entropy(mixing @ labels, mixed_probs).mean()
    eta = 0.9 * progress
    twin = eta * reliable + (1 - eta) * cross_entropy(stored, probs)[others].mean()
    assert step.loss.item() == pytest.approx(twin, rel=1e-4)
    assert step.pseudo is not None
    expected = [(labels if i in chosen else stored)[i].argmax() for i in range(num)]
    assert step.pseudo.tolist() == expected
    renewed = probs * mask / (probs * mask).sum(1, keepdims=True)
    np.testing.assert_allclose(method.confidence.numpy(), renewed, rtol=1e-5)


def test_the_queue_counts_only_when_it_is_full_and_takes_new_rows_after_they_were_used() -> None:
    method, batch, weak, _ = made(12, 30)
    inside = restrict(weak.log_softmax(1), batch.candidates)
    without = plain_sinkhorn(inside.double().exp().numpy() ** 3, PRIOR.double().numpy(), 50)
    method.queue.copy_(normal(30, 5, seed=8).softmax(1))
    for epoch, full in ((2, False), (3, True)):  # 24 and 36 rows have passed
        method.epoch = epoch
        found = method.transported(inside)
        assert np.allclose(found.numpy(), without, atol=1e-4) is not full
    for _ in range(3):
        method.enqueue(inside)
    assert method.queue_pointer == 6
    assert torch.equal(method.queue[:6], inside.exp()[6:])  # the end of the third batch
    assert torch.equal(method.queue[6:18], inside.exp()[[*range(6, 12), *range(6)]])


def test_an_agreed_label_is_reliable_whatever_its_class_has() -> None:
    logits = log(*[[0.995, 0.0025, 0.0025]] * 6)
    candidates = sets(*[{0, 1, 2}] * 6, num_classes=3)
    problem, _ = lookup_problem(candidates, torch.stack([logits, logits]), epochs=1100)
    method = make(SoLar, problem, confident=0.99)
    labels = torch.eye(3)[[0] * 6]
    assert method.reliable(logits.log_softmax(1), labels).all()
    method = make(SoLar, random_problem(candidates, epochs=1100), confident=1.0)
    assert method.reliable(logits.log_softmax(1), labels).sum() == 1  # 6 * 0.2 / 3, rounded up


def test_a_run_with_a_full_queue_and_a_restart_resumes_exactly() -> None:
    hparams = {"queue_size": 40, "warmup": 300.0}
    task = toy_task(48)
    spec = toy_spec(SoLar, epochs=12).model_copy(update={"hparams": hparams})
    whole, pieces = train(spec, SoLar, task), train_in_pieces(SoLar, spec, task)
    assert_equal_states(whole.method, pieces.method)
    for name, values in whole.curves.items():
        np.testing.assert_array_equal(values, pieces.curves[name])


def test_views_and_prediction() -> None:
    method, batch, weak, _ = made(6, 8)
    assert method.views == ("weak", "strong")
    assert torch.equal(method.predict(batch.x[0]), weak)
