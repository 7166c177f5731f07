"""Malformed folders of images and labels of annotators: one line names the file, exit code 2."""

import json
import os
import pickle
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from PIL import Image

from pllbench.data.readers.base import Content
from tests.commands import contents, pllbench, refused
from tests.damage import ANYWHERE, BYTES, anywhere, cut, is_refused, overwritten

# Folders of images.


def image(kind: str = "PNG", shape: tuple[int, ...] = (6, 5, 3), dtype: type = np.uint8) -> bytes:
    """Random pixels as a file."""
    pixels: Any = np.random.default_rng(0).integers(0, 256, shape).astype(dtype)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


PNG = image()


def pets(folder: Path, first: bytes = PNG) -> Path:
    """A folder of two classes; the first image is cat/0.png."""
    root = folder / "pets"
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True, exist_ok=True)
        for number in range(5):
            (root / name / f"{number}.png").write_bytes(PNG)
    (root / "cat" / "0.png").write_bytes(first)
    return root


def of_size(width: int, height: int) -> bytes:
    """An image whose header promises more than there is."""
    header = b"IHDR" + struct.pack(">II", width, height) + PNG[24:29]
    return PNG[:12] + header + struct.pack(">I", zlib.crc32(header)) + PNG[33:]


IMAGES: dict[str, bytes] = {
    "empty": b"",
    "HTML": b"<html>503</html>",
    "NUL bytes": b"\0" * 200,
    "a header alone": PNG[:33],
    "cut in half": PNG[: len(PNG) // 2],
    "a cut JPEG": image("JPEG", (60, 50, 3))[:-200],
    "a wrong check sum": PNG[:29] + b"\0\0\0\0" + PNG[33:],
    "another size": image(shape=(9, 5, 3)),
    "no rows": of_size(5, 0),
    "a bomb": of_size(100_000, 100_000),
    "16 bits": image(shape=(6, 5), dtype=np.uint16),
    "32 bits": image("TIFF", (6, 5), np.int32),
    "floats": image("TIFF", (6, 5), np.float32),
}


@pytest.mark.parametrize("kind", IMAGES)
def test_malformed_images(tmp_path: Path, kind: str) -> None:
    root = pets(tmp_path, IMAGES[kind])
    before = contents(tmp_path)
    message = refused("data", root)
    named = "1.png" if kind == "another size" else "0.png"  # the first image gives the size
    assert message.startswith(f"{root / 'cat' / named}: ")
    assert contents(tmp_path) == before


def missing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [missing, a_folder])
def test_what_only_has_the_name_of_an_image(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    root = pets(tmp_path)
    damage(root / "cat" / "0.png")
    message = refused("data", root)
    assert message.startswith(f"{root / 'cat' / '0.png'}: not readable as an image")


FOLDERS: dict[str, tuple[tuple[str, ...], str]] = {
    "empty": ((), "must hold one folder for each class, found 0"),
    "one class": (("cat/0.png",), "must hold one folder for each class, found 1"),
    "no classes": (("0.png", "1.png"), "must hold one folder for each class, found 0"),
    "no images": (("cat/a.txt", "dog/b.gz"), "no images (.png,"),
    "no test images": (("train/cat/0.png", "train/dog/0.png", "test/cat/a.txt"), "no images"),
    "one row": (("cat/0.png", "dog/a.txt"), "too few for a test row"),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_malformed_folders(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "pets"
    root.mkdir()
    files, problem = FOLDERS[kind]
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(PNG)
    if kind == "one row":
        assert problem in refused("data", root)
    else:
        is_refused(root, problem)


def is_refused_or_the_same_size(root: Path) -> None:
    answer = pllbench("data", root, "--json")
    if answer.code:
        assert refused("data", root).startswith(f"{root / 'cat'}/")
    else:
        assert answer.err == ""
        facts = json.loads(answer.out)
        assert (facts["num_rows"], facts["num_features"]) == (10, 90)


@anywhere
@given(place=ANYWHERE)
def test_an_image_cut_at_any_byte(tmp_path: Path, place: float) -> None:
    is_refused_or_the_same_size(pets(tmp_path, cut(PNG, place)))


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_an_image_with_other_bytes(tmp_path: Path, place: float, by: bytes) -> None:
    is_refused_or_the_same_size(pets(tmp_path, overwritten(PNG, place, by)))


# Labels of annotators.

NUM_TRAIN, NUM_TEST = 20, 10
LABELS = torch.arange(NUM_TRAIN + NUM_TEST) % 10


@pytest.fixture(autouse=True)
def small_cifar10(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Thirty images in place of CIFAR-10's."""
    x = torch.zeros(len(LABELS), 3, 32, 32, dtype=torch.uint8)
    content = Content(x, LABELS, 10, num_train=NUM_TRAIN)
    monkeypatch.setattr("pllbench.data.readers.human.read_torchvision", lambda *_: content)
    monkeypatch.chdir(tmp_path)


def is_refused_by_name(name: str, path: Path, problem: str) -> None:
    folder = path.parents[1]
    before = contents(folder)
    message = refused("data", name, "--data-dir", folder)
    assert message.startswith(f"{path}: ")
    assert problem in message
    assert contents(folder) == before


class Danger:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("danger",))


ROWS: dict[Any, Any] = {row: [[row % 10], [row % 10, 4]] for row in range(NUM_TRAIN)}
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)

CONTENTS: list[tuple[Any, str]] = [
    (Danger(), "not a pickle of plain numbers"),
    (ROWS | {7: Danger()}, "not a pickle of plain numbers"),
    (ROWS | {7: [[np.int64(3)]]}, "not a pickle of plain numbers"),
    (print, "not a pickle of plain numbers"),
    (None, "Input should be a valid dictionary"),
    ([ROWS[row] for row in range(NUM_TRAIN)], "Input should be a valid dictionary"),
    ({}, "must hold candidate sets of the rows 0..19"),
    ({row: ROWS[row] for row in range(NUM_TRAIN - 1)}, "must hold candidate sets of the rows"),
    (ROWS | {20: [[0]]}, "must hold candidate sets of the rows 0..19"),
    (ROWS | {"20": [[0]]}, "row: 20.[key]: Input should be a valid integer"),
    ({float(row): sets for row, sets in ROWS.items()}, "Input should be a valid integer"),
    (ROWS | {None: [[0]]}, "Input should be a valid integer"),
    (ROWS | {7: 5}, "row: 7: Input should be a valid list, got 5"),
    (ROWS | {7: None}, "row: 7: Input should be a valid list"),
    (ROWS | {7: "7"}, "row: 7: Input should be a valid list"),
    (ROWS | {7: [7]}, "row: 7.0: Input should be a valid list, got 7"),
    (ROWS | {7: [["7"]]}, "row: 7.0.0: Input should be a valid integer, got '7'"),
    (ROWS | {7: [[7.0]]}, "row: 7.0.0: Input should be a valid integer"),
    (ROWS | {7: [[True]]}, "row: 7.0.0: Input should be a valid integer, got True"),
    (ROWS | {7: [[[7]]]}, "row: 7.0.0: Input should be a valid integer"),
    (ROWS | {7: ENDLESS}, "row: 7.0"),
    (ROWS | {7: [[7, 10]]}, "row 7 (counted from 0) has a label outside 0..9"),
    (ROWS | {7: [[-1, 7]]}, "row 7 (counted from 0) has a label outside 0..9"),
    (ROWS | {7: [[]]}, "row 7 (counted from 0) has no candidate"),
    (ROWS | {7: []}, "row 7 (counted from 0) has no candidate"),
]


def save_pickle(folder: Path, content: bytes) -> Path:
    path = folder / "plcifar10" / "plcifar10.pkl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("content", "problem"), CONTENTS)
def test_malformed_pickles(tmp_path: Path, content: Any, problem: str) -> None:
    path = save_pickle(tmp_path, pickle.dumps(content))
    is_refused_by_name("plcifar10-vaguest", path, problem)
    is_refused_by_name("plcifar10-aggregate", path, problem)
    assert not (tmp_path / "danger").exists()


NO_PICKLES = [
    *(b"", b"<html>", b"\0" * 99, b"\x80\x05K\1", b"I1x\n."),
    b"cos\nmkdir\n(S'danger'\ntR.",
    b"\x80\2Nr\xff\xff\xff\x7f.",  # None, kept as the two thousand millionth object
]


@pytest.mark.parametrize("content", NO_PICKLES)
def test_what_is_no_pickle(tmp_path: Path, content: bytes) -> None:
    path = save_pickle(tmp_path, content)
    is_refused_by_name("plcifar10-vaguest", path, "not a pickle of plain numbers")
    assert not (tmp_path / "danger").exists()


@anywhere
@given(place=ANYWHERE)
def test_a_pickle_cut_at_any_byte(tmp_path: Path, place: float) -> None:
    path = save_pickle(tmp_path, cut(pickle.dumps(ROWS), place))
    is_refused_by_name("plcifar10-aggregate", path, "not a pickle of plain numbers")


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_a_pickle_with_other_bytes(tmp_path: Path, place: float, by: bytes) -> None:
    path = save_pickle(tmp_path, overwritten(pickle.dumps(ROWS), place, by))
    answer = pllbench("data", "plcifar10-aggregate", "--data-dir", tmp_path, "--json")
    if answer.code:
        is_refused_by_name("plcifar10-aggregate", path, "")
    else:  # the bytes of a label, and no more
        assert answer.err == ""
        assert json.loads(answer.out)["num_rows"] == NUM_TRAIN + NUM_TEST


GIVEN = LABELS[:NUM_TRAIN].numpy()
VOTES = 40 * np.eye(10, dtype=np.int64)[LABELS[NUM_TRAIN:]]

ARRAYS: list[tuple[str, dict[str, Any], str]] = [
    ("n", {"clean_label": 0 * GIVEN}, "not in the order of CIFAR-10"),
    ("n", {"random_label2": GIVEN[:3]}, "`random_label2` must be 20 labels of 0..9"),
    ("n", {"random_label3": GIVEN + 1}, "`random_label3` must be 20 labels of 0..9"),
    ("n", {"random_label1": GIVEN + 0.5}, "`random_label1` must be 20 labels of 0..9"),
    ("n", {"random_label1": GIVEN * np.nan}, "`random_label1` must be 20 labels of 0..9"),
    ("n", {"random_label1": GIVEN.astype(str)}, "`random_label1` must be numbers, got <U"),
    ("n", {"random_label1": GIVEN.astype(object)}, "not a .npz file, or cut off"),
    ("n", {"random_label1": None}, "random_label1 is not a file in the archive"),
    ("h", {"counts": VOTES[:5]}, "shape (5, 10), not (10, 10)"),
    ("h", {"counts": VOTES[0]}, "shape (10,), not (10, 10)"),
    ("h", {"counts": -VOTES}, "row 0 (counted from 0) has a number of votes below 0, or NaN"),
    ("h", {"counts": np.where(VOTES, VOTES, np.nan)}, "a number of votes below 0, or NaN"),
    ("h", {"counts": VOTES.astype(str)}, "`counts` must be numbers"),
    ("h", {"counts": 0 * VOTES}, "row 0 (counted from 0) has no candidate"),
    ("h", {"counts": None}, "counts is not a file in the archive"),
]


@pytest.mark.parametrize(("which", "change", "problem"), ARRAYS)
def test_malformed_labels_and_votes(
    tmp_path: Path, which: str, change: dict[str, Any], problem: str
) -> None:
    keys = ("clean_label", "random_label1", "random_label2", "random_label3")
    whole = dict.fromkeys(keys, GIVEN) if which == "n" else {"counts": VOTES}
    file = "cifar10n_train_labels.npz" if which == "n" else "cifar10h_test_counts.npz"
    path = tmp_path / "cifar10_human" / file
    path.parent.mkdir()
    np.savez(path, **{k: v for k, v in (whole | change).items() if v is not None})
    is_refused_by_name(f"cifar10{which}", path, problem)
