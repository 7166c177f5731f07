"""MCL-MAE and the unbiased estimator: the examples of docs/methods/mcl_mae.md, and twins."""

import itertools

import numpy as np
import pytest
import torch

from pllbench_methods.mcl_mae import MCLMAE
from pllbench_methods.shared.label_losses import absolute_error, generalised_cross_entropy
from pllbench_methods.shared.multiple_complementary import unbiased_risk
from tests.methods.fakes import log, loss_and_gradient, normal, random_candidates, sets, softmax

P = [0.5, 0.3, 0.2]


def test_loss_and_gradient() -> None:
    """Example 1: 1 + 1.6 - (2 - 1) * 1.4."""
    loss, gradient = loss_and_gradient(MCLMAE, log(P)[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(1.2, abs=1e-6)
    expected = torch.tensor([-0.6, 0.84, -0.24])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


def test_a_singleton_is_the_loss_of_its_label() -> None:
    """Example 2."""
    for label, expected in enumerate([1.0, 1.4, 1.6]):
        loss, _ = loss_and_gradient(MCLMAE, log(P)[None], sets({label}, num_classes=3))
        assert loss == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("num_complementary", [1, 2, 3])
def test_the_estimator_is_unbiased_for_every_number_of_complementary_labels(
    num_complementary: int,
) -> None:
    """Example 3, by enumeration of the candidate sets that hold the true label."""
    losses = generalised_cross_entropy(log([0.4, 0.3, 0.2, 0.1]), 0.7)
    risk = 0.0
    for y, share in enumerate([0.1, 0.2, 0.3, 0.4]):
        others = set(range(4)) - {y}
        drawn = list(itertools.combinations(others, num_complementary))
        for ruled_out in drawn:
            candidates = sets(set(range(4)) - set(ruled_out), num_classes=4)
            risk += share / len(drawn) * unbiased_risk(losses, candidates).item()
    assert risk == pytest.approx(0.977418, abs=1e-5)
    assert risk == pytest.approx((losses[0] @ torch.tensor([0.1, 0.2, 0.3, 0.4])).item(), rel=1e-5)


def test_a_single_estimate_may_be_negative_and_cross_entropy_makes_it_unbounded() -> None:
    """Example 4: why cross entropy is no method of this family."""
    log_probs, candidates = log([0.49, 0.49, 0.02]), sets({0, 1}, num_classes=3)
    assert unbiased_risk(-log_probs, candidates).item() == pytest.approx(-2.485323, abs=1e-5)
    assert unbiased_risk(-log(P), sets({0, 2}, num_classes=3)).item() == pytest.approx(1.098612)
    worse = unbiased_risk(-log([0.5, 0.5, 1e-20]), candidates)
    assert worse.item() < -44
    assert unbiased_risk(absolute_error(log([0.5, 0.5, 1e-20])), candidates).item() == 0


def test_full_sets_weigh_nothing_and_leave_other_rows_alone() -> None:
    logits = log(P, [0.1, 0.2, 0.7])[None]
    loss, gradient = loss_and_gradient(MCLMAE, logits, sets({0, 2}, {0, 1, 2}, num_classes=3))
    assert loss == pytest.approx(1.2 / 2, abs=1e-6)
    assert (gradient[0, 1] == 0).all()


def test_copies_of_an_instance_have_its_loss() -> None:
    """The mean over the batch: a sum, as in one released code, makes the step grow with it."""
    logits, candidates = normal(1, 1, 4), sets({0, 2}, num_classes=4)
    one, _ = loss_and_gradient(MCLMAE, logits, candidates)
    many, _ = loss_and_gradient(MCLMAE, logits.expand(1, 7, 4), candidates.expand(7, 4))
    assert many == pytest.approx(one, rel=1e-6)


def test_twin() -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    probs, twin = softmax(logits), 0.0
    for v, i in np.ndindex(3, 8):
        distances = [np.abs(probs[v, i] - np.eye(5)[k]).sum() for k in range(5)]
        num_complementary = 5 - int(candidates[i].sum())
        if num_complementary > 0:
            for k in range(5):
                weight = 1 if candidates[i, k] else 1 - 4 / num_complementary
                twin += weight * distances[k] / 24
    loss, _ = loss_and_gradient(MCLMAE, logits, candidates)
    assert loss == pytest.approx(twin, rel=1e-5)
