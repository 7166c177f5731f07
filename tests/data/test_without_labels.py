"""Custom data without true labels: what is read, its audit, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pllbench.data.custom import custom_info
from pllbench.data.dataset import load_dataset, split
from pllbench.data.readers.base import Dataset
from tests.commands import pllbench
from tests.damage import is_refused
from tests.data.files import X, Y, save_npz

SETS = np.eye(4, dtype=np.uint8)[Y] | np.eye(4, dtype=np.uint8)[(Y + 1) % 4]
"""Two candidates a row, one of them its true label."""

VOTES = np.stack([np.repeat(np.arange(40), 2), np.tile([0, 1], 40), np.repeat(Y, 2)], 1)
"""Annotations by two annotators, who agree."""


def read(path: Path) -> Dataset:
    return load_dataset(custom_info(path), Path())


def unlabelled(folder: Path, **arrays: Any) -> Path:
    return save_npz(folder, "birds", **({"y": None, "candidates": SETS} | arrays))


def test_y_may_be_left_out_beside_candidate_sets(tmp_path: Path) -> None:
    info = custom_info(unlabelled(tmp_path))
    dataset = read(unlabelled(tmp_path))
    assert (info.labelled, info.real_candidates) == (False, True)
    assert (dataset.labelled, dataset.num_classes, dataset.true_labels) == (False, 4, None)
    assert dataset.candidates is not None
    assert dataset.candidates.int().tolist() == SETS.tolist()
    assert dataset.labels_of(torch.arange(3)) is None
    with pytest.raises(ValueError, match=r"^data set 'birds' comes without true labels$"):
        _ = dataset.y


def test_the_split_is_that_of_the_data_with_labels(tmp_path: Path) -> None:
    without, known = (read(save_npz(tmp_path, "birds", y=y, candidates=SETS)) for y in (None, Y))
    for seed in (0, 1):
        pairs = zip(split(without, seed), split(known, seed), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)


def test_annotations_alone_are_enough(tmp_path: Path) -> None:
    dataset = read(unlabelled(tmp_path, candidates=None, annotations=VOTES))
    assert dataset.votes is not None
    assert dataset.votes.tolist() == (2 * np.eye(4, dtype=int)[Y]).tolist()
    assert (dataset.num_classes, dataset.labelled) == (4, False)


def test_the_audit_says_that_there_are_none(tmp_path: Path) -> None:
    sets = SETS.copy()
    sets[:, 3] = 0
    path = unlabelled(tmp_path, candidates=sets)
    facts = json.loads(pllbench("data", path, "--json").out)
    assert facts["true_labels"] == "none: what would be the test rows is a hold-out"
    assert (facts["num_train"], facts["num_holdout"]) == (32, 8)
    assert "num_test" not in facts
    assert "candidates_without_true" not in facts
    assert facts["absent_classes"] == [3]
    assert facts["candidates_mean"] == pytest.approx(1.5, abs=0.1)
    pruned = json.loads(pllbench("data", path, "--json", "--prune", "tau=1.0,k=3").out)
    assert pruned["pruning"] == "prune tau=1 k=3"
    assert "pruned_true" not in pruned


def test_the_digest_of_the_content_is_not_that_with_labels(tmp_path: Path) -> None:
    without, known = unlabelled(tmp_path), save_npz(tmp_path, candidates=SETS)
    assert custom_info(without).digest != custom_info(known).digest


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"candidates": None}, "no array `y` in it, and no `candidates` or `annotations`"),
        ({"candidates": 0 * SETS}, "row 0 (counted from 0) has no candidate (40 of 40 rows)"),
        ({"candidates": SETS[:30]}, "`x` has 40 rows, `candidates` has 30"),
        ({"candidates": SETS[:, :1]}, "1 classes, must be from 2"),
        ({"candidates": SETS.T}, "`x` has 40 rows, `candidates` has 4"),
        ({"candidates": SETS.astype(str)}, "`candidates` is no matrix of numbers"),
        ({"candidates": SETS, "num_classes": 5}, "`candidates` has 4 columns"),
        ({"candidates": SETS, "annotations": VOTES}, "leave one of them out"),
        ({"candidates": SETS / 2}, "`candidates` holds values other than 0 and 1"),
        ({"candidates": SETS[:0], "x": X[:0]}, "`x` has no rows"),
        ({"candidates": None, "annotations": VOTES[:0]}, "0 classes, must be from 2"),
        ({"candidates": None, "annotations": VOTES[:-2]}, "row 39 (counted from 0) of the data"),
        (
            {"candidates": None, "annotations": VOTES[:-2], "num_train": 30},
            "row 39 (counted from 0) of the data set has no annotation",
        ),
    ],
)
def test_malformed_sets(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    is_refused(unlabelled(tmp_path, **changed), problem)


def test_test_rows_with_labels_need_no_annotation(tmp_path: Path) -> None:
    path = unlabelled(tmp_path, y=Y, candidates=None, annotations=VOTES[:-2], num_train=30)
    assert read(path).labelled
