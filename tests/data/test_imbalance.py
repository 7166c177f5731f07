"""Long-tailed training rows: counts of the published sets, which rows stay, groups of classes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import split
from pllbench.data.imbalance import class_groups, long_tailed_counts, long_tailed_rows
from pllbench.data.readers.base import Dataset

CIFAR10_LT = {
    50: ([5000, 3237, 2096, 1357, 878, 568, 368, 238, 154, 100], 13_996),
    100: ([5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50], 12_406),
    150: ([5000, 2865, 1642, 941, 539, 309, 177, 101, 58, 33], 11_665),
    200: ([5000, 2775, 1540, 854, 474, 263, 146, 81, 45, 25], 11_203),
    250: ([5000, 2707, 1465, 793, 429, 232, 125, 68, 36, 20], 10_875),
}
"""Training images of each class and of all, by imbalance."""

CIFAR100_LT = {
    10: ([500, 488, 477, 466, 455], [52, 51, 50], 19_573),
    20: ([500, 485, 470, 456, 442], [26, 25, 25], 15_907),
    50: ([500, 480, 462, 444, 426], [10, 10, 10], 12_608),
    100: ([500, 477, 455, 434, 415], [5, 5, 5], 10_847),
    150: ([500], [3, 3, 3], 10_019),
}
"""The first counts, the last three, and the sum."""


@pytest.mark.parametrize("imbalance", CIFAR10_LT)
def test_counts_of_cifar10_lt(imbalance: int) -> None:
    counts, total = CIFAR10_LT[imbalance]
    assert long_tailed_counts(50_000, 10, imbalance) == counts
    assert sum(counts) == total


@pytest.mark.parametrize("imbalance", CIFAR100_LT)
def test_counts_of_cifar100_lt(imbalance: int) -> None:
    first, last, total = CIFAR100_LT[imbalance]
    counts = long_tailed_counts(50_000, 100, imbalance)
    assert counts[: len(first)] == first
    assert counts[-3:] == last
    assert sum(counts) == total


def test_a_ratio_rounded_to_four_digits_gives_other_counts() -> None:
    """A peer's file name holds .0067 for a ratio of 150, and its sets are slightly larger."""
    assert sum(long_tailed_counts(50_000, 10, 1 / 0.0067)) == 11_669
    assert sum(long_tailed_counts(50_000, 100, 1 / 0.0067)) == 10_027


@pytest.mark.parametrize(("num_rows", "limit"), [(50_000, 5_000), (1_438, 143), (490, 49)])
def test_the_smallest_class_keeps_a_row_or_the_imbalance_is_refused(
    num_rows: int, limit: int
) -> None:
    assert long_tailed_counts(num_rows, 10, limit)[-1] == 1
    message = f"imbalance {limit + 1}: class 9 would keep none of its .* at most {limit} here"
    with pytest.raises(ValueError, match=message):
        long_tailed_counts(num_rows, 10, limit + 1)


def test_kept_rows_have_the_profile_and_are_nested() -> None:
    y = np.arange(1000) % 10
    kept = [long_tailed_rows(y, 10, imbalance, 3) for imbalance in (5, 20, 100)]
    for rows, imbalance in zip(kept, (5, 20, 100), strict=True):
        assert rows.tolist() == sorted(set(rows.tolist()))
        expected = long_tailed_counts(1000, 10, imbalance)
        assert np.bincount(y[rows], minlength=10).tolist() == expected
    for wider, narrower in pairwise(kept):
        assert set(narrower.tolist()) < set(wider.tolist())
    assert long_tailed_rows(y, 10, 5, 4).tolist() != kept[0].tolist()


def test_a_class_with_too_few_rows_keeps_them_all() -> None:
    y = np.repeat([0, 1, 2], [10, 2, 48])
    assert long_tailed_counts(60, 3, 2) == [20, 14, 10]
    kept = long_tailed_rows(y, 3, 2, seed=0)
    assert np.bincount(y[kept]).tolist() == [10, 2, 10]


@given(
    sizes=st.lists(st.integers(0, 30), min_size=2, max_size=8).filter(lambda s: sum(s) > 20),
    imbalance=st.floats(1, 4),
    seed=st.integers(0, 2**32),
)
def test_no_row_is_kept_twice_and_no_class_beyond_its_profile(
    sizes: list[int], imbalance: float, seed: int
) -> None:
    y, ratio = np.repeat(np.arange(len(sizes)), sizes), min(imbalance, sum(sizes) / len(sizes))
    kept = long_tailed_rows(y, len(sizes), ratio, seed)
    assert kept.tolist() == sorted(set(kept.tolist()))
    profile = long_tailed_counts(len(y), len(sizes), ratio)
    expected = [min(count, size) for count, size in zip(profile, sizes, strict=True)]
    assert np.bincount(y[kept], minlength=len(sizes)).tolist() == expected


def test_a_split_keeps_its_test_rows() -> None:
    y = torch.arange(600) % 3
    info = replace(DATASETS["digits"], name="toy", split="stratified")
    dataset = Dataset(info, torch.zeros(600, 2), y, 3)
    train, test = split(dataset, 1)
    kept, same = split(dataset, 1, imbalance=16)
    assert torch.equal(test, same)
    assert set(kept.tolist()) < set(train.tolist())
    assert torch.bincount(y[kept]).tolist() == [160, 40, 10]
    assert torch.equal(split(dataset, 1, imbalance=1.0)[0], train)


def test_a_fixed_split_is_another_part_at_every_seed() -> None:
    y = torch.arange(600) % 3
    dataset = Dataset(DATASETS["cifar10"], torch.zeros(600, 2), y, 3, num_train=480)
    one, other = (split(dataset, seed, imbalance=16)[0] for seed in (0, 1))
    assert max(one.tolist()) < 480
    assert one.tolist() != other.tolist()
    assert torch.bincount(y[one]).tolist() == torch.bincount(y[other]).tolist() == [160, 40, 10]


@pytest.mark.parametrize(
    ("num_classes", "sizes"),
    [(10, [3, 4, 3]), (100, [33, 34, 33]), (3, [1, 1, 1]), (5, [1, 3, 1]), (2, [])],
)
def test_groups_of_classes(num_classes: int, sizes: list[int]) -> None:
    groups = class_groups(num_classes)
    classes = [range(num_classes)[group] for group in groups.values()]
    assert [len(group) for group in classes] == sizes
    if sizes:
        assert list(groups) == ["many", "medium", "few"]
        assert [c for group in classes for c in group] == list(range(num_classes))
