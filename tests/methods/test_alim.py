"""ALIM: the examples of docs/methods/alim.md, the importance of other labels, twin, PiCO in it."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.method import Batch
from pllbench_methods.alim import ALIM
from pllbench_methods.pico import PiCO
from pllbench_methods.shared.prototypes import PrototypeContrast
from tests.methods.fakes import (
    log,
    lookup_problem,
    make,
    normal,
    random_candidates,
    random_problem,
    sets,
    softmax,
    start_epoch,
    trained,
)


def bare(query: Tensor, key: Tensor, candidates: Tensor, **hparams: object) -> tuple[ALIM, Batch]:
    """ALIM with lookup networks and no head: the embedding of a row is its one-hot code."""
    problem, batch = lookup_problem(candidates, torch.stack([query, key]), epochs=1000)
    method = make(ALIM, problem, embedding_size=2 * len(query), queue_size=4, **hparams)
    method.query.head, method.key.head = nn.Sequential(), nn.Sequential()
    return method, batch


def example(importance: float, target: str) -> tuple[ALIM, Batch]:
    """One instance with cluster scores [0.2, 0.5, 0.3] and candidates {0, 2}; phi is 0."""
    logits = log([0.1, 0.6, 0.3])
    method, batch = bare(
        logits,
        logits,
        sets({0, 2}, num_classes=3),
        target=target,
        phi_start=0.0,
        phi_end=0.0,
        cluster_temperature=1.0,
    )
    method.prototypes[:, 0] = torch.tensor([0.2, 0.5, 0.3]).log()
    method.importance.fill_(importance)
    return method, batch


@pytest.mark.parametrize(
    ("importance", "target", "expected"),
    [
        (0.5, "onehot", [0.0, 0, 1]),
        (0.5, "scale", [0.266667, 0.333333, 0.4]),
        (0.7, "onehot", [0.0, 1, 0]),  # no candidate
        (0.7, "scale", [0.235294, 0.411765, 0.352941]),
    ],
)
def test_targets(importance: float, target: str, expected: list[float]) -> None:
    """Example 1."""
    method, batch = example(importance, target)
    pseudo = method.loss(batch).pseudo
    torch.testing.assert_close(method.confidence, torch.tensor([expected]), atol=1e-6, rtol=0)
    assert pseudo is not None
    assert pseudo.tolist() == [int(np.argmax(expected))]


def test_margin() -> None:
    """Example 2."""
    method, batch = example(0.5, "onehot")
    method.loss(batch)
    assert method.margins.tolist() == pytest.approx([0.6], abs=1e-6)


def test_margins_are_at_most_one_and_that_of_a_full_set_is_one() -> None:
    logits = normal(2, 3)
    method, batch = bare(
        logits, logits, sets({1}, {0, 1, 2}, num_classes=3), cluster_temperature=1.0
    )
    method.prototypes[:, :2] = torch.tensor([0.2, 0.5, 0.3]).log()[:, None]
    method.loss(batch)
    assert method.margins.tolist() == [1, 1]  # the first would be 5 / 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"noise_rate": 0.3}, 0.6),
        ({"noise_rate": 0.0}, 0.0),
        ({"noise_rate": 1.0}, 1.0),
        ({"oracle_noise_rate": 0.3}, 0.6),
        ({"oracle_noise_rate": 0.0}, 0.0),
        ({}, 0.6),  # 0.2 is assumed, which is one of five too
    ],
)
def test_importance(options: dict[str, float], expected: float) -> None:
    """Example 3."""
    method = make(ALIM, random_problem(random_candidates(5), epochs=1000), **options)
    method.margins.copy_(torch.tensor([0.6, 2, 5, 0.1, 9]).clamp(max=1))
    start_epoch(method, 79)
    assert method.importance == 0
    start_epoch(method, 80)
    assert method.importance.item() == pytest.approx(expected)


def test_the_first_epoch_has_no_margins_yet() -> None:
    method = make(ALIM, random_problem(random_candidates()), start=0.0)
    start_epoch(method, 0)
    assert method.importance == 0


def test_pseudo_labels_of_prototypes_and_contrast_weigh_other_labels_too() -> None:
    method, batch = example(0.4, "onehot")
    method.loss(batch)
    assert method.queue_labels[0] == 2  # 0.3 is more than 0.4 * 0.6
    method, batch = example(0.6, "onehot")
    method.loss(batch)
    assert method.queue_labels[0] == 1


@pytest.mark.parametrize("target", ["onehot", "scale"])
def test_twin(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr("pllbench_methods.shared.mixup.draw_larger_share", lambda *_: 0.8)
    num = 6
    candidates = random_candidates(num)
    query, key = normal(num, 5), normal(num, 5, seed=1)
    method, batch = bare(query, key, candidates, target=target, cont_weight=0.4, mixup_weight=0.7)
    method.epoch = 500
    method.importance.fill_(0.3)
    method.queue_labels.copy_(torch.tensor([0, 3, -1, 2]))
    method.prototypes.copy_(F.normalize(normal(5, 2 * num, seed=2), dim=1))
    queue, prototypes = method.queue.double().numpy().copy(), method.prototypes.double().numpy()
    mask, logits = candidates.numpy(), query.double().numpy()
    factors = np.where(mask, 1, 0.3)
    pseudo = (softmax(query) * factors).argmax(1)
    clusters = softmax(torch.tensor(prototypes[:, :num].T / 0.07))
    weights = clusters * factors
    weights /= weights.sum(1, keepdims=True)
    if target == "onehot":
        weights = np.eye(5)[weights.argmax(1)]
    start = mask / mask.sum(1, keepdims=True)
    confidence = 0.875 * start + 0.125 * weights
    twin = -(confidence * np.log(softmax(query))).sum(1).mean()
    pool = np.concatenate([np.eye(2 * num), queue])
    labels = np.array([*pseudo, *pseudo, 0, 3, -1, 2])
    for i in range(num):
        similarity = pool @ pool[i] / 0.07
        others = [a for a in range(len(pool)) if a != i]
        total = np.log(sum(np.exp(similarity[a]) for a in others))
        alike = [total - similarity[a] for a in others if labels[a] == pseudo[i]]
        twin += 0.4 * np.mean(alike) / num
    torch.manual_seed(0)
    partners = torch.randperm(num).numpy()
    mixed = softmax(torch.tensor(0.8 * logits + 0.2 * logits[partners]))
    wanted = 0.8 * confidence + 0.2 * confidence[partners]
    twin -= 0.7 * (wanted * np.log(mixed)).sum(1).mean()
    torch.manual_seed(0)
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == confidence.argmax(1).tolist()
    np.testing.assert_allclose(method.confidence.numpy(), confidence, rtol=1e-5, atol=1e-7)
    for i in range(num):
        margin = 1.0
        if not mask[i].all():
            margin = min(clusters[i][mask[i]].max() / clusters[i][~mask[i]].max(), 1)
        assert method.margins[i].item() == pytest.approx(margin, rel=1e-4)


def test_without_importance_and_mixup_it_is_pico_without_a_warm_up() -> None:
    candidates = random_candidates()
    states = []
    for cls, options in (
        (ALIM, {"mixup_weight": 0.0, "noise_rate": 0.0}),
        (PiCO, {"proto_start": 0.0}),
    ):
        torch.manual_seed(0)  # head and queue
        method = make(cls, random_problem(candidates, epochs=8), **options)
        assert isinstance(method, PrototypeContrast)
        trained(method, candidates, range(3))
        states.append(
            dict(method.query.named_parameters())
            | {"confidence": method.confidence, "prototypes": method.prototypes}
        )
    torch.testing.assert_close(states[0], states[1], atol=1e-5, rtol=1e-4)


def test_with_full_importance_the_sets_do_not_matter() -> None:
    logits = normal(4, 5)
    found = []
    for candidates in (random_candidates(4), torch.ones(4, 5, dtype=torch.bool)):
        method, batch = bare(logits, logits, candidates, phi_start=0.0, target="scale")
        method.prototypes.copy_(F.normalize(normal(5, 8, seed=2), dim=1))
        method.importance.fill_(1.0)
        method.loss(batch)
        found.append((method.confidence, method.queue_labels))
    torch.testing.assert_close(*found)
