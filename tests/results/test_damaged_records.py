"""Records that are cut, overwritten or no records: named by their path, and never counted.

No damage ends `table` or `status`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllbench.results.records import read_record, record_path, write_record
from tests.commands import pllbench
from tests.damage import ANYWHERE, often, overwritten
from tests.factories import CURVES, make_record, make_spec
from tests.results.damaged import RECORD, is_named

TEXT = (RECORD.model_dump_json(indent=1, by_alias=True) + "\n").encode()


def is_named_or_whole(stored: Path, path: Path) -> None:
    try:
        record = read_record(path)
    except ValueError:
        is_named(stored, path)
    else:  # nothing but hyperparameters at their default can change without the id
        update = {"hparams": {**record.spec.hparams, **RECORD.spec.hparams}}
        assert record.spec == RECORD.spec.model_copy(update=update)


@often
@given(length=st.integers(0, len(TEXT) - 2))
def test_a_record_cut_at_any_byte_is_named(stored: Path, path: Path, length: int) -> None:
    path.write_bytes(TEXT[:length])
    is_named(stored, path)


@often
@given(place=ANYWHERE, length=st.integers(1, 600))
def test_a_record_with_nul_bytes_is_named(
    stored: Path, path: Path, place: float, length: int
) -> None:
    path.write_bytes(overwritten(TEXT, place, b"\0" * length))
    is_named(stored, path)


@often
@given(place=ANYWHERE, by=st.binary(min_size=1, max_size=8))
def test_a_record_with_other_bytes_is_named_or_whole(
    stored: Path, path: Path, place: float, by: bytes
) -> None:
    path.write_bytes(overwritten(TEXT, place, by))
    is_named_or_whole(stored, path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
PATHS = [
    (part, key)
    for part in ("spec", "result", "provenance")
    for key in json.loads(TEXT)[part]
    if (part, key) != ("result", "extra")
]


@often
@given(where=st.sampled_from([("schema",), ("spec",), ("result",), *PATHS]), value=JSON)
def test_a_record_with_another_value_is_named_or_whole(
    stored: Path, path: Path, where: tuple[str, ...], value: Any
) -> None:
    fields = json.loads(TEXT)
    *outer, key = where
    inner = fields
    for part in outer:
        inner = inner[part]
    inner[key] = value
    path.write_text(json.dumps(fields))
    is_named_or_whole(stored, path)


JUNK: dict[str, bytes] = {
    "empty": b"",
    "a NUL": b"\0",
    "deep": b"[" * 200_000,
    "a huge number": b'{"schema": 1' + b"0" * 5000 + b"}",
    "a surrogate": b'{"schema": 1, "spec": {"method": "\\ud800"}}',
    "UTF-16": '{"schema": 1}'.encode("utf-16"),
    "another schema": TEXT.replace(b'"schema": 1', b'"schema": 2').replace(
        b'"schema":1', b'"schema":2'
    ),
    "a pickle": b"\x80\x04N.",
}


@pytest.mark.parametrize("kind", JUNK)
@pytest.mark.parametrize("command", ["table", "status"])
def test_junk_ends_no_command(stored: Path, path: Path, kind: str, command: str) -> None:
    path.write_bytes(JUNK[kind])
    answer = pllbench(command, "--results", stored)
    assert answer.code == 0
    assert answer.err.startswith(f"pllbench: not counted: {path}: ")
    assert answer.err.count("\n") == 1


def test_folders_and_files_where_others_should_be_end_no_command(tmp_path: Path) -> None:
    write_record(tmp_path, make_record(make_spec("cc"), 50.0), CURVES)
    place = record_path(tmp_path, make_spec("rc"))
    place.mkdir(parents=True)
    work = tmp_path / "work"
    (work / "0000000000000001" / "lock").mkdir(parents=True)
    (work / "0000000000000002" / "error.txt").mkdir(parents=True)
    (work / "0000000000000002" / "lock").touch()
    (work / "0000000000000003").touch()
    for command in ("status", "table"):
        answer = pllbench(command, "--results", tmp_path)
        assert answer.code == 0
        assert answer.err.startswith(f"pllbench: not counted: {place}: ")
    selected = ["--methods", "cc,rc", "--datasets", "digits", "--q", "0.3", "--seeds", "0,"]
    answer = pllbench("status", *selected, "--results", tmp_path)
    assert answer.out == "1 done, 0 failed, 0 running, 1 missing\n"
