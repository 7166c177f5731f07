"""Labels that several annotators gave to the rows of a custom data set, from its file or a CSV."""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pllbench.candidates.annotations import count_votes
from pllbench.data.custom import annotations_file
from pllbench.data.readers.base import Array, Dataset, raise_for_rows

Annotations = npt.NDArray[np.int64]
"""Row, annotator and label of each annotation, [M, 3]."""

COLUMNS = ["row", "annotator", "label"]


def read_annotations(path: Path, arrays: Mapping[str, Array]) -> tuple[Annotations, str] | None:
    """Annotations [M, 3] of the custom .npz file at `path`, and where they stand.

    They are its array `annotations`, or the CSV file beside it; None where there are none. A row
    and a label count from 0; whether they fit the data is checked by `votes_of`.

    Raises:
        ValueError: both are there, or candidate sets as well; or they are malformed.
    """
    file = annotations_file(path)
    if "annotations" not in arrays and not file.exists():
        return None
    if "candidates" in arrays:
        raise ValueError(f"{path}: holds `candidates`, and has annotations: leave one of them out")
    if "annotations" not in arrays:
        return _read_csv(file), str(file)
    if file.exists():
        raise ValueError(f"{path}: holds `annotations`, and {file.name} does too: delete one")
    where, values = f"{path}: `annotations`", arrays["annotations"]
    if values.ndim != 2 or values.shape[1] != 3 or values.dtype.kind not in "iu":
        raise ValueError(
            f"{where} must be whole numbers in three columns, row, annotator and label, "
            f"got {values.dtype} {values.shape}"
        )
    return values.astype(np.int64), where


def _read_csv(file: Path) -> Annotations:
    """Annotations in a file with the columns row, annotator (any text) and label."""
    annotators: dict[str, int] = {}
    found: list[tuple[int, int, int]] = []
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            lines = csv.DictReader(stream, strict=True)
            if sorted(lines.fieldnames or []) != sorted(COLUMNS):
                raise ValueError(f"its columns must be {', '.join(COLUMNS)}")
            for line in lines:
                where = f"line {lines.line_num}"
                if None in line or None in line.values():
                    raise ValueError(f"{where} has not three entries")
                if not (line["row"].isdecimal() and line["label"].isdecimal()):
                    raise ValueError(f"{where}: row and label must be whole numbers from 0")
                annotator = annotators.setdefault(line["annotator"], len(annotators))
                found.append((int(line["row"]), annotator, int(line["label"])))
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise ValueError(f"{file}: {error}") from error
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def votes_of(dataset: Dataset, annotations: Annotations, where: str) -> Tensor:
    """Votes [N, C] of annotations [M, 3] of the rows of `dataset`.

    Raises:
        ValueError: a row or a label that the data set does not have, or a training row without any
            annotation, or, without true labels, any such row. The message starts with `where`.
    """
    num_rows, num_classes = len(dataset.x), dataset.num_classes
    for column, limit in ((0, num_rows), (2, num_classes)):
        bad = (annotations[:, column] < 0) | (annotations[:, column] >= limit)
        raise_for_rows(bad, where, f"names a {COLUMNS[column]} outside 0..{limit - 1}")
    votes = count_votes(annotations, num_rows, num_classes)
    needed = dataset.num_train if dataset.labelled else None  # else the other rows are a hold-out
    unseen = ~votes[:needed].any(axis=1)
    raise_for_rows(unseen, where, "of the data set has no annotation")
    return torch.from_numpy(votes)
