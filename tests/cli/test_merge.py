"""`pllbench merge`."""

import json
from pathlib import Path

import pytest

from pllbench.results.records import record_path
from tests.commands import contents, pllbench, refused
from tests.factories import make_record, make_spec, store

SPEC = make_spec("cc", train={"epochs": 3})


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders that share a run; the second has one more."""
    one = store(tmp_path / "one", [make_record(SPEC, 80.0)])
    records = [make_record(SPEC, 80.0), make_record(make_spec("rc", train={"epochs": 3}), 70.0)]
    return one, store(tmp_path / "two", records)


def test_a_union_is_counted(two: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = pllbench("merge", *two, "--output", out)
    assert (answer.code, answer.out, answer.err) == (0, f"{out}: 2 runs, 2 of them new\n", "")
    assert pllbench("status", "--results", out).out.startswith("2 done")
    before = contents(out)
    answer = pllbench("merge", *two, "--output", out, "--json")
    facts = {"runs": 2, "new": 0, "conflicts": [], "uncounted": []}
    assert json.loads(answer.out) == facts
    assert contents(out) == before


def test_a_disagreement_is_named_and_gives_code_1(two: tuple[Path, Path], tmp_path: Path) -> None:
    store(two[1], [make_record(SPEC, 90.0)])
    out = tmp_path / "out"
    answer = pllbench("merge", *two, "--output", out)
    assert (answer.code, answer.err) == (1, "")
    count, line = answer.out.splitlines()
    assert count == f"{out}: 2 runs, 2 of them new"
    assert line.startswith("disagree: ")
    for folder in two:
        assert str(record_path(folder, SPEC)) in line
    assert "result accuracy.last is 0." in line
    [conflict] = json.loads(pllbench("merge", *two, "--output", out, "--json").out)["conflicts"]
    assert conflict["run_id"] == SPEC.run_id
    assert f"is {conflict['beside']}" in line
    status = pllbench("status", "--results", out)
    assert status.out.startswith("2 done")
    assert "another outcome of its run" in status.err
    shown = pllbench("show", SPEC.run_id, "--results", out).out
    assert f"another outcome: {conflict['beside']}\n" in shown
    assert pllbench("show", conflict["beside"]).code == 0


def test_a_damaged_record_is_named_and_gives_code_1(two: tuple[Path, Path], tmp_path: Path) -> None:
    path = record_path(two[0], SPEC)
    path.write_text("{")
    answer = pllbench("merge", *two, "--output", tmp_path / "out")
    assert answer.code == 1
    assert answer.err.startswith(f"pllbench: not counted: {path}: ")


def test_wrong_folders_are_refused(two: tuple[Path, Path], tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    assert refused("merge", missing, "--output", tmp_path / "out") == f"{missing}: no such folder"
    assert "no records there" in refused("merge", two[0] / "records", "--output", tmp_path / "out")
    assert "Missing option '--output'" in refused("merge", *two)
    (tmp_path / "file").write_text("")
    assert "file" in refused("merge", *two, "--output", tmp_path / "file")
