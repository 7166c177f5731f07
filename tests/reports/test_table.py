"""Titles of flat sheets; columns, rows and blocks: test_tables."""

import pytest

from pllbench.reports.table import sheet_titles


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
    places = [("digits", name) for name in candidates]
    found = sheet_titles([*places, ("lost", "real")])
    assert [found[place] for place in places] == titles
    assert found["lost", "real"] == "Lost"
