"""How numbers, titles and headers of a table are written."""

import pytest

from pllbench.reports.aggregate import build_table
from pllbench.reports.table import (
    format_change,
    format_difference,
    format_mean,
    format_p,
    format_q,
    section_titles,
)
from tests.factories import FREE, PROTOCOL, RELATIVE, make_records


def test_numbers_as_printed() -> None:
    assert (format_mean(92, 2.004), format_mean(92, None)) == ("92.00 ± 2.00", "92.00")
    assert format_difference(1.3, 0.09, 2.51) == "+1.30 [+0.09, +2.51]"
    assert format_difference(-1.3, None, None) == "-1.30"
    changes = [format_change(value) for value in (0.36, -0.21, 0.004, None)]
    assert changes == ["↑ 0.36", "↓ 0.21", "0.00", "--"]
    assert [format_p(p) for p in (0.0004, 0.0624, 1.0, None)] == ["< .001", ".062", "1.000", "--"]
    assert (format_q(0.30), format_q(None)) == ("0.3", "")


@pytest.mark.parametrize(
    ("candidates", "titles"),
    [
        (["uniform"], ["Digits"]),
        ([None, "uniform"], ["Digits", "Digits"]),
        ([None], ["Digits"]),
        (["uniform:policy=free"], ["Digits, uniform, policy=free"]),
        ([None, "uniform:policy=free"], ["Digits, uniform, policy=free"] * 2),
        ([None, "uniform", "pair"], ["Digits", "Digits, uniform", "Digits, pair"]),
        (
            ["noisy:policy=free,eta=0.1", "noisy:eta=0.1"],
            ["Digits, noisy, policy=free, eta=0.1", "Digits, noisy, eta=0.1"],
        ),
    ],
)
def test_a_title_names_the_process_where_it_must(
    candidates: list[str | None], titles: list[str]
) -> None:
    sections = [("digits", name) for name in candidates]
    by_section = section_titles([*sections, ("lost", "real")])
    assert [by_section[section] for section in sections] == titles
    assert by_section["lost", "real"] == "Lost"


def test_headers_name_the_process_where_there_are_several() -> None:
    records = [
        *make_records([90, 92]),
        *make_records([60, 62], candidates=FREE),
        *make_records([50, 52], candidates=RELATIVE),
    ]
    [block] = build_table(records, PROTOCOL).blocks
    assert block.headers == [
        ("instance candidate sets", "rule=max"),
        ("uniform", "q = 0.3"),
        ("uniform", "policy=free", "q = 0.3"),
    ]


def test_the_only_column_names_its_process_where_that_has_options() -> None:
    for candidates, header in ((FREE, ("uniform", "policy=free", "q = 0.3")), (None, ("q = 0.3",))):
        settings = {"candidates": candidates} if candidates else {}
        [block] = build_table(make_records([90, 92], **settings), PROTOCOL).blocks
        assert block.headers == [header]
