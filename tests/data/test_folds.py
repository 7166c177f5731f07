"""Cross-validation in place of a random split."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pllbench.data.catalogue import DATASETS, Split
from pllbench.data.dataset import split
from pllbench.data.readers.base import Dataset


def dataset_of(y: torch.Tensor, split_by: Split = "random", **parts: Any) -> Dataset:
    info = replace(DATASETS["digits"], name="toy", split=split_by)
    return Dataset(info, torch.zeros(len(y), 2), y, int(y.max()) + 1, **parts)


@given(
    rows=st.integers(7, 80),
    folds=st.integers(2, 7),
    turn=st.integers(0, 1000),
    split_by=st.sampled_from(["random", "stratified"]),
)
def test_the_seeds_of_a_turn_test_every_row_once(
    rows: int, folds: int, turn: int, split_by: Split
) -> None:
    dataset = dataset_of(torch.arange(rows) % 3, split_by)
    tested = []
    for seed in range(turn * folds, (turn + 1) * folds):
        train, test = split(dataset, seed, folds=folds)
        assert torch.cat([train, test]).sort().values.tolist() == list(range(rows))
        assert test.tolist() == sorted(test.tolist())
        assert len(test) in (rows // folds, rows // folds + 1)
        tested += test.tolist()
    assert sorted(tested) == list(range(rows))


def test_the_next_turn_has_other_folds() -> None:
    dataset = dataset_of(torch.arange(60) % 3)
    first, again, second = (split(dataset, seed, folds=5)[1] for seed in (2, 2, 7))
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


def test_a_stratified_fold_has_its_share_of_every_class() -> None:
    dataset = dataset_of(torch.tensor([0] * 50 + [1] * 25 + [2] * 5), "stratified")
    for seed in range(5):
        _, test = split(dataset, seed, folds=5)
        assert torch.bincount(dataset.y[test]).tolist() == [10, 5, 1]


def test_an_imbalance_leaves_the_fold_as_it_is() -> None:
    dataset = dataset_of(torch.arange(600) % 3, "stratified")
    _, test = split(dataset, 1, folds=5)
    kept, same = split(dataset, 1, imbalance=16, folds=5)
    assert torch.equal(test, same)
    assert torch.bincount(dataset.y[kept]).tolist() == [160, 40, 10]


@pytest.mark.parametrize(
    ("parts", "folds", "reason"),
    [
        ({"num_train": 8}, 5, "data set 'toy' has a split of its own: it takes no folds"),
        ({"folds": torch.arange(12) % 3}, 5, "data set 'toy' has a split of its own"),
        ({}, 13, "data set 'toy': 12 rows are too few for 13 folds"),
    ],
)
def test_data_that_cannot_be_folded(parts: dict[str, Any], folds: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        split(dataset_of(torch.arange(12) % 3, **parts), 0, folds=folds)
