"""Image sets of torchvision: small files in each format, damaged and missing ones, real files."""

import gzip
import pickle
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
import torchvision.datasets
from scipy.io import savemat
from torch import Tensor

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset, require_files, split
from tests.data.files import real_data_dir, refusal

Images = npt.NDArray[np.uint8]

NUM_TRAIN, NUM_TEST = 30, 10


def draw_rows(
    num_rows: int, channels: int, size: int, num_classes: int
) -> tuple[Images, list[int]]:
    """Random images [N, channels, size, size] and labels of every class in turn."""
    rng = np.random.default_rng(num_rows)
    images = rng.integers(0, 256, (num_rows, channels, size, size), dtype=np.uint8)
    return images, [i % num_classes for i in range(num_rows)]


def write_cifar(
    folder: Path,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, int] = (NUM_TRAIN, NUM_TEST),
) -> None:
    """CIFAR-10 or CIFAR-100 of random images: `sizes` are those of training and test part."""
    cls = getattr(torchvision.datasets, DATASETS[name].torchvision or "")
    target = folder / cls.base_folder
    target.mkdir(parents=True)
    key = "labels" if name == "cifar10" else "fine_labels"
    classes = 10 if name == "cifar10" else 100
    for file, size in zip(("train", "test"), sizes, strict=True):
        images, labels = draw_rows(size, 3, 32, classes)
        content = {"data": images.reshape(size, -1), key: labels}
        (target / file).write_bytes(pickle.dumps(content))
    (target / "meta").write_bytes(pickle.dumps({cls.meta["key"]: ["a"] * classes}))
    monkeypatch.setattr(cls, "train_list", [["train", None]])
    monkeypatch.setattr(cls, "test_list", [["test", None]])
    monkeypatch.setattr(cls, "meta", {"filename": "meta", "key": cls.meta["key"], "md5": None})


