"""A data set in memory, which readers give, and the checks that all readers share.

What is malformed is refused in one line that names the file and the row (counted from 0), and
nothing is repaired or shifted in silence.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pllbench.data.catalogue import DatasetInfo

Array = npt.NDArray[Any]

MAX_CLASSES = 100_000
"""Beyond it, what stands for labels is something else; no candidate sets would fit in memory."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set in memory.

    Attributes:
        info: facts about it.
        x: [N, ...] float32, finite, or images uint8 [N, channels, height, width]; no scaling has
            been applied.
        true_labels: [N] int64, 0..C-1; None where they are not known.
        num_classes: C, as the data set declares it; classes that never occur count.
        candidates: [N, C] bool where the candidate sets come with the data, else None.
        num_train: the first `num_train` rows are the training rows, the others the test rows; None
            where the split is drawn.
        votes: [N, C] int64, number of annotators who gave a row a label, where candidate sets are
            made of that; else None.
        folds: [N] int64 from 0, where the data set comes in folds; else None.
        features: [N, D] float32 of a file of features, where one is named; else None.
        digest: content digest of its files, where they have one.
        classes: names of the classes, where its file has names.
        columns: names of the features, where its file has names.
    """

    info: DatasetInfo
    x: Tensor
    true_labels: Tensor | None
    num_classes: int
    candidates: Tensor | None = None
    num_train: int | None = None
    votes: Tensor | None = None
    folds: Tensor | None = None
    features: Tensor | None = None
    digest: str | None = None
    classes: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None

    @property
    def y(self) -> Tensor:
        """True labels, [N] int64.

        Raises:
            ValueError: they are not known.
        """
        if self.true_labels is None:
            raise ValueError(f"data set {self.info.name!r} comes without true labels")
        return self.true_labels

    @property
    def labelled(self) -> bool:
        """Whether true labels are known."""
        return self.true_labels is not None

    def labels_of(self, rows: Tensor) -> npt.NDArray[np.int64] | None:
        """True labels [n] of the rows [n], None where they are not known: for facts alone."""
        return None if self.true_labels is None else self.true_labels[rows].numpy()


def first_rows(dataset: Dataset, num_train: int, num_test: int) -> Dataset:
    """The first training and the first test rows of a fixed split; a copy, so the rest can go."""
    assert dataset.num_train is not None, "only a fixed split has an order"
    train = slice(min(num_train, dataset.num_train))
    test = slice(dataset.num_train, dataset.num_train + num_test)

    def both(values: Tensor) -> Tensor:
        return torch.cat([values[train], values[test]])

    return replace(
        dataset,
        x=both(dataset.x),
        true_labels=both(dataset.y),
        candidates=None if dataset.candidates is None else both(dataset.candidates),
        num_train=train.stop,
    )


def require_classes(num_classes: int, where: str) -> None:
    """Raise ValueError, its message starting with `where`, if no data set has so many classes."""
    if not 2 <= num_classes <= MAX_CLASSES:
        raise ValueError(f"{where}: {num_classes} classes, must be from 2 to {MAX_CLASSES}")


def check_labels(y: npt.ArrayLike, num_classes: int, where: str) -> npt.NDArray[np.int64]:
    """`y` as a label vector, [N] int64.

    Labels are never shifted: that a class 0 is missing does not say that the others are off by one.

    Raises:
        ValueError: no vector, no rows, not whole numbers, an impossible `num_classes`, a type too
            narrow for it, or labels outside 0..num_classes-1. The message starts with `where`.
    """
    require_classes(num_classes, where)
    labels = np.asarray(y)
    if labels.ndim != 1 or not len(labels):
        raise ValueError(f"{where}: labels must be one number a row, got shape {labels.shape}")
    if labels.dtype.kind in "iu" and np.iinfo(labels.dtype).max < num_classes - 1:
        raise ValueError(
            f"{where}: {labels.dtype} labels cannot hold {num_classes} classes: larger labels have "
            f"wrapped around; store them as int64"
        )
    if labels.dtype.kind not in "iuf":
        raise ValueError(f"{where}: labels must be whole numbers, got {labels.dtype}")
    raise_for_rows(np.isnan(labels), where, "has no label: it is NaN")
    raise_for_rows(
        ~np.isfinite(labels) | (labels != np.floor(labels)), where, "has a fractional label"
    )
    low, high = labels.min(), labels.max()
    if low > 0 and high == num_classes:
        raise ValueError(
            f"{where}: labels run from {low:g} to {high:g}, they must be 0..{num_classes - 1}: "
            f"if they count from 1, subtract 1"
        )
    outside = (labels < 0) | (labels >= num_classes)
    raise_for_rows(outside, where, f"has a label outside 0..{num_classes - 1}")
    return labels.astype(np.int64)


def as_matrix(values: Any, where: str) -> Array:
    """A dense matrix of what may be sparse.

    Raises:
        ValueError: no matrix of numbers. The message starts with `where`.
    """
    matrix = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(f"{where} is no matrix of numbers: {matrix.dtype} {matrix.shape}")
    return matrix


def as_features(values: Array, where: str) -> Tensor:
    """A feature matrix [N, D] as float32.

    Raises:
        ValueError: there are no columns, or a row is not finite. The message starts with `where`.
    """
    if not values.shape[1]:
        raise ValueError(f"{where} has no features: its shape is {values.shape}")
    with np.errstate(over="ignore"):  # what overflows float32 is infinite, and refused below
        x = np.ascontiguousarray(values, dtype=np.float32)
    raise_for_rows(
        ~np.isfinite(x).all(axis=1), where, "has a feature that is NaN or infinite in float32"
    )
    return torch.from_numpy(x)


def raise_for_rows(bad: npt.ArrayLike, where: str, what: str) -> None:
    """Raise ValueError for the first row that is true in `bad` [N] bool."""
    is_bad = np.asarray(bad)  # a tensor's size is no number
    rows = np.flatnonzero(is_bad)
    if len(rows):
        share = f"{len(rows)} of {is_bad.size} rows"
        raise ValueError(f"{where}: row {rows[0]} (counted from 0) {what} ({share})")


def short_message(error: Exception) -> str:
    """An error of another library, as part of one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def find_file(info: DatasetInfo, data_dir: Path) -> Path:
    """The file of a data set that has one, below `data_dir`.

    Spelling varies with who unpacked it (`Soccer Player.mat`, `SoccerPlayer.mat`), so case, spaces
    and punctuation are ignored, and one more folder around it is no error.

    Raises:
        ValueError: there is none; says what to put where.
    """
    assert info.file is not None, f"{info.name} has no file"
    wanted = data_dir / info.file
    folder = Path(info.file).parent
    for pattern in (f"{folder}/[!.]*", f"{folder}/*/[!.]*", "[!.]*"):
        found = [
            path for path in data_dir.glob(pattern) if _plain(path.name) == _plain(wanted.name)
        ]
        if found:
            return wanted if wanted in found else min(found)
    raise ValueError(f"data set {info.name!r}: no file {wanted}; get it from {info.source}")


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
