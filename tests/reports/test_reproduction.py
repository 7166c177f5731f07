"""The report of a comparison, and the page that is made of it."""

from pathlib import Path

import pytest

from pllbench import api
from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import Selection
from pllbench.reports.aggregate import build_table
from pllbench.reports.published import compare, load_table, not_run
from pllbench.reports.reproduction import ComparedSelection, report_comparison
from pllbench.spec import CandidateSpec
from tests.factories import PROTOCOL, make_records
from tests.reports.examples import texts, under_both_rules

RESULTS = Path(__file__).parents[2] / "results"
CNAE9 = load_table("cnae9")


def test_a_report_has_both_rules_in_one_line_and_says_what_ran_where() -> None:
    report = report_comparison([under_both_rules()])
    [table] = report.tables
    assert table.headers[:4] == (("Method",), ("q",), ("Published",), ("n",))
    assert table.headers[4::3] == (("last10",), ("last",))
    cc, pico = map(texts, table.rows)
    assert cc[2:] == (
        "93.67 ± 0.27",
        "3/3",
        "93.60 ± 0.10",
        "-0.07 [-0.65, +0.51]",
        "agrees",
        "80.10 ± 0.10",
        "-13.57 [-14.15, -12.99]",
        "differs",
    )
    assert pico[2:4] == ("91.67 ± 0.66", "3/2")
    assert "last10: 2 agree, 0 differ, 0 too few, 0 not run." in table.notes
    assert table.notes[-2:] == (
        "A note of its own.",
        "6 runs on cpu (nothing else is known), 0 s in all; commits (runs): unknown (6).",
    )
    assert len(report.entries) == 4


def test_several_tables_are_counted_and_those_without_runs_have_no_section() -> None:
    birdsong = load_table("birdsong")
    empty = ComparedSelection(
        "BirdSong", not_run(birdsong, ("last10", "last"), PROTOCOL), [], "birdsong"
    )
    report = report_comparison([under_both_rules(), empty], "Reproduction")
    counts, table = report.tables
    assert [header for (header,) in counts.headers] == [
        *("Benchmark", "Numbers", "Not run", "Too few"),
        *("last10: agree", "differ", "last: agree", "differ"),
    ]
    assert list(map(texts, counts.rows)) == [
        ("cnae9", "2", "0", "0", "2", "0", "0", "2"),
        ("birdsong", "7", "7", "0", "0", "0", "0", "0"),
        ("All", "9", "7", "0", "2", "0", "0", "2"),
    ]
    assert table.title == "CNAE-9, uniform"
    assert [entry.label for entry in report.entries][4:6] == ["CC", "RC"]


def test_processes_with_other_options_have_sections_of_their_own() -> None:
    free = CandidateSpec(process="uniform", q=0.1, policy="free")
    settings = [{}, {"candidates": free}]
    records = [
        record
        for fields in settings
        for record in make_records([93, 94], dataset="cnae9", q=0.1, **fields)
    ]
    table = build_table(records, PROTOCOL)
    report = report_comparison([ComparedSelection("Ours", compare([table], CNAE9), records)])
    assert [(table.title, len(table.rows)) for table in report.tables] == [
        ("Ours: CNAE-9, uniform", 1),
        ("Ours: CNAE-9, uniform, policy=free", 1),
    ]


def test_the_committed_page_is_that_of_the_records() -> None:
    """After new runs: pllbench table --compare paper --format markdown."""
    page = api.load(RESULTS).compare().to_markdown()
    assert page == (RESULTS / "REPRODUCTION.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "tested"),
    [
        ("tabular", None),
        ("tabular_ablations", "asyco"),
        ("reduced_images", None),
        ("reduced_processes", None),
    ],
)
def test_the_committed_tables_are_those_of_the_records(name: str, tested: str | None) -> None:
    """After new runs: pllbench table --benchmark NAME --format markdown, with its --tests."""
    results = api.load(RESULTS, selection=Selection(load_benchmark(name)))
    view = results.tests(tested) if tested else results.table()
    page = (RESULTS / "tables" / f"{name}.md").read_text("utf-8")
    assert view.to_markdown() == page
