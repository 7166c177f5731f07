"""Image sets that torchvision reads, checks and downloads, as uint8 tensors."""

import gzip
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.readers.base import Dataset, check_labels, short_message


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
    cls = getattr(torchvision.datasets, info.torchvision)
    parts: list[dict[str, object]] = [{"train": True}, {"train": False}]
    if hasattr(cls, "split_list"):  # SVHN
        parts = [{"split": "train"}, {"split": "test"}]
    try:
        with _unpacked(root, info.file) as folder:
            train, test = (cls(folder, download=True, **part) for part in parts)
    except (
        Exception
    ) as error:  # urllib, pickle, zlib, tarfile and torchvision raise their own kinds
        raise ValueError(
            f"data set {info.name!r}: no usable {root / info.file}, and no download "
            f"({short_message(error)}); get it from {info.source}"
        ) from error
    where = str(root / info.file)
    x = torch.cat([_channels_first(train.data), _channels_first(test.data)])
    y = check_labels(np.concatenate([_labels(train), _labels(test)]), info.num_classes, where)
    num_train = len(train.data)
    if len(_labels(train)) != num_train or len(x) != len(y):
        raise ValueError(f"{where}: {len(x)} images and {len(y)} labels; get it from {info.source}")
    return Dataset(info, x, torch.from_numpy(y), info.num_classes, num_train=num_train)


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
