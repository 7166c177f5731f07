"""`pllbench list`."""

import json

import pytest

from pllbench.cli.list import brief
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
    hidden = {"datasets": ["title"], "benchmarks": ["unestimated"]}.get(what, [])
    assert lines[0].split() == [key for key in rows[0] if key not in hidden]
    assert any(line.split()[0] == name for line in lines[1:])


@pytest.mark.parametrize("what", ["benchmarks", "datasets"])
def test_lists_have_one_line_an_entry_at_100_columns(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(pllbench("list", what, "--json").out)
    monkeypatch.setenv("COLUMNS", "100")
    lines = pllbench("list", what).out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [row["name"] for row in rows]
    assert max(map(len, lines)) <= 100


def test_hours_are_marked_where_some_runs_cannot_be_estimated() -> None:
    row: dict[str, object] = {"name": "a", "runs": 3, "done": 1, "title": "A"}
    for known, unknown, printed in ((2.7, 0, "2.7"), (2.7, 1, "> 2.7"), (None, 2, "?")):
        found = brief(row | {"hours_left": known, "unestimated": unknown})
        assert found == {"name": "a", "runs": 3, "done": 1, "hours_left": printed, "title": "A"}


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("what", ["benchmarks", "datasets", "variants"])
def test_lists_cut_no_word_on_a_narrow_terminal(
    what: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(pllbench("list", what, "--json").out)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = pllbench("list", what).out.splitlines()
    assert max(map(len, lines)) <= columns
    words = {word for line in lines for word in line.split()}
    shown = [{k: v for k, v in row.items() if k in brief(row)} for row in rows]
    assert {w for row in shown for value in row.values() for w in str(value or "").split()} <= words
    assert len(lines) <= 3 * (len(rows) + 1)
