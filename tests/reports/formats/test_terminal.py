"""Reports in the terminal."""

from collections.abc import Callable

import pytest

from pllbench.reports.aggregate import build_table
from pllbench.reports.report import Report, report_table
from pllbench.spec import CandidateSpec
from tests.factories import PROTOCOL, make_records
from tests.reports.examples import (
    GOLDEN,
    REPORTS,
    comparison,
    golden_names,
    golden_text,
    on_screen,
    texts,
)


def test_golden_files_are_there() -> None:
    assert len(golden_names(".txt")) == 6


@pytest.mark.parametrize("name", golden_names(".txt"))
def test_printed_reports_are_the_golden_files(name: str) -> None:
    assert golden_text(name) == (GOLDEN / name).read_text("utf-8")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_table_keeps_to_the_width_and_cuts_no_number(width: int) -> None:
    records = [
        r
        for q in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
        for r in make_records([90, 92, 94], q=q, train={"epochs": 12345, "network": "mlp"})
    ]
    text = on_screen(report_table(build_table(records, PROTOCOL)), width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("92.00 ± 2.00") == 8
    assert "…" not in text


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("make", REPORTS.values())
def test_columns_that_do_not_fit_go_on_below_and_no_number_is_cut(
    make: Callable[[], Report], width: int
) -> None:
    report = make()
    lines = [line.rstrip() for line in on_screen(report, width).splitlines()]
    assert max(map(len, lines)) <= width
    printed = "\n".join(lines)
    for table in report.tables:
        assert all(text in printed for row in table.rows for text in texts(row)[1:])


def test_columns_of_a_group_stay_together() -> None:
    lines = on_screen(comparison(), 60).splitlines()
    headers = [line.split() for line in lines if "Verdict" in line]
    assert len(headers) == 2
    assert all(header[-2:] == ["Difference", "Verdict"] for header in headers)


def test_each_column_takes_its_own_width_not_that_of_the_widest() -> None:
    wide = CandidateSpec(process="instance", rule="max", annotator_network="small_cnn")
    records = [
        *make_records([90, 92], candidates=wide),
        *make_records([90, 92], q=0.3),
        *make_records([80, 82], q=0.7),
    ]
    text = on_screen(report_table(build_table(records, PROTOCOL)), 80)
    assert text.count("Digits") == 1


def test_marks_are_styles_in_a_terminal_and_signs_in_plain_text() -> None:
    records = make_records([90], method="cc") + make_records([80], method="rc")
    report = report_table(build_table(records, PROTOCOL))
    assert "\x1b[1m90.00\x1b[0m" in on_screen(report, 80, styled=True)
    plain = on_screen(report, 80)
    assert "* 90.00" in plain
    assert "+ 80.00" in plain
    assert "marked *" in plain


def test_a_label_is_no_markup() -> None:
    report = report_table(build_table(make_records([90], method="[bold]x[/bold]"), PROTOCOL))
    assert "[bold]x[/bold]" in on_screen(report, 80)
