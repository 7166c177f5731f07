"""Wins, ties and losses."""

from collections import Counter

from pllbench.reports.aggregate import build_table
from pllbench.reports.paired_tests import paired_tests
from pllbench.reports.wins import format_wins, outcomes, tabulate_wins
from tests.factories import PROTOCOL, make_records, on_other_sets, one_column
from tests.reports.examples import texts
from tests.reports.pages import example_runs


def test_a_win_is_an_interval_above_zero() -> None:
    """Differences 1, 1.1, 1.2 are a win at n = 3; 1, 3, -1 are a tie."""
    table = build_table(
        one_column(cc=[90, 80, 70], rc=[91, 81.1, 71.2], proden=[91, 83, 69]), PROTOCOL
    )
    signs = {(one.key, one.against): one.sign for one in outcomes(table)}
    assert signs["rc", "cc"] == 1
    assert signs["cc", "rc"] == -1
    assert signs["proden", "cc"] == signs["cc", "proden"] == 0
    assert len(signs) == 6


def test_outcomes_are_those_of_the_paired_tests() -> None:
    table = build_table(example_runs(), PROTOCOL)
    found = {(o.key, o.against, o.column.dataset, o.column.q): o.sign for o in outcomes(table)}
    tested = 0
    for name in ("cc", "rc", "proden"):
        for test in paired_tests(table, name):
            if test.low is not None and test.high is not None:
                sign = (test.low > 0) - (test.high < 0)
                assert found[name, test.against, test.dataset, test.q] == sign
                tested += 1
    assert tested == len(found) - 3  # PiCO's own three


def test_what_is_not_paired_is_not_counted() -> None:
    runs = one_column(cc=[90, 80], rc=[91.0]) + on_other_sets(make_records([70, 71], method="dpll"))
    assert list(outcomes(build_table(runs, PROTOCOL))) == []


def test_the_matrix_counts_over_columns() -> None:
    runs = one_column(cc=[90, 80, 70], rc=[91, 81.1, 71.2])
    runs += make_records([50, 51, 53], method="cc", dataset="lost", q=None)
    runs += make_records([51, 50, 54], method="rc", dataset="lost", q=None)
    table = tabulate_wins(list(outcomes(build_table(runs, PROTOCOL))), {"rc": "RC", "cc": "CC"})
    assert table.headers == (("Method",), ("All",), ("RC",), ("CC",))
    assert list(map(texts, table.rows)) == [
        ("RC", "1/1/0", "", "1/1/0"),
        ("CC", "0/1/1", "0/1/1", ""),
    ]


def test_counts_in_words() -> None:
    assert format_wins(Counter({1: 12, 0: 3, -1: 5})) == "12/3/5"
    assert format_wins({}) == "--"
