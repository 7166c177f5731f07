"""DCIC data sets in their exact form: votes, true labels, folds, images; malformed files."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset, split
from tests.data.files import refusal, save_image

TURKEY = DATASETS["dcic-turkey"]

CLASSES = ("head_injury", "not_injured", "plumage_injury")


def annotation(path: str, label: str | None) -> dict[str, Any]:
    """As the authors store one: with a creation date and an id beside what is read."""
    return {"image_path": path, "class_label": label, "created_at": "2022-01-01", "uuid": path}


def image_path(row: int) -> str:
    return f"Turkey/fold{row % 5 + 1}/image_{row}.png"


def annotators() -> list[dict[str, Any]]:
    """Two records: the first has all of row r's votes but one for class r % 3, and a null label."""
    first = [
        annotation(image_path(row), CLASSES[label])
        for row in reversed(range(15))
        for label in (row % 3, row % 3, (row + 1) % 3)
    ]
    first.append(annotation(image_path(0), None))
    second = [annotation(image_path(row), CLASSES[row % 3]) for row in range(15)]
    return [{"name": "a", "annotations": first}, {"name": "b", "annotations": second}]


def save(folder: Path, content: object = None) -> Path:
    target = folder / "dcic" / "Turkey"
    for row in range(15):
        save_image(target / image_path(row).removeprefix("Turkey/"), (200, 190, 3), value=row)
    file = target / "annotations.json"
    file.write_text(json.dumps(annotators() if content is None else content), "utf-8")
    return file


def test_votes_of_all_annotators_in_the_order_of_paths(tmp_path: Path) -> None:
    save(tmp_path)
    dataset = load_dataset(TURKEY, tmp_path)
    paths = sorted(image_path(row) for row in range(15))
    rows = [int(path.split("_")[1].removesuffix(".png")) for path in paths]
    assert dataset.x.shape == (15, 3, 192, 192)
    assert dataset.x[:, 0, 0, 0].tolist() == rows
    assert dataset.y.tolist() == [row % 3 for row in rows]
    assert dataset.votes is not None
    assert dataset.votes[rows.index(0)].tolist() == [3, 1, 0]
    assert dataset.votes.sum(1).tolist() == [4] * 15
    assert dataset.candidates is None
    assert dataset.folds is not None
    assert dataset.folds.tolist() == [row % 5 for row in rows]


def test_the_first_of_equally_voted_classes_is_the_true_label(tmp_path: Path) -> None:
    content = annotators()
    votes = [annotation(image_path(4), CLASSES[label]) for label in (0, 0)]  # beside 1, 1, 1, 2
    content.append({"annotations": [*votes, annotation(image_path(4), CLASSES[0])]})
    save(tmp_path, content)
    dataset = load_dataset(TURKEY, tmp_path)
    assert dataset.votes is not None
    row = dataset.x[:, 0, 0, 0].tolist().index(4)
    assert dataset.votes[row].tolist() == [3, 3, 1]
    assert dataset.y[row] == 0


def test_seeds_are_the_published_slices(tmp_path: Path) -> None:
    """Slice v tests on fold v + 1 and leaves fold v aside, counted from 0 and around the end."""
    save(tmp_path)
    dataset = load_dataset(TURKEY, tmp_path)
    assert dataset.folds is not None
    expected = {0: ([2, 3, 4], 1), 1: ([0, 3, 4], 2), 2: ([0, 1, 4], 3), 3: ([0, 1, 2], 4)}
    for seed, (trained, tested) in expected.items():
        train, test = split(dataset, seed)
        assert sorted(set(dataset.folds[train].tolist())) == trained
        assert set(dataset.folds[test].tolist()) == {tested}
        assert (len(train), len(test)) == (9, 3)
    last = split(dataset, 4)
    assert sorted(set(dataset.folds[last[0]].tolist())) == [1, 2, 3]
    assert [index.tolist() for index in split(dataset, 7)] == [
        index.tolist() for index in split(dataset, 2)
    ]


@pytest.mark.parametrize(
    ("folds", "slices"),
    [
        ((907, 955, 958, 990, 1057), {1: (2954, 958), 2: (2919, 990), 3: (2820, 1057)}),
        ((1892, 1972, 1972, 2032, 1958), {1: (5882, 1972), 2: (5822, 2032), 3: (5836, 1958)}),
    ],
)
def test_published_sizes_of_slices(
    folds: tuple[int, ...], slices: dict[int, tuple[int, int]], tmp_path: Path
) -> None:
    """Benthic and Treeversity#6: training and test images of the slices that PALS uses."""
    save(tmp_path)
    numbers = torch.repeat_interleave(torch.arange(5), torch.tensor(folds))
    small = load_dataset(TURKEY, tmp_path)
    rows = torch.zeros(len(numbers), dtype=torch.int64)
    dataset = replace(
        small, x=small.x[:1, :, :1, :1][rows], true_labels=rows, votes=None, folds=numbers
    )
    for number, sizes in slices.items():
        train, test = split(dataset, number)
        assert (len(train), len(test)) == sizes


