"""Custom data sets, in the forms that `pllbench.data.custom` describes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.custom import content_digest
from pllbench.data.frames import FRAME_SUFFIXES, read_frame
from pllbench.data.image_folders import list_images
from pllbench.data.readers.annotated import read_annotations, votes_of
from pllbench.data.readers.base import (
    Array,
    Dataset,
    as_features,
    as_matrix,
    check_labels,
    raise_for_rows,
    require_classes,
    short_message,
)
from pllbench.data.readers.frames import read_frame_file
from pllbench.data.readers.images import as_colour, read_image
from pllbench.data.readers.tabular import read_mat_file
from pllbench.spec import Kind


def read_custom(info: DatasetInfo, data_dir: Path) -> Dataset:  # noqa: ARG001 - as all readers
    """The custom data set at the path of `info`.

    Raises:
        ValueError: it is malformed, or has changed since it was planned; the message names file
            and row, and how to mend it.
    """
    assert info.path is not None
    if content_digest(info.path) != info.digest:
        raise ValueError(f"{info.path}: has changed since the runs were planned: start again")
    if info.path.is_dir():
        return read_folder(info, info.path)
    if info.path.suffix == ".mat":
        return read_mat_file(info.path, info)
    if info.path.suffix in FRAME_SUFFIXES:
        return read_frame_file(info, info.path)
    return read_npz(info, info.path)


def read_npz(info: DatasetInfo, path: Path) -> Dataset:
    """Rows, labels and what else the file holds."""
    arrays = load_npz(path)
    x = as_rows(arrays["x"], info.kind, f"{path}: `x`")
    sets = None
    if "candidates" in arrays:
        sets = as_matrix(arrays["candidates"], f"{path}: `candidates`")
        if not np.isin(sets, (0, 1)).all():
            raise ValueError(f"{path}: `candidates` holds values other than 0 and 1")
    annotated = read_annotations(path, arrays)
    num_classes = _num_classes(arrays, sets, path)
    if annotated and "num_classes" not in arrays:
        num_classes = max(num_classes, int(annotated[0][:, 2].max(initial=-1)) + 1)
    y = _true_labels(arrays, num_classes, path)
    for name, rows in (("y", y), ("candidates", sets)):
        if rows is not None and len(rows) != len(x):
            raise ValueError(f"{path}: `x` has {len(x)} rows, `{name}` has {len(rows)}")
    num_train = _number(arrays, "num_train", path)
    if num_train is not None and not 0 < num_train < len(x):
        raise ValueError(f"{path}: `num_train` must be 1..{len(x) - 1}, got {num_train}")
    candidates = None if sets is None else torch.from_numpy(sets.astype(np.bool_))
    dataset = Dataset(info, x, y, num_classes, candidates, num_train)
    return replace(dataset, votes=votes_of(dataset, *annotated)) if annotated else dataset


def read_rows(
    path: Path, kind: Kind, wanted: Sequence[str] | None = None
) -> tuple[Array, tuple[str, ...] | None]:
    """The rows of a file alone, [N, ...], and the names of their columns, where they have any.

    Args:
        path: the file.
        kind: of the data.
        wanted: names of the columns to be read; None for all.

    Raises:
        ValueError: no such file, or no rows of this kind in it.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    columns, where = None, f"{path}: `x`"
    if path.suffix in FRAME_SUFFIXES:
        frame = read_frame(path, wanted)
        values, columns, where = frame.x, frame.columns.features, str(path)
    elif path.suffix == ".npz":
        arrays = load_npz(path)
        if "x" not in arrays:
            raise ValueError(f"{path}: no array `x` in it")
        values = arrays["x"]
    else:
        raise ValueError(
            f"{path}: rows to predict are the array `x` of a .npz file, or a .csv or .parquet table"
        )
    rows: Array = as_rows(values, kind, where).numpy()
    return rows, columns


