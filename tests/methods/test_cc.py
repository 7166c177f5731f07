"""The worked examples of docs/methods/cc.md, and CC against a slow float64 twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.cc import CC
from tests.methods.fakes import (
    log,
    lookup_problem,
    loss_and_gradient,
    make,
    normal,
    random_candidates,
    sets,
    softmax,
)


def test_loss_and_gradient_of_the_worked_example() -> None:
    loss, gradient = loss_and_gradient(CC, log([0.5, 0.3, 0.2])[None], sets({0, 2}, num_classes=3))
    assert loss == pytest.approx(0.356675, abs=1e-6)
    torch.testing.assert_close(
        gradient[0, 0], torch.tensor([-0.214286, 0.3, -0.085714]), atol=1e-6, rtol=0
    )


def test_a_full_set_has_exactly_zero_loss_and_gradient() -> None:
    loss, gradient = loss_and_gradient(
        CC, log([0.5, 0.3, 0.2])[None], sets({0, 1, 2}, num_classes=3)
    )
    assert loss == 0
    assert (gradient == 0).all()


def test_a_singleton_is_cross_entropy() -> None:
    loss, _ = loss_and_gradient(CC, log([0.5, 0.3, 0.2])[None], sets({1}, num_classes=3))
    assert loss == pytest.approx(1.203973, abs=1e-6)


def test_no_floor_under_the_probability() -> None:
    logits = torch.tensor([[[0.0, -1000.0, -1000.0]]])
    loss, gradient = loss_and_gradient(CC, logits, sets({1, 2}, num_classes=3))
    assert loss == pytest.approx(999.306853, abs=1e-4)
    expected = torch.tensor([1.0, -0.5, -0.5])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("view_reduction", "expected"), [("mean", 0.385061), ("sum", 1.155183)])
def test_views_combine_by_mean_or_sum(view_reduction: str, expected: float) -> None:
    views = log([0.7, 0.3], [0.5, 0.5], [0.9, 0.1])[:, None]
    loss, _ = loss_and_gradient(CC, views, sets({0}, num_classes=2), view_reduction=view_reduction)
    assert loss == pytest.approx(expected, abs=1e-6)


def test_invariant_to_a_constant_and_to_relabelling_within_the_set() -> None:
    logits, candidates = normal(1, 1, 5), sets({0, 2, 3}, num_classes=5)
    loss, _ = loss_and_gradient(CC, logits, candidates)
    assert loss_and_gradient(CC, logits + 7, candidates)[0] == pytest.approx(loss, abs=1e-5)
    relabelled = logits[..., [2, 4, 3, 0, 1]]  # 0, 2, 3 among themselves, 1 with 4
    assert loss_and_gradient(CC, relabelled, candidates)[0] == pytest.approx(loss, abs=1e-6)
    moved = logits[..., [1, 0, 2, 3, 4]]  # a candidate with a non-candidate
    assert loss_and_gradient(CC, moved, candidates)[0] != pytest.approx(loss, abs=1e-4)


def test_pseudo_label_is_the_best_candidate_of_the_weak_view() -> None:
    views = log([0.5, 0.3, 0.2], [0.1, 0.2, 0.7])[:, None]
    problem, batch = lookup_problem(sets({1, 2}, num_classes=3), views)
    pseudo = make(CC, problem, num_strong=1).loss(batch).pseudo
    assert pseudo is not None
    assert pseudo.tolist() == [1]


def test_loss_equals_its_slow_twin() -> None:
    candidates = random_candidates(8)
    logits = normal(3, 8, 5)
    probs = softmax(logits)
    twin = np.mean(
        [
            -np.log(sum(probs[v, i, k] for k in range(5) if candidates[i, k]))
            for v in range(3)
            for i in range(8)
        ]
    )
    assert loss_and_gradient(CC, logits, candidates)[0] == pytest.approx(twin, rel=1e-5)
