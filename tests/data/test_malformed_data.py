"""Malformed data files: one line names the file, exit code 2, and nothing is written.

Bytes that are changed by chance may leave a data set behind: then it is another one by its digest,
so that its runs are others.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.io import savemat

from tests.commands import pllbench
from tests.damage import ANYWHERE, BYTES, anywhere, cut, is_refused, overwritten

RNG = np.random.default_rng(0)
Y = np.arange(40) % 4
X = RNG.normal(size=(40, 5))
NEGATIVE = (X < 0).any(1).sum()
SETS = np.ones((40, 4), dtype=np.uint8)


def is_refused_or_another(path: Path, content: bytes) -> None:
    """No byte of `path` can be lost or changed without being noticed."""
    before = json.loads(pllbench("data", path, "--json").out)["digest"]
    whole = path.read_bytes()
    path.write_bytes(content)
    try:
        answer = pllbench("data", path, "--json")
        if answer.code:
            is_refused(path)
        else:
            assert answer.err == ""
            assert (json.loads(answer.out)["digest"] == before) is (content == whole)
    finally:
        path.write_bytes(whole)


# npz.


def npz(folder: Path, **arrays: Any) -> Path:
    path = folder / "mine.npz"
    found = {"x": X, "y": Y} | arrays
    np.savez(path, **{key: value for key, value in found.items() if value is not None})
    return path


ARRAYS: list[tuple[dict[str, Any], str]] = [
    ({"y": Y + 1}, "class 0 does not occur: if labels count from 1, subtract 1"),
    ({"y": Y + 1, "num_classes": 4}, "labels run from 1 to 4, they must be 0..3"),
    ({"y": Y - 1}, "row 0 (counted from 0) has a label outside 0..2"),
    ({"y": Y.astype(np.uint8), "num_classes": 300}, "uint8 labels cannot hold 300 classes"),
    ({"y": Y + 0.5}, "fractional label"),
    ({"y": np.where(Y == 2, np.nan, Y)}, "row 2 (counted from 0) has a fractional label"),
    ({"y": np.where(Y == 2, np.inf, Y)}, "row 2 (counted from 0) has a fractional label"),
    ({"y": Y[:30]}, "`x` has 40 rows, `y` has 30"),
    ({"y": Y[:0]}, "labels must be one number a row"),
    ({"y": np.int64(3)}, "labels must be one number a row"),
    ({"y": np.eye(4)[Y]}, "labels must be one number a row"),
    ({"y": np.array(["a"] * 40)}, "labels must be whole numbers"),
    ({"y": Y > 1}, "labels must be whole numbers"),
    ({"y": Y * 10**12}, "classes, must be from 2 to 100000"),
    ({"y": 0 * Y}, "1 classes, must be from 2 to 100000"),
    ({"y": None}, "no array `y` in it"),
    ({"x": None}, "no array `x` in it"),
    ({"x": np.full((40, 2), np.nan)}, "row 0 (counted from 0) has a feature that is NaN"),
    ({"x": np.where(X[7, 0] == X, 1e300, X)}, "row 7 (counted from 0) has a feature that is NaN"),
    ({"x": X.astype(complex)}, "`x` is no matrix of numbers: complex128"),
    ({"x": np.zeros((40, 0))}, "`x` has no features"),
    ({"x": X[:0], "y": Y[:0]}, "labels must be one number a row"),
    ({"x": X[:, 0]}, "images must be uint8 from 0 to 255, got float64"),
    ({"x": np.zeros((40, 5, 5))}, "images must be uint8 from 0 to 255, got float64"),
    ({"x": np.zeros((40, 5, 5, 2), dtype=np.uint8)}, "1 or 3 channels, got the shape"),
    ({"x": np.zeros((40, 0, 5), dtype=np.uint8)}, "no pixels in images of the shape (40, 0, 5)"),
    ({"x": np.array([None] * 40), "kind": "tabular"}, "not a .npz file, or cut off"),
    (
        {"x": X, "kind": "text"},
        f"row 0 (counted from 0) has a negative count of a word ({NEGATIVE} of 40 rows)",
    ),
    ({"x": X, "kind": "image"}, "images must be uint8 from 0 to 255"),
    ({"kind": "picture"}, "kind 'picture' must be one of image, digits, text, tabular"),
    ({"kind": np.array([3, 4])}, "kind '[3 4]' must be one of image"),
    ({"candidates": 0 * SETS}, "row 0 (counted from 0) has no candidate (40 of 40"),
    ({"candidates": SETS[:, :3]}, "row 3 (counted from 0) has a label outside 0..2"),
    ({"candidates": SETS[:30]}, "candidate sets of shape (30, 4) for 40 true labels"),
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
]


@pytest.mark.parametrize(("change", "problem"), ARRAYS)
def test_malformed_arrays(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    is_refused(npz(tmp_path, **change), problem)


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_true_labels_that_are_no_candidates(tmp_path: Path, kind: str) -> None:
    sets = 1 - np.eye(4)[Y]
    path = npz(tmp_path, candidates=sets) if kind == "npz" else mat(tmp_path, partial_target=sets.T)
    is_refused(path, "row 0 (counted from 0) does not have its true label 0", run=True)


@anywhere
@given(place=ANYWHERE)
def test_an_npz_file_cut_at_any_byte(tmp_path: Path, place: float) -> None:
    path = npz(tmp_path, candidates=SETS, num_train=30)
    path.write_bytes(cut(path.read_bytes(), place))
    is_refused(path, "not a .npz file, or cut off")


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_an_npz_file_with_other_bytes(tmp_path: Path, place: float, by: bytes) -> None:
    path = npz(tmp_path, candidates=SETS, num_train=30)
    is_refused_or_another(path, overwritten(path.read_bytes(), place, by))


# mat.


def mat(folder: Path, **variables: Any) -> Path:
    path = folder / "mine.mat"
    target = np.eye(4)[Y].T  # [C, N]
    found = {"data": X, "target": target, "partial_target": np.ones((4, 40))} | variables
    savemat(path, {key: value for key, value in found.items() if value is not None})
    return path


CLASSES = np.eye(4)[Y].T

VARIABLES: list[tuple[dict[str, Any], str]] = [
    ({"data": None}, "no variable `data` in it"),
    ({"target": None}, "no variable `target` in it"),
    ({"data": {"x": X}}, "`data` is no matrix of numbers"),
    ({"data": np.array([[1, "a"]], dtype=object)}, "`data` is no matrix of numbers"),
    ({"data": "text"}, "`data` is no matrix of numbers"),
    ({"data": X.astype(complex)}, "`data` is no matrix of numbers"),
    ({"data": np.zeros((40, 5, 2))}, "`data` is no matrix of numbers"),
    ({"data": np.zeros((40, 0))}, "`data` has no features"),
    ({"data": np.where(X[7, 0] == X, np.nan, X)}, "`data`: row 7 (counted from 0) has a feature"),
    ({"target": CLASSES[:, :30]}, "`target` has the shape (4, 30), `data` has 40 rows"),
    ({"target": 2 * CLASSES}, "`target` holds values other than 0 and 1"),
    ({"target": 0 * CLASSES}, "row 0 (counted from 0) has no true label"),
    ({"target": CLASSES + np.roll(CLASSES, 1, 0)}, "has several true labels"),
    ({"target": np.ones((1, 40)), "partial_target": None}, "1 classes, must be from 2"),
    ({"partial_target": np.ones((3, 40))}, "has 4 classes, `partial_target` 3"),
    ({"partial_target": 0 * CLASSES}, "row 0 (counted from 0) has no candidate"),
    ({"partial_target": np.full((4, 40), 0.5)}, "holds values other than 0 and 1"),
]


@pytest.mark.parametrize(("change", "problem"), VARIABLES)
def test_malformed_variables(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    is_refused(mat(tmp_path, **change), problem)


MAT_JUNK: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "HTML": lambda _: b"<html>503</html>",
    "MATLAB 7.3": lambda whole: whole[:124] + b"\x00\x02" + whole[126:],
    "no variables": lambda whole: whole[:128],
}


@pytest.mark.parametrize("kind", MAT_JUNK)
def test_what_is_no_mat_file(tmp_path: Path, kind: str) -> None:
    path = mat(tmp_path)
    path.write_bytes(MAT_JUNK[kind](path.read_bytes()))
    is_refused(path)


@anywhere
@given(place=ANYWHERE)
def test_a_mat_file_cut_at_any_byte(tmp_path: Path, place: float) -> None:
    path = mat(tmp_path)
    is_refused_or_another(path, cut(path.read_bytes(), place))


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_a_mat_file_with_other_bytes(tmp_path: Path, place: float, by: bytes) -> None:
    path = mat(tmp_path)
    is_refused_or_another(path, overwritten(path.read_bytes(), place, by))