def load_npz(path: Path) -> dict[str, Array]:
    """All arrays of a file.

    Raises:
        ValueError: it is no .npz file, or is cut off.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except Exception as error:  # zipfile, zlib and NumPy each raise their own kind
        raise ValueError(f"{path}: not a .npz file, or cut off ({short_message(error)})") from error


def as_rows(values: Array, kind: Kind, where: str) -> Tensor:
    """Rows of a kind of data: features [N, D] float32, or images uint8 [N, channels, H, W].

    Raises:
        ValueError: they are not such rows; the message starts with `where`.
    """
    if kind in ("image", "digits"):
        return as_images(values, where)
    x = as_features(as_matrix(values, where), where)
    if kind == "text":
        raise_for_rows((x < 0).any(dim=1), where, "has a negative count of a word")
    return x


def _true_labels(arrays: Mapping[str, Array], num_classes: int, path: Path) -> Tensor | None:
    """`y`, checked; None where the file has none."""
    if "y" not in arrays:
        require_classes(num_classes, str(path))
        if not len(arrays["x"]):
            raise ValueError(f"{path}: `x` has no rows")
        return None
    return torch.from_numpy(check_labels(arrays["y"], num_classes, f"{path}: `y`"))


def _num_classes(arrays: Mapping[str, Array], sets: Array | None, path: Path) -> int:
    """C: declared, else the width of the candidate sets, else one more than the largest label."""
    num_classes = _number(arrays, "num_classes", path)
    if num_classes is not None:
        if sets is not None and sets.shape[1] != num_classes:
            raise ValueError(
                f"{path}: `num_classes` is {num_classes}, `candidates` has {sets.shape[1]} columns"
            )
        return num_classes
    if sets is not None:
        return int(sets.shape[1])
    if "y" not in arrays:
        return 0  # annotations have labels
    y = arrays["y"]
    if y.ndim != 1 or not len(y) or y.dtype.kind not in "iuf" or not np.isfinite(y).all():
        return 2  # whatever is wrong with them, `check_labels` says it
    if y.min() >= 1:
        raise ValueError(
            f"{path}: `y` runs from {y.min():g} to {y.max():g}, class 0 does not occur: if labels "
            f"count from 1, subtract 1; if nobody is in class 0, store `num_classes` as well"
        )
    return int(y.max()) + 1


def _number(arrays: Mapping[str, Array], key: str, path: Path) -> int | None:
    """A whole number of the file, where it has one of that name."""
    if key not in arrays:
        return None
    value = arrays[key]
    if value.size != 1 or value.dtype.kind not in "iuf" or value.item() % 1 != 0:
        raise ValueError(f"{path}: `{key}` must be one whole number, got {str(value)[:40]!r}")
    return int(value.item())


def as_images(values: Array, where: str) -> Tensor:
    """Images as uint8 [N, channels, H, W].

    Raises:
        ValueError: not uint8, no pixels, or not of one of the shapes that images may have.
    """
    if values.dtype != np.uint8:
        raise ValueError(f"{where}: images must be uint8 from 0 to 255, got {values.dtype}")
    if not values.size:
        raise ValueError(f"{where}: no pixels in images of the shape {values.shape}")
    x = torch.from_numpy(np.ascontiguousarray(values))
    if x.ndim == 3:
        return x[:, None]
    if x.ndim == 4 and x.shape[3] in (1, 3):
        return x.permute(0, 3, 1, 2).contiguous()
    if x.ndim == 4 and x.shape[1] in (1, 3):
        return x
    raise ValueError(
        f"{where}: images must be [N, height, width] or have 1 or 3 channels, got the shape "
        f"{tuple(x.shape)}"
    )


def read_folder(info: DatasetInfo, path: Path) -> Dataset:
    """Images of one size in one folder a class; classes in the order of their names.

    Raises:
        ValueError: as `list_images`; a file that is no image, or images of different sizes.
    """
    classes, listed = list_images(path)
    files = [pair for part in listed for pair in part]
    images = [read_image(file) for file, _ in files]
    grey = all(image.ndim == 2 for image in images)
    size = images[0].shape[:2]
    for (file, _), image in zip(files, images, strict=True):
        if image.shape[:2] != size:
            raise ValueError(
                f"{file}: {image.shape[1]} x {image.shape[0]} pixels, {files[0][0].name} has "
                f"{size[1]} x {size[0]}: resize all images to one size"
            )
    stacked = np.stack([image if grey else as_colour(image) for image in images])
    y = check_labels([label for _, label in files], len(classes), str(path))
    num_train = len(listed[0]) if len(listed) > 1 else None
    x = as_images(stacked, str(path))
    return Dataset(info, x, torch.from_numpy(y), len(classes), num_train=num_train)
