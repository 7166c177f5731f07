"""CroSel: the examples of docs/methods/crosel.md, its memory, both networks, and its twin."""

import numpy as np
import pytest
import torch

from pllbench.method import Batch
from pllbench.training.step import take_step
from pllbench_methods.crosel import CroSel
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.mixup import mix
from tests.methods.fakes import (
    Array,
    log,
    logit_gradient,
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
)

LATE = 100


def remembered(method: CroSel, *probs: list[float]) -> list[bool]:
    """What the first network selects after these predictions, each for one instance."""
    batch = Batch((torch.zeros(1, 1),), torch.tensor([0]), sets({0, 2}, num_classes=3))
    found = []
    for row in probs:
        method.remember(0, torch.tensor([row]), batch)
        found.append(bool(method.selected[0, 0]))
    return found


def one_instance() -> CroSel:
    return make(CroSel, random_problem(sets({0, 2}, num_classes=3)))


def certain(peak: float, label: int = 0) -> list[float]:
    row = [(1 - peak) / 2] * 3
    row[label] = peak
    return row


def test_selection() -> None:
    """Example 1."""
    steady = [certain(0.92), certain(0.93), certain(0.95)]
    assert remembered(one_instance(), *steady) == [False, False, True]
    # One argmax differs; it takes three epochs until they agree again.
    turned = [*steady, certain(0.97, 2), *[certain(0.97)] * 3]
    assert remembered(one_instance(), *turned) == [False, False, True, False, False, False, True]
    assert remembered(one_instance(), *[certain(0.88)] * 3) == [False] * 3
    assert remembered(one_instance(), *[certain(0.97, 1)] * 3) == [False] * 3  # no candidate
    assert remembered(one_instance(), certain(0.95), certain(0.97)) == [False, False]


@pytest.mark.parametrize("seed", range(5))
def test_the_memory_selects_as_a_bank_of_all_probabilities_does(seed: int) -> None:
    """The released bank holds [3, N, C] probabilities, 0 at first."""
    candidates = random_candidates(40, 4, seed=seed)
    method = make(CroSel, random_problem(candidates), threshold=0.7)
    bank = np.zeros((3, 40, 4))
    count = 0
    for epoch in range(8):
        # Half of the rows keep their label, at varying confidence.
        logits = 2 * normal(40, 4, seed=100 * seed) + normal(40, 4, seed=100 * seed + epoch + 1)
        probs = logits.softmax(1)
        bank = np.concatenate([bank[1:], probs.double().numpy()[None]])
        for part in torch.randperm(40).split(16):
            method.remember(1, probs[part], Batch((probs,), part, candidates[part]))
        labels = bank.argmax(2)
        expected = (labels == labels[-1]).all(0) & (bank.max(2).mean(0) > 0.7)
        expected &= candidates.numpy()[np.arange(40), labels[-1]]
        assert method.selected[1].tolist() == expected.tolist()
        count += int(expected.sum())
    assert count > 20
    assert not method.selected[0].any()


def test_targets_are_the_candidates_of_the_other_view() -> None:
    """Example 2."""
    views = torch.stack([log([0.5, 0.3, 0.2]), log([0.2, 0.4, 0.4])])
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views, views)
    method = make(CroSel, problem)
    _, target = method.network_loss(method.network, batch, 1, torch.tensor(1.0))
    torch.testing.assert_close(target, torch.tensor([[1 / 3, 0, 2 / 3]]))
    swapped = Batch(batch.x[::-1], batch.index, batch.candidates)
    _, target = method.network_loss(method.network, swapped, 1, torch.tensor(1.0))
    expected = torch.tensor([[0.714286, 0, 0.285714]])
    torch.testing.assert_close(target, expected, atol=1e-6, rtol=0)


def test_the_less_is_selected_the_more_co_mix_counts() -> None:
    """Example 3."""
    candidates = random_candidates(20)
    views = normal(2, 20, 5)
    problem, batch = lookup_problem(candidates, views, views.flip(2))
    method = make(CroSel, problem, cr_weight=4.0)
    method.epoch = LATE
    method.selected[0, :15] = True
    method.selected[1, :13] = True
    method.predicted.copy_(candidates.int().argmax(1).expand(2, -1))
    expected = torch.tensor(0.0)
    torch.manual_seed(0)
    for network, peer in ((method.network, 1), (method.peer, 0)):
        expected = expected + method.network_loss(network, batch, peer, torch.tensor(1.2))[0]
    torch.manual_seed(0)
    torch.testing.assert_close(method.loss(batch).loss, expected)


def test_co_mix() -> None:
    """Example 4."""
    targets = torch.tensor([[1 / 3, 0, 2 / 3], [0.714286, 0, 0.285714]])
    mixed = mix(targets, torch.tensor([1, 0]), 0.75)[:1]
    torch.testing.assert_close(mixed, torch.tensor([[0.428571, 0, 0.571429]]))
    loss = soft_cross_entropy(log([0.6, 0.1, 0.3]), mixed)
    assert loss.item() == pytest.approx(0.906910, abs=1e-6)


def test_all_selected_is_cross_entropy_and_none_is_co_mix() -> None:
    """Example 5."""
    candidates = random_candidates(6)
    views, others = normal(2, 6, 5), normal(2, 6, 5, seed=1)
    problem, batch = lookup_problem(candidates, views, others)
    method = make(CroSel, problem)
    method.epoch = LATE
    labels = candidates.int().argmax(1)
    method.predicted.copy_(labels.expand(2, -1))
    method.selected.fill_(True)
    twin = -sum(np.log(softmax(z[0])[np.arange(6), labels]).mean() for z in (views, others))
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == labels.tolist()
    method.selected.fill_(False)
    loss = method.loss(batch).loss
    loss.backward()
    assert loss.isfinite()  # released: no labelled batch ends the run
    assert logit_gradient(method.network, 2).abs().sum() > 0


