"""Worked examples of docs/methods/pico.md, PiCO's options and queue, and its slow float64 twin."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.method import Batch
from pllbench.training.step import take_step
from pllbench_methods.pico import PiCO
from tests.methods.fakes import (
    log,
    lookup_problem,
    make,
    normal,
    random_batches,
    random_candidates,
    random_problem,
    sets,
    sgd,
    softmax,
    start_epoch,
)


def bare(query: Tensor, key: Tensor, candidates: Tensor, **hparams: object) -> tuple[PiCO, Batch]:
    """PiCO with lookup networks and no head: the embedding of a row is its one-hot code.

    Args:
        query: logits [B, C] of the query views; their embeddings are the first B unit vectors.
        key: logits [B, C] of the key views; the last B unit vectors.
        candidates: [B, C].
        hparams: changed hyperparameters.
    """
    problem, batch = lookup_problem(candidates, torch.stack([query, key]), epochs=800)
    method = make(PiCO, problem, embedding_size=2 * len(query), queue_size=4, **hparams)
    method.query.head, method.key.head = nn.Sequential(), nn.Sequential()
    return method, batch


def test_confidence_moves_to_the_nearest_candidate_prototype() -> None:
    logits = log([0.5, 0.3, 0.2])
    method, batch = bare(logits, logits, sets({0, 2}, num_classes=3), proto_start=0)
    # Class 1 is nearest, but no candidate.
    method.prototypes.copy_(torch.tensor([[0.1, 0.9], [1.0, 0.0], [0.6, 0.8]]))
    pseudo = method.loss(batch).pseudo
    expected = torch.tensor([[0.475, 0, 0.525]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)
    assert pseudo is not None
    assert pseudo.tolist() == [2]  # of the updated confidence


@pytest.mark.parametrize(("epoch", "phi"), [(0, 0.95), (400, 0.875), (800, 0.8)])
def test_phi_falls_linearly_over_the_run(epoch: int, phi: float) -> None:
    candidates = random_candidates()
    method = make(PiCO, random_problem(candidates, epochs=800))
    method.epoch = epoch
    assert method.phi == pytest.approx(phi)


def test_moving_average_of_the_key_encoder() -> None:
    method = make(PiCO, random_problem(random_candidates()))
    with torch.no_grad():
        for query, key in zip(method.query.parameters(), method.key.parameters(), strict=True):
            query.fill_(1.0)
            key.zero_()
    method.update_key(method.hparams.key_momentum)
    for key in method.key.parameters():
        torch.testing.assert_close(key, torch.full_like(key, 0.001), check_stride=False)
        assert not key.requires_grad


def test_key_encoder_sees_the_query_encoder_before_the_step() -> None:
    candidates = random_candidates()
    method = make(PiCO, random_problem(candidates), key_momentum=0.0)
    before = [parameter.detach().clone() for parameter in method.query.parameters()]
    start_epoch(method, 0)
    take_step(method, next(random_batches(method, candidates)), sgd(method))
    torch.testing.assert_close(list(method.key.parameters()), before, rtol=0, atol=0)
    assert not torch.equal(next(iter(method.query.parameters())), before[0])


def test_queue_wraps_around() -> None:
    method = make(PiCO, random_problem(random_candidates()), queue_size=8, embedding_size=2)
    torch.testing.assert_close(method.queue.norm(dim=1), torch.ones(8))
    assert (method.queue_labels == -1).all()
    for step in range(3):
        method.enqueue(torch.full((4, 2), float(step)), torch.full((4,), step))
    assert method.queue_pointer == 4
    assert method.queue_labels.tolist() == [2, 2, 2, 2, 1, 1, 1, 1]
    assert method.queue[0].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("queue_size", "expected"),
    [(4, [4, 5, 6, 3]), (2, [6, 5]), (10, [0, 1, 2, 3, 4, 5, 6, -1, -1, -1])],
)
def test_queue_of_any_size_keeps_the_last_rows(queue_size: int, expected: list[int]) -> None:
    method = make(
        PiCO, random_problem(random_candidates()), queue_size=queue_size, embedding_size=1
    )
    method.enqueue(torch.arange(7.0)[:, None], torch.arange(7))
    assert method.queue_labels.tolist() == expected
    assert method.queue_pointer == 7 % queue_size
    for row, label in zip(method.queue.flatten().tolist(), expected, strict=True):
        assert label in (row, -1)


def test_confidence_uses_the_prototypes_before_the_batch() -> None:
    logits = log([0.5, 0.3, 0.2])
    # Without momentum the batch makes its own embedding the prototype of class 0.
    method, batch = bare(
        logits, logits, sets({0, 2}, num_classes=3), proto_start=0, proto_momentum=0
    )
    method.prototypes.copy_(torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.6, 0.8]]))
    method.loss(batch)
    assert method.prototypes[0].tolist() == [1, 0]
    assert method.confidence.argmax(1).tolist() == [2]


def test_views_are_a_query_and_a_key() -> None:
    assert make(PiCO, random_problem(random_candidates())).views == ("query", "key")


def test_schedule_is_that_of_800_epochs() -> None:
    assert PiCO.reference_epochs == 800
    candidates = random_candidates()
    method = make(PiCO, random_problem(candidates, epochs=80), proto_start=15)
    start = method.confidence.clone()
    batch = next(random_batches(method, candidates))
    for epoch, moves in ((1, False), (2, True)):  # reference epochs 10 and 20
        method.epoch = epoch
        method.loss(batch)
        assert torch.equal(method.confidence, start) is not moves


@pytest.mark.parametrize("warmup_cont", ["moco", "none"])
def test_contrast_before_the_prototypes_start(warmup_cont: str) -> None:
    query, key = log([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), log([0.1, 0.1, 0.8], [0.3, 0.3, 0.4])
    candidates = sets({0, 2}, {1, 2}, num_classes=3)
    method, batch = bare(query, key, candidates, warmup_cont=warmup_cont)
    queue = method.queue.double().numpy().copy()
    twin = -np.mean([0.5 * np.log(0.5 * 0.2), 0.5 * np.log(0.3 * 0.5)])
    if warmup_cont == "moco":
        for i in range(2):  # the embedding of the query is orthogonal to that of its key
            twin += 0.5 * np.log(1 + np.exp(queue[:, i] / 0.07).sum()) / 2
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
    assert method.queue_labels.tolist() == [0, 2, -1, -1]
    assert method.confidence.tolist() == [[0.5, 0, 0.5], [0, 0.5, 0.5]]


def test_loss_with_prototypes_equals_its_slow_twin() -> None:
    num = 6
    candidates = random_candidates(num)
    query, key = normal(num, 5), normal(num, 5, seed=1)
    method, batch = bare(query, key, candidates, proto_start=0)
    method.queue_labels.copy_(torch.tensor([0, 3, -1, 2]))
    method.prototypes.copy_(F.normalize(normal(5, 2 * num, seed=2), dim=1))
    queue, queue_labels = method.queue.double().numpy().copy(), method.queue_labels.tolist()
    probs, mask = softmax(query), candidates.numpy()
    pseudo = (probs * mask).argmax(1).tolist()
    start = mask / mask.sum(1, keepdims=True)
    # The embedding of instance i is unit vector i, so column i holds its similarities.
    nearest = np.eye(5)[np.where(mask, method.prototypes.numpy()[:, :num].T, -np.inf).argmax(1)]
    target = 0.95 * start + 0.05 * nearest
    twin = -(target * np.log(probs)).sum(1).mean()
    codes = np.eye(2 * num)
    pool = np.concatenate([codes, queue])
    labels = [*pseudo, *pseudo, *queue_labels]
    for i in range(num):
        similarity = pool @ codes[i] / 0.07
        others = [a for a in range(len(pool)) if a != i]
        total = np.log(sum(np.exp(similarity[a]) for a in others))
        positives = [a for a in others if labels[a] == pseudo[i]]
        twin += 0.5 * np.mean([total - similarity[a] for a in positives]) / num
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
    np.testing.assert_allclose(method.confidence.numpy(), target, rtol=1e-5)


def test_predicts_with_the_classifier_of_the_query_encoder() -> None:
    logits = torch.tensor([[3.0, 1.0, 2.0]])
    method, batch = bare(logits, torch.zeros(1, 3), sets({0, 2}, num_classes=3))
    assert torch.equal(method.predict(batch.x[0]), logits)
