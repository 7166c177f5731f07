"""CLCIFAR files in their exact form: candidate sets, CIFAR's labels, malformed and hostile ones."""

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pllbench.data.catalogue import CIFAR100_SUPERCLASSES, CLCIFAR20_CLASSES, DATASETS
from pllbench.data.dataset import load_dataset, split
from pllbench.data.readers.base import Dataset
from tests.data.files import NUM_TEST, NUM_TRAIN, make_small_cifar10, refusal

ROWS = range(NUM_TRAIN)


def small_cifar100() -> Dataset:
    """Thirty images with fine labels 70, 71, ...; class 81, streetcars, is among them."""
    small = make_small_cifar10()
    fine = 70 + torch.arange(NUM_TRAIN + NUM_TEST) % 15
    return Dataset(DATASETS["cifar100"], small.x, fine, 100, num_train=NUM_TRAIN)


@pytest.fixture(autouse=True)
def small_cifar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty images in place of CIFAR-10's and of CIFAR-100's."""
    sets = {"cifar10": make_small_cifar10(), "cifar100": small_cifar100()}
    monkeypatch.setattr(
        "pllbench.data.readers.complementary.read_torchvision", lambda info, _: sets[info.name]
    )


def content(num_classes: int = 10, **changed: Any) -> dict[str, Any]:
    """As the authors store it: lists of names, images, labels and three labels of annotators."""
    cifar = make_small_cifar10() if num_classes == 10 else small_cifar100()
    images = cifar.x[:NUM_TRAIN].permute(0, 2, 3, 1).numpy()
    y = cifar.y[:NUM_TRAIN].tolist()
    if num_classes == 20:
        y = [CLCIFAR20_CLASSES[fine] for fine in y]
    wrong = [
        [(label + 1) % num_classes, (label + 1) % num_classes, (label + 5) % num_classes]
        for label in y
    ]
    stored = {
        "names": [f"image_{row}.png" for row in ROWS],
        "images": [np.ascontiguousarray(image) for image in images],
        "ord_labels": y,
        "cl_labels": wrong,
    }
    return {key: value for key, value in (stored | changed).items() if value is not None}


def save(folder: Path, stored: object, name: str = "clcifar10", protocol: int = 4) -> Path:
    path = folder / "clcifar" / f"{name}.pkl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps(stored, protocol=protocol))
    return path


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_candidates_are_what_nobody_called_wrong(tmp_path: Path, protocol: int) -> None:
    save(tmp_path, content(), protocol=protocol)
    dataset = load_dataset(DATASETS["clcifar10"], tmp_path)
    assert dataset.candidates is not None
    assert dataset.candidates[3].nonzero().flatten().tolist() == [0, 1, 2, 3, 5, 6, 7, 9]
    assert torch.equal(dataset.x, make_small_cifar10().x)
    assert torch.equal(dataset.y, make_small_cifar10().y)
    assert dataset.candidates[NUM_TRAIN:].sum(1).tolist() == [1] * NUM_TEST
    train, test = split(dataset, 3)
    assert (len(train), len(test)) == (NUM_TRAIN, NUM_TEST)


def test_repeated_labels_count_once(tmp_path: Path) -> None:
    """The labels 3, 3 and 7 leave eight of ten classes."""
    wrong = [[3, 3, 7], *content()["cl_labels"][1:]]
    save(tmp_path, content(cl_labels=wrong))
    candidates = load_dataset(DATASETS["clcifar10"], tmp_path).candidates
    assert candidates is not None
    assert candidates[0].nonzero().flatten().tolist() == [0, 1, 2, 4, 5, 6, 8, 9]


@pytest.mark.parametrize(("num_classes", "mean"), [(10, 7.320988), (20, 17.155125)])
def test_expected_size_of_three_uniform_wrong_labels(num_classes: int, mean: float) -> None:
    others = num_classes - 1
    distinct = others * (1 - (1 - 1 / others) ** 3)
    assert num_classes - distinct == pytest.approx(mean, abs=5e-7)


def test_the_20_classes_are_superclasses_but_for_streetcars(tmp_path: Path) -> None:
    differing = [
        fine
        for fine, pair in enumerate(zip(CLCIFAR20_CLASSES, CIFAR100_SUPERCLASSES, strict=True))
        if pair[0] != pair[1]
    ]
    assert differing == [81]
    assert Counter(Counter(CLCIFAR20_CLASSES).values()) == {5: 18, 6: 1, 4: 1}
    save(tmp_path, content(20), "clcifar20")
    dataset = load_dataset(DATASETS["clcifar20"], tmp_path)
    assert dataset.num_classes == 20
    assert dataset.y[11].item() == 18, "a streetcar transports people"
    assert dataset.y.tolist() == [CLCIFAR20_CLASSES[70 + row % 15] for row in range(30)]


@pytest.mark.parametrize(("in_file", "in_test"), [(18, 18), (19, 19), (None, 18)])
def test_streetcars_of_the_test_images_follow_the_file(
    tmp_path: Path, in_file: int | None, in_test: int
) -> None:
    """CIFAR-100's superclass of them is 19, the authors' list says 18; row 11 is one, so is 26."""
    stored = content(20)
    if in_file is None:
        stored["images"][11] = np.full((32, 32, 3), 77, dtype=np.uint8)  # none that CIFAR has
    else:
        stored["ord_labels"][11] = in_file
    save(tmp_path, stored, "clcifar20")
    y = load_dataset(DATASETS["clcifar20"], tmp_path).y
    assert (y[11].item(), y[26].item()) == (in_file or 18, in_test)
    others = [row for row in range(30) if row not in (11, 26)]
    assert y[others].tolist() == [CIFAR100_SUPERCLASSES[70 + row % 15] for row in others]


def test_a_wrong_complementary_label_makes_the_set_noisy(tmp_path: Path) -> None:
    wrong = [[0, 1, 2], *content()["cl_labels"][1:]]
    save(tmp_path, content(cl_labels=wrong))
    dataset = load_dataset(DATASETS["clcifar10"], tmp_path)
    assert dataset.candidates is not None
    assert not dataset.candidates[0, 0]


def test_rows_stand_in_any_order_and_images_may_be_others(tmp_path: Path) -> None:
    whole = content()
    order = list(reversed(ROWS))
    shuffled = {key: [values[row] for row in order] for key, values in whole.items()}
    shuffled["images"][0] = np.full((32, 32, 3), 77, dtype=np.uint8)
    shuffled["ord_labels"][0] = 9
    shuffled["cl_labels"][0] = [0, 1, 2]
    save(tmp_path, shuffled)
    dataset = load_dataset(DATASETS["clcifar10"], tmp_path)
    assert dataset.y[1:NUM_TRAIN].tolist() == [whole["ord_labels"][row] for row in order[1:]]
    assert dataset.x[1, 0, 0, 0] == order[1]


def test_an_image_with_another_label_than_in_cifar_is_refused(tmp_path: Path) -> None:
    labels = content()["ord_labels"]
    labels[4] = 5
    path = save(tmp_path, content(ord_labels=labels))
    message = refusal("clcifar10", tmp_path)
    assert message == (
        f"{path}: row 4 (counted from 0) has another label than in CIFAR (1 of {NUM_TRAIN} rows)"
    )


RECURSIVE: list[Any] = []
"""A list that holds itself."""
RECURSIVE.append(RECURSIVE)

DOUBLED: list[Any] = [1]
"""One number 2^40 times, in a few bytes."""
for _ in range(40):
    DOUBLED = [DOUBLED, DOUBLED]


class Hostile:
    """Would run code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("this must not be printed",)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"images": None}, "must hold images, ord_labels, cl_labels"),
        ({"cl_labels": None}, "must hold images, ord_labels, cl_labels"),
        ({"images": [np.zeros((32, 32), np.uint8)] * NUM_TRAIN}, "must be uint8 [N, 32, 32, 3]"),
        (
            {"images": [np.zeros((32, 32, 3))] * NUM_TRAIN},
            "must be uint8 [N, 32, 32, 3], got float",
        ),
        (
            {"images": [np.zeros((32, 32, 3), np.uint8), np.zeros((8, 8, 3), np.uint8)]},
            "`images` have different shapes",
        ),
        ({"images": content()["images"][:5]}, f"5 images, {NUM_TRAIN} `ord_labels`"),
        ({"ord_labels": ["cat"] * NUM_TRAIN}, "`ord_labels`: labels must be whole numbers"),
        (
            {"ord_labels": [0, *[10] * 19]},
            "`ord_labels`: row 1 (counted from 0) has a label outside",
        ),
        ({"ord_labels": [[1], [2, 3]]}, "`ord_labels` is no table of numbers"),
        ({"cl_labels": [[1, 2]] * NUM_TRAIN}, "`cl_labels` must be three labels of 0..9 a row"),
        ({"cl_labels": [[1, 2, 10]] * NUM_TRAIN}, "`cl_labels` must be three labels of 0..9 a row"),
        ({"cl_labels": [[1, 2, 2.5]] * NUM_TRAIN}, "`cl_labels` must be three labels of 0..9"),
        ({"cl_labels": [[1, 2, 3], [4]]}, "`cl_labels` is no table of numbers"),
        ({"cl_labels": [[True, False, True]] * NUM_TRAIN}, "`cl_labels` must be three labels of"),
        ({"cl_labels": RECURSIVE}, "`cl_labels` is no table of numbers"),
        ({"cl_labels": DOUBLED}, "`cl_labels` is no table of numbers"),
        ({"images": RECURSIVE}, "`images` have different shapes"),
        ({"names": [Hostile()]}, "it holds a builtins.print, only plain numbers are read"),
        ({"names": np.array([Hostile()])}, "it holds an array of 'O8'"),
        ({"names": np.array(["a"])}, "it holds an array of 'U1'"),
        ({"names": np.zeros(2, [("a", "u1")])}, "it holds an array of 'V1'"),
        ({"names": np.array([1j])}, "it holds an array of 'c16'"),
        ({"names": np.random.default_rng(0)}, "only plain numbers are read"),
    ],
)
def test_malformed_files(
    tmp_path: Path, changed: dict[str, Any], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path, content(**changed))
    message = refusal("clcifar10", tmp_path)
    assert message.startswith(str(path))
    assert problem in message
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("stored", [None, [1, 2], "text", 7])
def test_other_contents(tmp_path: Path, stored: object) -> None:
    save(tmp_path, stored)
    assert "must hold images, ord_labels, cl_labels" in refusal("clcifar10", tmp_path)


