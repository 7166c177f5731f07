"""Losses after one step on real candidate sets, as the methods' pages work them out.

Batch, weights and step are those of docs/methods/primitives.md ("A first step on real data"). The
twins are NumPy in float64 with gradients written out by hand; of pllbench they have the rows alone.

Letters in shape comments: B batch, C classes, V views, D features, E embedding, Q queue.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset, split
from pllbench.method import Batch, Method, Network, Problem
from pllbench.registry import load_method
from pllbench.training.step import take_step
from pllbench_methods.pico import PiCO
from tests.data.files import real_data_dir
from tests.methods.fakes import make, sgd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

PAGES = Path(__file__).parents[2] / "docs" / "methods"
BATCH_SIZE, LR = 32, 0.1
EMBEDDING, QUEUE = 8, 64


def wave(num_rows: int, num_columns: int) -> Array:
    """Weights that can be written down: a tenth of the sines of 1, 2, 3, ..., row by row."""
    places = np.arange(1.0, num_rows * num_columns + 1).reshape(num_rows, num_columns)
    return np.asarray(np.sin(places) / 10)


@dataclass(frozen=True)
class Example:
    """Views [V, B, D] of the batch, and its candidate sets [B, C]."""

    x: Array
    sets: Mask

    def logits(self) -> Array:
        """Logits [V, B, C] of the first weights."""
        return np.asarray(self.x @ self.weights.T)

    def stepped(self, gradient: Array) -> Array:
        """Logits [V, B, C] after the step, from the loss's gradient [V, B, C] in the first ones."""
        weights = self.weights - LR * np.einsum("vbc,vbd->cd", gradient, self.x)
        return np.asarray(self.x @ weights.T - LR * gradient.sum((0, 1)))

    @property
    def weights(self) -> Array:
        return wave(self.sets.shape[1], self.x.shape[2])

    @property
    def uniform(self) -> Array:
        """Equal weights on the candidates, [B, C]."""
        return np.asarray(self.sets / self.sets.sum(1, keepdims=True))


def softmax(logits: Array) -> Array:
    return np.asarray(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True))


def inside(probs: Array, sets: Mask) -> Array:
    """Probabilities on some of the classes, normalised there."""
    return np.asarray(probs * sets / (probs * sets).sum(-1, keepdims=True))


def cross_entropy(logits: Array, target: Array) -> float:
    """Mean over views and batch."""
    return float(-(target * np.log(softmax(logits))).sum(-1).mean())


def pull(logits: Array, target: Array) -> Array:
    """Gradient of `cross_entropy` in the logits [V, B, C]."""
    return np.asarray((softmax(logits) - target) / (len(logits) * BATCH_SIZE))


def cc(given: Example) -> float:
    before = given.logits()
    after = given.stepped(pull(before, inside(softmax(before), given.sets)))
    return float(-np.log((softmax(after) * given.sets).sum(-1)).mean())


def proden(given: Example) -> float:
    before = given.logits()
    after = given.stepped(pull(before, given.uniform))
    return cross_entropy(after, inside(softmax(before.mean(0)), given.sets))


def rc(given: Example) -> float:
    after = given.stepped(pull(given.logits(), given.uniform))
    return cross_entropy(after, inside(softmax(after.mean(0)), given.sets))


def pop(given: Example) -> float:
    before = given.logits()
    after = given.stepped(pull(before, given.uniform))
    return cross_entropy(after, inside(softmax(before[0]), given.sets))


def cavl(given: Example) -> float:
    after = given.stepped(pull(given.logits(), given.uniform))
    mean = after.mean(0)
    values = np.where(given.sets, mean * np.abs(1 - mean), -np.inf)
    return cross_entropy(after, np.eye(values.shape[1])[values.argmax(1)])


def lws(given: Example) -> float:
    shares = 1 / (1 + np.exp(-given.logits()))
    slope = shares * (1 - shares) / shares.size  # all weights are 1 / C
    after = given.stepped(np.where(given.sets, -slope, slope))
    probs, shares = softmax(after.mean(0)), 1 / (1 + np.exp(-after))
    weights = inside(probs, given.sets) + inside(probs, ~given.sets)
    return float((weights * np.where(given.sets, 1 - shares, shares)).sum(-1).mean())


