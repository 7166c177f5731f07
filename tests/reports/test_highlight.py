"""Which cells are best and second, and which do not compete."""

import pytest

from pllbench.reports.aggregate import build
from pllbench.reports.table import Table
from tests.records_factory import PROTOCOL, make_plan, on_other_sets, one_column


def marks(table: Table) -> dict[str, str]:
    return {row.label: cell.mark for row, cell in table.cells}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"cc": [90], "rc": [89], "proden": [88]}, ["best", "second", ""]),
        ({"cc": [90.001], "rc": [90.004], "proden": [88]}, ["best", "best", ""]),
        ({"cc": [90], "rc": [89.001], "proden": [89.004]}, ["best", "second", "second"]),
        ({"cc": [90], "rc": [90], "proden": [90]}, ["best", "best", "best"]),
        ({"cc": [90]}, [""]),
    ],
)
def test_ties_at_printed_precision(values: dict[str, list[float]], expected: list[str]) -> None:
    assert list(marks(build(one_column(**values), PROTOCOL)).values()) == expected


def test_a_reference_is_first_and_not_ranked() -> None:
    table = build(one_column(cc=[90], rc=[80], supervised=[99]), PROTOCOL)
    assert marks(table) == {"Fully supervised": "", "CC": "best", "RC": "second"}
    [block] = table.blocks
    assert block.rows[0].reference
    assert "not ranked: Fully supervised." in table.caption()


def test_a_cell_short_of_planned_runs_is_marked_and_not_ranked() -> None:
    records = one_column(cc=[90, 92, 94], rc=[99, 99, 99], proden=[80, 81, 82])
    planned = make_plan([r.spec for r in records])
    done = [r for r in records if (r.spec.method, r.spec.seed) != ("rc", 1)]
    table = build(done, PROTOCOL, planned=planned)
    assert {row.label: cell.note for row, cell in table.cells} == {
        "CC": "",
        "RC": "n = 2 of 3",
        "PRODEN": "",
    }
    assert marks(table) == {"CC": "best", "RC": "", "PRODEN": "second"}
    assert "Incomplete: 1 of 9 runs are missing." in table.caption()
    assert "n = 3 seeds unless a cell says otherwise" in table.caption()


def test_a_row_on_other_candidate_sets_is_not_ranked_and_the_caption_says_so() -> None:
    records = one_column(cc=[90, 92], rc=[91, 93])
    table = build([*records, *on_other_sets(one_column(proden=[99, 99]))], PROTOCOL)
    assert marks(table) == {"CC": "second", "RC": "best", "PRODEN": ""}
    assert "On other splits or candidate sets, so not ranked: PRODEN." in table.notes
    two = build([*records[:2], *on_other_sets(one_column(proden=[99, 99]))], PROTOCOL)
    assert marks(two) == {"CC": "", "PRODEN": ""}
