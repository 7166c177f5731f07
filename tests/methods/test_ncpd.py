"""The worked examples of docs/methods/ncpd.md, NCPD's switches, and a slow float64 twin."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench_methods.ncpd import NCPD, NCPDHparams
from pllbench_methods.shared.confidence import confidence, uniform_confidence
from pllbench_methods.shared.losses import smallest_pairs
from tests.methods.fakes import (
    geometric_mean,
    log,
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_candidates,
    sets,
    softmax,
)

ALPHA = log([0.7, 0.2, 0.1], [0.3, 0.45, 0.25])[None]  # x1 and x2 of the gate's example
CANDIDATES = sets({0, 1}, {0, 2}, num_classes=3)


def ramp_epochs(share: float) -> float:
    """t_r for which the time function is the given share at epoch 1."""
    return 1 / (1 - math.sqrt(-math.log(share) / 5))


def simple_groups(
    share: float, candidates: Tensor, logits: Tensor, **hparams: object
) -> list[bool]:
    """Which instances a network with these logits [V, B, C] would disambiguate."""
    problem, _ = lookup_problem(candidates, logits, logits)
    # Slightly above the share: the budget is a floor.
    method = make(NCPD, problem, ramp_epochs=ramp_epochs(share) * (1 - 1e-6), **hparams)
    reliable = method.reliable_pairs(logits.log_softmax(-1), candidates)
    assert (reliable.sum(-1) <= 1).all()
    assert not (reliable & ~candidates).any()
    return reliable.any(-1).tolist()


def loss_of(
    alpha: Tensor, beta: Tensor, candidates: Tensor, **hparams: object
) -> tuple[NCPD, Batch, float]:
    """NCPD, its batch and its loss at the end of the run, where the time function is 1."""
    problem, batch = lookup_problem(candidates, alpha, beta)
    method = make(NCPD, problem, num_strong=len(alpha) - 1, **hparams)
    method.epoch = 199
    loss = method.loss(batch).loss
    loss.backward()
    return method, batch, loss.item()


@pytest.mark.parametrize(
    ("epoch", "share"), [(0, 0.006738), (1, 0.007443), (50, 0.286505), (100, 1.0), (150, 1.0)]
)
def test_time_function(epoch: float, share: float) -> None:
    assert NCPDHparams(ramp_epochs=100).share(epoch) == pytest.approx(share, abs=1e-6)


def test_epochs_count_from_one() -> None:
    problem, _ = lookup_problem(CANDIDATES, ALPHA, ALPHA)
    method = make(NCPD, problem, ramp_epochs=1)
    assert method.epoch == 0
    reliable = method.reliable_pairs(ALPHA.log_softmax(-1), CANDIDATES)
    assert reliable.tolist() == [[True, False, False], [False, False, False]]


def test_weights_of_a_disambiguated_group() -> None:
    weights = confidence(ALPHA, CANDIDATES)[0]
    expected = torch.tensor([0.777778, 0.222222, 0])
    torch.testing.assert_close(weights, expected, atol=1e-6, rtol=0)
    losses = torch.tensor([0.356675, 1.609438])
    torch.testing.assert_close((-losses).softmax(0), expected[:2], atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.25, [True, False]), (0.2, [False, False]), (0.9999, [True, False])]
)
def test_simple_groups_have_a_small_pair_that_is_the_prediction(
    share: float, expected: list[bool]
) -> None:
    assert simple_groups(share, CANDIDATES, ALPHA) == expected


@pytest.mark.parametrize(
    ("budget", "share", "expected"),
    [
        ("pairs", 0.25, [True, False]),
        ("pairs", 0.5, [True, True]),
        ("groups", 0.25, [False, False]),
        ("groups", 0.5, [True, False]),
    ],
)
def test_the_budget_is_a_share_of_pairs_or_of_groups(
    budget: str, share: float, expected: list[bool]
) -> None:
    logits = log([0.7, 0.2, 0.1], [0.6, 0.1, 0.3])[None]
    assert simple_groups(share, CANDIDATES, logits, budget=budget) == expected


@pytest.mark.parametrize(("exchange", "expected"), [(True, 0.983056), (False, 0.635067)])
def test_networks_exchange_their_weights(exchange: bool, expected: float) -> None:
    alpha, beta = log([0.7, 0.2, 0.1])[None], log([0.2, 0.3, 0.5])[None]
    candidates = sets({0, 1}, num_classes=3)
    _, _, total = loss_of(alpha, beta, candidates, exchange=exchange)
    received = [0.5, 0.5] if not exchange else [0.777778, 0.222222]  # beta is complicated
    beta_loss = -received[0] * math.log(0.2) - received[1] * math.log(0.3)
    assert total - beta_loss == pytest.approx(expected, abs=1e-5)


def test_equal_networks_with_one_view_have_the_gradient_of_cc() -> None:
    logits = log([0.5, 0.3, 0.2])[None]
    method, _, _ = loss_of(logits, logits, sets({0, 2}, num_classes=3))
    expected = torch.tensor([-0.214286, 0.3, -0.085714])
    for network in (method.network, method.peer):
        torch.testing.assert_close(logit_gradient(network)[0, 0], expected, atol=1e-6, rtol=0)


def test_number_of_pairs_of_a_batch_and_sum_of_the_weights_of_a_group() -> None:
    candidates = sets({0, 1}, {0, 1, 2}, {2}, num_classes=3)
    losses = torch.rand(3, 3)
    assert smallest_pairs(losses, candidates, candidates.sum()).sum() == 6
    assert smallest_pairs(losses, candidates, 5.0).sum() == 5
    for weights in (confidence(losses[None], candidates), uniform_confidence(candidates)):
        torch.testing.assert_close(weights.sum(-1), torch.ones(3))


@pytest.mark.parametrize("progressive", [True, False])
def test_without_progression_every_group_is_disambiguated_from_the_start(
    progressive: bool,
) -> None:
    problem, batch = lookup_problem(CANDIDATES, ALPHA, ALPHA)
    loss = make(NCPD, problem, num_strong=0, progressive=progressive).loss(batch).loss.item()
    probs = softmax(ALPHA)
    weights = geometric_mean(probs, CANDIDATES)
    if progressive:
        weights = uniform_confidence(CANDIDATES).numpy()
    assert loss == pytest.approx(-2 * (weights * np.log(probs[0])).sum(-1).mean(), rel=1e-5)


def test_pseudo_label_is_alphas_best_candidate_even_where_its_target_is_uniform() -> None:
    problem, batch = lookup_problem(CANDIDATES, log([0.1, 0.2, 0.7], [0.1, 0.6, 0.3])[None], ALPHA)
    pseudo = make(NCPD, problem, num_strong=0).loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [1, 2]


def gated_twin(logits: Tensor, candidates: Tensor, share: float) -> np.ndarray:
    """Weights of one network by the words of Algorithm 1, from logits [V, B, C]."""
    mean_log = np.log(softmax(logits)).mean(0)
    pairs = [(-mean_log[i, k], int(i), int(k)) for i, k in candidates.nonzero()]
    small = {(i, k) for _, i, k in sorted(pairs)[: int(share * len(pairs))]}
    weights = np.zeros(candidates.shape)
    for i, row in enumerate(candidates.tolist()):
        group = [k for k, candidate in enumerate(row) if candidate]
        simple = (i, int(mean_log[i].argmax())) in small
        powers = {k: np.exp(mean_log[i, k]) if simple else 1.0 for k in group}
        for k in group:
            weights[i, k] = powers[k] / sum(powers.values())
    return weights


@pytest.mark.parametrize("epoch", [30, 50, 79])
def test_loss_equals_its_slow_twin(epoch: int) -> None:
    candidates = random_candidates(12)
    logits = [normal(3, 12, 5), normal(3, 12, 5, seed=1)]
    problem, batch = lookup_problem(candidates, *logits)
    method = make(NCPD, problem)
    method.epoch = epoch
    share = math.exp(-5 * ((epoch + 1) / 80 - 1) ** 2)
    twin = 0.0
    for own, other in (logits, reversed(logits)):
        weights = gated_twin(other, candidates, share)
        twin -= (weights * np.log(softmax(own))).sum(-1).mean()
    assert method.loss(batch).loss.item() == pytest.approx(twin, rel=1e-5)


def test_predictions_are_those_of_alpha_beta_and_the_mean_probability() -> None:
    alpha, beta = log([0.6, 0.4])[None], log([0.2, 0.8])[None]
    problem, batch = lookup_problem(sets({0, 1}, num_classes=2), alpha, beta)
    found = make(NCPD, problem, num_strong=0).predictions(batch.x[0])
    torch.testing.assert_close(found[""].softmax(-1), torch.tensor([[0.6, 0.4]]))
    torch.testing.assert_close(found["peer"].softmax(-1), torch.tensor([[0.2, 0.8]]))
    torch.testing.assert_close(found["ensemble"].exp(), torch.tensor([[0.4, 0.6]]))
