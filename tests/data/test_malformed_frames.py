"""Malformed tables of the user: one line names file, row and column; exit code 2, nothing written.

A row of a CSV file is named by its line, too.
"""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.damage import ANYWHERE, BYTES, anywhere, cut, is_refused, overwritten
from tests.data.files import is_refused_or_another
from tests.data.test_readers_frames import save_csv, save_parquet

HEADER = "a,b,candidates,y"
ROWS = ("1,2,owl|finch,owl", "3,4,finch,finch")


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("", "empty, it must begin with the names of its columns"),
        ("a;b;candidates;y", "one column `a;b;candidates;y`: separate them by commas"),
        ("a\tb\ty", "separate them by commas"),
        ("a,a,candidates,y", "two columns are named `a`"),
        ("a, a,candidates,y", "two columns are named `a`"),
        (",b,candidates,y", "column 0 (counted from 0) has no name"),
        ("candidates,y", "no columns of features"),
        ("a,b,candidates,candidate:owl", "candidate sets twice, in `candidates` and in"),
        ("a,b,c,d", "no column `y`, and none of candidates"),
        ("a,b,candidates,label", "row 0 (counted from 0; line 2), column `label`: 'owl' is no num"),
        ("a,b,candidate:owl,y", "fewer than two classes in it, `owl`"),
        ("a,b,candidates", "row 0 (counted from 0; line 2) has 4 cells, the header has 3"),
        ("a,b,candidates,y,z", "row 0 (counted from 0; line 2) has 4 cells, the header has 5"),
        ('a,b,candidates,"y', "line 3: unexpected end of data"),
    ],
)
def test_malformed_headers(tmp_path: Path, header: str, problem: str) -> None:
    is_refused(save_csv(tmp_path / "t.csv", header, *ROWS if header else ()), problem)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("x,2,owl,owl", "column `a`: 'x' is no number"),
        ("1,,owl,owl", "column `b`: '' is no number"),
        ("1,1_000,owl,owl", "column `b`: '1_000' is no number"),
        ('1,"2,5",owl,owl', "column `b`: '2,5' is no number"),
        ("1,nan,owl,owl", "column `b`: nan is missing or infinite"),
        ("1,1e39,owl,owl", "column `b`: 1e+39 is missing or infinite in float32"),
        ("1,2,,owl", "column `candidates`: no candidate"),
        ("1,2,owl||finch,owl", "column `candidates`: an empty label in 'owl||finch'"),
        ("1,2,|,owl", "column `candidates`: an empty label in '|'"),
        ("1,2,owl|owl,owl", "column `candidates`: a label twice in 'owl|owl'"),
        ("1,2,owl,", "column `y`: empty"),
    ],
)
def test_malformed_rows(tmp_path: Path, row: str, problem: str) -> None:
    place = "row 2 (counted from 0; line 4), "
    is_refused(save_csv(tmp_path / "t.csv", HEADER, *ROWS, row), place + problem)


@pytest.mark.parametrize(
    "row", ["1,2,m\u00e9sange|me\u0301sange,m\u00e9sange", "1,2,me\u0301sange,owl"]
)
def test_one_class_in_two_codes_of_its_accent_is_refused(tmp_path: Path, row: str) -> None:
    path = save_csv(tmp_path / "t.csv", HEADER, *ROWS, "1,2,m\u00e9sange,owl", row)
    is_refused(path, "differ in the code of an accent alone: write them in one way")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("1,2,1,owl", "column `candidate:finch`: '2' is neither 0 nor 1"),
        ("1,0.5,1,owl", "column `candidate:finch`: '0.5' is neither 0 nor 1"),
        ("1,,1,owl", "column `candidate:finch`: '' is neither 0 nor 1"),
        ("1,0,0,owl", "column `candidate:finch` and all others of candidates are 0: no candidate"),
        ("1,0,1,eagle", "column `y`: 'eagle' is none of the classes finch, owl"),
    ],
)
def test_malformed_rows_of_a_column_for_each_class(tmp_path: Path, row: str, problem: str) -> None:
    header = "a,candidate:finch,candidate:owl,y"
    place = "row 1 (counted from 0; line 3), "
    is_refused(save_csv(tmp_path / "t.csv", header, "1,1,0,finch", row), place + problem)


