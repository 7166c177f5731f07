"""Image sets that torchvision reads, checks and downloads, as uint8 tensors."""

import gzip
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.readers.base import Dataset, check_labels, short_message
from pllbench.data.readers.download import download_lock, replacing_files


def read_torchvision(info: DatasetInfo, data_dir: Path) -> Dataset:
    """Training images, then test images, [N, channels, height, width] uint8.

    The data directory is torchvision's root, or one of its folders is. Where the files are missing
    or damaged, torchvision downloads them: those of CIFAR and SVHN must have their official MD5
    sums, those of MNIST's family are checked when they are unzipped.

    Raises:
        ValueError: no usable file and no download; says what to put where.
    """
    import torchvision.datasets  # seconds, which commands that read no image do not pay

    assert info.file is not None
    assert info.torchvision is not None
    assert info.num_classes is not None
    root = image_root(info.file, data_dir)
    where = str(root / info.file)
    try:
        train, test = _read_or_fetch(getattr(torchvision.datasets, info.torchvision), root, info)
    # urllib, pickle, zlib, tarfile, filelock and torchvision raise their own kinds
    except Exception as error:
        raise ValueError(
            f"data set {info.name!r}: no usable {where}, and no download "
            f"({short_message(error)}); get it from {info.source}"
        ) from error
    x = torch.cat([_channels_first(train.data), _channels_first(test.data)])
    y = check_labels(np.concatenate([_labels(train), _labels(test)]), info.num_classes, where)
    num_train = len(train.data)
    if len(_labels(train)) != num_train or len(x) != len(y):
        raise ValueError(f"{where}: {len(x)} images and {len(y)} labels; get it from {info.source}")
    return Dataset(info, x, torch.from_numpy(y), info.num_classes, num_train=num_train)


def _read_or_fetch(cls: Any, root: Path, info: DatasetInfo) -> tuple[Any, Any]:
    """Training and test part; of several processes that miss them, one downloads them."""
    assert info.file is not None
    with suppress(Exception):  # whatever is wrong with the files, others take their place
        return _read(cls, root, info.file)
    with download_lock(root, cls.__name__):
        with suppress(Exception):  # another process had the lock before
            return _read(cls, root, info.file)
        with replacing_files(root, cls.__name__) as folder:
            for archive in _archives(cls, info.file):  # those that are there are not fetched again
                if (root / archive).is_file():
                    (folder / archive).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(root / archive, folder / archive)
            for part in _parts(cls):
                cls(folder, download=True, **part)
        return _read(cls, root, info.file)


def _read(cls: Any, root: Path, file: str) -> tuple[Any, Any]:
    with _unpacked(root, file) as folder:
        train, test = (cls(folder, **part) for part in _parts(cls))
    return train, test


def _parts(cls: Any) -> tuple[dict[str, object], dict[str, object]]:
    """Arguments that ask for the training and the test part."""
    if hasattr(cls, "split_list"):  # SVHN
        return {"split": "train"}, {"split": "test"}
    return {"train": True}, {"train": False}


def _archives(cls: Any, file: str) -> list[str]:
    """What torchvision downloads, by its path below the root; it checks their MD5 sums."""
    if hasattr(cls, "split_list"):
        return [cls.split_list[part["split"]][1] for part in _parts(cls)]
    if hasattr(cls, "resources"):  # MNIST's family
        return [f"{file}/{name}" for name, _ in cls.resources]
    return [cls.filename]


def image_root(file: str, data_dir: Path) -> Path:
    """The folder that holds `file`: `data_dir`, or else the first of its folders that does."""
    roots = (data_dir, *sorted(path for path in data_dir.glob("[!.]*") if path.is_dir()))
    return next((root for root in roots if (root / file).exists()), data_dir)


@contextmanager
def _unpacked(root: Path, file: str) -> Iterator[Path]:
    """A root for torchvision, which reads MNIST's family unzipped; `root` may be read-only."""
    packed = sorted((root / file).glob("*-ubyte.gz"))
    if all(path.with_suffix("").exists() for path in packed):
        yield root
        return
    with TemporaryDirectory() as folder:
        target = Path(folder) / file
        target.mkdir(parents=True)
        for path in packed:
            with gzip.open(path) as source, (target / path.stem).open("wb") as unpacked:
                shutil.copyfileobj(source, unpacked)
        yield Path(folder)


def _labels(part: Any) -> "np.ndarray[Any, Any]":
    return np.asarray(part.labels if hasattr(part, "labels") else part.targets)


def _channels_first(data: Any) -> Tensor:
    """Grey [N, H, W], colour [N, H, W, 3] or [N, 3, H, W] as [N, channels, H, W]."""
    images = torch.as_tensor(data)
    if images.ndim == 3:
        return images[:, None]
    return images if images.shape[1] == 3 else images.permute(0, 3, 1, 2)
