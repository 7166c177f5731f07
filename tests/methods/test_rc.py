"""The worked examples of docs/methods/rc.md, and RC against a slow float64 twin."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from pllbench.training.step import take_step
from pllbench_methods.rc import RC
from tests.methods.fakes import (
    geometric_mean,
    log,
    logit_gradient,
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

P = [0.5, 0.3, 0.2]


def test_loss_with_the_uniform_and_with_the_current_confidence() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(RC, problem, num_strong=0)
    assert method.loss(batch).loss.item() == pytest.approx(1.151293, abs=1e-6)
    method.after_step(batch)
    expected = torch.tensor([[0.714286, 0, 0.285714]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)
    assert method.loss(batch).loss.item() == pytest.approx(0.954945, abs=1e-6)


def test_a_singleton_is_cross_entropy() -> None:
    problem, batch = lookup_problem(sets({1}, num_classes=3), log(P)[None])
    loss = make(RC, problem, num_strong=0).loss(batch).loss.item()
    assert loss == pytest.approx(-math.log(0.3), abs=1e-6)


def test_with_the_current_confidence_the_gradient_is_that_of_cc() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(RC, problem, num_strong=0)
    method.after_step(batch)
    method.loss(batch).loss.backward()
    expected = torch.tensor([-0.214286, 0.3, -0.085714])
    torch.testing.assert_close(logit_gradient(method.network)[0, 0], expected, atol=1e-6, rtol=0)


def test_the_confidence_is_renewed_after_the_step() -> None:
    logits = torch.tensor([[[5.0, 3.0, 2.0]]]).log()
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), logits)
    method = make(RC, problem, num_strong=0)
    take_step(method, batch, sgd(method, lr=1.0))
    gradient = logit_gradient(method.network)[0, 0]
    torch.testing.assert_close(gradient, torch.tensor([0, 0.3, -0.3]), atol=1e-6, rtol=0)
    expected = torch.tensor([[0.649374, 0, 0.350626]])
    torch.testing.assert_close(method.confidence, expected, atol=1e-6, rtol=0)


def test_only_rows_of_the_batch_change_and_stay_distributions() -> None:
    candidates = random_candidates()
    method = make(RC, random_problem(candidates))
    before = method.confidence.clone()
    batch = next(random_batches(method, candidates))
    take_step(method, batch, sgd(method))
    others = torch.ones(len(candidates), dtype=torch.bool).index_fill(0, batch.index, False)
    assert torch.equal(method.confidence[others], before[others])
    assert not torch.equal(method.confidence[batch.index], before[batch.index])
    assert (method.confidence >= 0).all()
    assert (method.confidence[~candidates] == 0).all()
    torch.testing.assert_close(method.confidence.sum(1), torch.ones(24), atol=1e-6, rtol=0)


def test_the_factor_one_is_unbiased() -> None:
    """Under uniform candidate sets the expected loss is the supervised one, by enumeration."""
    losses = -np.log([0.2, 0.3, 0.5])
    risk = 0.0
    for y in range(3):
        proper = [
            {y, *others} for r in (0, 1) for others in itertools.combinations({0, 1, 2} - {y}, r)
        ]
        assert len(proper) == 3
        for candidate_set in proper:
            mask = sets(candidate_set, num_classes=3)
            # The method's own loss: logits whose cross entropies are `losses`, weights from P.
            problem, batch = lookup_problem(mask, torch.tensor(-losses).float()[None, None])
            method = make(RC, problem, num_strong=0)
            method.confidence.copy_(torch.tensor(geometric_mean(np.array([[P]]), mask)))
            risk += P[y] / 3 * method.loss(batch).loss.item()
    assert risk == pytest.approx(1.304540, abs=1e-5)
    assert risk == pytest.approx(float(np.dot(P, losses)), abs=1e-5)


def test_pseudo_label_is_that_of_the_stored_confidence() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), log(P)[None])
    method = make(RC, problem, num_strong=0)
    method.confidence.copy_(torch.tensor([[0.2, 0.0, 0.8]]))
    pseudo = method.loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]


@pytest.mark.parametrize(("refresh_bn", "updates"), [("train", 6), ("eval", 3)])
def test_the_second_pass_moves_batchnorm_statistics_only_in_training_mode(
    refresh_bn: str, updates: int
) -> None:
    candidates = random_candidates()
    method = make(RC, random_problem(candidates), refresh_bn=refresh_bn)
    start_epoch(method, 0)
    take_step(method, next(random_batches(method, candidates)), sgd(method))
    norm = next(m for m in method.modules() if isinstance(m, nn.BatchNorm1d))
    assert norm.num_batches_tracked == updates
    assert all(module.training for module in method.modules())


def test_loss_and_confidence_over_views_equal_their_slow_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = make(RC, problem)
    method.after_step(batch)
    weights = geometric_mean(softmax(logits), candidates)
    np.testing.assert_allclose(method.confidence.numpy(), weights, rtol=1e-5)
    twin = -(weights * np.log(softmax(logits))).sum(-1).mean()
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)
