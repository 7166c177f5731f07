"""Forward correction: the examples of docs/methods/forward_correction.md, and its twin."""

import numpy as np
import pytest
import torch

from pllbench_methods.forward_correction import ForwardCorrection
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

BIASED = [[0.0, 0.9, 0.1], [0.25, 0.0, 0.75], [0.5, 0.5, 0.0]]


def test_loss_of_one_pair_with_the_uniform_matrix() -> None:
    """Example 1: SCL-NL's .356675 plus ln 2."""
    loss, _ = loss_and_gradient(
        ForwardCorrection, log([0.5, 0.3, 0.2])[None], sets({0, 2}, num_classes=3)
    )
    assert loss == pytest.approx(1.049822, abs=1e-6)


def test_loss_of_one_pair_with_a_given_matrix() -> None:
    """Example 2: -log(.9 * .5 + .5 * .2)."""
    logits, candidates = log([0.5, 0.3, 0.2])[None], sets({0, 2}, num_classes=3)
    loss, gradient = loss_and_gradient(ForwardCorrection, logits, candidates, transition=BIASED)
    assert loss == pytest.approx(0.597837, abs=1e-6)
    # p - posterior of the true label: (.45, 0, .1) / .55
    expected = torch.tensor([0.5 - 0.818182, 0.3, 0.2 - 0.181818])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-6, rtol=0)


def test_no_floor_under_the_probability() -> None:
    """Example 3."""
    loss, gradient = loss_and_gradient(
        ForwardCorrection, torch.tensor([[[1000.0, 0.0, 0.0]]]), sets({1, 2}, num_classes=3)
    )
    assert loss == pytest.approx(1000.0, abs=1e-3)
    expected = torch.tensor([1.0, -0.5, -0.5])
    torch.testing.assert_close(gradient[0, 0], expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("transition", "message"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], "2 rows, but there are 3 classes"),
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], "a column of transition is 0"),
        ([[0.0, 0.5, 0.4], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]], "3 shares that sum to 1"),
        ([[-0.5, 1.0, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]], "3 shares that sum to 1"),
        ([[0.0, 1.0], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]], "3 shares that sum to 1"),
    ],
)
def test_a_wrong_matrix_is_refused(transition: list[list[float]], message: str) -> None:
    problem, _ = lookup_problem(sets({0, 2}, num_classes=3), torch.zeros(1, 1, 3))
    with pytest.raises(ValueError, match=message):
        make(ForwardCorrection, problem, transition=transition)


def test_the_matrix_is_a_buffer() -> None:
    problem, _ = lookup_problem(sets({0, 2}, num_classes=3), torch.zeros(1, 1, 3))
    uniform = make(ForwardCorrection, problem).state_dict()["transition"]
    assert uniform.tolist() == [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]


@pytest.mark.parametrize("reduction", ["pairs", "instances"])
def test_twin(reduction: str) -> None:
    candidates, logits = random_candidates(8), normal(3, 8, 5)
    matrix = np.random.default_rng(0).dirichlet(np.ones(5), size=5)
    probs, pairs, twin = softmax(logits), np.argwhere(~candidates.numpy()), 0.0
    for v in range(3):
        for i, k in pairs:
            twin -= np.log(sum(matrix[y, k] * probs[v, i, y] for y in range(5))) / 3
    loss, _ = loss_and_gradient(
        ForwardCorrection, logits, candidates, reduction=reduction, transition=matrix.tolist()
    )
    assert loss == pytest.approx(twin / (len(pairs) if reduction == "pairs" else 8), rel=1e-5)
