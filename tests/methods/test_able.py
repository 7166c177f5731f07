"""The examples of docs/methods/able.md, ABLE's options and its twin."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.method import Batch
from pllbench.training.step import take_step
from pllbench_methods.able import ABLE, positive_weights, weighted_contrast
from pllbench_methods.proden import PRODEN
from tests.methods.fakes import (
    Array,
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
)

CONFIDENCE = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])


def bare(query: Tensor, key: Tensor, candidates: Tensor, **hparams: object) -> tuple[ABLE, Batch]:
    """ABLE with a lookup network and no head: the embedding of a row is its one-hot code."""
    problem, batch = lookup_problem(candidates, torch.stack([query, key]))
    method = make(ABLE, problem, embedding_size=2 * len(query), **hparams)
    method.encoder.head = nn.Sequential()
    return method, batch


def at_angles(*degrees: float) -> Tensor:
    """Unit vectors of the plane, [M, 2]."""
    radians = torch.tensor(degrees).deg2rad()
    return torch.stack([radians.cos(), radians.sin()], 1)


def twin_of_weights(confidence: Array, candidates: Array, predicted: list[int]) -> Array:
    weights = np.zeros((len(predicted), len(predicted)))
    for i in range(len(predicted)):
        for j, label in enumerate(predicted):
            if candidates[i, label]:
                weights[i, j] = confidence[i, label] / predicted.count(label)
    return weights


def test_weights_of_the_positives() -> None:
    """Example 1."""
    candidates = sets({0, 1}, {1, 2}, num_classes=3)
    weights = positive_weights(CONFIDENCE, candidates, torch.tensor([0, 2]))
    torch.testing.assert_close(weights, torch.tensor([[0.7, 0.0], [0.0, 0.6]]))


def test_contrast_of_four_vectors() -> None:
    """Example 2."""
    weights = torch.tensor([[0.7, 0.0], [0.0, 0.6]]).repeat(2, 2)
    loss = weighted_contrast(at_angles(0, 90, 30, 120), weights, temperature=1.0)
    assert loss.item() == pytest.approx(0.411088, abs=1e-6)


def test_a_single_row_has_no_contrast() -> None:
    """Example 3."""
    loss = weighted_contrast(at_angles(0, 30), torch.ones(2, 2), temperature=0.1)
    assert loss.item() == 0


def test_weights_twin() -> None:
    candidates = random_candidates(12)
    confidence = normal(12, 5).masked_fill(~candidates, -math.inf).softmax(1)
    predicted = normal(12, 5, seed=1).masked_fill(~candidates, -math.inf).argmax(1)
    twin = twin_of_weights(confidence.double().numpy(), candidates.numpy(), predicted.tolist())
    weights = positive_weights(confidence, candidates, predicted)
    np.testing.assert_allclose(weights.numpy(), twin, rtol=1e-6)
    # What an instance gives away in all is its confidence in labels that the batch has.
    present = [label in predicted.tolist() for label in range(5)]
    torch.testing.assert_close(weights.sum(1), confidence[:, present].sum(1))


def test_gradient_of_the_contrast_agrees_with_finite_differences() -> None:
    embeddings = F.normalize(normal(6, 3), dim=1).double().requires_grad_()
    weights = normal(6, 6, seed=1).abs().double()
    assert torch.autograd.gradcheck(lambda e: weighted_contrast(e, weights, 0.5), embeddings)


@pytest.mark.parametrize("weights_of", ["instance", "position"])
def test_twin_of_loss_and_confidence(weights_of: str) -> None:
    num = 6
    candidates = random_candidates(num)
    query, key = normal(num, 5), normal(num, 5, seed=1)
    method, batch = bare(
        query, key, candidates, weights_of=weights_of, temperature=0.2, cont_weight=0.5
    )
    stored = normal(num, 5, seed=2).masked_fill(~candidates, -math.inf).softmax(1)
    method.confidence.copy_(stored)
    order = [3, 0, 5, 1, 4, 2]
    batch = Batch(tuple(x[order] for x in batch.x), batch.index[order], batch.candidates[order])
    probs, mask = softmax(query)[order], candidates.numpy()[order]
    target = stored.double().numpy()[order]
    weighing = target if weights_of == "instance" else stored.double().numpy()
    pairs = twin_of_weights(weighing, mask, (probs * mask).argmax(1).tolist())
    twin = -(target * np.log(probs)).sum(1).mean()
    # Embeddings are unit vectors, all orthogonal: every other row has the share 1 / (2 num - 1).
    rows = [sum(pairs[i]) * 2 - pairs[i, i] for i in range(num)]
    twin += 0.5 * (0.2 / 0.07) * np.mean(rows) * math.log(2 * num - 1)
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
    renewed = probs * mask / (probs * mask).sum(1, keepdims=True)
    np.testing.assert_allclose(method.confidence[order].numpy(), renewed, rtol=1e-5)


def test_the_order_of_a_batch_does_not_matter() -> None:
    """Example 4."""
    candidates = random_candidates()
    losses = []
    for weights_of in ("instance", "position"):
        torch.manual_seed(0)  # the head
        method = make(ABLE, random_problem(candidates), weights_of=weights_of)
        stored = normal(24, 5, seed=2).masked_fill(~candidates, -math.inf).softmax(1)
        batch = next(random_batches(method, candidates))
        turned = Batch(
            tuple(x.flip(0) for x in batch.x), batch.index.flip(0), batch.candidates.flip(0)
        )
        for either in (batch, turned):
            method.confidence.copy_(stored)
            losses.append(method.loss(either).loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[2] != pytest.approx(losses[3], rel=1e-3)


def test_without_contrast_able_is_proden_on_the_query_view() -> None:
    candidates = random_candidates()
    able = make(ABLE, random_problem(candidates), cont_weight=0)
    proden = make(PRODEN, random_problem(candidates), num_strong=0)
    optimizers = sgd(able), sgd(proden)
    for epoch in range(3):
        for batch in random_batches(able, candidates, seed=epoch):
            query = Batch(batch.x[:1], batch.index, batch.candidates)
            take_step(able, batch, optimizers[0])
            take_step(proden, query, optimizers[1])
    # The key view only moves BatchNorm's running statistics.
    torch.testing.assert_close(
        dict(able.encoder.network.named_parameters()), dict(proden.network.named_parameters())
    )
    torch.testing.assert_close(able.confidence, proden.confidence)


def test_pseudo_label_is_that_of_the_stored_confidence() -> None:
    logits = log([0.5, 0.3, 0.2])
    method, batch = bare(logits, logits, sets({0, 2}, num_classes=3))
    method.confidence.copy_(torch.tensor([[0.2, 0.0, 0.8]]))
    pseudo = method.loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]
    torch.testing.assert_close(method.confidence, torch.tensor([[0.714286, 0, 0.285714]]))


def test_views_are_a_query_and_a_key_that_pass_as_the_network_says() -> None:
    candidates = random_candidates()
    losses = []
    for mode in ("separate", "concat"):
        torch.manual_seed(0)  # the head
        method = make(ABLE, random_problem(candidates))
        method.encoder.network.forward_mode = mode
        assert method.views == ("query", "key")
        losses.append(method.loss(next(random_batches(method, candidates))).loss.item())
    assert losses[0] != pytest.approx(losses[1], rel=1e-4)  # BatchNorm sees other statistics


def test_predicts_with_the_classifier() -> None:
    logits = torch.tensor([[3.0, 1.0, 2.0]])
    method, batch = bare(logits, torch.zeros(1, 3), sets({0, 2}, num_classes=3))
    assert torch.equal(method.predict(batch.x[0]), logits)


def test_all_parameters_learn() -> None:
    candidates = random_candidates()
    method = make(ABLE, random_problem(candidates))
    method.loss(next(random_batches(method, candidates))).loss.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in method.encoder.parameters())
