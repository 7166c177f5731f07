"""The examples of docs/methods/pl_aknn.md, the preprocessing, and PL A-kNN's twin."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pllbench_methods.pl_aknn import PLAkNN, PLAkNNHparams, compress, decide, smooth, spread
from tests.methods.fakes import Array, fitted, normal, random_candidates, sets


@pytest.mark.parametrize(
    ("num_rows", "num_classes", "bound", "first"),
    [(1000, 5, 1.644672, 3), (1406, 23, 1.780912, 4), (40000, 10, 1.949475, 4)],
)
def test_the_bound(num_rows: int, num_classes: int, bound: float, first: int) -> None:
    """Example 1: neighbours that agree decide at the first k with bound < sqrt(k)."""
    found = PLAkNNHparams().bound(num_rows, num_classes)
    assert found == pytest.approx(bound, abs=1e-6)
    assert math.sqrt(first - 1) <= found < math.sqrt(first)
    assert PLAkNNHparams().bound(1000, 5) / 4 == pytest.approx(0.411168, abs=1e-6)


BOUND = PLAkNNHparams().bound(100, 3)


def decided(*neighbours: set[int]) -> list[float]:
    """Scores of three labels after these neighbours' sets."""
    return decide(sets(*neighbours, num_classes=3)[None], BOUND)[0].tolist()


def test_agreeing_neighbours_decide_at_the_third() -> None:
    """Example 2."""
    assert pytest.approx(1.414776, abs=1e-6) == BOUND
    assert np.isfinite(decided({0}, {0})).all()
    first, *others = decided({0}, {0}, {0})
    assert others == [-math.inf, -math.inf]
    assert first == pytest.approx(3 / math.sqrt(3) - BOUND, abs=1e-6)
    assert decided({0}, {0}, {0}, {1}, {1}, {1}, {1})[0] == first  # nobody is asked any more


def test_alternating_neighbours_decide_at_the_tenth() -> None:
    """Example 3."""
    alternating = [{0, 1}, {0, 2}] * 6
    left = [np.isfinite(decided(*alternating[:k])).sum() for k in (6, 7, 9, 10)]
    assert left == [3, 2, 2, 1]
    assert np.isfinite(decided(*alternating)).tolist() == [True, False, False]


def test_undecided_rows_take_the_best_lead() -> None:
    """Example 4."""
    neighbours = {0, 1}, {0, 1}, {1, 2}, {0, 1}, {1}
    assert decided(*neighbours[:3])[2] == pytest.approx(-1.992127, abs=1e-6)
    scores = decided(*neighbours)  # the fourth has dropped the third label
    assert scores == pytest.approx([-1.414776, -0.520349, -math.inf], abs=1e-6)


def naive_decision(neighbours: Array, bound: float) -> list[float]:
    """The rule as it is stated, in loops over labels."""
    num_classes = neighbours.shape[1]
    left, counts = set(range(num_classes)), np.zeros(num_classes)
    least = [math.inf] * num_classes  # M
    for k, candidates in enumerate(neighbours, 1):
        if len(left) == 1:
            break
        counts += candidates
        first, second = sorted((counts[y] for y in left), reverse=True)[:2]
        dropped = set()
        for y in left:
            least[y] = min(
                least[y], math.sqrt(k) * (bound / math.sqrt(k) - (counts[y] - second) / k)
            )
            if (first - counts[y]) / k >= bound / math.sqrt(k):
                dropped.add(y)
        left -= dropped
    return [-least[y] if y in left else -math.inf for y in range(num_classes)]


def test_twin_of_the_rule() -> None:
    generator = torch.Generator().manual_seed(0)
    neighbours = torch.rand(200, 30, 5, generator=generator) < torch.linspace(0.2, 0.7, 5)
    scores = decide(neighbours, 1.5)
    expected = [naive_decision(rows.double().numpy(), 1.5) for rows in neighbours]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    assert 0.1 < (scores.isfinite().sum(1) == 1).double().mean() < 0.9  # decided or not


def test_signed_cube_roots_of_length_1() -> None:
    """Example 5."""
    found = compress(torch.tensor([[27.0, -64.0], [0.0, 0.0]]))
    assert found.flatten().tolist() == pytest.approx([0.6, -0.8, 0, 0], abs=1e-6)