def dpll(given: Example) -> float:
    before = given.logits()
    probs, target = softmax(before), given.uniform
    odds = probs[0] / (1 - probs[0]) * ~given.sets
    gradient = (probs - target) / BATCH_SIZE
    gradient[0] += (odds - probs[0] * odds.sum(1, keepdims=True)) / BATCH_SIZE
    probs = softmax(given.stepped(gradient))
    target = inside(softmax(before.mean(0)), given.sets)
    supervised = -(np.log(1 - probs[0]) * ~given.sets).sum(1).mean()
    ratios = np.log(np.where(given.sets, target, 1)) - np.log(probs)
    return float(supervised + (target * ratios).sum(-1).mean(1).sum())


def abs_mae(given: Example) -> float:
    probs, size = softmax(given.logits()), given.sets.sum(1, keepdims=True)
    factor = 2 * (probs * given.sets).sum(-1, keepdims=True) / size
    after = softmax(given.stepped(factor * pull(given.logits(), inside(probs, given.sets))))
    return float((2 - 2 * (after * given.sets).sum(-1) / size[:, 0]).mean())


def abs_gce(given: Example) -> float:
    probs, size = softmax(given.logits()), given.sets.sum(1, keepdims=True)
    powers = probs**0.7 * given.sets
    gradient = (probs * powers.sum(-1, keepdims=True) - powers) / size
    after = softmax(given.stepped(gradient / (len(probs) * BATCH_SIZE)))
    return float(((1 - after**0.7) / 0.7 * given.uniform).sum(-1).mean())


class PiCOTwin:
    """Network, head, keys and prototypes, with phi = .875, T = .07 and weight .5."""

    def __init__(self, given: Example) -> None:
        self.query, self.key = given.x[:2]
        self.sets, self.confidence = given.sets, given.uniform
        num_classes, width = given.weights.shape
        self.classifier, self.bias = given.weights, np.zeros(num_classes)
        inner, outer = wave(width, width), wave(EMBEDDING, width)
        self.head = [inner, np.zeros(width), outer, np.zeros(EMBEDDING)]
        self.average = [part.copy() for part in self.head]
        self.queue = unit(wave(QUEUE, EMBEDDING))
        self.labels = np.full(QUEUE, -1)
        self.prototypes = np.zeros((num_classes, EMBEDDING))

    def loss(self, *, step: bool) -> float:
        """The loss of the batch and what it changes; with `step`, the weights move too."""
        logits = self.query @ self.classifier.T + self.bias
        hidden, raw = embed(self.head, self.query)
        q = unit(raw)
        label = np.where(self.sets, logits, -np.inf).argmax(1)
        nearest = np.where(self.sets, q @ self.prototypes.T, -np.inf).argmax(1)
        for k, row in zip(label, q, strict=True):
            self.prototypes[k] = 0.99 * self.prototypes[k] + 0.01 * row
        self.prototypes = unit(self.prototypes)
        self.average = [0.999 * a + 0.001 * b for a, b in zip(self.average, self.head, strict=True)]
        k = unit(embed(self.average, self.key)[1])
        self.confidence = 0.875 * self.confidence + 0.125 * np.eye(self.sets.shape[1])[nearest]
        pool, labels = np.vstack([q, k, self.queue]), np.concatenate([label, label, self.labels])
        others = ~np.eye(BATCH_SIZE, len(pool), dtype=bool)
        powers = np.exp(q @ pool.T / 0.07) * others
        positive = inside((label[:, None] == labels).astype(float), others)
        contrast = np.log(powers.sum(1)) - (positive * (q @ pool.T / 0.07)).sum(1)
        self.queue[:BATCH_SIZE], self.labels[:BATCH_SIZE] = k, label
        if step:
            slope = (powers / powers.sum(1, keepdims=True) - positive) / (0.07 * BATCH_SIZE)
            pulled = 0.5 * (slope @ pool + slope[:, :BATCH_SIZE].T @ q)
            self.move(pull(logits[None], self.confidence)[0], pulled, (hidden, raw))
        return cross_entropy(logits[None], self.confidence) + 0.5 * float(contrast.mean())

    def move(self, logits: Array, pulled: Array, passed: tuple[Array, Array]) -> None:
        """One step, from gradients in logits [B, C] and embeddings [B, E], and the head's pass."""
        hidden, raw = passed
        q, lengths = unit(raw), np.linalg.norm(raw, axis=1, keepdims=True)
        outer = (pulled - q * (q * pulled).sum(1, keepdims=True)) / lengths
        inner = (outer @ self.head[2]) * (hidden > 0)
        changes = [inner.T @ self.query, inner.sum(0), outer.T @ hidden, outer.sum(0)]
        self.head = [part - LR * one for part, one in zip(self.head, changes, strict=True)]
        self.classifier -= LR * logits.T @ self.query
        self.bias -= LR * logits.sum(0)


