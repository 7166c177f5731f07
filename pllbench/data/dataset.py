"""Data sets by name, as tensors, and their split into training and test rows.

`readers/` turns their files into tensors.
Letters in shape comments: N instances, C classes, D features.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pllbench.candidates.audit import check
from pllbench.data.catalogue import DatasetInfo, Split
from pllbench.data.custom import OwnData, digest
from pllbench.data.readers.base import Content, first_rows
from pllbench.data.readers.custom import read_own
from pllbench.data.readers.files import dataset_info, find_file
from pllbench.data.readers.human import read_cifar10h, read_cifar10n, read_plcifar10
from pllbench.data.readers.tabular import read_cnae9, read_digits, read_mat
from pllbench.data.readers.torchvision import read_torchvision
from pllbench.seeds import stream_seed
from pllbench.validation import Values

TEST_SHARE = 0.2
"""Share of the rows that are test rows."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set in memory.

    Attributes:
        name: its name in the catalogue.
        x: [N, ...] float32, finite, or images uint8 [N, channels, height, width]; no scaling has
            been applied.
        y: [N] int64, true labels 0..C-1.
        num_classes: C, as the data set declares it; classes that never occur count.
        candidates: [N, C] bool where the candidate sets come with the data, else None.
        split_by: how its test rows are chosen.
        num_train: of a fixed split, the number of training rows; they come first.
        info: facts about the user's own data; None where the catalogue has them.
    """

    name: str
    x: Tensor
    y: Tensor
    num_classes: int
    candidates: Tensor | None = None
    split_by: Split = "random"
    num_train: int | None = None
    info: DatasetInfo | None = None


class DataAudit(Values):
    """What a data set looks like; rows whose features are equal are duplicates."""

    name: str
    num_rows: int
    num_features: int
    num_classes: int
    absent_classes: tuple[int, ...]
    """Classes that are nobody's true label."""
    constant_columns: int
    zero_rows: int
    """Rows whose features are all zero."""
    duplicate_rows: int
    """Rows that repeat an earlier row."""
    num_train: int
    num_test: int
    leaked_rows: int
    """Test rows whose features also stand in a training row, at the given seed."""
    digest: str
    """SHA-256 (16 hex digits) of features, true labels and candidate sets."""


def load(name: str | OwnData, data_dir: Path, *, noisy: bool = False) -> Dataset:
    """The data set `name`, read from below `data_dir` or from the library that ships it.

    The user's own data are read from where they are.

    Raises:
        ValueError: unknown name, missing file, a file that is not what its format says, or (unless
            `noisy`) a row whose true label is not among its candidates.
    """
    if isinstance(name, OwnData):
        return _load_own(name, noisy=noisy)
    info = dataset_info(name)
    read = read_torchvision if info.torchvision else _READERS.get(name, read_mat)
    found = read(name, data_dir)
    if info.first:
        found = first_rows(found, *info.first)
    if found.candidates is not None:
        where = str(find_file(name, data_dir))
        check(found.candidates.numpy(), found.y.numpy(), noisy=noisy or info.noisy, where=where)
    return Dataset(
        name, found.x, found.y, found.num_classes, found.candidates, info.split, found.num_train
    )


def _load_own(own: OwnData, *, noisy: bool = False) -> Dataset:
    """The user's own data set.

    Raises:
        ValueError: as `load`, or its files have changed since `own` was made.
    """
    if digest(own.path) != own.digest:
        raise ValueError(f"{own.path}: has changed since the runs were planned: start again")
    found = read_own(own)
    if found.candidates is not None:
        check(found.candidates.numpy(), found.y.numpy(), noisy=noisy, where=str(own.path))
    return Dataset(
        own.name,
        found.x,
        found.y,
        found.num_classes,
        found.candidates,
        own.info.split,
        found.num_train,
        own.info,
    )


_READERS: Mapping[str, Callable[[str, Path], Content]] = {
    "digits": read_digits,
    "cnae9": read_cnae9,
    "cifar10n": read_cifar10n,
    "cifar10n-5k": read_cifar10n,
    "cifar10h": read_cifar10h,
    "plcifar10-aggregate": read_plcifar10,
    "plcifar10-vaguest": read_plcifar10,
}


def require_files(name: str, data_dir: Path) -> None:
    """Check, without reading anything, that `load` will find or can download its file.

    Raises:
        ValueError: unknown name, or a missing file; says what to put where.
    """
    info = dataset_info(name)
    if info.file is not None and not info.downloads:
        find_file(name, data_dir)


def split(dataset: Dataset, seed: int) -> tuple[Tensor, Tensor]:
    """Training and test rows, sorted int64; every row is in exactly one of them.

    A stratified split takes a fifth of every class, rounded: a class of one or two rows trains. A
    fixed split is the same at every seed.

    Raises:
        ValueError: too few rows for a test row.
    """
    if dataset.num_train is not None:
        rows = torch.arange(len(dataset.y))
        return rows[: dataset.num_train], rows[dataset.num_train :]
    rng = np.random.default_rng(stream_seed(seed, "split"))
    order = rng.permutation(len(dataset.y))
    if dataset.split_by == "stratified":
        labels = dataset.y.numpy()[order]
        groups = [order[labels == label] for label in range(dataset.num_classes)]
    else:
        groups = [order]
    test = np.concatenate([rows[: round(TEST_SHARE * len(rows))] for rows in groups])
    if not len(test):
        raise ValueError(f"data set {dataset.name!r}: {len(order)} rows are too few for a test row")
    return _sorted(np.setdiff1d(order, test)), _sorted(test)


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


def describe(dataset: Dataset, seed: int) -> DataAudit:
    """Facts about a data set, and about its split at `seed`."""
    x = dataset.x.flatten(1).numpy()
    if dataset.x.is_floating_point():
        x = x + 0.0  # -0.0 and 0.0 are one value and two byte patterns
    rows = [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in x]
    train, test = split(dataset, seed)
    train_rows = {rows[i] for i in train.tolist()}
    occurs = set(dataset.y.tolist())
    return DataAudit(
        name=dataset.name,
        num_rows=len(x),
        num_features=x.shape[1],
        num_classes=dataset.num_classes,
        absent_classes=tuple(k for k in range(dataset.num_classes) if k not in occurs),
        constant_columns=int((x == x[0]).all(axis=0).sum()),
        zero_rows=int((x == 0).all(axis=1).sum()),
        duplicate_rows=len(rows) - len(set(rows)),
        num_train=len(train),
        num_test=len(test),
        leaked_rows=sum(rows[i] in train_rows for i in test.tolist()),
        digest=_digest(dataset),
    )


def _digest(dataset: Dataset) -> str:
    content = hashlib.sha256(f"{tuple(dataset.x.shape)}:{dataset.num_classes}:".encode())
    x = dataset.x.numpy()
    content.update(x.tobytes() if x.dtype == np.uint8 else x.astype("<f4").tobytes())
    content.update(dataset.y.numpy().astype("<i8").tobytes())
    if dataset.candidates is not None:
        content.update(np.packbits(dataset.candidates.numpy()).tobytes())
    return content.hexdigest()[:16]


def _sorted(rows: npt.NDArray[np.int64]) -> Tensor:
    return torch.from_numpy(np.sort(rows))
