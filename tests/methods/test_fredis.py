"""FREDIS: the examples of docs/methods/fredis.md, corrections and their thresholds, the twin."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.training.step import take_step
from pllbench_methods.dpll import DPLL
from pllbench_methods.fredis import FREDIS, choose, lowered
from tests.methods.fakes import (
    assert_equal_states,
    geometric_mean,
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
    trained,
)


def corrected(posterior: Tensor, candidates: Tensor, **hparams: object) -> FREDIS:
    """After one correction by these log probabilities [N, C]."""
    method = make(FREDIS, random_problem(candidates), **hparams)
    method.log_posterior.copy_(posterior)
    method.correct()
    return method


def test_what_is_added_and_what_is_removed() -> None:
    """Example 1: the gaps to the largest probability are [0, 0.2, 0.3]."""
    posterior, candidates = log([0.5, 0.3, 0.2]), sets({0, 2}, num_classes=3)
    options = {"change_rate": 9.0, "times": 1}
    method = corrected(posterior, candidates, theta=0.25, delta=0.25, **options)
    assert method.sets.tolist() == [[True, True, False]]
    method = corrected(posterior, candidates, theta=0.15, delta=0.25, **options)
    assert method.sets.tolist() == [[True, False, False]]
    method = corrected(posterior, candidates, theta=0.15, delta=0.35, **options)
    assert method.sets.tolist() == [[True, False, True]]


def test_thresholds_at_which_nothing_changes() -> None:
    """Example 2."""
    candidates = random_candidates()
    posterior = normal(24, 5).log_softmax(1)
    method = corrected(posterior, candidates, theta=0.0, delta=1.0, theta_step=0.1, delta_step=0.2)
    assert torch.equal(method.sets, candidates)
    assert method.thresholds.tolist() == pytest.approx([0.1, 0.8])  # few changes move them


def test_a_row_that_would_be_empty_keeps_its_set() -> None:
    """Example 3: the released guard compares a method with 0, never fires, and 0 / 0 follows."""
    posterior = log([0.5, 0.3, 0.2], [0.5, 0.3, 0.2])
    candidates = sets({1}, {0, 1}, num_classes=3)
    method = corrected(posterior, candidates, theta=0.0, delta=0.15, change_rate=9.0)
    assert method.sets.tolist() == [[False, True, False], [True, False, False]]
    start_epoch(method, 199)
    assert method.confidence.isfinite().all()


def test_the_confidence_starts_anew_from_the_posterior_on_the_corrected_set() -> None:
    candidates = random_candidates()
    problem = random_problem(candidates, epochs=250)
    method = make(FREDIS, problem, theta=0.3, delta=0.5, change_rate=2.0, delta_step=0.01)
    posterior = 3 * normal(24, 5)
    method.log_posterior.copy_(posterior.log_softmax(1))
    start_epoch(method, 20)
    assert not torch.equal(method.sets, candidates)
    inside = softmax(posterior) * method.sets.numpy()
    expected = inside / inside.sum(1, keepdims=True)
    np.testing.assert_allclose(method.confidence.numpy(), expected, rtol=1e-5, atol=1e-7)


def test_a_posterior_that_underflows_on_the_set_still_gives_a_confidence() -> None:
    problem = random_problem(sets({1, 2}, num_classes=3), epochs=250)
    method = make(FREDIS, problem, theta=0.0)
    method.log_posterior.copy_(torch.tensor([[0.0, -300.0, -301.0]]))
    start_epoch(method, 20)
    expected = torch.tensor([[0, 0.731059, 0.268941]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def lowered_step_by_step(delta: float, step: float, gaps: Tensor, count: int) -> float:
    start, k = delta, 0
    while (gaps > delta).sum() < min(count, len(gaps)):
        k += 1
        delta = start - k * step
    return delta


@pytest.mark.parametrize("seed", range(20))
def test_lowering_by_order_statistics_is_lowering_step_by_step(seed: int) -> None:
    gaps = normal(30, seed=seed).abs().double() / 3
    for count in (0, 1, 7, 29, 30, 31, 500):
        for delta in (1.0, 0.4, 0.01):
            found = lowered(delta, 0.013, gaps, count)
            assert found == lowered_step_by_step(delta, 0.013, gaps, count)


def test_lowering_on_the_grid_itself() -> None:
    gaps = torch.tensor([0.0, 0.25, 0.5, 0.75], dtype=torch.float64)
    assert lowered(1.0, 0.25, gaps, 2) == 0.25  # 0.5 does not exceed 0.5
    assert lowered(1.0, 0.25, gaps, 4) == -0.25  # released: only then does the search end
    assert lowered(0.3, 0.25, gaps, 2) == 0.3
    assert lowered(1.0, 0.25, gaps[:0], 2) == 1.0


def test_choice_of_entries() -> None:
    entries = random_candidates()
    total = int(entries.sum())
    assert torch.equal(choose(entries, total), entries)
    torch.manual_seed(0)
    first, second = choose(entries, 9), choose(entries, 9)
    for chosen in (first, second):
        assert chosen.sum() == 9
        assert (entries | ~chosen).all()
    assert not torch.equal(first, second)
    torch.manual_seed(0)
    assert torch.equal(choose(entries, 9), first)


@pytest.mark.parametrize("seed", range(5))
def test_at_most_so_many_entries_change(seed: int) -> None:
    candidates = random_candidates(100, 6, seed=seed)
    torch.manual_seed(seed)
    posterior = normal(100, 6, seed=seed).log_softmax(1)
    options = {"theta": 0.5, "delta_step": 0.01, "change_rate": 0.1, "times": 3}
    method = corrected(posterior, candidates, **options)
    num_added = int((method.sets & ~candidates).sum())
    num_removed = int((candidates & ~method.sets).sum())
    assert 0 < num_added <= 10
    assert 0 < num_removed <= 30
    assert method.sets.any(1).all()


def test_three_are_removed_for_each_that_is_added() -> None:
    candidates = random_candidates(100, 6)
    posterior = normal(100, 6).log_softmax(1)
    options = {"theta": 1e-6, "delta_step": 1e-4, "change_rate": 9.0, "times": 3}
    method = corrected(posterior, candidates, **options)
    num_added = int((method.sets & ~candidates).sum())
    assert num_added == int((~candidates).gather(1, posterior.argmax(1, keepdim=True)).sum())
    num_removed = int((candidates & ~method.sets).sum())
    kept = int((candidates & ~method.sets).any(1).sum())
    assert kept > 0
    # Rows that would be empty are left as they were, and so remove nothing.
    assert 3 * num_added - 30 <= num_removed <= 3 * num_added + 5


def test_thresholds_move_only_after_few_changes_and_within_their_limits() -> None:
    candidates = random_candidates(100, 6)
    posterior = normal(100, 6).log_softmax(1)
    steps = {"theta_step": 0.01, "delta_step": 0.02}
    many = corrected(posterior, candidates, theta=0.2, delta=0.9, change_rate=0.01, **steps)
    assert many.thresholds[0] == 0.2
    at_end = corrected(posterior, candidates, theta=0.95, delta=1.0, change_rate=9.0, **steps)
    assert at_end.thresholds[0] == 0.95


@pytest.mark.parametrize(
    ("epochs", "expected"), [(250, range(20, 250, 20)), (25, range(2, 25, 2)), (5, range(1, 5))]
)
def test_when_sets_are_corrected(epochs: int, expected: range) -> None:
    method = make(FREDIS, random_problem(random_candidates(), epochs=epochs))
    found = []
    for epoch in range(epochs):
        method.epoch = epoch
        if method.due:
            found.append(epoch)
    assert found == list(expected)
    late = make(FREDIS, random_problem(random_candidates(), epochs=250), warmup=70.0)
    late.epoch = 60
    assert not late.due
    late.epoch = 80
    assert late.due


def test_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(FREDIS, problem, consistency_weight=0.8, supervised_weight=0.3)
    grown = candidates.clone()
    grown[:, 2], grown[2] = True, torch.arange(5) == 4
    method.sets.copy_(grown)
    mask, probs = grown.numpy(), softmax(logits)
    start = softmax(normal(8, 5, seed=1)) * mask
    start /= start.sum(1, keepdims=True)
    method.confidence.copy_(torch.tensor(start))
    twin = 0.0
    for v in range(3):
        twin -= 0.3 * (np.log(1 - probs[v]) * ~mask).sum(1).mean()
        for i in range(8):
            for k in np.flatnonzero(mask[i]):
                twin += 0.8 * start[i, k] * np.log(start[i, k] / probs[v, i, k]) / 8
    step = method.loss(batch)
    assert step.loss.item() == pytest.approx(twin, rel=1e-5)
    assert step.pseudo is not None
    assert step.pseudo.tolist() == start.argmax(1).tolist()
    assert step.logs["set_size"].item() == pytest.approx(mask.sum(1).mean())
    weights = geometric_mean(probs, grown)
    np.testing.assert_allclose(method.confidence.numpy(), weights, rtol=1e-5)
    np.testing.assert_allclose(method.log_posterior.numpy(), np.log(probs[0]), rtol=1e-5)


def test_without_corrections_and_with_one_view_it_is_dpll() -> None:
    """Example 4."""
    candidates = random_candidates()
    fredis = make(FREDIS, random_problem(candidates), num_strong=0, warmup=1000.0)
    dpll = make(DPLL, random_problem(candidates), num_strong=0)
    epochs = range(100, 103)  # where DPLL's ramp is over
    trained(fredis, candidates, epochs)
    trained(dpll, candidates, epochs)
    assert_equal_states(fredis.network, dpll.network, tolerance=1e-6)
    torch.testing.assert_close(fredis.confidence, dpll.confidence)


def test_corrections_last() -> None:
    """Elsewhere the original sets are used in the next step, which undoes a correction."""
    candidates = random_candidates()
    problem = random_problem(candidates, epochs=250)
    method = make(FREDIS, problem, theta=0.3, change_rate=2.0, delta_step=0.01)
    method.log_posterior.copy_((3 * normal(24, 5)).log_softmax(1))
    start_epoch(method, 20)
    after = method.sets.clone()
    assert not torch.equal(after, candidates)
    for batch in random_batches(method, candidates):
        take_step(method, batch, sgd(method))
    assert torch.equal(method.sets, after)
    assert (method.confidence[~after] == 0).all()
    assert (method.confidence[after] > 0).all()
