"""Pruning of candidate sets by their neighbours: worked examples, ties, what an audit says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pllbench.candidates.audit import audit_candidates
from pllbench.candidates.processes import Candidates
from pllbench.candidates.pruning import (
    audit_pruning,
    nearest_neighbours,
    prune,
    standardised,
)
from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset
from pllbench.spec import PruningSpec
from tests.data.files import real_data_dir


def sets(*rows: set[int], num_classes: int = 4) -> Candidates:
    return np.array([[k in row for k in range(num_classes)] for row in rows])


def of_first(candidates: Candidates, tau: float) -> list[int]:
    """Candidates that are left to the first row; its neighbours are all others."""
    others = np.arange(1, len(candidates))
    neighbours = np.tile(others, (len(candidates), 1))
    return np.flatnonzero(prune(candidates, neighbours, tau)[0]).tolist()


@pytest.mark.parametrize(
    ("tau", "left"), [(0.0, [0, 1, 2]), (0.2, [0, 1, 2]), (0.5, [0, 1, 2]), (0.6, [0]), (1.0, [0])]
)
def test_counts_0_2_2(tau: float, left: list[int]) -> None:
    """Both surplus candidates have the same count: neither goes unless both may."""
    assert of_first(sets({0, 1, 2}, {0, 2}, {0, 1}, {0, 3}), tau) == left


def test_ties_at_the_threshold_stay() -> None:
    """Counts 3, 3, 1 of which one may go: none does."""
    candidates = sets({0, 1, 2}, {2, 3}, {2, 3}, {3})
    assert of_first(candidates, 0.5) == [0, 1, 2]
    assert of_first(candidates, 1.0) == [2]


def test_a_whole_share_is_not_rounded_up() -> None:
    """0.55 * 20 is a little more than 11 in floating point; no more than 11 may go."""
    candidates = np.ones((22, 21), dtype=np.bool_)
    candidates[1:] = np.tril(np.ones((21, 21), dtype=np.bool_))  # counts 0, 1, ..., 20
    assert len(of_first(candidates, 0.55)) == 21 - 11


@given(
    candidates=arrays.arrays(np.bool_, st.tuples(st.integers(4, 12), st.integers(2, 6))),
    tau=st.floats(0, 1),
    data=st.data(),
)
def test_at_most_the_share_goes_and_one_stays(
    candidates: Candidates, tau: float, data: st.DataObject
) -> None:
    candidates[:, 0] |= ~candidates.any(axis=1)
    rows = len(candidates)
    k = data.draw(st.integers(1, rows - 1))
    neighbours = np.array([[(i + j) % rows for j in range(1, k + 1)] for i in range(rows)])
    pruned = prune(candidates, neighbours, tau)
    assert not (pruned & ~candidates).any()
    assert pruned.any(axis=1).all()
    for i in range(rows):
        size = int(candidates[i].sum())
        counts = [
            int(candidates[i, c]) * sum(not candidates[j, c] for j in neighbours[i])
            for c in range(candidates.shape[1])
        ]
        threshold = sorted(counts, reverse=True)[int(np.ceil(tau * (size - 1) - 1e-9))]
        expected = [bool(candidates[i, c] and n <= threshold) for c, n in enumerate(counts)]
        assert pruned[i].tolist() == expected
    assert (prune(candidates, neighbours, 0.0) == candidates).all()


def test_neighbours_are_nearest_in_direction_and_never_the_row_itself() -> None:
    features = np.array([[1, 0], [9, 1], [0, 1], [1, 0], [0, 0]], dtype=np.float32)
    found = nearest_neighbours(features, 2)
    assert found[0].tolist() == [3, 1], "a duplicate is a neighbour; length does not count"
    assert found[2].tolist()[0] in (1, 4)
    for row, near in enumerate(found):
        assert row not in near.tolist()


def test_columns_are_standardised() -> None:
    x = np.array([[1, 5, 10], [3, 5, 30]], dtype=np.float32)
    assert standardised(x).tolist() == [[-1, 0, -1], [1, 0, 1]]


def test_the_audit_says_what_went_and_what_was_lost() -> None:
    before = sets({0, 1, 2}, {0, 1}, {1, 2}, {3})
    after = sets({0}, {0, 1}, {2}, {3})
    y = np.array([1, 0, 2, 3])
    found = audit_pruning(before, after, y)
    assert found.before == audit_candidates(before, y)
    assert found.removed == pytest.approx(3 / 4)  # of 8 candidates 4 are surplus
    assert found.lost == 0.25
    assert audit_candidates(after, y).without_true == 0.25
    nothing = audit_pruning(after[3:], after[3:], y[3:])
    assert (nothing.removed, nothing.lost) == (0, 0)


@pytest.mark.parametrize(
    ("name", "k", "tau", "removed", "lost", "after"),
    [
        ("birdsong", 10, 0.2, 0.4793, 0.0864, 1.6120),
        ("birdsong", 50, 0.6, 0.8809, 0.1835, None),
        ("msrcv2", 10, 0.2, 0.3229, 0.1399, None),
        ("msrcv2", 50, 0.6, 0.7787, 0.3146, None),
        ("lost", 10, 0.2, 0.6288, 0.1159, None),
        ("lost", 50, 0.6, 0.9638, 0.2914, None),
    ],
)
def test_raw_features_of_real_sets_lose_many_true_labels(
    name: str, k: int, tau: float, removed: float, lost: float, after: float | None
) -> None:
    """Of standardised columns over all rows: 9 to 31 % of the rows lose their true label."""
    dataset = load_dataset(DATASETS[name], real_data_dir(name))
    assert dataset.candidates is not None
    candidates, y = dataset.candidates.numpy(), dataset.y.numpy()
    neighbours = nearest_neighbours(standardised(dataset.x.numpy()), k)
    pruned = prune(candidates, neighbours, tau)
    found = audit_pruning(candidates, pruned, y)
    assert found.removed == pytest.approx(removed, abs=5e-4)
    assert found.lost == pytest.approx(lost, abs=5e-4)
    if after is not None:
        assert found.before.mean == pytest.approx(2.1755, abs=5e-5)
        assert audit_candidates(pruned, y).mean == pytest.approx(after, abs=1e-3)


@pytest.mark.parametrize("fields", [{"tau": 1.1, "k": 5}, {"tau": -0.1, "k": 5}, {"tau": 0.5}])
def test_impossible_settings_are_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"tau|k"):
        PruningSpec.parse(fields)
