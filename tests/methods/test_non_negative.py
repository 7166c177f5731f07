"""NN and the risks of the classes: the examples of docs/methods/non_negative.md, and twins."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench_methods.non_negative import NonNegative
from pllbench_methods.shared.complementary import class_risks, complementary_prior
from tests.methods.fakes import (
    Array,
    log,
    lookup_problem,
    loss_and_gradient,
    make,
    normal,
    random_candidates,
    sets,
    softmax,
)

ROWS = ([0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4])
OTHERS = sets({1, 2}, {0, 2}, {0, 1}, num_classes=3)


def naive_risks(losses: Array, candidates: Tensor, prior: Array) -> Array:
    """Risks [C] from the losses [B, C] of one view, pair by pair."""
    num_classes = len(prior)
    risks = np.zeros(num_classes)
    for j in range(num_classes):
        rows = [i for i in range(len(losses)) if not candidates[i, j]]
        if rows:
            mean = np.mean([losses[i] for i in rows], axis=0)
            risks += prior[j] * mean
            risks[j] -= (num_classes - 1) * prior[j] * mean[j]
    return risks


def test_prior_is_the_share_of_each_complementary_label() -> None:
    """Example 1."""
    candidates = sets({0}, {0, 1}, {0, 1, 2}, {2}, num_classes=3)
    torch.testing.assert_close(complementary_prior(candidates), torch.tensor([0.2, 0.4, 0.4]))
    assert complementary_prior(sets({0, 1}, num_classes=2)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("prior", "risks", "expected"),
    [
        ([1 / 3, 1 / 3, 1 / 3], [0.7068, 0.5716, 0.6324], 1.910728),
        ([0.5, 0.3, 0.2], [0.3771, 0.6348, 0.9827], 1.994542),
    ],
)
def test_losses_are_weighed_by_the_prior_of_the_complementary_label(
    prior: list[float], risks: list[float], expected: float
) -> None:
    """Example 2: one released code weighs by the prior of the loss's class, and has 1.953995."""
    problem, batch = lookup_problem(OTHERS, log(*ROWS)[None])
    method = make(NonNegative, problem, num_strong=0)
    method.prior.copy_(torch.tensor(prior))
    found = class_risks(-log(*ROWS).log_softmax(-1)[None], OTHERS, method.prior)
    torch.testing.assert_close(found[0], torch.tensor(risks), atol=1e-4, rtol=0)
    assert method.loss(batch).loss.item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("beta", "expected"), [(0.0, 0.667355), (0.3, 0.367355), (1.0, 0.165996)])
def test_negative_risks_are_cut_off(beta: float, expected: float) -> None:
    """Example 3: the risks are (-.5014, .3337, .3337)."""
    logits = log([0.02, 0.49, 0.49], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4])[None]
    loss, _ = loss_and_gradient(NonNegative, logits, OTHERS, beta=beta)
    assert loss == pytest.approx(expected, abs=2e-5)


def test_the_sum_of_the_risks_is_unbiased() -> None:
    """Example 4: true labels (.2, .3, .5), complementary labels uniform on the others."""
    losses = torch.tensor([0.7, 1.2, 0.4])
    prior = torch.tensor([0.4, 0.35, 0.25])
    risks = class_risks(losses.expand(1, 3, 3), OTHERS, prior)
    assert risks.sum().item() == pytest.approx(0.7, abs=1e-6)
    assert (torch.tensor([0.2, 0.3, 0.5]) * losses).sum().item() == pytest.approx(0.7, abs=1e-6)


def test_classes_without_a_pair_in_the_batch_have_no_mean() -> None:
    losses = normal(1, 2, 3).exp()
    risks = class_risks(losses, sets({1, 2}, {1, 2}, num_classes=3), torch.full((3,), 1 / 3))
    means = losses[0].mean(0) / 3
    expected = torch.stack([means[0] - 2 * means[0], means[1], means[2]])
    torch.testing.assert_close(risks[0], expected)


def test_twin_over_views() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    pairs = ~candidates.numpy()
    prior = pairs.sum(0) / pairs.sum()
    losses = -np.log(softmax(logits))
    twin = [np.maximum(naive_risks(losses[v], candidates, prior), -0.1).sum() for v in range(3)]
    for view_reduction, expected in (("mean", np.mean(twin)), ("sum", np.sum(twin))):
        loss, _ = loss_and_gradient(
            NonNegative, logits, candidates, beta=0.1, view_reduction=view_reduction
        )
        assert loss == pytest.approx(expected, rel=1e-5)
