"""Records with wrong content, or in a wrong place: named by their path, and never counted.

No damage ends `table` or `status`, and nothing else in the results folder changes.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pllbench.results.records import is_done, record_path
from tests.commands import contents, pllbench
from tests.factories import make_record, make_spec, store

SHORT = {"epochs": 3}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The records of a run of `cc`, and of one of `rc` to be damaged."""
    methods = [("cc", 50.0), ("rc", 60.0)]
    return store(tmp_path, [make_record(make_spec(m, train=SHORT), a) for m, a in methods])


@pytest.fixture
def path(results: Path) -> Path:
    """The record of `rc`."""
    return record_path(results, make_spec("rc", train=SHORT))


def is_not_counted(results: Path, path: Path, problem: str) -> None:
    """The file is named by `table` and `status`, and `cc` alone is counted; nothing is written."""
    before = contents(results)
    selected = ("--methods", "cc,rc", "--q", 0.3, "--seeds", "0,", "--epochs", 3)
    for command in (("table", "--format", "json"), ("status", "--json")):
        answer = pllbench(*command, "--results", results)
        assert answer.code == 0
        assert answer.err.startswith(f"pllbench: not counted: {path}: ")
        assert answer.err.count("\n") == 1
        assert problem in answer.err
        found = json.loads(answer.out)
        if command[0] == "table":
            assert [entry["method"] for entry in found] == ["cc"]
        else:
            assert (found["done"], found["failed"]) == (1, 0)
    answer = pllbench("table", "--format", "json", *selected, "--results", results)
    assert [entry["method"] for entry in json.loads(answer.out)] == ["cc"]
    assert contents(results) == before


VALUES: list[tuple[str, Any, str]] = [
    ("schema", 2, "schema 2, this version reads 1"),
    ("schema", "1", "schema '1', this version reads 1"),
    ("schema", None, "schema None, this version reads 1"),
    ("spec", None, "spec: Input should be an object"),
    ("spec", [], "spec: Input should be an object"),
    ("spec.method", 7, "spec.method: Input should be a valid string"),
    ("spec.method", "cc", "its spec has the id "),
    ("spec.dataset", "../digits", "its spec has the id "),
    ("spec.seed", -1, "spec.seed: Input should be greater than or equal to 0"),
    ("spec.seed", True, "spec.seed: Input should be a valid integer, got True"),
    ("spec.seed", 7, "its spec has the id "),
    ("spec.version", 2, "its spec has the id "),
    ("spec.core_version", 99, "its spec has the id "),
    ("spec.train.lr", "fast", "spec.train.lr: Input should be a valid number"),
    ("spec.train.lr", 1e-3, "its spec has the id "),
    ("spec.train.epochs", 0, "spec.train.epochs: Input should be greater"),
    ("spec.candidates.q", 1.5, "spec.candidates.q: Input should be less than or equal to 1"),
    ("spec.candidates.q", None, "spec.candidates: process uniform needs a rate q"),
    ("spec.candidates.process", "unifrom", "spec.candidates.process: Input should be 'uniform'"),
    ("spec.annotator", "0" * 16, "its spec has the id "),
    ("spec.unknown", 1, "spec: unknown key 'unknown'"),
    ("result", {}, "result.accuracy: Field required"),
    ("result.accuracy", 0.6, "result.accuracy: Input should be an object"),
    ("result.accuracy.last", float("nan"), "accuracy.last: Input should be a finite number"),
    ("result.accuracy.last", float("inf"), "accuracy.last: Input should be a finite number"),
    ("result.accuracy.last", 60.0, "accuracy.last: Input should be less than or equal to 1"),
    ("result.accuracy.last10", -0.6, "accuracy.last10: Input should be greater than or equal to 0"),
    ("result.accuracy.last10", "high", "accuracy.last10: Input should be a valid number"),
    ("result.accuracy.best", 0.6, "accuracy.best"),
    ("result.epoch.oracle", 1.5, "result.epoch.oracle: Input should be a valid integer"),
    ("result.class_noise", 20, "result.class_noise: Input should be less than or equal to 1"),
    ("result.num_test", None, "result.num_test: Input should be a valid integer"),
    ("result.num_test", 1e999, "result.num_test: Input should be a valid integer"),
    ("provenance", "here", "provenance: Input should be an object"),
    ("provenance.seconds", "long", "provenance.seconds: Input should be a valid number"),
    ("provenance.audit", None, "provenance.audit: Input should be an object"),
    ("provenance.audit.digest", 7, "provenance.audit.digest: Input should be a valid string"),
    ("provenance.resumed_from", "5", "provenance.resumed_from: Input should be a valid array"),
]


@pytest.mark.parametrize(("key", "value", "problem"), VALUES)
def test_a_record_with_another_value(
    results: Path, path: Path, key: str, value: Any, problem: str
) -> None:
    fields = json.loads(path.read_bytes())
    *outer, name = key.split(".")
    inner = fields
    for part in outer:
        inner = inner[part]
    inner[name] = value
    path.write_text(json.dumps(fields))
    is_not_counted(results, path, problem)


@pytest.mark.parametrize("name", ["0" * 16, "rc", "A" * 300])
def test_a_record_under_another_name(results: Path, path: Path, name: str) -> None:
    moved = path.rename(path.with_name(f"{name[:200]}.json"))
    is_not_counted(results, moved, "its spec has the id ")


@pytest.mark.parametrize("place", ["digits/proden", "mnist/rc", "x/y"])
def test_a_record_in_another_place(results: Path, path: Path, place: str) -> None:
    target = results / "records" / place / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    is_not_counted(results, target, f"its place is {path}")


def test_records_that_have_changed_places(results: Path, path: Path) -> None:
    other = record_path(results, make_spec("cc", train=SHORT))
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)
    answer = pllbench("status", "--results", results)
    assert answer.out.startswith("0 done")
    lines = answer.err.splitlines()
    for file, line in zip((other, path), lines, strict=True):
        assert line.startswith(f"pllbench: not counted: {file}: its spec has the id ")


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("kind", ["FIFO", "device", "folder"])
def test_what_is_no_plain_file_is_named_and_not_waited_for(
    results: Path, path: Path, suffix: str, kind: str
) -> None:
    file = path.with_suffix(suffix)
    file.unlink()
    if kind == "FIFO":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    for command in ("table", "status"):
        answer = pllbench(command, "--results", results)
        assert answer.code == 0
        assert answer.err.startswith(f"pllbench: not counted: {file}: not readable (")
        assert "no regular file" in answer.err
    assert not is_done(results, make_spec("rc", train=SHORT))