def test_tables_without_rows_and_other_files(tmp_path: Path) -> None:
    is_refused(save_csv(tmp_path / "t.csv", HEADER), "no rows below the names of its columns")
    is_refused(save_csv(tmp_path / "o.csv", HEADER, "1,2,owl,owl"), "fewer than two classes in it")
    path = tmp_path / "latin.csv"
    path.write_bytes("a,candidates,y\n1,ä|b,b\n".encode("latin-1"))
    is_refused(path, "not text in UTF-8 (byte 17)")
    path = tmp_path / "zero.csv"
    path.write_bytes(b"a,candidates,y\n1,a\0|b,b\n")
    is_refused(path, "not text in UTF-8 (byte 18)")
    path = save_csv(tmp_path / "long.csv", HEADER, f"1,2,{'owl|' * 50_000}finch,owl")
    is_refused(path, "line 2: field larger than field limit")
    path = save_csv(tmp_path / "t.parquet", HEADER, *ROWS)
    is_refused(path, "not a Parquet file, or cut off")
    is_refused(tmp_path / "nothing.csv", "no such file or folder")


def test_a_true_label_that_is_no_candidate_is_refused_by_a_run(tmp_path: Path) -> None:
    path = save_csv(tmp_path / "t.csv", HEADER, *ROWS, "1,2,owl,finch")
    is_refused(path, "row 2 (counted from 0) does not have its true label 0", run=True)


PARQUET: dict[str, list[Any]] = {
    "a": [1.0, 2.0],
    "candidates": ["owl|finch", "finch"],
    "y": ["owl", "finch"],
}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"a": ["x", "y"]}, "column `a`: holds string, a feature must be a number"),
        ({"a": [[1.0], [2.0]]}, "column `a`: holds list<"),
        ({"a": [None, 2]}, "row 0 (counted from 0), column `a`: nan is missing or infinite"),
        ({"a": [1.0, float("inf")]}, "row 1 (counted from 0), column `a`: inf is missing or"),
        ({"candidates": [None, "finch"]}, "row 0 (counted from 0), column `candidates`: no cand"),
        ({"candidates": [["owl"], []]}, "row 1 (counted from 0), column `candidates`: no candid"),
        ({"candidates": [["owl", ""], ["a"]]}, "row 0 (counted from 0), column `candidates`: an"),
        ({"candidates": ["owl|owl", "a"]}, "row 0 (counted from 0), column `candidates`: a lab"),
        ({"y": ["owl", None]}, "row 1 (counted from 0), column `y`: empty"),
        ({"y": [0.5, float("nan")]}, "row 1 (counted from 0), column `y`: empty"),
        ({"a": [], "candidates": [], "y": []}, "column `a`: holds null, a feature must be"),
        ({"candidate:owl": [1, 1]}, "candidate sets twice"),
        ({"": [1, 2]}, "column 3 (counted from 0) has no name"),
        ({" a": [1, 2]}, "two columns are named `a`"),
        ({"y": ["finch", "finch"], "candidates": ["finch", "finch"]}, "fewer than two classes"),
    ],
)
def test_malformed_parquet(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    is_refused(save_parquet(tmp_path / "t.parquet", **PARQUET | changed), problem)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_parquet(tmp_path / "t.parquet", **PARQUET)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    is_refused(path, "a Parquet file; pip install 'pllbench[parquet]'")


@anywhere
@given(place=ANYWHERE)
def test_a_parquet_file_cut_at_any_byte_is_refused(tmp_path: Path, place: float) -> None:
    path = save_parquet(tmp_path / "t.parquet", **PARQUET)
    path.write_bytes(cut(path.read_bytes(), place))
    is_refused(path, "not a Parquet file, or cut off")


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_a_csv_file_with_other_bytes_is_refused_or_another(
    tmp_path: Path, place: float, by: bytes
) -> None:
    path = save_csv(tmp_path / "t.csv", HEADER, *ROWS, *ROWS, *ROWS)
    is_refused_or_another(path, overwritten(path.read_bytes(), place, by))


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_a_parquet_file_with_other_bytes_is_refused_or_another(
    tmp_path: Path, place: float, by: bytes
) -> None:
    rows = {name: 3 * values for name, values in PARQUET.items()}
    path = save_parquet(tmp_path / "t.parquet", **rows)
    is_refused_or_another(path, overwritten(path.read_bytes(), place, by))
