"""PiCO+: the examples of docs/methods/pico_plus.md, selection, contrast, twins, and PiCO in it."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.method import Batch
from pllbench_methods.pico import PiCO
from pllbench_methods.pico_plus import PiCOPlus
from pllbench_methods.shared.prototypes import PrototypeContrast
from tests.methods.fakes import (
    Array,
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

NUM = 6
RELIABLE = [True, False, True, True, False, True]


def bare(
    query: Tensor, key: Tensor, candidates: Tensor, **hparams: object
) -> tuple[PiCOPlus, Batch]:
    """PiCO+ with lookup networks and no head: the embedding of a row is its one-hot code."""
    problem, batch = lookup_problem(candidates, torch.stack([query, key]), epochs=800)
    method = make(PiCOPlus, problem, embedding_size=2 * len(query), queue_size=4, **hparams)
    method.query.head, method.key.head = nn.Sequential(), nn.Sequential()
    return method, batch


def prepared(epoch: int, **hparams: object) -> tuple[PiCOPlus, Batch]:
    """Six instances of which two are unreliable, with prototypes and a filled queue."""
    candidates = random_candidates(NUM)
    method, batch = bare(normal(NUM, 5), normal(NUM, 5, seed=1), candidates, **hparams)
    method.epoch = epoch
    method.reliable.copy_(torch.tensor(RELIABLE))
    method.prototypes.copy_(F.normalize(normal(5, 2 * NUM, seed=2), dim=1))
    method.queue.copy_(F.normalize(normal(4, 2 * NUM, seed=3).abs(), dim=1))
    method.queue_labels.copy_(torch.tensor([0, 3, -1, 2]))
    method.queue_reliable.copy_(torch.tensor([True, False, False, True]))
    return method, batch


def no_contrast(*_: object) -> Tensor:
    return torch.tensor(0.0)


def test_label_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """Example 1."""
    monkeypatch.setattr(PiCOPlus, "contrast", no_contrast)
    logits = log([0.2, 0.3, 0.5])
    method, batch = bare(
        logits, logits, sets({1, 2}, num_classes=3), proto_start=0, mixup_weight=0.0
    )
    method.reliable.fill_(False)
    # The embedding is [1, 0].
    method.prototypes.copy_(torch.tensor([[0.9, 0.19**0.5], [0.5, 0.75**0.5], [0.1, 0.99**0.5]]))
    step = method.loss(batch)
    guess = torch.tensor([0.996702, 0.003288, 0.000011])
    expected = 0.1 * -float(guess @ torch.tensor([0.2, 0.3, 0.5]).log())
    assert step.loss.item() == pytest.approx(expected, abs=1e-6)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == [0]  # no candidate
    # As released: the scores without temperature, to the power of 1 / 0.07.
    scores = torch.tensor([0.471776, 0.316241, 0.211983])
    torch.testing.assert_close(torch.tensor([0.9, 0.5, 0.1]).softmax(0), scores, atol=1e-6, rtol=0)
    powers = scores ** (1 / 0.07)
    torch.testing.assert_close(powers / powers.sum(), guess, atol=1e-6, rtol=1e-4)


def test_the_nearest_instances_are_reliable() -> None:
    """Example 2."""
    method = make(PiCOPlus, random_problem(random_candidates(5), epochs=800))
    method.distance.copy_(torch.tensor([-0.2, -0.9, 0.1, -0.9, -0.3]))
    start_epoch(method, 4)
    assert method.reliable.all()  # the warm-up selects nothing
    start_epoch(method, 5)
    assert method.reliable.tolist() == [False, True, False, True, True]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0.0, [True] * 5),
        (0.2, [True, True, False, True, True]),
        (0.6, [False, True, False, True, False]),
    ],
)
def test_an_oracle_says_how_many_are_reliable(rate: float, expected: list[bool]) -> None:
    """All but the share of sets that lack the true label, whatever `pure_ratio` is."""
    problem = random_problem(random_candidates(5), epochs=800)
    method = make(PiCOPlus, problem, oracle_noise_rate=rate)
    method.distance.copy_(torch.tensor([-0.2, -0.9, 0.1, -0.9, -0.3]))
    start_epoch(method, 5)
    assert method.reliable.tolist() == expected


def positives(monkeypatch: pytest.MonkeyPatch, method: PiCOPlus, batch: Batch) -> Array:
    """Whom each anchor attracts in the first contrastive loss, [B, P]; itself does not count."""
    asked: list[Tensor] = []

    def losses(query: Tensor, pool: Tensor, weights: Tensor, temperature: float) -> Tensor:
        assert temperature == 0.07
        asked.append(weights)
        return query.sum(1)

    monkeypatch.setattr("pllbench_methods.pico_plus.contrast_losses", losses)
    method.loss(batch)
    (weights,) = asked  # the other loss goes through supervised_contrast
    return np.asarray(weights.bool().fill_diagonal_(False).numpy())


def test_if_all_are_reliable_their_pseudo_label_alone_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Example 3."""
    method, batch = prepared(10)
    method.reliable.fill_(True)
    method.queue_reliable.fill_(True)
    pseudo = best(batch, True)
    labels = torch.cat([pseudo, pseudo, method.queue_labels])
    expected = (labels[:NUM, None] == labels).fill_diagonal_(False)
    assert positives(monkeypatch, method, batch).tolist() == expected.tolist()


