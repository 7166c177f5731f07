"""PALS: the examples of docs/methods/pals.md, votes, balanced selection, and the loss's twin."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench_methods.pals import PALS, balanced_selection, vote_weights, votes
from tests.methods.fakes import (
    Array,
    Instances,
    log,
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_candidates,
    random_instances,
    random_problem,
    sets,
    softmax,
    start_epoch,
)


def directions(*degrees: float) -> Tensor:
    angles = torch.tensor(degrees).deg2rad()
    return torch.stack([angles.cos(), angles.sin()], 1)


def test_weights_of_votes() -> None:
    """Example 1."""
    cosines = [1.0, 0.9, 0.8, 0.5]
    features = 3 * directions(*[math.degrees(math.acos(c)) for c in cosines])
    weights = vote_weights(features, torch.tensor([[0, 1, 2, 3]] * 4), 0.1)[0]
    expected = torch.tensor([22026.466, 8103.084, 2980.958, 148.413])
    torch.testing.assert_close(weights, expected, rtol=1e-4, atol=0)


FEATURES = directions(0, 20, 40, 100)
SETS = sets({0, 1}, {1, 2}, {1, 2}, {0, 2}, num_classes=3)


def test_votes_and_selection() -> None:
    """Example 2."""
    neighbours = torch.tensor([[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 1]])
    weights = vote_weights(FEATURES, neighbours, 0.1)
    scores = votes(SETS.float(), neighbours, weights)
    shares = torch.tensor(
        [
            [0.304229, 0.5, 0.195771],
            [0.130626, 0.5, 0.369374],
            [0.029319, 0.5, 0.470681],
            [0.496526, 0.003474, 0.5],
        ]
    )
    torch.testing.assert_close(scores / scores.sum(1, keepdim=True), shares, atol=1e-5, rtol=0)
    verdict = scores.argmax(1)
    assert verdict.tolist() == [1, 1, 1, 2]
    posterior = votes(F.one_hot(verdict, 3).float(), neighbours, weights)
    posterior /= posterior.sum(1, keepdim=True)
    expected = torch.tensor([[0, 1, 0]] * 3 + [[0, 0.006947, 0.993053]])
    torch.testing.assert_close(posterior, expected, atol=1e-5, rtol=0)
    # Counts [0, 3, 1], of which the quantile is 0.5: no row is selected.
    assert not balanced_selection(posterior, SETS, 0.25).any()
    # Their median is 1; among equals the first row is selected.
    assert balanced_selection(posterior, SETS, 0.5).nonzero().tolist() == [[0, 0], [0, 1], [3, 2]]


def test_the_same_from_a_pass_over_the_training_set() -> None:
    problem, _ = lookup_problem(SETS, torch.zeros(1, 4, 3))
    method = make(PALS, problem, num_neighbours=2, balance=1.0)
    # The encoder is the identity, so the rows are the features.
    x = torch.cat([FEATURES, torch.zeros(4, 2)], 1)
    start_epoch(method, 0, Instances(x, SETS))
    assert method.pseudo.tolist() == [1, 1, 1, 2]
    assert method.selected.tolist() == [True] * 4
    bounded = make(PALS, lookup_problem(SETS, torch.zeros(1, 4, 3))[0], num_neighbours=2)
    start_epoch(bounded, 0, Instances(x, SETS))
    assert not bounded.selected.any()
    assert bounded.pseudo.tolist() == [1, 1, 1, 2]


def test_label_smoothing() -> None:
    """Example 3."""
    problem, batch = lookup_problem(
        sets({0, 2}, num_classes=3), log([0.5, 0.3, 0.2]).expand(2, 1, 3)
    )
    method = make(PALS, problem)
    method.selected.fill_(True)
    assert method.loss(batch).loss.item() == pytest.approx(0.931000, abs=1e-6)
    for num_classes, own, other in ((10, 0.55, 0.05), (100, 0.505, 0.005)):
        logits = torch.zeros(2, 1, num_classes)
        candidates = torch.ones(1, num_classes, dtype=torch.bool)
        problem, batch = lookup_problem(candidates, logits)
        method = make(PALS, problem)
        method.selected.fill_(True)
        method.loss(batch).loss.backward()
        target = 1 / num_classes - 2 * logit_gradient(method.network, 2)[0, 0]  # a half each view
        torch.testing.assert_close(target[0].item(), own)
        torch.testing.assert_close(target[1:], torch.full((num_classes - 1,), other))


@pytest.mark.parametrize(("epoch", "expected"), [(1, 0.449800), (249, 0.400100), (499, 0.35)])
def test_threshold(epoch: int, expected: float) -> None:
    """Example 4."""
    method = make(PALS, random_problem(random_candidates(), epochs=500))
    method.epoch = epoch
    assert method.threshold == pytest.approx(expected, abs=1e-6)


def bound_of(counts: list[int], balance: float) -> list[int]:
    """How many rows of each class are selected, where 20 rows of each are candidates."""
    num_classes = len(counts)
    label = torch.arange(num_classes).repeat_interleave(20)
    candidates = F.one_hot(label, num_classes).bool()
    # The best class of a row is its candidate in so many rows, and the next class in the others.
    order = torch.arange(20).repeat(num_classes)
    own = order < torch.tensor(counts)[label]
    posterior = 0.6 * F.one_hot(torch.where(own, label, (label + 1) % num_classes), num_classes)
    posterior = posterior + 0.3 * F.one_hot(label, num_classes)
    return balanced_selection(posterior.float(), candidates, balance).sum(0).tolist()


@pytest.mark.parametrize(
    ("balance", "bound"), [(0.25, 4), (0.5, 5), (0.0, 3), (1.0, 10), (0.75, 8)]
)
def test_the_bound_is_a_quantile_of_the_counts(balance: float, bound: int) -> None:
    """Example 5: 4.5, the lower of 5 and 8, and 8.5, rounded down."""
    assert bound_of([8, 3, 10, 5], balance) == [bound] * 4


def naive_selection(posterior: Array, candidates: Array, bound: int) -> Array:
    chosen = np.zeros_like(candidates)
    for c in range(candidates.shape[1]):
        rows = sorted(np.flatnonzero(candidates[:, c]), key=lambda i: (-posterior[i, c], i))
        chosen[rows[:bound], c] = True
    return chosen


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [1, 6])
def test_selection_twin_and_ties(seed: int, digits: int) -> None:
    candidates = random_candidates(40, 5, seed=seed)
    posterior = normal(40, 5, seed=seed).softmax(1).round(decimals=digits)  # one digit: many ties
    best = posterior.argmax(1).numpy()
    inside = candidates.numpy()[np.arange(40), best]
    counts = np.bincount(best[inside], minlength=5)
    bound = int(np.quantile(counts, 0.25))
    found = balanced_selection(posterior, candidates, 0.25)
    expected = naive_selection(posterior.double().numpy(), candidates.numpy(), bound)
    assert found.tolist() == expected.tolist()


def test_a_row_selected_for_two_classes_has_the_more_probable_label() -> None:
    candidates = random_candidates()
    method = make(PALS, random_problem(candidates), balance=1.0)
    start_epoch(method, 0, random_instances(candidates))
    assert method.selected.any()
    inside = candidates.gather(1, method.pseudo[:, None])[:, 0]
    assert inside[method.selected].all()  # the first epoch adds nothing to the sets


def test_a_confident_prediction_counts_as_a_candidate_after_the_first_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    candidates = sets({1}, {0}, {1}, {0}, num_classes=3)
    # The first row is sure of class 0, for which its neighbour votes; the third is not.
    logits = log([0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.34, 0.33, 0.33], [0.8, 0.1, 0.1])
    outputs = logits, directions(0, 60, 180, 240), candidates
    monkeypatch.setattr("pllbench_methods.pals.plain_outputs", lambda *_: outputs)
    method = make(PALS, random_problem(candidates, epochs=11), num_neighbours=1, balance=1.0)
    start_epoch(method, 0)
    assert method.pseudo.tolist() == [1, 0, 1, 0]
    start_epoch(method, 1)
    assert method.pseudo.tolist() == [0, 0, 1, 0]  # the first is no candidate of its row
    assert method.selected.all()
    start_epoch(method, 0)
    assert method.pseudo.tolist() == [1, 0, 1, 0]  # from the given sets, every epoch anew


def test_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pllbench_methods.pals.draw_larger_share", lambda *_: 0.7)
    candidates, views = random_candidates(6), normal(2, 6, 5)
    problem, batch = lookup_problem(candidates, views)
    method = make(PALS, problem, label_smoothing=0.3)
    selected = np.array([True, False, True, True, False, False])
    pseudo = np.array([2, 0, 4, 1, 1, 3])
    method.selected.copy_(torch.tensor(selected))
    method.pseudo.copy_(torch.tensor(pseudo))
    torch.manual_seed(0)
    twin = 0.0
    for view in views.double().numpy():
        partners = torch.randperm(6).numpy()
        log_probs = np.log(softmax(torch.tensor(0.7 * view + 0.3 * view[partners])))
        smooth = 0.7 * np.eye(5)[pseudo] + 0.3 / 5
        for i, j in enumerate(partners):
            if selected[i]:
                twin -= 0.7 * (smooth[i] * log_probs[i]).sum() / (2 * 3)
            if selected[j]:
                twin -= 0.3 * (smooth[j] * log_probs[i]).sum() / (2 * 3)
    torch.manual_seed(0)
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == pseudo.tolist()


def test_a_batch_without_selected_rows_has_no_loss() -> None:
    problem, batch = lookup_problem(random_candidates(6), normal(2, 6, 5))
    method = make(PALS, problem)
    loss = method.loss(batch).loss
    loss.backward()
    assert loss == 0
    assert logit_gradient(method.network, 2).abs().sum() == 0