def write_svhn(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    listed = {}
    for part, size in (("train", NUM_TRAIN), ("test", NUM_TEST)):
        images, labels = draw_rows(size, 3, 32, 10)
        y = np.array([[10 if label == 0 else label] for label in labels], dtype=np.uint8)
        savemat(folder / f"{part}_32x32.mat", {"X": images.transpose(2, 3, 1, 0), "y": y})
        listed[part] = ["http://localhost/none", f"{part}_32x32.mat", None]
    monkeypatch.setattr(torchvision.datasets.SVHN, "split_list", listed)


def idx(array: npt.NDArray[np.uint8]) -> bytes:
    shape = b"".join(struct.pack(">I", size) for size in array.shape)
    return struct.pack(">HBB", 0, 8, array.ndim) + shape + array.tobytes()


def write_mnist(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target = folder / (DATASETS[name].file or "")
    target.mkdir(parents=True)
    for part, size in (("train", NUM_TRAIN), ("t10k", NUM_TEST)):
        images, labels = draw_rows(size, 1, 28, 10)
        y = np.array(labels, dtype=np.uint8)
        for kind, content in ((f"{part}-images-idx3", images[:, 0]), (f"{part}-labels-idx1", y)):
            (target / f"{kind}-ubyte").write_bytes(idx(content))


Writer = Callable[[Path, str, pytest.MonkeyPatch], None]
WRITERS: dict[str, Writer] = {
    "cifar10": write_cifar,
    "cifar100": write_cifar,
    "svhn": write_svhn,
    "mnist": write_mnist,
    "fashion-mnist": write_mnist,
    "kmnist": write_mnist,
}


def expected(name: str) -> tuple[Tensor, list[int]]:
    channels, size = (1, 28) if "mnist" in name else (3, 32)
    classes = 100 if name == "cifar100" else 10
    train, test = (draw_rows(n, channels, size, classes) for n in (NUM_TRAIN, NUM_TEST))
    return torch.from_numpy(np.concatenate([train[0], test[0]])), train[1] + test[1]


@pytest.mark.parametrize("place", [".", "below"])
@pytest.mark.parametrize("name", WRITERS)
def test_small_files_in_each_format(
    tmp_path: Path, name: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path / place, name, monkeypatch)
    require_files(DATASETS[name], tmp_path)
    dataset = load_dataset(DATASETS[name], tmp_path)
    x, y = expected(name)
    assert dataset.x.dtype == torch.uint8
    assert dataset.x.is_contiguous()
    assert torch.equal(dataset.x, x)
    assert dataset.y.tolist() == y
    assert dataset.num_classes == (100 if name == "cifar100" else 10)
    train, test = split(dataset, 0)
    assert train.tolist() == list(range(NUM_TRAIN))
    assert test.tolist() == list(range(NUM_TRAIN, NUM_TRAIN + NUM_TEST))
    assert [index.tolist() for index in split(dataset, 1)] == [train.tolist(), test.tolist()]


@pytest.mark.parametrize("name", ["cifar10", "mnist"])
def test_the_first_images_are_a_data_set_of_their_own(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path, name, monkeypatch)
    dataset = load_dataset(replace(DATASETS[f"{name}-5k"], first=(7, 3)), tmp_path)
    x, y = expected(name)
    rows = [*range(7), *range(NUM_TRAIN, NUM_TRAIN + 3)]
    assert torch.equal(dataset.x, x[rows])
    assert dataset.y.tolist() == [y[row] for row in rows]
    assert dataset.x.untyped_storage().nbytes() == dataset.x.nbytes
    train, test = split(dataset, 0)
    assert (train.tolist(), test.tolist()) == (list(range(7)), [7, 8, 9])


def test_mnist_is_read_packed_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mnist(tmp_path, "mnist", monkeypatch)
    plain = load_dataset(DATASETS["mnist"], tmp_path)
    folder = tmp_path / "MNIST" / "raw"
    for path in list(folder.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    before = sorted(folder.iterdir())
    packed = load_dataset(DATASETS["mnist"], tmp_path)
    assert sorted(folder.iterdir()) == before
    assert torch.equal(packed.x, plain.x)
    assert torch.equal(packed.y, plain.y)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every download fails."""

    def urlopen(*args: object, **kwargs: object) -> None:
        raise OSError("no\nroute")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("name", WRITERS)
def test_missing_files_without_a_network_say_what_to_put_where(tmp_path: Path, name: str) -> None:
    require_files(DATASETS[name], tmp_path)
    message = refusal(name, tmp_path)
    assert message.startswith(f"data set {name!r}: ")
    assert str(tmp_path / (DATASETS[name].file or "")) in message
    assert DATASETS[name].source in message


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("content", [b"", b"<html>503</html>", None])
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_files_are_refused(
    tmp_path: Path, content: bytes | None, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mnist(tmp_path, "mnist", monkeypatch)
    path = tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte"
    whole = path.read_bytes()
    if packed:
        path.unlink()
        path, whole = path.with_name(f"{path.name}.gz"), gzip.compress(whole)
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    message = refusal("mnist", tmp_path)
    assert message.startswith(f"data set 'mnist': no usable {tmp_path / 'MNIST' / 'raw'}")


@pytest.mark.usefixtures("offline")
def test_files_without_their_official_sum_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        write_svhn(tmp_path, "svhn", patched)
    message = refusal("svhn", tmp_path)
    assert message.startswith(f"data set 'svhn': no usable {tmp_path / 'train_32x32.mat'}")


def test_real_mnist() -> None:
    dataset = load_dataset(DATASETS["mnist"], real_data_dir("mnist"))
    assert dataset.x.shape == (70_000, 1, 28, 28)
    assert dataset.num_train == 60_000
    assert dataset.y[:5].tolist() == [5, 0, 4, 1, 9]
    train = dataset.x[:60_000].double() / 255
    assert train.mean().item() == pytest.approx(0.1307, abs=5e-5)
    assert train.std().item() == pytest.approx(0.3081, abs=5e-5)


def test_real_cifar10() -> None:
    dataset = load_dataset(DATASETS["cifar10"], real_data_dir("cifar10"))
    assert dataset.x.shape == (60_000, 3, 32, 32)
    assert dataset.num_train == 50_000
    assert torch.bincount(dataset.y[:50_000]).tolist() == [5000] * 10
    assert dataset.y[:5].tolist() == [6, 9, 9, 4, 1]