def best(batch: Batch, reliable: bool | Tensor) -> Tensor:
    """Best candidates of the reliable rows of `prepared`, best classes of the others."""
    logits = normal(NUM, 5)
    inside = logits.masked_fill(~batch.candidates, -torch.inf).argmax(1)
    return torch.where(torch.as_tensor(reliable), inside, logits.argmax(1))


def test_an_unreliable_anchor_has_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Example 4."""
    method, batch = prepared(10)
    found = positives(monkeypatch, method, batch)
    pseudo = best(batch, torch.tensor(RELIABLE))
    labels = [*pseudo.tolist(), *pseudo.tolist(), 0, 3, -1, 2]
    trusted = [*RELIABLE, *RELIABLE, True, False, False, True]
    for i, reliable in enumerate(RELIABLE):
        own = {NUM + i}
        if reliable:
            own |= {a for a in range(2 * NUM + 4) if labels[a] == pseudo[i] and trusted[a]} - {i}
        assert set(np.flatnonzero(found[i])) == own
    assert set(np.flatnonzero(found[1])) == {NUM + 1}


def test_later_an_unreliable_anchor_attracts_its_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method, batch = prepared(100, num_neighbours=3)
    near = method.queue[:, 4].argsort(descending=True).tolist()  # of embedding 4, a unit vector
    found = positives(monkeypatch, method, batch)
    # The three nearest are itself and the best of the queue; its own key is kept.
    assert set(np.flatnonzero(found[4])) == {NUM + 4, *(2 * NUM + a for a in near[:2])}
    before = positives(monkeypatch, prepared(10)[0], batch)
    assert np.array_equal(found[RELIABLE], before[RELIABLE])


def naive_contrast(
    pool: Array, positive: Array, anchor_weights: Array, temperature: float = 0.07
) -> float:
    total = 0.0
    for i, row in enumerate(positive):
        similarity = pool @ pool[i] / temperature
        others = [a for a in range(len(pool)) if a != i]
        log_total = np.log(sum(np.exp(similarity[a]) for a in others))
        mean = np.mean([log_total - similarity[a] for a in others if row[a]])
        total += anchor_weights[i] * mean / len(positive)
    return total


@pytest.mark.parametrize("epoch", [10, 200])
def test_twin(monkeypatch: pytest.MonkeyPatch, epoch: int) -> None:
    monkeypatch.setattr("pllbench_methods.shared.mixup.draw_larger_share", lambda *_: 0.8)
    weights = {"cls_weight": 1.5, "unreliable_weight": 0.3, "mixup_weight": 0.7}
    method, batch = prepared(epoch, num_neighbours=3, cont_weight=0.4, **weights)
    with monkeypatch.context() as patch:
        positive = positives(patch, prepared(epoch, num_neighbours=3)[0], batch)
    reliable, mask = np.array(RELIABLE), batch.candidates.numpy()
    queue, prototypes = method.queue.double().numpy().copy(), method.prototypes.double().numpy()
    similarity = prototypes[:, :NUM].T.copy()  # the embedding of row i is unit vector i
    pseudo = best(batch, torch.tensor(RELIABLE)).numpy()
    phi = 0.95 - 0.15 * epoch / 800
    start = mask / mask.sum(1, keepdims=True)
    nearest = np.eye(5)[np.where(mask, similarity, -np.inf).argmax(1)]
    confidence = phi * start + (1 - phi) * nearest
    target = np.where(reliable[:, None], confidence, softmax(torch.tensor(similarity / 0.07)))
    logits = normal(NUM, 5).double().numpy()
    losses = -(target * np.log(softmax(torch.tensor(logits)))).sum(1)
    twin = 1.5 * losses[reliable].mean() + 0.3 * losses[~reliable].mean()
    torch.manual_seed(0)
    partners = torch.randperm(NUM).numpy()
    mixed = softmax(torch.tensor(0.8 * logits + 0.2 * logits[partners]))
    twin -= 0.7 * ((0.8 * target + 0.2 * target[partners]) * np.log(mixed)).sum(1).mean()
    pool = np.concatenate([np.eye(2 * NUM), queue])
    labels = np.array([*pseudo, *pseudo, 0, 3, -1, 2])
    anchor_weights = np.where(reliable, 0.4, 0.3) if epoch >= 100 else np.ones(NUM)
    twin += naive_contrast(pool, positive, anchor_weights)
    twin += 0.3 * naive_contrast(pool, pseudo[:, None] == labels, np.ones(NUM))
    torch.manual_seed(0)
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == target.argmax(1).tolist()
    np.testing.assert_allclose(method.confidence.numpy(), confidence, rtol=1e-5)
    inside = best(batch, True).numpy()
    np.testing.assert_allclose(
        method.distance.numpy(), -similarity[np.arange(NUM), inside], rtol=1e-5
    )
    moved = prototypes.copy()
    for i in np.flatnonzero(reliable):  # in batch order
        moved[pseudo[i]] = 0.99 * moved[pseudo[i]] + 0.01 * np.eye(2 * NUM)[i]
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    np.testing.assert_allclose(method.prototypes.numpy(), moved, rtol=1e-5, atol=1e-6)


def test_the_queue_knows_which_of_its_entries_are_reliable() -> None:
    """Released: reliability is written one batch further than the keys that it belongs to."""
    candidates = random_candidates(4)
    method, batch = bare(normal(4, 5), normal(4, 5, seed=1), candidates)
    method.reliable.copy_(torch.tensor([True, False, False, True]))
    rows = [[2], [0, 1], [3]]
    for part in rows:
        x = tuple(view[part] for view in batch.x)
        method.loss(Batch(x, torch.tensor(part), candidates[part]))
    assert method.queue.argmax(1).tolist() == [4 + i for part in rows for i in part]
    assert method.queue_reliable.tolist() == [False, True, False, True]


def test_the_warm_up_is_that_of_pico_and_measures_distances() -> None:
    query, key = normal(NUM, 5), normal(NUM, 5, seed=1)
    candidates = random_candidates(NUM)
    method, batch = bare(query, key, candidates)
    method.epoch = 4
    queue = method.queue.double().numpy().copy()
    method.prototypes.copy_(F.normalize(normal(5, 2 * NUM, seed=2), dim=1))
    inside = best(batch, True)
    expected = -method.prototypes[inside, torch.arange(NUM)]
    start = candidates.numpy() / candidates.numpy().sum(1, keepdims=True)
    twin = -(start * np.log(softmax(query))).sum(1).mean()
    twin += 0.5 * np.mean([np.log(1 + np.exp(queue[:, i] / 0.07).sum()) for i in range(NUM)])
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
    torch.testing.assert_close(method.distance, expected)
    np.testing.assert_allclose(method.confidence.numpy(), start, rtol=1e-6)


def test_with_all_reliable_and_without_its_own_weights_it_is_pico() -> None:
    candidates = random_candidates()
    weights = {"cls_weight": 1.0, "unreliable_weight": 0.0, "mixup_weight": 0.0}
    plus = {"pure_ratio": 1.0, "knn_start": 0.0, **weights}
    states = []
    for cls, options in ((PiCOPlus, plus), (PiCO, {})):
        torch.manual_seed(0)  # head and queue
        problem = random_problem(candidates, epochs=800)
        method = make(cls, problem, proto_start=5, **options)
        assert isinstance(method, PrototypeContrast)
        with torch.no_grad():  # mixup's pass moves BatchNorm
            for module in method.modules():
                if isinstance(module, nn.BatchNorm1d):
                    module.momentum = 0.0
        trained(method, candidates, [3, 4, 5, 6])
        states.append(
            dict(method.query.named_parameters())
            | {"confidence": method.confidence, "prototypes": method.prototypes}
        )
    torch.testing.assert_close(states[0], states[1], atol=1e-5, rtol=1e-4)


def test_a_batch_without_unreliable_or_without_reliable_rows_is_finite() -> None:
    for reliable in (True, False):
        method, batch = prepared(200)
        method.reliable.fill_(reliable)
        loss = method.loss(batch).loss  # released: the mean of no rows is NaN
        loss.backward()
        assert loss.isfinite()
