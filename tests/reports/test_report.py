"""What is printed of a table, and the entries behind printed tables."""

from collections.abc import Callable
from dataclasses import fields

import pytest

from pllbench.reports.aggregate import build_table
from pllbench.reports.paired_tests import PairedTest
from pllbench.reports.published import Comparison
from pllbench.reports.report import CellEntry, Entry, Report, TextCell, report_table
from tests.factories import PROTOCOL, make_records
from tests.reports.examples import REPORTS, TABLES, example, in_layout


@pytest.mark.parametrize("kind", [CellEntry, PairedTest, Comparison])
def test_every_attribute_of_an_entry_is_written_once(kind: type[Entry]) -> None:
    assert sorted(kind.header.split(",")) == sorted(field.name for field in fields(kind))


def test_a_reference_spans_all_columns() -> None:
    [digits, birdsong] = example().tables
    assert digits.headers == (("Digits",), ("q = 0.3",), ("q = 0.7",))
    reference, cc = digits.rows[:2]
    assert reference.cells == (TextCell("Fully supervised"), TextCell("97.50 ± 0.50", span=2))
    assert [cell.text for cell in reference.by_column[1:]] == ["97.50 ± 0.50"] * 2
    assert cc.cells[1:] == (TextCell("92.00 ± 2.00", "second"), TextCell("82.00 ± 2.00", "best"))
    assert digits.rows[3].cells[1:] == (TextCell("94.00 ± 2.83", note="n = 2 of 3"), TextCell("--"))
    assert birdsong.headers == (("BirdSong",), ("accuracy",))


def test_the_improvement_is_the_last_row() -> None:
    [table] = in_layout().tables
    assert [cell.text for cell in table.rows[-1].cells] == [
        *("Improv.", "↓ 0.30", "↑ 0.05", "↑ 0.25", "↑ 0.45")
    ]
    assert {cell.mark for cell in table.rows[-1].cells[1:]} == {"change"}
    assert [row.grey for row in table.rows] == [True, False, False, True, True]


def test_the_caption_explains_the_marks_that_are_there() -> None:
    one = make_records([90])
    tie = make_records([90], method="rc")
    second = make_records([80], method="proden")
    captions = [
        report_table(build_table(records, PROTOCOL)).caption("bold", "underlined")
        for records in (one, one + tie, one + second)
    ]
    assert "Best" not in captions[0]
    assert captions[1].endswith("Best of a column bold.")
    assert captions[2].endswith("Best of a column bold, second best underlined.")


@pytest.mark.parametrize("make", (TABLES | REPORTS).values())
def test_rows_are_as_long_as_headers(make: Callable[[], Report]) -> None:
    for table in make().tables:
        assert {len(row.by_column) for row in table.rows} == {len(table.headers)}
