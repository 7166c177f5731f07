"""The nearest rows: against sorted distances, with ties, equal rows and few rows."""

import numpy as np
import pytest
import torch

from pllbench_methods.shared.rows import CHUNK, all_rows, nearest
from tests.methods.fakes import Instances, normal, random_candidates


@pytest.mark.parametrize("among", ["test rows", "training rows"])
def test_twin(among: str) -> None:
    rows = normal(40, 6)
    x = normal(9, 6, seed=1) if among == "test rows" else rows
    apart = np.linalg.norm(x.double().numpy()[:, None] - rows.double().numpy()[None], axis=2)
    if among == "training rows":
        np.fill_diagonal(apart, np.inf)
    distances, index = nearest(rows, x if among == "test rows" else None, 7)
    expected = apart.argsort(1, kind="stable")[:, :7]
    assert index.tolist() == expected.tolist()
    np.testing.assert_allclose(distances, np.take_along_axis(apart, expected, 1), rtol=1e-12)
    assert distances.dtype == torch.float64


def test_equal_rows_are_at_distance_zero_in_order_and_a_row_is_not_its_own_neighbour() -> None:
    row = 1000 * normal(1, 50)
    rows = torch.cat([row, row + 1, row, row])
    distances, index = nearest(rows, row, 3)
    assert (distances.tolist(), index.tolist()) == ([[0.0, 0.0, 0.0]], [[0, 2, 3]])
    distances, index = nearest(rows, None, 2)
    assert index[[0, 2, 3]].tolist() == [[2, 3], [0, 3], [0, 2]]
    assert distances[[0, 2, 3]].tolist() == [[0, 0]] * 3


def test_equally_far_rows_come_in_order() -> None:
    rows = torch.tensor([[2.0], [0.0], [-1.0], [1.0]])
    distances, index = nearest(rows, torch.tensor([[0.0]]), 4)
    assert index.tolist() == [[1, 2, 3, 0]]
    assert distances.tolist() == [[0, 1, 1, 2]]


def test_there_are_at_most_as_many_neighbours_as_rows() -> None:
    rows = normal(4, 2)
    assert nearest(rows, normal(3, 2), 10)[1].shape == (3, 4)
    assert nearest(rows, None, 10)[1].shape == (4, 3)


def test_chunks_are_put_together_in_order() -> None:
    rows, x = normal(5, 2), normal(CHUNK + 3, 2, seed=1)
    whole, tail = nearest(rows, x, 2), nearest(rows, x[-4:], 2)
    for some, last in zip(whole, tail, strict=True):
        assert len(some) == CHUNK + 3
        assert torch.equal(some[-4:], last)


def test_images_are_flattened() -> None:
    x, candidates = normal(7, 3, 2, 2), random_candidates(7)
    rows, found = all_rows(Instances(x, candidates))
    assert torch.equal(rows, x.view(7, 12))
    assert torch.equal(found, candidates)


def test_a_single_training_row_has_no_neighbours() -> None:
    with pytest.raises(ValueError, match=r"^a single training row has no neighbours$"):
        nearest(torch.ones(1, 3), None, 5)
