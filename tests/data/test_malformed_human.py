"""Malformed files of human candidate sets: one line names the file, exit code 2."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.commands import contents, pllbench, refused
from tests.damage import ANYWHERE, BYTES, anywhere, cut, overwritten
from tests.data.files import NUM_TEST, NUM_TRAIN, save_human, small_labels

pytestmark = pytest.mark.usefixtures("small_cifar10")


def is_refused(name: str, path: Path, problem: str) -> None:
    """`data` refuses the data set of the catalogue by the path of its file."""
    data_dir = path.parents[1]
    before = contents(data_dir)
    message = refused("data", name, "--data-dir", data_dir)
    assert message.startswith(f"{path}: ")
    assert problem in message
    assert contents(data_dir) == before


class MakesFolder:
    """Makes the folder `made` when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("made",))


ROWS: dict[Any, Any] = {row: [[row % 10], [row % 10, 4]] for row in range(NUM_TRAIN)}
"""Well-formed candidate sets of PLCIFAR10: two annotators an image."""

RECURSIVE: list[Any] = []
RECURSIVE.append(RECURSIVE)


def save_pickle(folder: Path, content: bytes) -> Path:
    path = folder / "plcifar10" / "plcifar10.pkl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (MakesFolder(), "not a pickle of plain numbers"),
        (ROWS | {7: MakesFolder()}, "not a pickle of plain numbers"),
        (ROWS | {7: [[np.int64(3)]]}, "not a pickle of plain numbers"),
        (print, "not a pickle of plain numbers"),
        (None, "Input should be a valid dictionary"),
        ([ROWS[row] for row in range(NUM_TRAIN)], "Input should be a valid dictionary"),
        ({}, "must hold candidate sets of the rows 0..19"),
        ({row: ROWS[row] for row in range(NUM_TRAIN - 1)}, "must hold candidate sets of the rows"),
        (ROWS | {20: [[0]]}, "must hold candidate sets of the rows 0..19"),
        (ROWS | {"20": [[0]]}, "row: 20.[key]: Input should be a valid integer"),
        ({float(row): sets for row, sets in ROWS.items()}, "Input should be a valid integer"),
        (ROWS | {None: [[0]]}, "Input should be a valid integer"),
        (ROWS | {7: 5}, "row: 7: Input should be a valid list, got 5"),
        (ROWS | {7: None}, "row: 7: Input should be a valid list"),
        (ROWS | {7: "7"}, "row: 7: Input should be a valid list"),
        (ROWS | {7: [7]}, "row: 7.0: Input should be a valid list, got 7"),
        (ROWS | {7: [["7"]]}, "row: 7.0.0: Input should be a valid integer, got '7'"),
        (ROWS | {7: [[7.0]]}, "row: 7.0.0: Input should be a valid integer"),
        (ROWS | {7: [[True]]}, "row: 7.0.0: Input should be a valid integer, got True"),
        (ROWS | {7: [[[7]]]}, "row: 7.0.0: Input should be a valid integer"),
        (ROWS | {7: RECURSIVE}, "row: 7.0"),
        (ROWS | {7: [[7, 10]]}, "row 7 (counted from 0) has a label outside 0..9"),
        (ROWS | {7: [[-1, 7]]}, "row 7 (counted from 0) has a label outside 0..9"),
        (ROWS | {7: [[]]}, "row 7 (counted from 0) has no candidate"),
        (ROWS | {7: []}, "row 7 (counted from 0) has no candidate"),
    ],
)
def test_malformed_pickles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Any, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = save_pickle(tmp_path, pickle.dumps(content))
    is_refused("plcifar10-vaguest", path, problem)
    is_refused("plcifar10-aggregate", path, problem)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"<html>", b"\0" * 99, b"\x80\x05K\1", b"I1x\n."),
        b"cos\nmkdir\n(S'made'\ntR.",
        b"\x80\2Nr\xff\xff\xff\x7f.",  # None, kept as the two thousand millionth object
    ],
)
def test_a_file_that_is_no_pickle_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    path = save_pickle(tmp_path, content)
    is_refused("plcifar10-vaguest", path, "not a pickle of plain numbers")
    assert not (tmp_path / "made").exists()


@anywhere
@given(place=ANYWHERE)
def test_a_pickle_cut_at_any_byte_is_refused(tmp_path: Path, place: float) -> None:
    path = save_pickle(tmp_path, cut(pickle.dumps(ROWS), place))
    is_refused("plcifar10-aggregate", path, "not a pickle of plain numbers")


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_a_pickle_with_other_bytes_is_refused_or_has_other_labels(
    tmp_path: Path, place: float, by: bytes
) -> None:
    path = save_pickle(tmp_path, overwritten(pickle.dumps(ROWS), place, by))
    answer = pllbench("data", "plcifar10-aggregate", "--data-dir", tmp_path, "--json")
    if answer.code:
        is_refused("plcifar10-aggregate", path, "")
    else:
        assert answer.err == ""
        assert json.loads(answer.out)["num_rows"] == NUM_TRAIN + NUM_TEST


GIVEN = small_labels()[:NUM_TRAIN]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"clean_label": 0 * GIVEN}, "not in the order of CIFAR-10"),
        ({"random_label2": GIVEN[:3]}, "`random_label2` must be 20 labels of 0..9"),
        ({"random_label3": GIVEN + 1}, "`random_label3` must be 20 labels of 0..9"),
        ({"random_label1": GIVEN + 0.5}, "`random_label1` must be 20 labels of 0..9"),
        ({"random_label1": GIVEN * np.nan}, "`random_label1` must be 20 labels of 0..9"),
        ({"random_label1": GIVEN.astype(str)}, "`random_label1` must be numbers, got <U"),
        ({"random_label1": GIVEN.astype(object)}, "not a .npz file, or cut off"),
        ({"random_label1": None}, "random_label1 is not a file in the archive"),
    ],
)
def test_malformed_labels_of_cifar10n(
    tmp_path: Path, changed: dict[str, Any], problem: str
) -> None:
    keys = ("clean_label", "random_label1", "random_label2", "random_label3")
    path = save_human(tmp_path, "cifar10n_train_labels.npz", **dict.fromkeys(keys, GIVEN) | changed)
    is_refused("cifar10n", path, problem)


VOTES = 40 * np.eye(10, dtype=np.int64)[small_labels()[NUM_TRAIN:]]


@pytest.mark.parametrize(
    ("votes", "problem"),
    [
        (VOTES[:5], "shape (5, 10), not (10, 10)"),
        (VOTES[0], "shape (10,), not (10, 10)"),
        (-VOTES, "row 0 (counted from 0) has a number of votes below 0, or NaN"),
        (np.where(VOTES, VOTES, np.nan), "a number of votes below 0, or NaN"),
        (VOTES.astype(str), "`counts` must be numbers"),
        (0 * VOTES, "row 0 (counted from 0) has no candidate"),
        (None, "counts is not a file in the archive"),
    ],
)
def test_malformed_votes_of_cifar10h(tmp_path: Path, votes: Any, problem: str) -> None:
    path = save_human(tmp_path, "cifar10h_test_counts.npz", counts=votes)
    is_refused("cifar10h", path, problem)