def unit(rows: Array) -> Array:
    """Rows of length 1; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1))


def embed(head: list[Array], x: Array) -> tuple[Array, Array]:
    """The head's hidden layer and output, before it is brought to length 1."""
    hidden = np.maximum(x @ head[0].T + head[1], 0)
    return hidden, hidden @ head[2].T + head[3]


def pico(given: Example) -> float:
    twin = PiCOTwin(given)
    twin.loss(step=True)
    return twin.loss(step=False)


Twin = Callable[[Example], float]

EXAMPLES: tuple[tuple[Twin, float, float], ...] = (
    (cc, 1.786586, 2.091976),
    (rc, 2.568860, 3.056704),
    (proden, 2.567044, 3.055225),
    (dpll, 5.313223, 6.717944),
    (pico, 8.087425, 6.660646),
    (lws, 1.024657, 1.016126),
    (cavl, 2.387932, 2.912812),
    (pop, 2.602615, 3.057846),
    (abs_mae, 1.866652, 1.913172),
    (abs_gce, 1.222935, 1.272288),
)
"""Twins, and the numbers of the pages for Lost and for MSRCv2."""


def example(dataset: str) -> Example:
    """Every 20th training row of seed 0, z-scored by all of its training rows."""
    data = load_dataset(DATASETS[dataset], real_data_dir(dataset))
    rows, _ = split(data, seed=0)
    chosen = 20 * np.arange(BATCH_SIZE)
    assert data.candidates is not None
    x = data.x[rows].double().numpy()
    std = x.std(0)
    x = ((x - x.mean(0)) / np.where(std > 0, std, 1))[chosen]
    views = np.stack([x, x + np.roll(x, 1, axis=1) / 2, x + np.roll(x, 2, axis=1) / 2])
    return Example(views, data.candidates[rows[chosen]].numpy())


def method_after_a_step(name: str, given: Example) -> float:
    """What the method itself says."""
    sets, (num_classes, width) = torch.from_numpy(given.sets), given.weights.shape

    def make_network() -> Network:
        network = Network(nn.Identity(), width, num_classes)
        fill(network.classifier)
        return network

    cls: type[Method[Any]] = load_method(name)
    epochs = cls.reference_epochs
    sizes = {"embedding_size": EMBEDDING, "queue_size": QUEUE} if name == "pico" else {}
    method = make(cls, Problem(sets, epochs, make_network, (width,)), **sizes)
    method.epoch = epochs // 2
    if isinstance(method, PiCO):
        fill(method.query.head)
        method.key.load_state_dict(method.query.state_dict())
        method.queue.copy_(float32(unit(wave(QUEUE, EMBEDDING))))
    x = map(float32, given.x[: len(method.views)])
    batch = Batch(tuple(x), torch.arange(BATCH_SIZE), sets)
    take_step(method, batch, sgd(method, lr=LR))
    return method.loss(batch).loss.item()


def fill(module: nn.Module) -> None:
    for parameter in module.parameters():
        bias = parameter.ndim == 1
        parameter.data.copy_(torch.zeros(()) if bias else float32(wave(*parameter.shape)))


def float32(array: Array) -> Tensor:
    return torch.from_numpy(array).float()


@pytest.mark.parametrize(("twin", "lost", "msrcv2"), EXAMPLES)
def test_the_loss_after_a_step_is_that_of_the_page(twin: Twin, lost: float, msrcv2: float) -> None:
    for dataset, value in (("lost", lost), ("msrcv2", msrcv2)):
        given = example(dataset)
        assert twin(given) == pytest.approx(value, abs=5e-7)
        assert method_after_a_step(twin.__name__, given) == pytest.approx(value, rel=2e-6)


@pytest.mark.parametrize(("twin", "lost", "msrcv2"), EXAMPLES)
def test_the_pages_have_these_numbers(twin: Twin, lost: float, msrcv2: float) -> None:
    page = (PAGES / f"{twin.__name__}.md").read_text(encoding="utf-8")
    assert f"Lost {lost:.6f}, MSRCv2 {msrcv2:.6f}" in " ".join(page.split())