def test_grey_images_become_coloured_and_square(tmp_path: Path) -> None:
    save(tmp_path)
    path = tmp_path / "dcic" / "Turkey" / "fold1" / "image_0.png"
    grey = np.zeros((100, 50), dtype=np.uint8)
    grey[:50] = 200
    Image.fromarray(grey).save(path)
    x = load_dataset(TURKEY, tmp_path).x[0]
    assert x[:, 20, 20].tolist() == [200] * 3
    assert x[:, 180, 180].tolist() == [0] * 3


def test_the_folder_may_be_spelled_otherwise(tmp_path: Path) -> None:
    save(tmp_path)
    (tmp_path / "dcic" / "Turkey").rename(tmp_path / "turkey")
    assert len(load_dataset(TURKEY, tmp_path).y) == 15


def with_path(path: str) -> list[dict[str, Any]]:
    return [*annotators(), {"annotations": [annotation(path, CLASSES[0])]}]


def without_fold(number: int) -> list[dict[str, Any]]:
    """The records of an archive that lacks a fold: other folds would be those of the slices."""
    return [
        {
            "annotations": [
                one for one in record["annotations"] if f"fold{number}" not in one["image_path"]
            ]
        }
        for record in annotators()
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({}, "Input should be a valid array"),
        ([{}], "0.annotations: Field required"),
        ([{"annotations": [{"image_path": "a"}]}], "class_label: Field required"),
        ([{"annotations": [annotation("Turkey/fold1/a.png", 3)]}], "should be a valid string"),  # type: ignore[arg-type]
        ([], "labels of 0 classes, DCIC Turkey has 3: cut off?"),
        (without_fold(5), "no image of fold5: cut off?"),
        (without_fold(2), "no image of fold2: cut off?"),
        (with_path("Turkey/fold1/none.png"), "none.png: not readable as an image"),
        (with_path("Turkey/fold6/a.png"), "'Turkey/fold6/a.png' must be NAME/foldN/FILE"),
        (with_path("Turkey/fold1/../../../a.png"), "must be NAME/foldN/FILE"),
        (with_path("Turkey/fold1/.."), "must be NAME/foldN/FILE"),
        (with_path("/etc/passwd"), "must be NAME/foldN/FILE"),
        (with_path("Turkey\\fold1\\a.png"), "must be NAME/foldN/FILE"),
        (with_path("fold1/a.png"), "must be NAME/foldN/FILE"),
    ],
)
def test_malformed_annotations(tmp_path: Path, content: object, problem: str) -> None:
    file = save(tmp_path, content)
    message = refusal("dcic-turkey", tmp_path)
    assert message.startswith(str(file.parent))
    assert problem in message


def test_files_that_are_not_there_or_no_json(tmp_path: Path) -> None:
    assert "get it from https://zenodo.org/records/8115942" in refusal("dcic-turkey", tmp_path)
    file = save(tmp_path)
    file.write_bytes(b"[{")
    assert refusal("dcic-turkey", tmp_path).startswith(f"{file}: Invalid JSON")
    file.unlink()
    assert refusal("dcic-turkey", tmp_path).startswith(f"{file}: not readable")
    image = save(tmp_path).parent / "fold2" / "image_1.png"
    image.write_bytes(image.read_bytes()[:40])
    assert refusal("dcic-turkey", tmp_path).startswith(f"{image}: not readable as an image")


@pytest.mark.parametrize(
    ("name", "num_classes"),
    [
        *(("benthic", 8), ("treeversity1", 6), ("treeversity6", 6), ("pig", 4), ("turkey", 3)),
        *(("micebone", 3), ("plankton", 10), ("qualitymri", 2), ("synthetic", 6)),
        ("cifar10h", 10),
    ],
)
def test_facts_of_the_ten_sets(name: str, num_classes: int) -> None:
    info = DATASETS[f"dcic-{name}"]
    assert (info.num_classes, info.split, info.kind) == (num_classes, "folds", "image")
    assert info.annotated
    assert info.real_candidates
