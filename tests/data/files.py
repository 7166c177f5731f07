"""Small data files for the tests of readers, and the folder of the real ones.

Letters in shape comments: N instances, C classes, D features.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset
from pllbench.data.readers.base import Dataset
from tests.commands import pllbench
from tests.damage import is_refused
from tools.site.datasets import at_hand

NUM_ROWS, NUM_FEATURES, NUM_CLASSES = 30, 4, 5
"""Of a small .mat file."""

NUM_TRAIN, NUM_TEST = 20, 10
"""Images in place of CIFAR-10's."""

X = np.linspace(-1, 1, 200).reshape(40, 5)
"""Features of a small .npz file; those of its first 20 rows are negative."""

Y = np.arange(40) % 4
"""Its true labels."""


def mat_variables() -> dict[str, NDArray[Any]]:
    """A well-formed real-world set in its documented layout; class 3 never occurs."""
    rng = np.random.default_rng(0)
    y = np.arange(NUM_ROWS) % NUM_CLASSES
    target = np.eye(NUM_CLASSES)[np.where(y == 3, 0, y)].T  # [C, N]
    return {
        "data": rng.normal(size=(NUM_ROWS, NUM_FEATURES)),
        "target": target,
        "partial_target": np.maximum(target, rng.random((NUM_CLASSES, NUM_ROWS)) < 0.3),
    }


def save_mat(data_dir: Path, variables: dict[str, Any], name: str = "lost.mat") -> Path:
    """A file of the real-world sets, by default that of the data set `lost`."""
    path = data_dir / "pll_realworld" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, variables)
    return path


def save_npz(folder: Path, name: str = "mine", **arrays: Any) -> Path:
    """A custom .npz file of `X` and `Y` but for the given arrays; None leaves an array out."""
    path = folder / f"{name}.npz"
    content = {"x": X, "y": Y} | arrays
    np.savez(path, **{key: value for key, value in content.items() if value is not None})
    return path


def save_image(path: Path, shape: tuple[int, ...] = (6, 5, 3), value: int = 7) -> None:
    """An image of one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full(shape, value, dtype=np.uint8)).save(path)


def small_labels() -> NDArray[np.int64]:
    """True labels of the images in place of CIFAR-10's: every class in turn."""
    return np.arange(NUM_TRAIN + NUM_TEST) % 10


def make_small_cifar10() -> Dataset:
    """CIFAR-10 of few images; the first pixel of each is its row."""
    x = torch.zeros(NUM_TRAIN + NUM_TEST, 3, 32, 32, dtype=torch.uint8)
    x[:, 0, 0, 0] = torch.arange(len(x), dtype=torch.uint8)
    y = torch.from_numpy(small_labels())
    return Dataset(DATASETS["cifar10"], x, y, 10, num_train=NUM_TRAIN)


def save_human(data_dir: Path, name: str, **arrays: Any) -> Path:
    """A file of human candidate sets of CIFAR-10; None leaves an array out."""
    path = data_dir / "cifar10_human" / name
    path.parent.mkdir()
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def refusal(name: str, data_dir: Path) -> str:
    """The message with which a data set of the catalogue is refused: one line."""
    with pytest.raises(ValueError, match=r".") as caught:
        load_dataset(DATASETS[name], data_dir)
    message = str(caught.value)
    assert "\n" not in message
    return message


def path_refusal(read: Callable[[Path], object], path: Path) -> str:
    """The message with which `read` refuses a path: one line that begins with it."""
    with pytest.raises(ValueError, match=r".") as caught:
        read(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


def real_data_dir(name: str) -> Path:
    """The folder with the real files of a data set; skips the test where one is missing."""
    if "PLLBENCH_DATA" not in os.environ:
        pytest.skip("PLLBENCH_DATA does not name a folder with the real data sets")
    data_dir = Path(os.environ["PLLBENCH_DATA"])
    if not at_hand(DATASETS[name], data_dir):
        pytest.skip(f"the file of {name} is not in PLLBENCH_DATA")
    return data_dir


def is_refused_or_another(path: Path, content: bytes) -> None:
    """No byte of a custom data set can be lost or changed without being noticed.

    Written into `path`, `content` is refused, or is a data set with another digest unless it is
    what `path` holds.
    """
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
