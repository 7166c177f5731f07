"""Curves that are missing, cut, overwritten or no curves: named, and never taken for whole."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllbench.results import records
from pllbench.results.curves import Curves, pack, read_curves, rounded
from tests.commands import contents, pllbench, refused
from tests.damage import ANYWHERE, often, overwritten
from tests.factories import CURVES
from tests.results.damaged import RECORD, is_named


def file_of(columns: Curves) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **columns)  # type: ignore[arg-type]
    return buffer.getvalue()


WHOLE = pack(CURVES)


def test_columns_are_stored_as_float32_and_those_of_float64_are_read(path: Path) -> None:
    digits = {"accuracy": np.array([1 / 3, 0.95]), "loss": np.array([np.nan, 1e39])}
    found = rounded(digits)
    assert found["accuracy"].tolist() == [0.3333333432674408, 0.949999988079071]
    assert (np.isnan(found["loss"][0]), found["loss"][1]) == (True, np.inf)
    file = path.with_suffix(".npz")
    file.write_bytes(pack(found))
    with np.load(file) as columns:
        assert {columns[name].dtype for name in columns.files} == {np.dtype(np.float32)}
    np.testing.assert_equal(read_curves(path), found)
    file.write_bytes(file_of(digits))
    np.testing.assert_equal(read_curves(path), digits)


def test_float32_takes_a_third_off_the_files() -> None:
    """Of 800 epochs, the worst case: all values of loss and learning rate differ."""
    noise = np.random.default_rng(0)
    names = ("accuracy", "class_noise", "pairwise_noise")
    columns = {name: noise.integers(0, 216, 800) / 216 for name in names}
    columns |= {name: noise.random(800) for name in ("loss", "lr")}
    assert len(pack(rounded(columns))) < 2 / 3 * len(file_of(columns))


def test_curves_cut_at_any_byte_are_named(stored: Path, path: Path) -> None:
    file = path.with_suffix(".npz")
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        is_named(stored, path, ".npz")
        with pytest.raises(ValueError, match=f"^{re.escape(str(file))}: not readable"):
            read_curves(path)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "a .npy file", "not a zip"])
def test_reading_damaged_curves_names_their_file(path: Path, damage: str) -> None:
    file = path.with_suffix(".npz")
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "a .npy file":
        with file.open("wb") as stream:
            np.save(stream, np.zeros(3))
    else:
        file.write_bytes({"empty": b"", "cut": content[:-40], "not a zip": b"x" * 99}[damage])
    with pytest.raises(ValueError, match=rf"^{re.escape(str(file))}: not readable \("):
        read_curves(path)


DAMAGED_CURVES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "NUL bytes": lambda whole: b"\0" * len(whole),
    "NUL bytes from the middle": lambda whole: whole[: len(whole) // 2].ljust(len(whole), b"\0"),
    "NUL bytes in the end": lambda whole: whole[:-12] + b"\0" * 12,
    "more NUL bytes": lambda whole: whole + b"\0" * 4096,
    "a begin that is lost": lambda whole: whole[1:],
    "no columns": lambda whole: b"PK\5\6" + b"\0" * 18,
}


@pytest.mark.parametrize("kind", DAMAGED_CURVES)
def test_damaged_curves_are_named(stored: Path, path: Path, kind: str) -> None:
    file = path.with_suffix(".npz")
    file.write_bytes(DAMAGED_CURVES[kind](file.read_bytes()))
    is_named(stored, path, ".npz")


@pytest.mark.parametrize("command", ["table", "status", "status --methods cc,rc"])
def test_missing_curves_end_no_command(stored: Path, path: Path, command: str) -> None:
    file = path.with_suffix(".npz")
    file.unlink()
    answer = pllbench(*command.split(), "--results", stored)
    assert (answer.code, answer.err) == (
        0,
        f"pllbench: not counted: {file}: not readable (No such file or directory)\n",
    )


def is_seen_or_harmless(stored: Path, path: Path) -> None:
    """A run whose curves are damaged is done again; one that counts has the curves it wrote."""
    if records.is_done(stored, RECORD.spec):
        found = read_curves(path)
        assert {name: column.tobytes() for name, column in found.items()} == {
            name: column.tobytes() for name, column in CURVES.items()
        }
    else:
        with pytest.raises(ValueError, match=f"^{re.escape(str(path.with_suffix('.npz')))}: "):
            records.verify(path)


@often
@given(place=ANYWHERE, bit=st.integers(0, 7))
def test_a_flipped_bit_of_curves_is_seen_or_harmless(
    stored: Path, path: Path, place: float, bit: int
) -> None:
    at = int(place * len(WHOLE))
    flipped = bytes([WHOLE[at] ^ (1 << bit)])
    path.with_suffix(".npz").write_bytes(overwritten(WHOLE, place, flipped))
    is_seen_or_harmless(stored, path)


@often
@given(place=ANYWHERE, length=st.integers(1, 600))
def test_nul_bytes_in_curves_are_seen_or_harmless(
    stored: Path, path: Path, place: float, length: int
) -> None:
    damaged = overwritten(WHOLE, place, b"\0" * length)
    path.with_suffix(".npz").write_bytes(damaged)
    is_seen_or_harmless(stored, path)


def test_a_column_that_differs_in_a_byte_is_seen_before_a_run_is_skipped(
    stored: Path, path: Path
) -> None:
    file = path.with_suffix(".npz")
    with ZipFile(file) as columns:
        member = columns.infolist()[0]
    at = member.header_offset + 30 + len(member.filename) + 40  # within its data
    whole = file.read_bytes()
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert not records.is_done(stored, RECORD.spec)


MALFORMED: dict[str, dict[str, Any]] = {
    "no accuracy": {"class_noise": np.zeros(3)},
    "text": {"accuracy": np.array(["high"] * 3)},
    "objects": {"accuracy": np.array([{}] * 3, dtype=object)},
    "whole numbers": {"accuracy": np.zeros(3, dtype=np.int64)},
    "complex": {"accuracy": np.zeros(3, dtype=np.complex128)},
    "one number": {"accuracy": np.float64(0.5)},
    "a matrix": {"accuracy": np.zeros((3, 2))},
    "unequal columns": {"accuracy": np.zeros(3), "class_noise": np.zeros(2)},
    "too few epochs": {"accuracy": np.zeros(2)},
    "too many epochs": {"accuracy": np.zeros(4)},
    "no epochs": {"accuracy": np.zeros(0)},
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_curves(stored: Path, path: Path, kind: str) -> None:
    file = path.with_suffix(".npz")
    np.savez(file, **MALFORMED[kind])
    before = contents(stored)
    for plot in ("curves", "noise"):
        message = refused("plot", plot, "--results", stored, "--output", stored / "plot.png")
        assert message.startswith(f"{file}: ")
    for command in ("table", "status"):  # they read no curves
        answer = pllbench(command, "--results", stored)
        assert (answer.code, answer.err) == (0, "")
    assert contents(stored) == before
