"""`pllbench list`."""

import json

import pytest

from tests.commands import pllbench


@pytest.mark.parametrize(
    ("what", "name", "keys"),
    [
        ("methods", "cc", {"name", "from"}),
        ("variants", "asyco-no-refinement", {"name", "base", "label"}),
        ("datasets", "digits", {"name", "title", "kind", "candidates", "file"}),
        ("networks", "linear", {"name"}),
        ("candidates", "uniform", {"name"}),
        ("benchmarks", "birdsong", {"name", "runs", "done", "hours_left", "unestimated", "title"}),
    ],
)
def test_lists(what: str, name: str, keys: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = json.loads(pllbench("list", what, "--json").out)
    assert name in [row["name"] for row in rows]
    assert all(row.keys() == keys for row in rows)
    monkeypatch.setenv("COLUMNS", "160")
    lines = pllbench("list", what).out.splitlines()
    assert lines[0].split() == list(rows[0])
    assert any(line.split()[0] == name for line in lines[1:])


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("what", ["benchmarks", "datasets", "variants"])
def test_lists_cut_no_word_on_a_narrow_terminal(
    what: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(pllbench("list", what, "--json").out)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = pllbench("list", what).out.splitlines()
    assert max(map(len, lines)) <= columns
    words = {word for line in lines for word in line.split()}
    assert {w for row in rows for value in row.values() for w in str(value or "").split()} <= words
    assert len(lines) <= 3 * (len(rows) + 1)
