"""Data sets by name, as tensors, and their split into training and test rows.

A file is checked where it is read: what is malformed is refused in one line that names the file
and the row (counted from 0), and nothing is repaired or shifted in silence.
Letters in shape comments: N instances, C classes, D features.
"""

import hashlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pllbench.candidates import check
from pllbench.catalogue import DATASETS, DatasetInfo, Split
from pllbench.registry import did_you_mean
from pllbench.seeds import stream_seed
from pllbench.spec import Frozen

Array = npt.NDArray[Any]

TEST_SHARE = 0.2
"""Share of the rows that are test rows."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set in memory.

    Attributes:
        name: its name in the catalogue.
        x: [N, ...] float32, finite; no scaling has been applied.
        y: [N] int64, true labels 0..C-1.
        num_classes: C, as the data set declares it; classes that never occur count.
        candidates: [N, C] bool where the candidate sets come with the data, else None.
        split_by: how its test rows are chosen.
    """

    name: str
    x: Tensor
    y: Tensor
    num_classes: int
    candidates: Tensor | None = None
    split_by: Split = "random"


class DataAudit(Frozen):
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


def load(name: str, data_dir: Path, *, noisy: bool = False) -> Dataset:
    """The data set `name`, read from below `data_dir` or from the library that ships it.

    Raises:
        ValueError: unknown name, missing file, a file that is not what its format says, or (unless
            `noisy`) a row whose true label is not among its candidates.
    """
    info = _info(name)
    x, y, num_classes, candidates = _READERS.get(name, _read_mat)(name, data_dir)
    if candidates is not None:
        where = str(find_file(name, data_dir))
        check(candidates.numpy(), y.numpy(), noisy=noisy, where=where)
    return Dataset(name, x, y, num_classes, candidates, info.split)


def require_files(name: str, data_dir: Path) -> None:
    """Check, without reading anything, that `load` will find or can download its file.

    Raises:
        ValueError: unknown name, or a missing file; says what to put where.
    """
    info = _info(name)
    if info.file is not None and info.openml is None:
        find_file(name, data_dir)


def find_file(name: str, data_dir: Path) -> Path:
    """The file of a data set that has one, below `data_dir`.

    Spelling varies with who unpacked it (`Soccer Player.mat`, `SoccerPlayer.mat`), so case, spaces
    and punctuation are ignored, and one more folder around it is no error.

    Raises:
        ValueError: there is none; says what to put where.
    """
    info = _info(name)
    assert info.file is not None, f"{name} has no file"
    wanted = data_dir / info.file
    folder = Path(info.file).parent
    for pattern in (f"{folder}/[!.]*", f"{folder}/*/[!.]*", "[!.]*"):
        found = [
            path for path in data_dir.glob(pattern) if _plain(path.name) == _plain(wanted.name)
        ]
        if found:
            return wanted if wanted in found else min(found)
    raise ValueError(f"data set {name!r}: no file {wanted}; get it from {info.source}")


def check_labels(y: npt.ArrayLike, num_classes: int, where: str) -> npt.NDArray[np.int64]:
    """`y` as a label vector, [N] int64.

    Labels are never shifted: that a class 0 is missing does not say that the others are off by one.

    Raises:
        ValueError: no vector, no rows, not whole numbers, a type too narrow for `num_classes`, or
            labels outside 0..num_classes-1. The message starts with `where`.
    """
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
    _refuse(~np.isfinite(labels) | (labels != np.floor(labels)), where, "has a fractional label")
    low, high = labels.min(), labels.max()
    if low > 0 and high == num_classes:
        raise ValueError(
            f"{where}: labels run from {low:g} to {high:g}, they must be 0..{num_classes - 1}: "
            f"if they count from 1, subtract 1"
        )
    outside = (labels < 0) | (labels >= num_classes)
    _refuse(outside, where, f"has a label outside 0..{num_classes - 1}")
    return labels.astype(np.int64)


def split(dataset: Dataset, seed: int) -> tuple[Tensor, Tensor]:
    """Training and test rows, sorted int64; every row is in exactly one of them.

    A stratified split takes a fifth of every class, rounded: a class of one or two rows trains.

    Raises:
        ValueError: too few rows for a test row.
    """
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
    x = dataset.x.flatten(1).numpy() + 0.0  # -0.0 and 0.0 are one value and two byte patterns
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
    content.update(dataset.x.numpy().astype("<f4").tobytes())
    content.update(dataset.y.numpy().astype("<i8").tobytes())
    if dataset.candidates is not None:
        content.update(np.packbits(dataset.candidates.numpy()).tobytes())
    return content.hexdigest()[:16]


def _info(name: str) -> DatasetInfo:
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}: {did_you_mean(name, DATASETS)}")
    return DATASETS[name]


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


def _sorted(rows: npt.NDArray[np.int64]) -> Tensor:
    return torch.from_numpy(np.sort(rows))


# Readers: (name, data_dir) -> x [N, D] float32, y [N] int64, C, candidates [N, C] or None.

Content = tuple[Tensor, Tensor, int, Tensor | None]

CNAE9_SHAPE = (1080, 856)
"""Documents and words of CNAE-9, by the description of UCI data set 233."""

MAT_KEYS = ("data", "target", "partial_target")
"""Variables of a real-world partial-label set."""


def _read_digits(name: str, data_dir: Path) -> Content:  # noqa: ARG001
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return _features(x / 16, name), torch.from_numpy(check_labels(y, 10, name)), 10, None


