"""`pllbench list`."""

import json
from itertools import groupby
from typing import get_args

import pytest

from pllbench.cli.list import brief
from pllbench.method import Family
from tests.commands import pllbench
from tests.plugins import Install


@pytest.mark.parametrize(
    ("what", "name", "keys"),
    [
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
    for line, row in zip(lines[1:], rows, strict=True):
        *_, last = brief(what, row).values()
        start, cut, _ = line.rstrip().partition("…")
        assert start.endswith(str(last or "")) or (cut and start.split()[-1] in str(last))


def test_hours_are_marked_where_some_runs_cannot_be_estimated() -> None:
    row: dict[str, object] = {"name": "a", "runs": 3, "done": 1, "title": "A"}
    for known, unknown, printed in ((2.7, 0, "2.7"), (2.7, 1, "> 2.7"), (None, 2, "?")):
        found = brief("benchmarks", row | {"hours_left": known, "unestimated": unknown})
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
    shown = [{k: v for k, v in row.items() if k in brief(what, row)} for row in rows]
    assert {w for row in shown for value in row.values() for w in str(value or "").split()} <= words
    assert len(lines) <= 3 * (len(rows) + 1)


def test_methods_are_grouped_by_family_and_sorted_by_year() -> None:
    rows = json.loads(pllbench("list", "methods", "--json").out)
    groups = {family: list(found) for family, found in groupby(rows, lambda row: row["family"])}
    assert list(groups) == [family for family in get_args(Family) if family in groups]
    assert len(rows) == sum(map(len, groups.values())), "each family stands together"
    for found in groups.values():
        years = [row["year"] or 9999 for row in found]
        assert years == sorted(years)


def test_a_method_is_listed_with_its_publication_and_what_it_keeps() -> None:
    rows = {row["name"]: row for row in json.loads(pllbench("list", "methods", "--json").out)}
    dpll = rows["dpll"]
    assert dpll.pop("from").startswith("pllbench ")
    assert dpll == {
        "name": "dpll",
        "family": "confidence",
        "year": 2022,
        "venue": "ICML",
        "networks": 1,
        "views": ["weak", "strong", "strong"],
        "buffers": {"confidence": ["N", "C"]},
        "other_names": ["CRDPLL", "CR-DPLL", "PLCR", "RCR", "CORR"],
    }
    assert rows["cc"]["buffers"] == {}
    assert rows["supervised"]["year"] is None
    assert rows["pop"]["buffers"]["recent"] == [5, "N", "C"]
    assert (rows["asyco"]["networks"], rows["pl_knn"]["networks"]) == (2, 0)
    assert (rows["pl_knn"]["views"], rows["pl_knn"]["buffers"]["rows"]) == ([], ["N", "D"])


def test_a_terminal_shows_in_words_what_methods_keep(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("theirs", {"theirs": "theirs_good:Good"}, theirs_good=GOOD)
    monkeypatch.setenv("COLUMNS", "160")
    header, *lines = pllbench("list", "methods").out.splitlines()
    assert header.split() == ["name", "family", "year", "venue", "keeps"]
    found = {line.split()[0]: " ".join(line.split()[1:]) for line in lines}
    assert found["pl_aknn"] == (
        "classical 2026 AISTATS no network; fitted at once; rows [N, D]; spread [N, 1]; "
        "candidates [N, C]"
    )
    assert found["irnet"] == (
        "contrastive 2025 TPAMI 2 networks; views 2 query, 1 key; confidence [N, C]; sets [N, C]"
    )
    assert found["pals"].endswith("; also called SARI")
    assert found["theirs"] == "other no network; views 1 weak; from theirs 1.2"


GOOD = """
from pllbench.method import Method, Step

class Good(Method):
    def loss(self, batch): return Step(batch.x[0].sum())
    def predict(self, x): return x
"""


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("raise OSError('no disk')", "cannot be imported: OSError: no disk"),
        (GOOD + "    def __init__(self, problem, hparams): raise KeyError('x')", "'x'"),
    ],
)
def test_a_method_that_cannot_be_made_is_named_and_the_others_are_listed(
    source: str, problem: str, install: Install
) -> None:
    before = json.loads(pllbench("list", "methods", "--json").out)
    install("theirs", {"bad": "theirs_bad:Good"}, theirs_bad=source)
    answer = pllbench("list", "methods", "--json")
    assert (answer.code, json.loads(answer.out)) == (0, before)
    assert answer.err.startswith("pllbench: bad: ")
    assert answer.err.endswith(f"{problem}\n")
    assert answer.err.count("\n") == 1