def test_arrays_and_numbers_of_numpy_are_read_as_they_were_stored(tmp_path: Path) -> None:
    """Also in Fortran's order and other types, and where whole columns are one array."""
    whole = content()
    stored = whole | {
        "images": np.asfortranarray(np.stack(whole["images"])),
        "ord_labels": [np.int64(label) for label in whole["ord_labels"]],
        "cl_labels": [np.array(row, dtype=">i4") for row in whole["cl_labels"]],
    }
    save(tmp_path, stored)
    found = load_dataset(DATASETS["clcifar10"], tmp_path)
    save(tmp_path, whole)
    expected = load_dataset(DATASETS["clcifar10"], tmp_path)
    assert torch.equal(found.x, expected.x)
    assert torch.equal(found.y, expected.y)
    assert found.candidates is not None
    assert expected.candidates is not None
    assert torch.equal(found.candidates, expected.candidates)


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_off_file(tmp_path: Path, place: float) -> None:
    path = save(tmp_path, content())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(place * len(whole))])
    assert "not a pickle of plain numbers" in refusal("clcifar10", tmp_path)


def test_an_array_whose_bytes_do_not_fit_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, content())
    whole = path.read_bytes()
    shape = whole.index(b"K K K\x03")  # 32, 32, 3
    path.write_bytes(whole[:shape] + b"K!K K\x03" + whole[shape + 6 :])
    assert "an array whose bytes do not fit its shape" in refusal("clcifar10", tmp_path)