def co_mix(views: Array, candidates: Array, share: float, partners: Array) -> float:
    """Naive co-mix of views [2, B, C] of logits: inputs of a lookup network mix as logits do."""
    count = len(candidates)
    probs = softmax(torch.tensor(views)) * candidates
    probs /= probs.sum(2, keepdims=True)
    logits, targets = np.concatenate(list(views)), np.concatenate([probs[1], probs[0]])
    mixed = softmax(torch.tensor(share * logits + (1 - share) * logits[partners]))
    wanted = share * targets + (1 - share) * targets[partners]
    return float(-(wanted * np.log(mixed)).sum() / (2 * count))


def test_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pllbench_methods.shared.mixup.draw_larger_share", lambda *_: 0.8)
    candidates = random_candidates(6)
    views, others = normal(2, 6, 5), normal(2, 6, 5, seed=1)
    problem, batch = lookup_problem(candidates, views, others)
    method = make(CroSel, problem, cr_weight=2.0)
    method.epoch = LATE
    chosen = np.array([[1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 1]], bool)
    labels = np.array([[2, -1, 0, 1, -1, 3], [1, 1, 4, 0, -1, 2]])
    method.selected.copy_(torch.tensor(chosen))
    method.predicted.copy_(torch.tensor(labels))
    torch.manual_seed(0)
    partners = [torch.randperm(12).numpy() for _ in range(2)]
    twin = 0.0
    for own, peer, z in ((0, 1, views), (1, 0, others)):
        rows = np.flatnonzero(chosen[peer])
        twin -= np.log(softmax(z[0])[rows, labels[peer][rows]]).mean()
        weight = 2 * (1 - chosen.mean())
        twin += weight * co_mix(z.double().numpy(), candidates.numpy(), 0.8, partners[own])
    torch.manual_seed(0)
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    inside = softmax(views[1]) * candidates.numpy()
    expected = np.where(chosen[1], labels[1], inside.argmax(1))
    assert step.pseudo is not None
    assert step.pseudo.tolist() == expected.tolist()


def test_the_warm_up_is_cc_on_the_weak_view_of_both_networks() -> None:
    candidates = random_candidates(6)
    views, others = normal(2, 6, 5), normal(2, 6, 5, seed=1)
    problem, batch = lookup_problem(candidates, views, others)
    method = make(CroSel, problem)
    method.epoch = 9
    twin = -sum(np.log((softmax(z[0]) * candidates.numpy()).sum(1)).mean() for z in (views, others))
    loss = method.loss(batch).loss
    assert loss.item() == pytest.approx(twin, rel=1e-5)
    loss.backward()
    for network in (method.network, method.peer):
        gradient = logit_gradient(network, 2)
        assert gradient[0].abs().sum() > 0
        assert gradient[1].abs().sum() == 0


def test_the_networks_are_two() -> None:
    """The released script makes the second network by moving the first one to its device."""
    candidates = random_candidates()
    method = make(CroSel, random_problem(candidates))
    mine, others = (list(net.parameters()) for net in (method.network, method.peer))
    assert not {map(id, mine)} & {map(id, others)}
    assert not torch.equal(mine[0], others[0])
    for epoch in (0, LATE):
        start_epoch(method, epoch, random_instances(candidates))
        before = [p.detach().clone() for p in (mine[0], others[0])]
        take_step(method, next(random_batches(method, candidates)), sgd(method))
        assert not torch.equal(mine[0], before[0])
        assert not torch.equal(others[0], before[1])


def test_a_network_learns_the_labels_that_its_peer_selects() -> None:
    candidates = sets({0, 1}, num_classes=3)
    views = log([0.4, 0.4, 0.2])[None].expand(2, 1, 3)
    problem, batch = lookup_problem(candidates, views, views)
    method = make(CroSel, problem, cr_weight=0.0)
    method.epoch = LATE
    method.selected[0] = True
    method.predicted[0] = 1
    method.loss(batch).loss.backward()
    assert logit_gradient(method.network, 2).abs().sum() == 0
    expected = torch.tensor([0.4, -0.6, 0.2])
    torch.testing.assert_close(logit_gradient(method.peer, 2)[0, 0], expected)


def test_every_epoch_but_the_first_remembers_all_rows_in_eval_mode() -> None:
    candidates = random_candidates()
    method = make(CroSel, random_problem(candidates))
    start_epoch(method, 0)  # does not walk the training set
    assert (method.predicted == -1).all()
    train = random_instances(candidates)
    start_epoch(method, 1, train)
    assert method.training
    with torch.no_grad():
        method.eval()
        for number, network in enumerate((method.network, method.peer)):
            peaks, labels = network(train.x)[0].softmax(1).max(1)
            assert torch.equal(method.predicted[number], labels)
            torch.testing.assert_close(method.peaks[number, -1], peaks)
    assert (method.peaks[:, :-1] == 0).all()
    assert (method.runs == 1).all()


def test_predicts_with_the_mean_of_both_logits() -> None:
    a, b = torch.tensor([[[3.0, 1, 2]] * 1] * 2), torch.tensor([[[1.0, 5, 0]]] * 2)
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), a, b)
    method = make(CroSel, problem)
    assert method.predict(batch.x[0]).tolist() == [[2, 3, 1]]
    extra = method.predictions(batch.x[0])
    assert extra["network"].tolist() == [[3, 1, 2]]
    assert extra["peer"].tolist() == [[1, 5, 0]]
