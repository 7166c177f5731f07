"""Tables of many columns as several narrower ones."""

import pytest

from pllbench.reports.formats.narrow import narrow_tables
from pllbench.reports.report import Report, TextCell, TextRow, TextTable


def wide(*headers: str) -> Report:
    """A table whose headers are given as `process rate`, with a reference and one other row."""
    parts = (("Digits",), *(tuple(header.split(" ")) for header in headers))
    numbers = tuple(TextCell(str(i)) for i in range(len(headers)))
    rows = (
        TextRow((TextCell("Fully supervised"), TextCell("99", span=len(headers)))),
        TextRow((TextCell("CC"), *numbers), grey=True),
    )
    return Report("", (TextTable("", parts, rows),), ("A note.",), (), joined=True)


def columns(report: Report) -> list[list[str]]:
    return [[" ".join(header) for header in table.headers[1:]] for table in report.tables]


@pytest.mark.parametrize(
    ("headers", "parts"),
    [
        ("a .1,a .2,a .3", ["a .1,a .2,a .3"]),
        ("a .1,a .2,a .3,b .1,b .2", ["a .1,a .2,a .3", "b .1,b .2"]),
        ("a .1,a .2,b .1,b .2,c .1,c .2", ["a .1,a .2,b .1,b .2", "c .1,c .2"]),
        (".1,.2,.3,.4,.5,.6,.7,.8,.9", [".1,.2,.3,.4", ".5,.6,.7,.8", ".9"]),
        ("a .1,b .1,b .2,b .3,b .4,b .5", ["a .1", "b .1,b .2,b .3,b .4", "b .5"]),
    ],
)
def test_columns_of_a_process_stay_together(headers: str, parts: list[str]) -> None:
    found = columns(narrow_tables(wide(*headers.split(",")), most=4))
    assert [",".join(part) for part in found] == parts


def test_rows_keep_labels_numbers_and_spans() -> None:
    first, second = narrow_tables(wide("a .1", "a .2", "b .1", "b .2", "b .3"), most=3).tables
    assert [[cell.text for cell in row.by_column] for row in first.rows] == [
        ["Fully supervised", "99", "99"],
        ["CC", "0", "1"],
    ]
    assert [[cell.text for cell in row.by_column] for row in second.rows] == [
        ["Fully supervised", "99", "99", "99"],
        ["CC", "2", "3", "4"],
    ]
    assert [row.cells[1].span for row in second.rows] == [3, 1]
    assert [row.grey for row in second.rows] == [False, True]


def test_a_table_that_fits_is_left_alone() -> None:
    report = wide("a .1", "a .2")
    assert narrow_tables(report, most=2) == report