def test_smoothing_moves_a_row_towards_its_neighbours() -> None:
    """Neighbours (.6, .8) and (0, 1) of (1, 0): at .894427 and 1.414214, their median 1.154321."""
    rows = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    weights = np.exp([-0.8 / 1.154321**2 / 2, -2.0 / 1.154321**2 / 2])
    moved = 0.9 * np.array([1.0, 0.0]) + 0.1 * (weights @ [[0.6, 0.8], [0, 1]]) / weights.sum()
    expected = moved / np.linalg.norm(moved)
    np.testing.assert_allclose(smooth(None, rows, 0.1, 2)[0], expected, atol=1e-6)
    np.testing.assert_allclose(smooth(rows[:1], rows[1:], 0.1, 2)[0], expected, atol=1e-6)


def test_half_of_the_neighbours_at_distance_zero_are_the_only_ones_that_count() -> None:
    rows = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(smooth(None, rows, 0.5, 3)[0], [1, 0])


def test_spread_is_the_mean_distance_and_1_where_that_is_0() -> None:
    rows = torch.tensor([[0.0], [3.0], [4.0]])
    assert spread(None, rows, 50).flatten().tolist() == [3.5, 2, 2.5]
    assert spread(torch.tensor([[1.0]]), rows, 2).item() == 1.5
    assert spread(None, torch.ones(3, 1), 2).flatten().tolist() == [1, 1, 1]


def naive_neighbours(x: Array, rows: Array, num: int, *, own: bool) -> tuple[Array, list[Array]]:
    apart = np.linalg.norm(x[:, None] - rows[None], axis=2)
    if own:
        np.fill_diagonal(apart, np.inf)
    order = apart.argsort(1, kind="stable")[:, : min(num, len(rows) - own)]
    return np.take_along_axis(apart, order, 1), list(order)


def naive_smooth(x: Array, rows: Array, *, own: bool) -> Array:
    moved = []
    for row, apart, near in zip(x, *naive_neighbours(x, rows, 10, own=own), strict=True):
        weights = np.exp(-(apart**2) / (2 * np.median(apart) ** 2))
        new = 0.9 * row + 0.1 * (weights / weights.sum()) @ rows[near]
        moved.append(new / np.linalg.norm(new))
    return np.array(moved)


def naive_compress(x: Tensor) -> Array:
    roots = np.cbrt(x.double().numpy())
    return np.asarray(roots / np.linalg.norm(roots, axis=1, keepdims=True))


def test_twin() -> None:
    x, test, candidates = normal(60, 5), normal(9, 5, seed=1), random_candidates(60)
    method, pseudo = fitted(PLAkNN, x, candidates)
    assert pseudo is None
    compressed = naive_compress(x)
    rows = naive_smooth(compressed, compressed, own=True)
    np.testing.assert_allclose(method.rows, rows, atol=1e-5)
    scaled = rows / naive_neighbours(rows, rows, 50, own=True)[0].mean(1, keepdims=True)
    points = naive_smooth(naive_compress(test), rows, own=False)
    points = points / naive_neighbours(points, rows, 50, own=False)[0].mean(1, keepdims=True)
    bound = 0.5 * math.sqrt(math.log(60) + math.log(5 / 0.1))
    mask = candidates.double().numpy()
    expected = [
        naive_decision(mask[near], bound)
        for near in naive_neighbours(points, scaled, 50, own=False)[1]
    ]
    np.testing.assert_allclose(method.predict(test), expected, rtol=1e-4)


def test_without_preprocessing_plain_rows_are_compared() -> None:
    x, candidates = normal(40, 5), random_candidates(40)
    method, _ = fitted(PLAkNN, x, candidates, preprocessing="none", max_neighbours=7)
    assert torch.equal(method.rows, x)
    assert (method.spread == 1).all()
    test = normal(6, 5, seed=1)
    order = naive_neighbours(test.double().numpy(), x.double().numpy(), 7, own=False)[1]
    bound = PLAkNNHparams().bound(40, 5)
    expected = [naive_decision(candidates.double().numpy()[near], bound) for near in order]
    np.testing.assert_allclose(method.predict(test), expected, rtol=1e-5)


def test_images_are_taken_as_rows() -> None:
    x, candidates = normal(40, 3, 2, 2), random_candidates(40)
    image, _ = fitted(PLAkNN, x, candidates)
    flat, _ = fitted(PLAkNN, x.flatten(1), candidates)
    assert torch.equal(image.predict(x[:5]), flat.predict(x[:5].flatten(1)))
