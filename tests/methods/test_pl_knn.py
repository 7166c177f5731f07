"""The examples of docs/methods/pl_knn.md, and PL-kNN's twin."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench_methods.pl_knn import PLKNN, weighted_votes
from tests.methods.fakes import fitted, normal, random_candidates, sets


def test_votes_at_the_distances_1_2_3() -> None:
    """Example 1."""
    distances = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    each = weighted_votes(distances, sets({0}, {1}, {2}, num_classes=3)[None])
    assert each[0].tolist() == pytest.approx([0.833333, 0.666667, 0.5], abs=1e-6)
    votes = weighted_votes(distances, sets({0, 2}, {0, 1}, {2}, num_classes=3)[None])
    assert votes[0].tolist() == pytest.approx([1.5, 0.666667, 1.333333], abs=1e-6)


def test_neighbours_at_distance_zero_have_weight_1() -> None:
    votes = weighted_votes(torch.zeros(1, 2).double(), sets({0, 2}, {0}, num_classes=3)[None])
    assert votes.tolist() == [[2, 0, 1]]


LINE = torch.tensor([[0.0], [1.0], [3.0], [6.0]])
"""Rows whose distances can be worked by hand."""


def test_scores_are_the_logs_of_the_votes() -> None:
    """Example 2."""
    method, _ = fitted(PLKNN, LINE, sets({0, 2}, {0, 1}, {2}, {1}, num_classes=4), num_neighbours=3)
    scores = method.predict(torch.tensor([[0.0]]))  # at the distances 0, 1, 3
    assert scores.exp()[0].tolist() == pytest.approx([1.75, 0.75, 1.25, 0], abs=1e-6)
    assert scores.softmax(1)[0].tolist() == pytest.approx([7 / 15, 3 / 15, 5 / 15, 0], abs=1e-6)
    assert scores[0, 3] == -torch.inf  # in none of the sets


def test_a_training_row_has_no_vote_in_its_own_pseudo_label() -> None:
    """Example 3."""
    candidates = sets({0, 1}, {1, 2}, {2, 3}, {0, 3}, num_classes=4)
    _, pseudo = fitted(PLKNN, LINE, candidates, num_neighbours=2)
    # Row 0: rows 1 and 2 at 1 and 3 vote .75 and .25, so .75 for 1 and nothing for 0.
    # Row 1: rows 0 and 2 at 1 and 2 vote .667 and .333: .667 for 1, .333 for 2.
    # Row 2: rows 1 and 0 at 2 and 3 vote .6 and .4: .6 for 2, nothing for 3.
    # Row 3: rows 2 and 1 at 3 and 5 vote .625 and .375: nothing for 0, .625 for 3.
    assert pseudo is not None
    assert pseudo.tolist() == [1, 1, 2, 3]


def test_a_row_whose_candidates_have_no_vote_gets_the_lowest_of_them() -> None:
    candidates = sets({1, 2}, {0}, {0}, {0}, num_classes=3)
    _, pseudo = fitted(PLKNN, LINE, candidates, num_neighbours=3)
    assert pseudo is not None
    assert pseudo.tolist() == [1, 0, 0, 0]


def naive_votes(rows: Tensor, candidates: Tensor, x: Tensor, *, own: bool) -> list[list[float]]:
    found = []
    for i, point in enumerate(x.double().numpy()):
        apart = np.linalg.norm(rows.double().numpy() - point, axis=1)
        order = [j for j in apart.argsort(kind="stable") if own or j != i][:10]
        votes = np.zeros(candidates.shape[1])
        for j in order:
            votes[candidates[j].numpy()] += 1 - apart[j] / apart[order].sum()
        found.append(votes.tolist())
    return found


def test_twin() -> None:
    rows, x, candidates = normal(30, 4), normal(8, 4, seed=1), random_candidates(30)
    method, pseudo = fitted(PLKNN, rows, candidates)
    expected = naive_votes(rows, candidates, x, own=True)
    np.testing.assert_allclose(method.predict(x).exp(), expected, rtol=1e-5)
    training = np.array(naive_votes(rows, candidates, rows, own=False))
    assert pseudo is not None
    assert pseudo.tolist() == np.where(candidates.numpy(), training, -1).argmax(1).tolist()


def test_its_candidate_sets_are_a_copy_of_the_problems() -> None:
    candidates = random_candidates(30)
    method, _ = fitted(PLKNN, normal(30, 4), candidates)
    method.candidates.logical_not_()
    assert torch.equal(candidates, random_candidates(30))
