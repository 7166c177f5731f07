"""Malformed folders of images: one line names the file, exit code 2, nothing is written."""

import json
import os
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from PIL import Image

from tests.commands import contents, pllbench, refused
from tests.damage import ANYWHERE, BYTES, anywhere, cut, is_refused, overwritten


def image(kind: str = "PNG", shape: tuple[int, ...] = (6, 5, 3), dtype: type = np.uint8) -> bytes:
    """Random pixels as a file."""
    pixels: Any = np.random.default_rng(0).integers(0, 256, shape).astype(dtype)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def save_pets(folder: Path, first: bytes | None = None) -> Path:
    """A folder of two classes of five images; `first` takes the place of cat/0.png."""
    root = folder / "pets"
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True, exist_ok=True)
        for number in range(5):
            (root / name / f"{number}.png").write_bytes(image())
    if first is not None:
        (root / "cat" / "0.png").write_bytes(first)
    return root


def declared_size(width: int, height: int) -> bytes:
    """A small image whose header declares another size."""
    png = image()
    header = b"IHDR" + struct.pack(">II", width, height) + png[24:29]
    return png[:12] + header + struct.pack(">I", zlib.crc32(header)) + png[33:]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        pytest.param(lambda: b"", "0.png", id="empty"),
        pytest.param(lambda: b"<html>503</html>", "0.png", id="HTML"),
        pytest.param(lambda: b"\0" * 200, "0.png", id="NUL bytes"),
        pytest.param(lambda: image()[:33], "0.png", id="a header alone"),
        pytest.param(lambda: cut(image(), 0.5), "0.png", id="cut in half"),
        pytest.param(lambda: image("JPEG", (60, 50, 3))[:-200], "0.png", id="a cut JPEG"),
        pytest.param(lambda: image()[:29] + bytes(4) + image()[33:], "0.png", id="wrong check sum"),
        # The first image gives the size, so the next one is named.
        pytest.param(lambda: image(shape=(9, 5, 3)), "1.png", id="another size"),
        pytest.param(lambda: declared_size(5, 0), "0.png", id="no rows"),
        pytest.param(lambda: declared_size(100_000, 100_000), "0.png", id="too many pixels"),
        pytest.param(lambda: image(shape=(6, 5), dtype=np.uint16), "0.png", id="16 bits"),
        pytest.param(lambda: image("TIFF", (6, 5), np.int32), "0.png", id="32 bits"),
        pytest.param(lambda: image("TIFF", (6, 5), np.float32), "0.png", id="floats"),
    ],
)
def test_malformed_images(tmp_path: Path, make: Callable[[], bytes], named: str) -> None:
    root = save_pets(tmp_path, make())
    before = contents(tmp_path)
    message = refused("data", root)
    assert message.startswith(f"{root / 'cat' / named}: ")
    assert contents(tmp_path) == before


def dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("damage", [dangling_link, a_folder, a_fifo])
def test_what_has_only_the_name_of_an_image_is_refused(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    root = save_pets(tmp_path)
    damage(root / "cat" / "0.png")
    message = refused("data", root)
    assert message.startswith(f"{root / 'cat' / '0.png'}: not readable as an image")


def save_files(folder: Path, *files: str) -> Path:
    """A folder with an image at each of the given paths, whatever their suffix."""
    root = folder / "pets"
    root.mkdir()
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(image())
    return root


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ((), "must hold one folder for each class, found 0"),
        (("cat/0.png",), "must hold one folder for each class, found 1"),
        (("0.png", "1.png"), "must hold one folder for each class, found 0"),
        (("cat/a.txt", "dog/b.gz"), "no images (.png,"),
        (("cat/0.png", "dog/0.png", "cow/a.txt"), "pets/cow: no images (.png,"),
        (("cat/0.png", "dog/0.png", "cow/._0.png"), "pets/cow: no images (.png,"),
        (("train/cat/0.png", "train/dog/0.png", "test/cat/a.txt"), "pets/test/cat: no images"),
        (("train/cat/0.png", "train/dog/0.png", "test/0.png"), "pets/test: must hold one folder"),
        (
            ("cat/0.png", "dog/0.png", "dog/1.GIF", "dog/2.heic"),
            "pets/dog/1.GIF: images of this format are not read (.png, .jpg, .jpeg, .bmp, .webp,",
        ),
        (
            ("cat/0.png", "dog/0.png", "dog/old/1.png"),
            "pets/dog: holds a folder of images, `old`: the images of a class lie in its folder",
        ),
        (
            ("train/cat/0.png", "train/dog/0.png", "val/cat/0.png", "val/dog/0.png"),
            "`cat`: parts are called `train` and `test`; rename `val` if it is one",
        ),
        (
            ("train/cat/0.png", "train/dog/0.png", "test/cat/0.png", "valid/dog/0.png"),
            "pets: holds `valid` beside `train` and `test`: its images neither train nor test",
        ),
        (
            ("train/cat/0.png", "train/dog/0.png", "test/Cat/0.png", "test/dog/0.png"),
            "pets: the classes 'Cat' and 'cat' differ in case or the code of an accent alone",
        ),
        (
            ("train/cat/0.png", "train/dog/0.png", "test/cat/0.png", "test/owl/0.png"),
            "pets/test/owl: a class without images in `train`: nothing could learn it; add some,",
        ),
        (
            ("m\u00e9sange/0.png", "me\u0301sange/0.png"),
            "pets: the classes 'me\u0301sange' and 'm\u00e9sange' differ in case or the code",
        ),
    ],
)
def test_malformed_folders(tmp_path: Path, files: tuple[str, ...], problem: str) -> None:
    is_refused(save_files(tmp_path, *files), problem)


def test_letters_of_two_cases_are_two_classes(tmp_path: Path) -> None:
    names = [f"{letter}/{number}.png" for letter in "aAb" for number in range(2)]
    answer = pllbench("data", save_files(tmp_path, *names), "--json")
    assert json.loads(answer.out)["num_classes"] == 3


def test_a_single_image_is_too_few_for_a_split(tmp_path: Path) -> None:
    root = save_files(tmp_path, "cat/0.png", "dog/0.png")
    assert "too few for a test row" in refused("data", root)


def is_refused_or_of_the_same_size(root: Path) -> None:
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
    is_refused_or_of_the_same_size(save_pets(tmp_path, cut(image(), place)))


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_an_image_with_other_bytes(tmp_path: Path, place: float, by: bytes) -> None:
    is_refused_or_of_the_same_size(save_pets(tmp_path, overwritten(image(), place, by)))
