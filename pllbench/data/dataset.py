"""Data sets as tensors, and their split into training and test rows.

`readers/` turns their files into tensors.
Letters in shape comments: N instances, C classes, D features.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pllbench.candidates.audit import check_candidates
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.content import files_digest
from pllbench.data.imbalance import long_tailed_rows
from pllbench.data.readers.base import Dataset, find_file, first_rows
from pllbench.data.readers.complementary import read_clcifar
from pllbench.data.readers.custom import read_custom
from pllbench.data.readers.dcic import read_dcic
from pllbench.data.readers.features import read_features
from pllbench.data.readers.human import read_cifar10h, read_cifar10n, read_plcifar10
from pllbench.data.readers.tabular import read_cnae9, read_digits, read_mat
from pllbench.data.readers.torchvision import read_torchvision
from pllbench.seeds import stream_seed

TEST_SHARE = 0.2
"""Share of the rows that are test rows."""

Reader = Callable[[DatasetInfo, Path], Dataset]

_READERS: Mapping[str, Reader] = {
    "digits": read_digits,
    "cnae9": read_cnae9,
    "cifar10n": read_cifar10n,
    "cifar10n-5k": read_cifar10n,
    "cifar10h": read_cifar10h,
    "plcifar10-aggregate": read_plcifar10,
    "plcifar10-vaguest": read_plcifar10,
    "clcifar10": read_clcifar,
    "clcifar20": read_clcifar,
}


def load_dataset(info: DatasetInfo, data_dir: Path, *, noisy: bool = False) -> Dataset:
    """A data set, read from below `data_dir`, from the library that ships it, or from its own path.

    Raises:
        ValueError: a missing file, a file that is not what its format says or has changed since the
            runs were planned, or (unless `noisy`) a row whose true label is not among its
            candidates.
    """
    digest = files_digest(info, data_dir)
    dataset = replace(_reader(info)(info, data_dir), digest=digest)
    if info.first:
        dataset = first_rows(dataset, *info.first)
    if info.features:
        dataset = replace(dataset, features=read_features(info, dataset))
    if dataset.candidates is not None:
        where = str(info.path or find_file(info, data_dir))
        permitted = noisy or info.noisy
        labels = dataset.labels_of(torch.arange(len(dataset.x)))
        check_candidates(dataset.candidates.numpy(), labels, noisy=permitted, where=where)
    return dataset


def _reader(info: DatasetInfo) -> Reader:
    if info.path:
        return read_custom
    if info.annotated:
        return read_dcic
    return read_torchvision if info.torchvision else _READERS.get(info.name, read_mat)


def require_files(info: DatasetInfo, data_dir: Path) -> None:
    """Check, without reading anything, that `load_dataset` will find or can download its file.

    Raises:
        ValueError: a missing file; says what to put where.
    """
    if info.path is None and info.file is not None and not info.downloads:
        find_file(info, data_dir)


def split(
    dataset: Dataset, seed: int, imbalance: float = 1.0, folds: int | None = None
) -> tuple[Tensor, Tensor]:
    """Training and test rows, sorted int64; no row is in both.

    A stratified split takes a fifth of every class, rounded: a class of one or two rows trains. A
    fixed split is the same at every seed. Of folds a seed tests on one, leaves one aside, on which
    others validate, and trains on the rest. With an imbalance above 1 only a long-tailed part of
    the training rows is left, drawn by the seed; the test rows stay.

    Args:
        dataset: the data set.
        seed: of the split.
        imbalance: of the training rows.
        folds: in place of a random split, the rows in so many parts of equal size, of which the
            seed tests on one: seeds 0 to `folds` - 1 test every row once, the next seeds again
            with other parts. A stratified split has the same share of a class in each part.

    Raises:
        ValueError: too few rows for a test row, for this imbalance or so many folds; or folds of a
            data set that has a split of its own.
    """
    train, test = _cross_validation(dataset, seed, folds) if folds else _split(dataset, seed)
    if imbalance == 1:
        return train, test
    kept = long_tailed_rows(dataset.y[train].numpy(), dataset.num_classes, imbalance, seed)
    return train[torch.from_numpy(kept)], test


def _split(dataset: Dataset, seed: int) -> tuple[Tensor, Tensor]:
    """The split before any imbalance."""
    if dataset.folds is not None:
        number = dataset.folds.max() + 1
        validated, tested = seed % number, (seed + 1) % number
        kept = (dataset.folds != validated) & (dataset.folds != tested)
        return kept.nonzero().flatten(), (dataset.folds == tested).nonzero().flatten()
    if dataset.num_train is not None:
        rows = torch.arange(len(dataset.x))
        return rows[: dataset.num_train], rows[dataset.num_train :]
    order, groups = _shuffled(dataset, seed)
    test = np.concatenate([rows[: round(TEST_SHARE * len(rows))] for rows in groups])
    if not len(test):
        name = dataset.info.name
        raise ValueError(f"data set {name!r}: {len(order)} rows are too few for a test row")
    return _sorted(np.setdiff1d(order, test)), _sorted(test)


def _cross_validation(dataset: Dataset, seed: int, folds: int) -> tuple[Tensor, Tensor]:
    """All rows but those of one fold, and that fold."""
    name = dataset.info.name
    if dataset.folds is not None or dataset.num_train is not None:
        raise ValueError(f"data set {name!r} has a split of its own: it takes no folds")
    if folds > len(dataset.x):
        raise ValueError(f"data set {name!r}: {len(dataset.x)} rows are too few for {folds} folds")
    _, groups = _shuffled(dataset, seed // folds)
    fold = np.arange(len(dataset.x)) % folds == seed % folds
    order = np.concatenate(groups)
    return _sorted(order[~fold]), _sorted(order[fold])


def _shuffled(
    dataset: Dataset, seed: int
) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[np.int64]]]:
    """All rows in random order, and the same in groups: the classes, where a split minds them."""
    rng = np.random.default_rng(stream_seed(seed, "split"))
    order = rng.permutation(len(dataset.x))
    if dataset.info.split != "stratified":
        return order, [order]
    labels = dataset.y.numpy()[order]
    return order, [order[labels == label] for label in range(dataset.num_classes)]


def hold_out(train_index: Tensor, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """`train_index` divided into kept rows and a random `share` of held ones, both sorted int64.

    Raises:
        ValueError: a positive share that holds no row or keeps none.
    """
    num_held = round(share * len(train_index))
    if share > 0 and not 0 < num_held < len(train_index):
        raise ValueError(
            f"a hold-out share of {share:g} takes {num_held} of {len(train_index)} training rows"
        )
    rng = np.random.default_rng(stream_seed(seed, "holdout"))
    order = rng.permutation(train_index.numpy())
    return _sorted(order[num_held:]), _sorted(order[:num_held])


def _sorted(rows: npt.NDArray[np.int64]) -> Tensor:
    return torch.from_numpy(np.sort(rows))
