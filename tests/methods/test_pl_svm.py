"""The examples of docs/methods/pl_svm.md, and PL-SVM's twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.pl_svm import PLSVM
from tests.methods.fakes import (
    logit_gradient,
    lookup_problem,
    make,
    normal,
    random_candidates,
    random_problem,
    sets,
)

LOGITS = torch.tensor([[[2.0, 1.5, 0.0]]])


@pytest.mark.parametrize(
    ("candidate_set", "loss", "gradient"),
    [({0}, 0.5, [-1, 1, 0]), ({0, 1}, 0.0, [0, 0, 0]), ({1, 2}, 1.5, [1, -1, 0])],
)
def test_the_best_candidate_leads_by_a_margin(
    candidate_set: set[int], loss: float, gradient: list[float]
) -> None:
    """Example 1."""
    problem, batch = lookup_problem(sets(candidate_set, num_classes=3), LOGITS)
    method = make(PLSVM, problem)
    step = method.loss(batch)
    step.loss.backward()
    assert step.loss.item() == pytest.approx(loss, abs=1e-6)
    assert logit_gradient(method.network)[0, 0].tolist() == gradient


def test_a_full_set_has_neither_loss_nor_gradient() -> None:
    problem, batch = lookup_problem(sets({0, 1, 2}, num_classes=3), LOGITS)
    method = make(PLSVM, problem)
    step = method.loss(batch)
    step.loss.backward()
    assert step.loss.item() == 0
    assert (logit_gradient(method.network) == 0).all()


def test_a_constant_on_all_logits_changes_nothing() -> None:
    logits, candidates = normal(8, 5), random_candidates(8)
    method = make(PLSVM, random_problem(candidates))
    shifted, plain = (method.losses(scores, candidates) for scores in (logits + 3, logits))
    torch.testing.assert_close(shifted, plain, atol=1e-5, rtol=0)


def test_the_pseudo_label_is_the_best_candidate() -> None:
    problem, batch = lookup_problem(sets({1, 2}, num_classes=3), LOGITS)
    pseudo = make(PLSVM, problem).loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [1]


def test_twin() -> None:
    candidates, logits = random_candidates(12), normal(1, 12, 5)
    problem, batch = lookup_problem(candidates, logits)
    z, mask = logits[0].double().numpy(), candidates.numpy()
    losses = [
        max(0.0, 1 - (max(row[inside]) - max(row[~inside])))
        for row, inside in zip(z, mask, strict=True)
        if not inside.all()
    ]
    expected = np.sum(losses) / 12
    assert make(PLSVM, problem).loss(batch).loss.item() == pytest.approx(expected, rel=1e-5)
