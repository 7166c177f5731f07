"""The ten data sets of the data-centric image classification benchmark: labels of several people.

L. Schmarje et al.: Is One Annotation Enough? A Data-Centric Image Classification Benchmark for
Noisy and Ambiguous Label Estimation, NeurIPS 2022. A rule makes candidate sets of the labels; the
true label is the most voted one, for there is no other.
"""

import re
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, TypeAdapter, ValidationError

from pllbench.candidates.annotations import Votes
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.readers.base import Dataset, find_file
from pllbench.data.readers.custom import as_images
from pllbench.data.readers.images import as_colour, read_image
from pllbench.validation import one_line


class _Annotation(BaseModel):
    image_path: str
    class_label: str | None


class _Annotator(BaseModel):
    annotations: list[_Annotation]


_FILE = TypeAdapter(list[_Annotator])


def read_dcic(info: DatasetInfo, data_dir: Path) -> Dataset:
    """`annotations.json` of the data set's folder, and the images that it names, made square.

    Rows are in the order of their paths, classes in that of their names; of equally many votes the
    first class is the true label.

    Raises:
        ValueError: a file is missing or malformed, a fold has no image, or a path leads out of the
            folder.
    """
    folder = find_file(info, data_dir)
    file = folder / "annotations.json"
    given = _read(file, info)
    classes = sorted({label for _, label in given})
    if len(classes) != info.num_classes:
        raise ValueError(
            f"{file}: labels of {len(classes)} classes, {info.title} has {info.num_classes}: cut "
            f"off? get it from {info.source}"
        )
    paths = sorted({path for path, _ in given})
    votes: Votes = np.zeros((len(paths), len(classes)), dtype=np.int64)
    rows, labels = ({name: i for i, name in enumerate(names)} for names in (paths, classes))
    np.add.at(votes, ([rows[p] for p, _ in given], [labels[c] for _, c in given]), 1)
    places = [_place(path, folder, file) for path in paths]
    if missing := {1, 2, 3, 4, 5} - {fold for fold, _ in places}:
        raise ValueError(
            f"{file}: no image of fold{min(missing)}: cut off? get it from {info.source}"
        )
    images = np.stack([as_colour(read_image(place, info.image_size)) for _, place in places])
    return Dataset(
        info,
        as_images(images, str(folder)),
        torch.from_numpy(votes.argmax(axis=1)),
        len(classes),
        votes=torch.from_numpy(votes),
        folds=torch.tensor([fold - 1 for fold, _ in places]),
    )


def _read(file: Path, info: DatasetInfo) -> list[tuple[str, str]]:
    """Image path and label of each annotation that has a label."""
    try:
        annotators = _FILE.validate_json(file.read_bytes())
    except OSError as error:
        raise ValueError(f"{file}: not readable ({error}); get it from {info.source}") from error
    except ValidationError as error:
        raise ValueError(one_line(error, str(file))) from error
    return [
        (one.image_path, one.class_label)
        for annotator in annotators
        for one in annotator.annotations
        if one.class_label is not None
    ]


def _place(path: str, folder: Path, file: Path) -> tuple[int, Path]:
    """Fold, from 1, and file of an image whose path is NAME/foldN/FILE."""
    found = re.fullmatch(r"[^/\\]+/fold([1-5])/([^/\\]+)", path)
    if not found or found[2] in (".", ".."):
        raise ValueError(f"{file}: image path {path[:100]!r} must be NAME/foldN/FILE, N of 1..5")
    return int(found[1]), folder / f"fold{found[1]}" / found[2]
