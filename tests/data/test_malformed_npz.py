"""Malformed .npz files of the user: one line names the file, exit code 2, nothing is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.damage import ANYWHERE, BYTES, anywhere, cut, is_refused, overwritten
from tests.data.files import X, Y, is_refused_or_another, save_npz

SETS = np.ones((40, 4), dtype=np.uint8)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"y": Y + 1}, "class 0 does not occur: if labels count from 1, subtract 1"),
        ({"y": Y + 1, "num_classes": 4}, "labels run from 1 to 4, they must be 0..3"),
        ({"y": Y - 1}, "row 0 (counted from 0) has a label outside 0..2"),
        ({"y": Y.astype(np.uint8), "num_classes": 300}, "uint8 labels cannot hold 300 classes"),
        ({"y": Y + 0.5}, "fractional label"),
        ({"y": np.where(Y == 2, np.nan, Y)}, "row 2 (counted from 0) has no label: it is NaN"),
        ({"y": np.where(Y == 2, np.inf, Y)}, "row 2 (counted from 0) has a fractional label"),
        ({"y": Y[:30]}, "`x` has 40 rows, `y` has 30"),
        ({"y": Y[:0]}, "labels must be one number a row"),
        ({"y": np.int64(3)}, "labels must be one number a row"),
        ({"y": np.eye(4)[Y]}, "labels must be one number a row"),
        ({"y": np.array(["a"] * 40)}, "labels must be whole numbers"),
        ({"y": Y > 1}, "labels must be whole numbers"),
        ({"y": Y * 10**12}, "classes, must be from 2 to 100000"),
        ({"y": 0 * Y}, "1 classes, must be from 2 to 100000"),
        ({"y": None}, "no array `y` in it, and no `candidates` or `annotations`"),
    ],
)
def test_malformed_labels(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    is_refused(save_npz(tmp_path, **changed), problem)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"x": None}, "no array `x` in it"),
        ({"x": np.full((40, 2), np.nan)}, "row 0 (counted from 0) has a feature that is NaN"),
        ({"x": np.where(X[7, 0] == X, 1e300, X)}, "row 7 (counted from 0) has a feature that is"),
        ({"x": X.astype(complex)}, "`x` is no matrix of numbers: complex128"),
        ({"x": np.zeros((40, 0))}, "`x` has no features"),
        ({"x": X[:0], "y": Y[:0]}, "labels must be one number a row"),
        ({"x": X[:, 0]}, "images must be uint8 from 0 to 255, got float64"),
        ({"x": np.zeros((40, 5, 5))}, "images must be uint8 from 0 to 255, got float64"),
        ({"x": np.zeros((40, 5, 5, 2), dtype=np.uint8)}, "1 or 3 channels, got the shape"),
        ({"x": np.zeros((40, 0, 5), dtype=np.uint8)}, "no pixels in images of the shape (40, 0"),
        ({"x": np.array([None] * 40), "kind": "tabular"}, "not a .npz file, or cut off"),
        ({"kind": "text"}, "row 0 (counted from 0) has a negative count of a word (20 of 40 rows)"),
        ({"kind": "image"}, "images must be uint8 from 0 to 255"),
        ({"kind": "picture"}, "kind 'picture' must be one of image, digits, text, tabular"),
        ({"kind": np.array([3, 4])}, "kind '[3 4]' must be one of image"),
    ],
)
def test_malformed_features(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    is_refused(save_npz(tmp_path, **changed), problem)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"candidates": 0 * SETS}, "row 0 (counted from 0) has no candidate (40 of 40"),
        ({"candidates": SETS[:, :3]}, "row 3 (counted from 0) has a label outside 0..2"),
        ({"candidates": SETS[:30]}, "`x` has 40 rows, `candidates` has 30"),
        ({"candidates": SETS[:, :1]}, "1 classes, must be from 2"),
        ({"candidates": SETS[0]}, "`candidates` is no matrix of numbers"),
        ({"candidates": 2 * SETS}, "holds values other than 0 and 1"),
        ({"candidates": SETS * np.nan}, "holds values other than 0 and 1"),
        ({"candidates": SETS.astype(str)}, "`candidates` is no matrix of numbers"),
        ({"candidates": SETS, "num_classes": 5}, "`candidates` has 4 columns"),
        ({"num_classes": 3}, "row 3 (counted from 0) has a label outside 0..2"),
        ({"num_classes": -4}, "-4 classes, must be from 2"),
        ({"num_classes": 10**9}, "1000000000 classes, must be from 2"),
        ({"num_classes": [4, 4]}, "`num_classes` must be one whole number, got '[4 4]'"),
        ({"num_classes": "four"}, "`num_classes` must be one whole number, got 'four'"),
        ({"num_classes": np.inf}, "`num_classes` must be one whole number, got 'inf'"),
        ({"num_train": 40}, "`num_train` must be 1..39, got 40"),
        ({"num_train": 30.5}, "`num_train` must be one whole number, got '30.5'"),
        ({"num_train": np.nan}, "`num_train` must be one whole number, got 'nan'"),
        ({"num_train": []}, "`num_train` must be one whole number, got '[]'"),
    ],
)
def test_malformed_candidates_and_numbers(
    tmp_path: Path, changed: dict[str, Any], problem: str
) -> None:
    is_refused(save_npz(tmp_path, **changed), problem)


def test_a_true_label_that_is_no_candidate_is_refused_by_a_run(tmp_path: Path) -> None:
    path = save_npz(tmp_path, candidates=1 - np.eye(4)[Y])
    is_refused(path, "row 0 (counted from 0) does not have its true label 0", run=True)


@anywhere
@given(place=ANYWHERE)
def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path, place: float) -> None:
    path = save_npz(tmp_path, candidates=SETS, num_train=30)
    path.write_bytes(cut(path.read_bytes(), place))
    is_refused(path, "not a .npz file, or cut off")


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_a_file_with_other_bytes_is_refused_or_another(
    tmp_path: Path, place: float, by: bytes
) -> None:
    path = save_npz(tmp_path, candidates=SETS, num_train=30)
    is_refused_or_another(path, overwritten(path.read_bytes(), place, by))
