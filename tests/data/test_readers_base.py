"""What all readers share: finding a file, checking labels, the first rows of a fixed split."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset, require_files
from pllbench.data.readers.base import check_labels, find_file, first_rows
from tests.data.files import NUM_ROWS, NUM_TRAIN, make_small_cifar10, mat_variables, save_mat


@pytest.mark.parametrize(
    "name",
    ["Soccer Player.mat", "SoccerPlayer.mat", "soccer_player.MAT", "inner/Soccer Player.mat"],
)
def test_a_file_is_found_under_other_spellings_and_in_one_more_folder(
    tmp_path: Path, name: str
) -> None:
    path = save_mat(tmp_path, mat_variables(), "x.mat")
    (path.parent / name).parent.mkdir(exist_ok=True)
    path.rename(path.parent / name)
    (path.parent / "._Soccer Player.mat").write_bytes(b"a resource fork is no data set")
    info = DATASETS["soccer-player"]
    assert find_file(info, tmp_path) == path.parent / name
    require_files(info, tmp_path)
    assert len(load_dataset(info, tmp_path).x) == NUM_ROWS


def test_labels_keep_their_values_as_int64() -> None:
    labels = check_labels(np.arange(300, dtype=np.uint16), 300, "y")
    assert labels.dtype == np.int64
    assert labels[299] == 299
    # Class 0 is merely absent: nothing is shifted.
    assert check_labels([1, 9, 4], 10, "y").tolist() == [1, 9, 4]
    assert check_labels([0.0, 2.0], 3, "y").tolist() == [0, 2]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.arange(1, 11), r"labels run from 1 to 10, they must be 0\.\.9: .*subtract 1"),
        (np.arange(2, 11), r"labels run from 2 to 10, .*subtract 1"),
        (np.array([0, 3, 10]), r"row 2 \(counted from 0\) has a label outside 0\.\.9"),
        (np.array([0, -1, 3]), r"row 1 \(counted from 0\) has a label outside 0\.\.9"),
        (np.array([0, 0.5]), "row 1 .* fractional label"),
        (np.array([np.nan, 0]), "row 0 .* has no label: it is NaN"),
        (np.array([0, np.inf]), "row 1 .* fractional label"),
        (np.array(["0", "1"]), "whole numbers"),
        (np.zeros((3, 1), dtype=int), r"shape \(3, 1\)"),
        (np.zeros(0, dtype=int), r"shape \(0,\)"),
    ],
)
def test_bad_labels_are_refused(labels: npt.NDArray[Any], expected: str) -> None:
    with pytest.raises(ValueError, match=rf"^file\.npz: .*{expected}"):
        check_labels(labels, 10, "file.npz")


def test_labels_that_wrapped_around_are_refused() -> None:
    wrapped = np.arange(300).astype(np.uint8)
    with pytest.raises(ValueError, match="uint8 labels cannot hold 300 classes"):
        check_labels(wrapped, 300, "y")


def test_the_first_rows_of_training_and_test_part_are_a_copy() -> None:
    dataset = make_small_cifar10()
    first = first_rows(dataset, 4, 2)
    assert first.x[:, 0, 0, 0].tolist() == [0, 1, 2, 3, NUM_TRAIN, NUM_TRAIN + 1]
    assert first.y.tolist() == [0, 1, 2, 3, 0, 1]
    assert first.num_train == 4
    assert first.x.untyped_storage().nbytes() == first.x.nbytes
    assert len(first_rows(dataset, 1000, 1000).y) == len(dataset.y)
