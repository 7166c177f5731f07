"""Malformed .mat files, of the real-world sets and of the user: one line names the file and row.

Bytes that are changed at random may leave a data set behind: then it is another one by its digest,
so that its runs are others.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.io import savemat

from tests.damage import ANYWHERE, BYTES, anywhere, cut, is_refused, overwritten
from tests.data.files import (
    NUM_CLASSES,
    NUM_FEATURES,
    NUM_ROWS,
    is_refused_or_another,
    mat_variables,
    refusal,
    save_mat,
)

Variables = dict[str, Any]


def change(key: str, place: Any, value: float) -> Callable[[Variables], None]:
    """Damage that writes `value` into a part of a variable."""

    def apply(content: Variables) -> None:
        content[key][place] = value

    return apply


def replace(key: str, value: Any) -> Callable[[Variables], None]:
    """Damage that stores another variable."""

    def apply(content: Variables) -> None:
        content[key] = value

    return apply


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (change("target", np.s_[:, 17], 0), "`target`: row 17 (counted from 0) has no true label"),
        (change("target", np.s_[:2, 8], 1), "`target`: row 8 (counted from 0) has several true"),
        (change("partial_target", np.s_[:, 4], 0), "row 4 (counted from 0) has no candidate"),
        (
            change("data", (9, 2), np.nan),
            "`data`: row 9 (counted from 0) has a feature that is NaN",
        ),
        (change("data", (0, 0), np.inf), "row 0 (counted from 0) has a feature that is NaN or inf"),
        (change("data", (3, 1), 1e39), "row 3 (counted from 0) has a feature that is NaN or inf"),
        (change("target", (0, 0), 2), "`target` holds values other than 0 and 1"),
        (change("partial_target", (0, 0), np.nan), "`partial_target` holds values other than"),
        (replace("target", np.arange(NUM_ROWS)[None]), "holds values other than 0 and 1"),
        (replace("target", np.ones((NUM_CLASSES, 29))), "shape (5, 29), `data` has 30 rows"),
        (replace("data", np.ones((31, NUM_FEATURES))), "shape (5, 30), `data` has 31 rows"),
        (replace("partial_target", np.ones((6, NUM_ROWS))), "has 5 classes, `partial_target` 6"),
        (replace("data", "text"), "`data` is no matrix of numbers"),
        (replace("data", np.ones((NUM_ROWS, NUM_FEATURES)) * 1j), "`data` is no matrix of numbers"),
        (replace("target", np.array([[1], "a"], dtype=object)), "`target` is no matrix of numbers"),
    ],
)
def test_a_malformed_real_world_set_is_refused(
    tmp_path: Path, damage: Callable[[Variables], None], expected: str
) -> None:
    content = mat_variables()
    damage(content)
    path = save_mat(tmp_path, content)
    message = refusal("lost", tmp_path)
    assert expected in message
    assert message.startswith(str(path))


@pytest.mark.parametrize("key", ["data", "target", "partial_target"])
def test_a_missing_variable_is_refused(tmp_path: Path, key: str) -> None:
    content = mat_variables()
    del content[key]
    save_mat(tmp_path, content)
    assert f"no variable `{key}`" in refusal("lost", tmp_path)


@pytest.mark.parametrize("content", [b"", b"<html>503</html>\n" * 50, b"version https://git-lfs"])
def test_a_file_that_is_no_mat_file_is_refused_with_its_source(
    tmp_path: Path, content: bytes
) -> None:
    path = save_mat(tmp_path, mat_variables())
    path.write_bytes(content)
    message = refusal("lost", tmp_path)
    assert message.startswith(f"{path}: not a .mat file, or cut off")
    assert "https://palm" in message


def test_matlab_7_3_is_refused_with_its_remedy(tmp_path: Path) -> None:
    path = save_mat(tmp_path, mat_variables())
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    path.write_bytes(header + bytes(400))
    assert "'-v7'" in refusal("lost", tmp_path)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path, compressed: bool) -> None:
    path = save_mat(tmp_path, {})
    buffer = io.BytesIO()
    savemat(buffer, mat_variables(), do_compression=compressed)
    whole = buffer.getvalue()
    for end in range(0, len(whole), 41):
        path.write_bytes(whole[:end])
        assert str(path) in refusal("lost", tmp_path)


def custom_mat(folder: Path, **changed: Any) -> Path:
    """A custom .mat file; None leaves a variable out."""
    path = folder / "mine.mat"
    content = mat_variables() | changed
    savemat(path, {key: value for key, value in content.items() if value is not None})
    return path


def features(value: float) -> Any:
    """Features whose row 7 holds `value`."""
    x = np.ones((NUM_ROWS, NUM_FEATURES))
    x[7, 2] = value
    return x


def indicators(num_classes: int, value: float, num_rows: int = NUM_ROWS) -> Any:
    """A matrix [C, N] of one value."""
    return np.full((num_classes, num_rows), value)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"data": None}, "no variable `data` in it"),
        ({"target": None}, "no variable `target` in it"),
        ({"data": {"x": features(1)}}, "`data` is no matrix of numbers"),
        ({"data": np.array([[1, "a"]], dtype=object)}, "`data` is no matrix of numbers"),
        ({"data": "text"}, "`data` is no matrix of numbers"),
        ({"data": features(1).astype(complex)}, "`data` is no matrix of numbers"),
        ({"data": np.zeros((NUM_ROWS, 5, 2))}, "`data` is no matrix of numbers"),
        ({"data": np.zeros((NUM_ROWS, 0))}, "`data` has no features"),
        ({"data": features(np.nan)}, "`data`: row 7 (counted from 0) has a feature"),
        ({"target": indicators(5, 1, 20)}, "`target` has the shape (5, 20), `data` has 30 rows"),
        ({"target": indicators(5, 2)}, "`target` holds values other than 0 and 1"),
        ({"target": indicators(5, 0)}, "row 0 (counted from 0) has no true label"),
        ({"target": indicators(5, 1)}, "has several true labels"),
        ({"target": indicators(1, 1), "partial_target": None}, "1 classes, must be from 2"),
        ({"partial_target": indicators(3, 1)}, "has 5 classes, `partial_target` 3"),
        ({"partial_target": indicators(5, 0)}, "row 0 (counted from 0) has no candidate"),
        ({"partial_target": indicators(5, 0.5)}, "holds values other than 0 and 1"),
    ],
)
def test_a_malformed_custom_mat_file_is_refused(
    tmp_path: Path, changed: dict[str, Any], problem: str
) -> None:
    is_refused(custom_mat(tmp_path, **changed), problem)


def test_a_true_label_that_is_no_candidate_is_refused_by_a_run(tmp_path: Path) -> None:
    path = custom_mat(tmp_path, partial_target=1 - mat_variables()["target"])
    is_refused(path, "row 0 (counted from 0) does not have its true label 0", run=True)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"<html>503</html>", id="HTML"),
        pytest.param(lambda whole: whole[:124] + b"\x00\x02" + whole[126:], id="MATLAB 7.3"),
        pytest.param(lambda whole: whole[:128], id="no variables"),
    ],
)
def test_a_custom_file_that_is_no_mat_file_is_refused(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = custom_mat(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    is_refused(path)


@anywhere
@given(place=ANYWHERE)
def test_a_mat_file_cut_at_any_byte_is_refused_or_another(tmp_path: Path, place: float) -> None:
    path = custom_mat(tmp_path)
    is_refused_or_another(path, cut(path.read_bytes(), place))


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_a_mat_file_with_other_bytes_is_refused_or_another(
    tmp_path: Path, place: float, by: bytes
) -> None:
    path = custom_mat(tmp_path)
    is_refused_or_another(path, overwritten(path.read_bytes(), place, by))