def _read_cnae9(name: str, data_dir: Path) -> Content:
    """Word counts; labels are 1..9 in the file by its own description, so 1 becomes class 0."""
    info = _info(name)
    try:
        path = find_file(name, data_dir)
    except ValueError as missing:
        where = f"OpenML data set {info.openml}"
        x, labels = _download(info, data_dir, str(missing))
    else:
        where = str(path)
        table = _read_table(path, info)
        x, labels = table[:, 1:], table[:, 0]
    if x.shape != CNAE9_SHAPE:
        raise ValueError(
            f"{where}: {x.shape[0]} rows of {x.shape[1]} counts, CNAE-9 has {CNAE9_SHAPE[0]} of "
            f"{CNAE9_SHAPE[1]}; cut off? get it from {info.source}"
        )
    y = check_labels(labels - 1, 9, f"{where}: labels of 1..9, less 1")
    return _features(x, where), torch.from_numpy(y), 9, None


def _read_table(path: Path, info: DatasetInfo) -> Array:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an empty file is only a warning to NumPy
            return np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, OSError, UserWarning) as error:
        raise ValueError(
            f"{path}: not a table of comma-separated numbers ({_brief(error)}); get it from "
            f"{info.source}"
        ) from error


def _download(info: DatasetInfo, data_dir: Path, missing: str) -> tuple[Array, Array]:
    """Features and labels from OpenML, kept below `data_dir`."""
    from sklearn.datasets import fetch_openml

    try:
        table = fetch_openml(
            data_id=info.openml, data_home=data_dir / "openml", as_frame=False, n_retries=0
        )
    except Exception as error:  # urllib, http, OpenML and the parsers each raise their own kinds
        raise ValueError(
            f"{missing} (the download of OpenML data set {info.openml} failed: {_brief(error)})"
        ) from error
    return _matrix(table.data, "OpenML"), np.asarray(table.target, dtype=np.float64)


def _read_mat(name: str, data_dir: Path) -> Content:
    """A real-world set: `data` [N, D]; `target`, `partial_target` [C, N] 0/1, sparse or dense.

    Constant columns stay, and so do classes that never occur: C is the height of `target`.
    """
    info, path = _info(name), find_file(name, data_dir)
    content = _load_mat(path, info)
    for key in MAT_KEYS:
        if key not in content:
            raise ValueError(f"{path}: no variable `{key}` in it; get it from {info.source}")
    x = _features(_matrix(content["data"], f"{path}: `data`"), f"{path}: `data`")
    target = _indicators(content["target"], len(x), f"{path}: `target`")
    candidates = _indicators(content["partial_target"], len(x), f"{path}: `partial_target`")
    if target.shape != candidates.shape:
        raise ValueError(
            f"{path}: `target` has {target.shape[1]} classes, `partial_target` "
            f"{candidates.shape[1]}"
        )
    num_true = target.sum(axis=1)
    _refuse(num_true == 0, f"{path}: `target`", "has no true label")
    _refuse(num_true > 1, f"{path}: `target`", "has several true labels")
    y = check_labels(target.argmax(axis=1), target.shape[1], str(path))
    return x, torch.from_numpy(y), target.shape[1], torch.from_numpy(candidates)


def _load_mat(path: Path, info: DatasetInfo) -> Mapping[str, Any]:
    from scipy.io import loadmat

    try:
        content: Mapping[str, Any] = loadmat(path, variable_names=MAT_KEYS)
    except NotImplementedError as error:
        raise ValueError(f"{path}: a MATLAB 7.3 file; save it in MATLAB with '-v7'") from error
    except Exception as error:  # a cut-off file surfaces as any of a dozen kinds
        raise ValueError(
            f"{path}: not a .mat file, or cut off ({_brief(error)}); get it from {info.source}"
        ) from error
    return content


def _indicators(values: Any, num_rows: int, where: str) -> npt.NDArray[np.bool_]:
    """A 0/1 matrix as [num_rows, C] bool; where both sides fit, its documented layout [C, N]."""
    matrix = _matrix(values, where)
    if num_rows not in matrix.shape:
        raise ValueError(f"{where} has the shape {matrix.shape}, `data` has {num_rows} rows")
    if matrix.shape[1] == num_rows:
        matrix = matrix.T
    if not np.isin(matrix, (0, 1)).all():
        raise ValueError(f"{where} holds values other than 0 and 1")
    return np.ascontiguousarray(matrix, dtype=np.bool_)


def _matrix(values: Any, where: str) -> Array:
    matrix = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(f"{where} is no matrix of numbers: {matrix.dtype} {matrix.shape}")
    return matrix


def _features(values: Array, where: str) -> Tensor:
    with np.errstate(over="ignore"):  # what overflows float32 is infinite, and refused below
        x = np.ascontiguousarray(values, dtype=np.float32)
    _refuse(~np.isfinite(x).all(axis=1), where, "has a feature that is NaN or infinite in float32")
    return torch.from_numpy(x)


def _refuse(bad: npt.ArrayLike, where: str, what: str) -> None:
    """Raise ValueError for the first row that is marked in `bad` [N] bool."""
    rows = np.flatnonzero(bad)
    if len(rows):
        share = f"{len(rows)} of {np.size(bad)} rows"
        raise ValueError(f"{where}: row {rows[0]} (counted from 0) {what} ({share})")


def _brief(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


_READERS: Mapping[str, Callable[[str, Path], Content]] = {
    "digits": _read_digits,
    "cnae9": _read_cnae9,
}
