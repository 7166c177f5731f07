"""The examples of docs/methods/pop.md, POP's state and its twin."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.testing.support import toy_spec, toy_task, train_in_pieces
from pllbench.training.step import take_step
from pllbench.training.trainer import train
from pllbench_methods.pop import POP
from pllbench_methods.proden import PRODEN
from tests.methods.fakes import (
    assert_equal_states,
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

CANDIDATES = random_candidates()


def purified(average: list[float], candidates: Tensor, **hparams: object) -> POP:
    """POP with one instance, after a purification on this average of recent confidences."""
    problem, _ = lookup_problem(candidates, log([0.5, 0.3, 0.2])[None])
    method = make(POP, problem, num_strong=0, **hparams)
    method.recent[:] = torch.tensor([average])
    method.purify()
    return method


def test_a_hopeless_candidate_leaves() -> None:
    """Example 1."""
    method = purified([0.6, 0.0005, 0.3995], sets({0, 1, 2}, num_classes=3))
    assert method.kept.tolist() == [[True, False, True]]
    expected = torch.tensor([[0.600300, 0, 0.399700]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_just_above_the_threshold_it_stays() -> None:
    """Example 1."""
    method = purified([0.6, 0.00061, 0.39939], sets({0, 1, 2}, num_classes=3))
    assert method.kept.all()


def test_the_largest_weight_of_a_row_never_leaves() -> None:
    method = purified([0.3, 0.3, 0.4], sets({0, 1, 2}, num_classes=3), theta=0.999)
    assert method.kept.tolist() == [[False, False, True]]
    assert method.confidence.tolist() == [[0, 0, 1]]


def test_purification_averages_the_window() -> None:
    problem, _ = lookup_problem(sets({0, 1}, num_classes=3), log([0.5, 0.3, 0.2])[None])
    method = make(POP, problem, num_strong=0, window=2)
    method.recent[:] = torch.tensor([[[0.9, 0.1, 0.0]], [[0.5, 0.5, 0.0]]])
    method.purify()
    torch.testing.assert_close(method.confidence, torch.tensor([[0.7, 0.3, 0.0]]))


def test_epochs_of_purification_and_the_threshold_of_500_epochs() -> None:
    """Example 2."""
    method = make(POP, random_problem(CANDIDATES, epochs=500))
    changed = []
    for epoch in range(500):
        before = method.theta.item()
        start_epoch(method, epoch)
        if method.theta.item() != before:
            changed.append(epoch - 1)  # purified when this epoch had ended
    assert changed == list(range(20, 500, 5))
    assert method.theta.item() == pytest.approx(1.1007e-3, abs=1e-7)
    assert method.theta.item() == pytest.approx(1e-3 * 1.001**96, rel=1e-12)


def test_the_threshold_grows_only_after_small_changes_and_below_its_limit() -> None:
    everything = sets({0, 1, 2}, num_classes=3)
    assert purified([0.6, 0.0005, 0.3995], everything).theta == 1e-3  # 1 of 3 entries changed
    assert purified([0.6, 0.1, 0.3], everything).theta == pytest.approx(1e-3 * 1.001)
    assert purified([0.4, 0.3, 0.3], everything, theta=0.4).theta == 0.4


def test_a_short_run_keeps_the_proportion_of_its_warmup() -> None:
    method = make(POP, random_problem(CANDIDATES, epochs=100))
    changed = []
    for epoch in range(22):
        before = method.theta.item()
        start_epoch(method, epoch)
        if method.theta.item() != before:
            changed.append(epoch - 1)
    assert changed == [5, 10, 15, 20]  # 20 of 500 epochs are 4 of 100


def test_a_purified_label_has_no_weight_after_the_next_visit() -> None:
    """Where the refresh takes the original sets, the label is back at once."""
    problem, batch = lookup_problem(sets({0, 1, 2}, num_classes=3), log([0.2, 0.7, 0.1])[None])
    method = make(POP, problem, num_strong=0)
    method.recent[:] = torch.tensor([[0.6, 0.0005, 0.3995]])
    method.purify()
    take_step(method, batch, sgd(method))
    expected = torch.tensor([[0.666667, 0, 0.333333]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)
    assert batch.candidates.all()  # the data's sets are untouched


def test_with_one_view_and_no_purification_pop_is_proden() -> None:
    """Example 3."""
    pop = make(POP, random_problem(CANDIDATES, epochs=20), num_strong=0, warmup=500)
    proden = make(PRODEN, random_problem(CANDIDATES, epochs=20), num_strong=0)
    trained(pop, CANDIDATES, range(20))
    trained(proden, CANDIDATES, range(20))
    assert_equal_states(pop.network, proden.network)
    assert torch.equal(pop.confidence, proden.confidence)


def test_even_without_a_threshold_a_purification_averages_the_confidence() -> None:
    """Example 3."""
    pop = make(POP, random_problem(CANDIDATES, epochs=20), num_strong=0, warmup=0, theta=0)
    trained(pop, CANDIDATES, range(6))
    last = pop.confidence.clone()
    start_epoch(pop, 6)
    assert torch.equal(pop.kept, CANDIDATES)
    torch.testing.assert_close(pop.confidence, pop.recent.mean(0))
    assert not torch.allclose(pop.confidence, last, atol=1e-3)


def test_only_the_weak_view_renews_the_confidence() -> None:
    views = log([0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8])[:, None]
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), views)
    method = make(POP, problem)
    method.loss(batch)
    expected = torch.tensor([[0.714286, 0, 0.285714]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_kept_sets_only_shrink_and_confidence_stays_on_them() -> None:
    method = make(POP, random_problem(CANDIDATES, epochs=60), theta=0.5)
    before = method.kept.clone()
    for epoch in range(30):
        trained(method, CANDIDATES, [epoch])
        assert not (method.kept & ~before).any()
        before = method.kept.clone()
    assert method.kept.sum() < CANDIDATES.sum()
    assert method.kept.any(1).all()
    assert (method.confidence[~method.kept] == 0).all()
    torch.testing.assert_close(method.confidence.sum(1), torch.ones(24), atol=1e-5, rtol=0)


def test_pseudo_label_is_that_of_the_stored_confidence() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log([0.5, 0.3, 0.2])[None])
    method = make(POP, problem, num_strong=0)
    method.confidence.copy_(torch.tensor([[0.2, 0.0, 0.8]]))
    pseudo = method.loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]


def test_a_run_with_purifications_resumes_exactly() -> None:
    """The checks' run of 6 epochs ends before the first purification."""
    task, spec = toy_task(48), toy_spec(POP, epochs=8)
    whole, pieces = train(spec, POP, task), train_in_pieces(POP, spec, task)
    assert isinstance(whole.method, POP)
    assert whole.method.kept.sum() < task.candidates.sum()  # it has purified
    assert_equal_states(whole.method, pieces.method)


