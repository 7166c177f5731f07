"""CIFAR-10 images with the candidate sets that human annotators gave them.

J. Wei et al.: Learning with Noisy Labels Revisited, ICLR 2022 (CIFAR-10N). J. Peterson et al.:
Human Uncertainty Makes Classification More Robust, ICCV 2019 (CIFAR-10H). W. Wang et al.: Realistic
Evaluation of Deep Partial-Label Learning Algorithms, ICLR 2025 (PLCIFAR10).

The images are those of the data set `cifar10`, in its order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import StrictInt, TypeAdapter, ValidationError

from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.data.readers.base import Dataset, find_file, raise_for_rows, short_message
from pllbench.data.readers.pickles import load_plain_pickle
from pllbench.data.readers.torchvision import read_torchvision
from pllbench.validation import one_line

Sets = npt.NDArray[np.bool_]

_SETS_OF_ROWS = TypeAdapter(dict[StrictInt, list[list[StrictInt]]])
"""The candidate sets that annotators gave each row."""


def read_cifar10n(info: DatasetInfo, data_dir: Path) -> Dataset:
    """CIFAR-10, the candidates of a training image being the labels of its three annotators."""
    keys = ("clean_label", "random_label1", "random_label2", "random_label3")
    path = find_file(info, data_dir)
    labels = _load_arrays(info, path, keys)
    images = read_torchvision(DATASETS["cifar10"], data_dir)
    for key, values in labels.items():
        if values.shape != (images.num_train,) or not np.isin(values, np.arange(10)).all():
            raise ValueError(f"{path}: `{key}` must be {images.num_train} labels of 0..9")
    if not np.array_equal(labels["clean_label"], images.y[: images.num_train].numpy()):
        raise ValueError(f"{path}: `clean_label` is not in the order of CIFAR-10's training images")
    sets = np.zeros((len(labels["clean_label"]), 10), dtype=np.bool_)
    for key in keys[1:]:
        np.put_along_axis(sets, labels[key].astype(np.int64)[:, None], values=True, axis=1)
    return _with_sets(info, images, sets)


def read_cifar10h(info: DatasetInfo, data_dir: Path) -> Dataset:
    """CIFAR-10's test images alone; candidates are the classes that any annotator voted for."""
    path = find_file(info, data_dir)
    votes = _load_arrays(info, path, ("counts",))["counts"]
    images = read_torchvision(DATASETS["cifar10"], data_dir)
    x, y = images.x[images.num_train :], images.y[images.num_train :]
    if votes.shape != (len(y), 10):
        raise ValueError(f"{path}: `counts` has the shape {votes.shape}, not ({len(y)}, 10)")
    negative = ~(votes >= 0).all(axis=1)
    raise_for_rows(negative, f"{path}: `counts`", "has a number of votes below 0, or NaN")
    x = x.clone()  # the training images can go
    return Dataset(info, x, y, 10, torch.from_numpy(votes > 0))


def read_plcifar10(info: DatasetInfo, data_dir: Path) -> Dataset:
    """CIFAR-10 with sets of about ten annotators for each training image.

    `plcifar10-aggregate` takes the union of an image's sets, `plcifar10-vaguest` the largest one
    (the first of several).
    """
    path = find_file(info, data_dir)
    given = load_plain_pickle(info, path)
    images = read_torchvision(DATASETS["cifar10"], data_dir)
    num_train = images.num_train or 0
    try:
        rows = _SETS_OF_ROWS.validate_python(given)
    except ValidationError as error:
        raise ValueError(one_line(error, f"{path}: row")) from error
    if sorted(rows) != list(range(num_train)):
        raise ValueError(f"{path}: must hold candidate sets of the rows 0..{num_train - 1}")
    sets = np.zeros((num_train, 10), dtype=np.bool_)
    for row, annotated in rows.items():
        aggregate = info.name == "plcifar10-aggregate"
        chosen = _union(annotated) if aggregate else max(annotated, key=len, default=[])
        if not set(chosen) <= set(range(10)):
            raise ValueError(f"{path}: row {row} (counted from 0) has a label outside 0..9")
        sets[row, list(chosen)] = True
    return _with_sets(info, images, sets)


def _with_sets(info: DatasetInfo, images: Dataset, sets: Sets) -> Dataset:
    """CIFAR-10 with candidate sets of its training images; test images have their true label."""
    assert images.num_train is not None
    tested = np.eye(10, dtype=np.bool_)[images.y[images.num_train :].numpy()]
    return replace(images, info=info, candidates=torch.from_numpy(np.concatenate([sets, tested])))


def _union(annotated: Iterable[Sequence[int]]) -> set[int]:
    return {label for labels in annotated for label in labels}


def _load_arrays(info: DatasetInfo, path: Path, keys: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
            arrays: dict[str, npt.NDArray[Any]] = {key: content[key] for key in keys}
    except KeyError as error:
        raise ValueError(f"{path}: {error.args[0]}; get it from {info.source}") from error
    except Exception as error:  # zipfile, zlib and NumPy each raise their own kind
        raise ValueError(
            f"{path}: not a .npz file, or cut off ({short_message(error)}); "
            f"get it from {info.source}"
        ) from error
    for key, values in arrays.items():
        if values.dtype.kind not in "iuf":
            raise ValueError(f"{path}: `{key}` must be numbers, got {values.dtype}")
    return arrays
