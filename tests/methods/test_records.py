"""The examples of docs/methods/records.md, RECORDS' state, mixup and twin."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench.testing.support import toy_spec, toy_task, train_in_pieces
from pllbench.training.step import take_step
from pllbench.training.trainer import train
from pllbench_methods.dpll import DPLL
from pllbench_methods.records import RECORDS, corr_loss
from pllbench_methods.shared.confidence import confidence
from pllbench_methods.shared.mixup import draw_partners, draw_share
from tests.methods.fakes import (
    Array,
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
)

CANDIDATES = random_candidates()


def biased(method: RECORDS, *bias: float) -> RECORDS:
    """A method whose classifier says `bias` at mean features of 0."""
    with torch.no_grad():
        method.network.classifier.bias.copy_(log(bias)[0])
    return method


def twin_of_corr(logits: Tensor, target: Array, candidates: Tensor) -> float:
    probs, loss = softmax(logits), 0.0
    for view in probs:
        for p, t, inside in zip(view, target, candidates.numpy(), strict=True):
            loss -= np.log(1 - p[~inside]).sum() / len(view)
            loss += sum(t[k] * np.log(t[k] / p[k]) for k in np.flatnonzero(t)) / len(view)
    return loss


def test_confidence_without_the_bias() -> None:
    """Example 1."""
    logits, candidates = torch.tensor([[[1.0, 0.0]]]), sets({0, 1}, num_classes=2)
    method = biased(make(RECORDS, lookup_problem(candidates, logits)[0]), 0.8, 0.2)
    plain = confidence(logits, candidates)
    torch.testing.assert_close(plain, torch.tensor([[0.731059, 0.268941]]), atol=1e-6, rtol=0)
    debiased = confidence(logits - method.log_bias(), candidates)
    torch.testing.assert_close(debiased, torch.tensor([[0.404610, 0.595390]]), atol=1e-6, rtol=0)


def test_the_first_mean_is_a_tenth_of_the_features() -> None:
    """Example 2."""
    method = make(RECORDS, random_problem(CANDIDATES))
    batch = next(random_batches(method, CANDIDATES))
    with torch.no_grad():
        features = method.network.views(batch.x)[1]
    method.loss(batch)
    torch.testing.assert_close(method.mean_features, features.mean((0, 1)) / 10)
    method.loss(batch)
    torch.testing.assert_close(method.mean_features, features.mean((0, 1)) * 0.19)


def test_predictions_are_without_the_bias_too() -> None:
    """Example 3."""
    problem, batch = lookup_problem(sets({0, 1}, num_classes=3), torch.tensor([[[2.0, 1.0, 0.0]]]))
    method = make(RECORDS, problem)
    # The features of the only row are [1]; the bias is the classifier's answer to [0] here.
    method = biased(method, 0.7, 0.2, 0.1)
    with torch.no_grad():
        method.network.classifier.weight -= method.network.classifier.bias[:, None]
    scores = method.predict(batch.x[0])
    expected = torch.tensor([[2.356675, 2.609438, 2.302585]])
    torch.testing.assert_close(scores, expected, atol=1e-6, rtol=0)
    assert scores.argmax().item() == 1


def test_no_refresh_in_the_first_epoch() -> None:
    method = make(RECORDS, random_problem(CANDIDATES, epochs=800))
    batch, start = next(random_batches(method, CANDIDATES)), method.confidence.clone()
    for method.epoch, moves in ((0, False), (1, True)):
        method.loss(batch)
        assert torch.equal(method.confidence, start) is not moves


def test_a_candidate_whose_weight_is_gone_is_no_negative() -> None:
    """The released code takes every label of weight 0 for one outside of the set."""
    problem, batch = lookup_problem(
        sets({0, 1}, num_classes=3), log([0.5, 0.3, 0.2]).expand(2, 1, 3)
    )
    method = make(RECORDS, problem)
    method.confidence.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
    loss = method.loss(batch).loss.item()
    assert loss == pytest.approx(2 * (-np.log(0.8) - np.log(0.5)), abs=1e-5)


@pytest.mark.parametrize("mixup_weight", [0.0, 0.7])
def test_twin_of_loss_confidence_and_mean(mixup_weight: float) -> None:
    num = 6
    candidates, logits = random_candidates(num), normal(2, num, 5)
    problem, batch = lookup_problem(candidates, logits)
    method = biased(make(RECORDS, problem, mixup_weight=mixup_weight), 0.3, 0.3, 0.2, 0.1, 0.1)
    method.epoch = 50
    stored = normal(num, 5, seed=3).masked_fill(~candidates, -torch.inf).softmax(1)
    method.confidence.copy_(stored)
    torch.manual_seed(4)
    loss = method.loss(batch).loss.item()

    logits = logits + method.network.classifier.bias.detach()
    target = stored.double().numpy()
    twin = twin_of_corr(logits, target, candidates)
    if mixup_weight:
        torch.manual_seed(4)
        share, partners = draw_share(4.0, batch.index.device), draw_partners(batch.index).tolist()
        share = max(share, 1 - share)
        both = share * logits + (1 - share) * logits[:, partners]
        blend = share * target + (1 - share) * target[partners]
        twin += mixup_weight * twin_of_corr(both, blend, candidates | candidates[partners])
    assert loss == pytest.approx(twin, rel=1e-5)

    # Features are one-hot codes: their mean is the same in all columns.
    mean = np.full(2 * num, 0.1 / (2 * num))
    np.testing.assert_allclose(method.mean_features.numpy(), mean, rtol=1e-5)
    weight = method.network.classifier.weight.detach().double().numpy()
    answer = np.exp(weight @ mean + method.network.classifier.bias.detach().double().numpy())
    debiased = softmax(logits) / (answer / answer.sum())
    renewed = geometric_mean(debiased, candidates)
    np.testing.assert_allclose(method.confidence.numpy(), renewed, rtol=1e-5)


def test_corr_is_dpll_with_two_supervised_views() -> None:
    """Example 4."""
    logits, candidates = normal(2, 8, 5), random_candidates(8)
    problem, batch = lookup_problem(candidates, logits)
    dpll = make(DPLL, problem, num_strong=1)
    dpll.epoch = 199
    dpll.confidence.copy_(normal(8, 5, seed=2).masked_fill(~candidates, -torch.inf).softmax(1))
    target = dpll.confidence.clone()
    turned, swapped = lookup_problem(candidates, logits.flip(0))
    other = make(DPLL, turned, num_strong=1)
    other.confidence.copy_(target)
    supervised = other.loss(swapped).loss.item()  # at epoch 0 that of the strong view alone
    expected = dpll.loss(batch).loss.item() + supervised
    assert corr_loss(logits, target, candidates).item() == pytest.approx(expected, rel=1e-5)


def test_mixup_begins_with_the_refresh() -> None:
    for epoch, differs in ((0, False), (1, True)):
        losses = []
        for mixup_weight in (0.0, 1.0):
            method = make(RECORDS, random_problem(CANDIDATES), mixup_weight=mixup_weight)
            start_epoch(method, epoch)
            losses.append(method.loss(next(random_batches(method, CANDIDATES))).loss.item())
        assert (losses[0] != losses[1]) is differs


def test_bias_carries_no_gradient_and_mixed_views_do_not_enter_the_mean() -> None:
    means = []
    for mixup_weight in (0.0, 1.0):
        method = make(RECORDS, random_problem(CANDIDATES), mixup_weight=mixup_weight)
        start_epoch(method, 50)
        take_step(method, next(random_batches(method, CANDIDATES)), sgd(method))
        assert not method.mean_features.requires_grad
        assert not method.confidence.requires_grad
        means.append(method.mean_features)
    torch.testing.assert_close(means[0], means[1])


def test_a_run_with_mixup_resumes_exactly() -> None:
    task = toy_task(48)
    spec = toy_spec(RECORDS).model_copy(update={"hparams": {"mixup_weight": 1.0}})
    whole, pieces = train(spec, RECORDS, task), train_in_pieces(RECORDS, spec, task)
    assert_equal_states(whole.method, pieces.method)


def test_views_and_pseudo_label() -> None:
    problem, batch = lookup_problem(sets({0, 2}, num_classes=3), normal(2, 1, 3))
    method = make(RECORDS, problem)
    assert method.views == ("weak", "strong")
    method.confidence.copy_(torch.tensor([[0.2, 0.0, 0.8]]))
    pseudo = method.loss(Batch(batch.x, batch.index, batch.candidates)).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [2]
