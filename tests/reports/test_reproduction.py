"""The report of a comparison, and the page that is made of it."""

from pathlib import Path

import pytest

from pllbench import api as contents
from pllbench.cli.selection import SelectionFlags
from pllbench.reports.aggregate import build
from pllbench.reports.comparison import compare, not_run
from pllbench.reports.formats.render import to_text
from pllbench.reports.published import load_table
from pllbench.reports.reproduction import Scored, to_report
from pllbench.spec import CandidateSpec
from tests.records_factory import PROTOCOL, make_record, make_records, make_spec

RESULTS = Path(__file__).parents[2] / "results"
CNAE9 = load_table("cnae9")


def both_rules() -> Scored:
    specs = [make_spec("cc", "cnae9", 0.1, seed) for seed in (0, 1, 2)]
    specs += [make_spec("pico", "cnae9", 0.1, seed) for seed in (0, 1, 2)]
    records = [
        make_record(spec, 93.5 + spec.seed / 10, {"last": 80 + spec.seed / 10}) for spec in specs
    ]
    tables = [build(records, PROTOCOL, rule) for rule in ("last10", "last")]
    return Scored("CNAE-9, uniform", compare(tables, CNAE9), records, "cnae9", "A note of its own.")


def test_a_report_has_both_rules_in_one_line_and_says_what_ran_where() -> None:
    report = to_report([both_rules()])
    [sheet] = report.sheets
    assert sheet.heads[:4] == ("Method", "q", "Published", "n")
    assert sheet.heads[4::3] == ("last10", "last")
    cc, pico = sheet.rows
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
    assert "last10: 2 agree, 0 differ, 0 too few, 0 not run." in sheet.notes
    assert sheet.notes[-2:] == (
        "A note of its own.",
        "6 runs on cpu (nothing else is known), 0 s in all; commits (runs): unknown (6).",
    )
    assert len(report.entries) == 4


def test_several_tables_are_counted_and_those_without_runs_have_no_sheet() -> None:
    birdsong = load_table("birdsong")
    empty = Scored("BirdSong", not_run(birdsong, ("last10", "last"), PROTOCOL), [], "birdsong")
    report = to_report([both_rules(), empty], "Reproduction")
    counts, sheet = report.sheets
    assert counts.heads[1:4] == ("Numbers", "Not run", "Too few")
    assert counts.heads[4:] == ("last10: agree", "differ", "last: agree", "differ")
    assert counts.rows == (
        ("cnae9", "2", "0", "0", "2", "0", "0", "2"),
        ("birdsong", "7", "7", "0", "0", "0", "0", "0"),
        ("All", "9", "7", "0", "2", "0", "0", "2"),
    )
    assert sheet.title == "CNAE-9, uniform"
    assert [entry.label for entry in report.entries][4:6] == ["CC", "RC"]


def test_processes_with_other_options_have_sheets_of_their_own() -> None:
    free = CandidateSpec(process="uniform", q=0.1, policy="free")
    settings = [{}, {"candidates": free}]
    records = [
        record
        for fields in settings
        for record in make_records([93, 94], dataset="cnae9", q=0.1, **fields)
    ]
    table = build(records, PROTOCOL)
    report = to_report([Scored("Ours", compare([table], CNAE9), records)])
    assert [(sheet.title, len(sheet.rows)) for sheet in report.sheets] == [
        ("Ours: CNAE-9, uniform", 1),
        ("Ours: CNAE-9, uniform, policy=free", 1),
    ]


# The committed pages. Where these fail after new runs, make the pages anew with `pllbench table`.


def test_the_page_says_what_the_records_say() -> None:
    page = to_text(contents.scored(SelectionFlags(), RESULTS), "markdown")
    assert page == (RESULTS / "REPRODUCTION.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("tabular", None),
        ("tabular_ablations", "asyco"),
        ("reduced_images", None),
        ("reduced_processes", None),
    ],
)
def test_the_tables_say_what_the_records_say(name: str, tests: str | None) -> None:
    content = contents.load(SelectionFlags(benchmark=name), RESULTS)
    page = to_text(contents.show(content, "last10", tests), "markdown")
    assert page == (RESULTS / "tables" / f"{name}.md").read_text("utf-8")
