"""Custom data sets as tensors: .npz files, .mat files and folders of images."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat

from pllbench.data.custom import custom_info
from pllbench.data.dataset import load_dataset, split
from pllbench.data.readers.base import Dataset
from tests.data.files import X, Y, path_refusal, save_image, save_npz


def read(path: Path) -> Dataset:
    return load_dataset(custom_info(path), Path())


def test_rows_of_features(tmp_path: Path) -> None:
    dataset = read(save_npz(tmp_path))
    assert (dataset.info.name, dataset.num_classes, dataset.num_train) == ("mine", 4, None)
    assert torch.equal(dataset.x, torch.tensor(X, dtype=torch.float32))
    assert dataset.y.tolist() == Y.tolist()
    assert (dataset.info.kind, dataset.info.split) == ("tabular", "random")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((9, 7), (1, 9, 7)),
        ((9, 7, 1), (1, 9, 7)),
        ((9, 7, 3), (3, 9, 7)),
        ((3, 9, 7), (3, 9, 7)),
        ((1, 9, 9), (1, 9, 9)),
    ],
)
def test_images_grey_or_not_square(
    tmp_path: Path, given: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    x = np.random.default_rng(0).integers(0, 256, (40, *given), dtype=np.uint8)
    dataset = read(save_npz(tmp_path, x=x))
    assert dataset.x.shape[1:] == expected
    assert dataset.x.dtype == torch.uint8
    assert dataset.x.sum().item() == x.sum()
    assert dataset.info.kind == "image"
    assert custom_info(save_npz(tmp_path, x=x, kind="digits")).kind == "digits"


def test_candidates_a_fixed_split_and_more_than_255_classes(tmp_path: Path) -> None:
    y = np.arange(40) * 7  # up to 273
    sets = np.zeros((40, 300), dtype=np.uint8)
    sets[np.arange(40), y] = 1
    sets[:, 299] = 1
    dataset = read(save_npz(tmp_path, y=y, candidates=sets, num_train=30))
    assert dataset.num_classes == 300
    assert dataset.y.tolist() == y.tolist()
    assert dataset.candidates is not None
    assert dataset.candidates.sum().item() == 80
    train, test = split(dataset, 5)
    assert (len(train), test.tolist()) == (30, list(range(30, 40)))


def test_a_file_that_is_no_npz_file_is_refused(tmp_path: Path) -> None:
    path = save_npz(tmp_path)
    whole = path.read_bytes()
    for content in (b"", b"<html>", whole[: len(whole) // 2]):
        path.write_bytes(content)
        assert "not a .npz file, or cut off" in path_refusal(read, path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"nothing")
    assert "not a .npz file" in path_refusal(read, path)


def test_a_file_that_has_changed_since_it_was_looked_at_is_refused(tmp_path: Path) -> None:
    path = save_npz(tmp_path)
    info = custom_info(path)
    save_npz(tmp_path, x=2 * X)
    with pytest.raises(ValueError, match="has changed since the runs were planned") as caught:
        load_dataset(info, Path())
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("real", [True, False])
def test_mat_files_with_and_without_candidate_sets(tmp_path: Path, real: bool) -> None:
    path = tmp_path / "mine.mat"
    content = {"data": X, "target": np.eye(4)[Y].T}
    savemat(path, content | ({"partial_target": np.ones((4, 40))} if real else {}))
    dataset = read(path)
    assert dataset.y.tolist() == Y.tolist()
    assert dataset.info.real_candidates is real
    assert (dataset.candidates is not None) is real


def test_a_folder_of_images(tmp_path: Path) -> None:
    root = tmp_path / "pets"
    for number, name in enumerate(["cat", "dog", "ant"]):
        for copy in range(4):
            save_image(root / name / f"{copy}.png", value=10 * number)
    dataset = read(root)
    assert dataset.x.shape == (12, 3, 6, 5)
    assert dataset.y.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert dataset.x[:, 0, 0, 0].tolist() == [20] * 4 + [0] * 4 + [10] * 4
    assert dataset.num_train is None


def test_training_and_test_images_and_a_class_missing_from_one(tmp_path: Path) -> None:
    root = tmp_path / "pets"
    for number in range(3):
        save_image(root / "train" / f"class{number}" / "a.png", (6, 6), number)
    save_image(root / "test" / "class1" / "b.png", (6, 6), 50)
    dataset = read(root)
    assert dataset.x.shape == (4, 1, 6, 6)
    assert (dataset.num_train, dataset.num_classes, dataset.y.tolist()) == (3, 3, [0, 1, 2, 1])
    save_image(root / "test" / "class2" / "c.png", (6, 6, 3), 60)  # one in colour
    assert read(root).x.shape == (5, 3, 6, 6)
