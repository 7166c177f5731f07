"""Feature vectors and word counts: scikit-learn's digits, CNAE-9, real-world sets in .mat files."""

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.readers.base import (
    Array,
    Dataset,
    as_features,
    as_matrix,
    check_labels,
    find_file,
    raise_for_rows,
    short_message,
)
from pllbench.data.readers.download import download_lock

CNAE9_SHAPE = (1080, 856)
"""Documents and words of CNAE-9, by the description of UCI data set 233."""

MAT_KEYS = ("data", "target", "partial_target")
"""Variables of a real-world partial-label set."""


def read_digits(info: DatasetInfo, data_dir: Path) -> Dataset:  # noqa: ARG001 - as all readers
    """The 8 x 8 digits that scikit-learn ships, divided by their largest value."""
    table = _digits()
    labels = torch.from_numpy(check_labels(table[:, -1], 10, info.name))
    return Dataset(info, as_features(table[:, :-1] / 16, info.name), labels, 10)


def _digits() -> Array:
    """Pixels and label of each digit [N, 65].

    They are read from scikit-learn's file: its module takes over a second to import, in every
    process of a run.
    """
    package = find_spec("sklearn")
    path = Path((package and package.origin) or "").parent / "datasets/data/digits.csv.gz"
    if path.is_file():
        return np.loadtxt(path, delimiter=",")
    from sklearn.datasets import load_digits

    return np.column_stack(load_digits(return_X_y=True))


def read_cnae9(info: DatasetInfo, data_dir: Path) -> Dataset:
    """Word counts; labels are 1..9 in the file by its own description, so 1 becomes class 0."""
    try:
        path = find_file(info, data_dir)
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
    return Dataset(info, as_features(x, where), torch.from_numpy(y), 9)


def _read_table(path: Path, info: DatasetInfo) -> Array:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an empty file is only a warning to NumPy
            return np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, OSError, UserWarning) as error:
        raise ValueError(
            f"{path}: not a table of comma-separated numbers ({short_message(error)}); get it from "
            f"{info.source}"
        ) from error


def _download(info: DatasetInfo, data_dir: Path, missing: str) -> tuple[Array, Array]:
    """Features and labels from OpenML, kept below `data_dir`."""
    from sklearn.datasets import fetch_openml

    try:
        with download_lock(data_dir, "openml"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a second try; if that fails too, it is said below
            table = fetch_openml(
                data_id=info.openml, data_home=data_dir / "openml", as_frame=False, n_retries=1
            )
    except Exception as error:  # urllib, http, OpenML and the parsers each raise their own kinds
        raise ValueError(
            f"{missing} (the download of OpenML data set {info.openml} failed: "
            f"{short_message(error)})"
        ) from error
    return as_matrix(table.data, "OpenML"), np.asarray(table.target, dtype=np.float64)


def read_mat(info: DatasetInfo, data_dir: Path) -> Dataset:
    """A real-world set."""
    return read_mat_file(find_file(info, data_dir), info)


def read_mat_file(path: Path, info: DatasetInfo) -> Dataset:
    """`data` [N, D]; `target` and `partial_target` [C, N] 0/1, sparse or dense.

    Constant columns stay, and so do classes that never occur: C is the height of `target`. Where
    candidate sets are generated there is no `partial_target`.
    """
    content = _load_mat(path, info)
    for key in MAT_KEYS if info.real_candidates else MAT_KEYS[:2]:
        if key not in content:
            raise ValueError(f"{path}: no variable `{key}` in it; {_cure(info, f'store `{key}`')}")
    x = as_features(as_matrix(content["data"], f"{path}: `data`"), f"{path}: `data`")
    target = _indicators(content["target"], len(x), f"{path}: `target`")
    candidates = None
    if info.real_candidates:
        sets = _indicators(content["partial_target"], len(x), f"{path}: `partial_target`")
        if target.shape != sets.shape:
            raise ValueError(
                f"{path}: `target` has {target.shape[1]} classes, `partial_target` {sets.shape[1]}"
            )
        candidates = torch.from_numpy(sets)
    num_true = target.sum(axis=1)
    raise_for_rows(num_true == 0, f"{path}: `target`", "has no true label")
    raise_for_rows(num_true > 1, f"{path}: `target`", "has several true labels")
    y = check_labels(target.argmax(axis=1), target.shape[1], str(path))
    return Dataset(info, x, torch.from_numpy(y), target.shape[1], candidates)


def _load_mat(path: Path, info: DatasetInfo) -> Mapping[str, Any]:
    from scipy.io import loadmat

    try:
        content: Mapping[str, Any] = loadmat(path, variable_names=MAT_KEYS)
    except NotImplementedError as error:
        return _load_hdf5(path, error)
    except Exception as error:  # a cut-off file surfaces as any of a dozen kinds
        raise ValueError(
            f"{path}: not a .mat file, or cut off ({short_message(error)}); "
            f"{_cure(info, 'save it again')}"
        ) from error
    return content


def _load_hdf5(path: Path, reason: Exception) -> Mapping[str, Any]:
    """The variables of a MATLAB 7.3 file, which is HDF5 with the axes turned."""
    try:
        import h5py
    except ModuleNotFoundError:
        raise ValueError(
            f"{path}: a MATLAB 7.3 file; pip install 'pllbench[mat73]', or save it with '-v7'"
        ) from reason
    try:
        with h5py.File(path) as file:
            return {key: np.asarray(file[key]).T for key in MAT_KEYS if key in file}
    except Exception as error:  # sparse matrices are groups, and h5py raises its own kinds
        raise ValueError(
            f"{path}: a MATLAB 7.3 file that is not of dense matrices ({short_message(error)}); "
            "save it with '-v7'"
        ) from error


def _cure(info: DatasetInfo, custom: str) -> str:
    """What to do about a file: get it where it comes from, or correct one's own."""
    return custom if info.path else f"get it from {info.source}"


def _indicators(values: Any, num_rows: int, where: str) -> npt.NDArray[np.bool_]:
    """A 0/1 matrix as [num_rows, C] bool; where both sides fit, its documented layout [C, N]."""
    matrix = as_matrix(values, where)
    if num_rows not in matrix.shape:
        raise ValueError(f"{where} has the shape {matrix.shape}, `data` has {num_rows} rows")
    if matrix.shape[1] == num_rows:
        matrix = matrix.T
    if not np.isin(matrix, (0, 1)).all():
        raise ValueError(f"{where} holds values other than 0 and 1")
    return np.ascontiguousarray(matrix, dtype=np.bool_)
