"""CLCIFAR10 and CLCIFAR20: labels that people say an image does not have.

H.-H. Wang et al.: CLImage: Human-Annotated Datasets for Complementary-Label Learning, 2023. Of each
CIFAR training image three annotators named one wrong label each out of four; its candidates are all
other classes. Some of what they called wrong is right, so the sets are noisy.
"""

import hashlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pllbench.data.catalogue import (
    CIFAR100_SUPERCLASSES,
    CLCIFAR20_CLASSES,
    DATASETS,
    DatasetInfo,
)
from pllbench.data.readers.base import Array, Dataset, check_labels, find_file, raise_for_rows
from pllbench.data.readers.pickles import as_array, load_plain_pickle
from pllbench.data.readers.torchvision import read_torchvision

KEYS = ("images", "ord_labels", "cl_labels")

_CLASSES: dict[int, tuple[tuple[int, ...], ...]] = {
    10: (tuple(range(10)),),
    20: (CLCIFAR20_CLASSES, CIFAR100_SUPERCLASSES),
}
"""By number of classes, what labels CIFAR's own may stand for. The authors' list of twenty has
streetcars with other vehicles than CIFAR-100's superclasses and than the authors' own code for test
images: the file decides, the list where the file has no streetcar."""


def read_clcifar(info: DatasetInfo, data_dir: Path) -> Dataset:
    """The images and labels of the file, and CIFAR's test images.

    Rows are never matched with CIFAR's by their position. Where an image is one of CIFAR's training
    images byte by byte, its true label must be that of CIFAR. Test images are labelled alike.

    Raises:
        ValueError: the file is malformed; or an image has another label than in CIFAR.
    """
    path, num_classes = find_file(info, data_dir), info.num_classes
    assert num_classes is not None
    content = load_plain_pickle(info, path, arrays=True)
    if not isinstance(content, dict) or not set(KEYS) <= content.keys():
        raise ValueError(f"{path}: must hold {', '.join(KEYS)}; get it from {info.source}")
    images = _images(content["images"], f"{path}: `images`")
    y = check_labels(_array(content, "ord_labels", path), num_classes, f"{path}: `ord_labels`")
    wrong = _array(content, "cl_labels", path)
    if len(y) != len(images):
        raise ValueError(f"{path}: {len(images)} images, {len(y)} `ord_labels`")
    whole = wrong.dtype.kind in "iu" and wrong.shape == (len(y), 3)
    if not whole or not np.isin(wrong, np.arange(num_classes)).all():
        raise ValueError(f"{path}: `cl_labels` must be three labels of 0..{num_classes - 1} a row")
    sets = np.ones((len(y), num_classes), dtype=np.bool_)
    np.put_along_axis(sets, wrong.astype(np.int64), values=False, axis=1)
    cifar = read_torchvision(DATASETS[f"cifar{len(_CLASSES[num_classes][0])}"], data_dir)
    known = _labels_in_cifar(images, cifar)
    contradictions = {classes: _contradicts(y, known, classes) for classes in _CLASSES[num_classes]}
    classes = min(contradictions, key=lambda some: sum(contradictions[some]))
    raise_for_rows(contradictions[classes], str(path), "has another label than in CIFAR")
    tested = slice(cifar.num_train, None)
    test_y = torch.tensor(classes)[cifar.y[tested]]
    true_sets = torch.eye(num_classes, dtype=torch.bool)[test_y]
    return Dataset(
        info,
        torch.cat([images, cifar.x[tested]]),
        torch.cat([torch.from_numpy(y), test_y]),
        num_classes,
        torch.cat([torch.from_numpy(sets), true_sets]),
        num_train=len(y),
    )


def _array(content: dict[str, object], key: str, path: Path) -> Array:
    try:
        return as_array(content[key])
    except ValueError as error:
        raise ValueError(f"{path}: `{key}` is no table of numbers") from error


def _images(given: object, where: str) -> Tensor:
    """Images of 32 x 32 pixels as uint8 [N, 3, 32, 32]."""
    try:
        values = as_array(given)
    except ValueError as error:
        raise ValueError(f"{where} have different shapes") from error
    if values.dtype != np.uint8 or values.shape[1:] != (32, 32, 3):
        raise ValueError(f"{where} must be uint8 [N, 32, 32, 3], got {values.dtype} {values.shape}")
    return torch.from_numpy(values).permute(0, 3, 1, 2).contiguous()


def _labels_in_cifar(images: Tensor, cifar: Dataset) -> list[set[int]]:
    """CIFAR's labels of the training images that equal each image; empty where none does."""
    known: defaultdict[bytes, set[int]] = defaultdict(set)  # some images are there twice
    rows = cifar.x[: cifar.num_train]
    for digest, label in zip(_digests(rows), cifar.y[: cifar.num_train].tolist(), strict=True):
        known[digest].add(label)
    return [known.get(digest, set()) for digest in _digests(images)]


def _contradicts(y: Array, known: list[set[int]], classes: tuple[int, ...]) -> list[bool]:
    """Whether each label is none of what CIFAR's labels of its image stand for."""
    return [
        bool(labels) and label not in {classes[k] for k in labels}
        for label, labels in zip(y.tolist(), known, strict=True)
    ]


def _digests(images: Tensor) -> list[bytes]:
    return [hashlib.blake2b(image.tobytes(), digest_size=16).digest() for image in images.numpy()]