def test_twin_of_loss_and_refresh() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(POP, problem)
    target = softmax(normal(8, 5, seed=3)) * candidates.numpy()
    target /= target.sum(1, keepdims=True)
    method.confidence.copy_(torch.tensor(target))
    twin = -(target * np.log(softmax(logits))).sum(-1).mean()
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
    renewed = softmax(logits[0]) * candidates.numpy()
    renewed /= renewed.sum(1, keepdims=True)
    np.testing.assert_allclose(method.confidence.numpy(), renewed, rtol=1e-5)


def test_twin_of_a_purification() -> None:
    method = make(POP, random_problem(CANDIDATES), theta=0.3)
    method.recent.copy_((normal(5, 24, 5) * 2).masked_fill(~CANDIDATES, -torch.inf).softmax(-1))
    average = method.recent.double().numpy().mean(0)
    method.purify()
    for i in range(24):
        kept = [k for k in range(5) if average[i, k] >= 0.3 * average[i].max()]
        assert method.kept[i].nonzero().flatten().tolist() == kept
        total = sum(average[i, k] for k in kept)
        for k in kept:
            assert method.confidence[i, k].item() == pytest.approx(average[i, k] / total, rel=1e-5)


def test_batches_of_rows_leave_other_rows_alone() -> None:
    method = make(POP, random_problem(CANDIDATES))
    before = method.confidence.clone()
    batch = next(random_batches(method, CANDIDATES))
    take_step(method, batch, sgd(method))
    others = torch.ones(24, dtype=torch.bool).index_fill(0, batch.index, False)
    assert torch.equal(method.confidence[others], before[others])
    assert not torch.equal(method.confidence[batch.index], before[batch.index])
