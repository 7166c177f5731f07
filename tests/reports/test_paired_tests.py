"""Paired tests of a table's rows."""

from dataclasses import replace

import pytest
from scipy import stats

from pllbench.reports.aggregate import build_table
from pllbench.reports.paired_tests import PairedTest, paired_tests, report_tests
from pllbench.reports.report import Report
from pllbench.results.records import Record
from tests.factories import FREE, PROTOCOL, make_plan, make_records, on_other_sets
from tests.reports.examples import texts, three_data_sets

CC = [90.0, 91.0, 92.5, 93.0, 94.0]
RC = [89.0, 90.5, 92.7, 92.0, 93.1]


def compared(records: list[Record], name: str = "cc") -> list[PairedTest]:
    return paired_tests(build_table(records, PROTOCOL), name)


def reported(records: list[Record], name: str = "cc") -> Report:
    table = build_table(records, PROTOCOL)
    return report_tests(paired_tests(table, name), table)


def test_the_t_test_is_scipys_paired_one_and_five_pairs_are_too_few_for_wilcoxon() -> None:
    [test] = compared(make_records(CC, method="cc") + make_records(RC, method="rc"))
    assert test.t_p == pytest.approx(stats.ttest_rel(CC, RC).pvalue)
    assert test.difference == pytest.approx(0.64)
    assert (test.n, test.wilcoxon_p, test.note) == (5, None, "")


def test_six_pairs_are_enough_for_wilcoxon() -> None:
    a, b = [*CC, 95.0], [*RC, 94.5]
    [test] = compared(make_records(a, method="cc") + make_records(b, method="rc"))
    assert test.wilcoxon_p == pytest.approx(stats.wilcoxon(a, b, method="exact").pvalue)


def test_p_values_are_adjusted_over_the_whole_table() -> None:
    records = [
        record
        for q in (0.3, 0.7)
        for method, shift in (("cc", 0.0), ("rc", 0.2), ("proden", 0.6))
        for record in make_records(
            [a + shift * (i + q) for i, a in enumerate(CC)], method=method, q=q
        )
    ]
    tests = compared(records)
    smallest = min(tests, key=lambda test: test.t_p or 1)
    assert len(tests) == 4
    assert smallest.t_holm == pytest.approx(4 * (smallest.t_p or 0))


def test_rows_that_share_their_runs_are_one_hypothesis() -> None:
    """As two variants that differ nowhere on a data set have them."""
    ours = make_records(CC, method="cc")
    shared = make_records([a - i for i, a in enumerate(CC)], method="rc")
    equal = make_records([a - i for i, a in enumerate(CC)], method="proden")
    planned = make_plan([record.spec for record in ours + shared])
    planned += [
        replace(run, name="rc-again", label="RC again")
        for run in make_plan([record.spec for record in shared])
    ]
    once = paired_tests(build_table(ours + shared, PROTOCOL, planned=planned), "cc")
    assert [test.against for test in once] == ["rc", "rc-again"]
    assert once[0].run_ids == once[1].run_ids == tuple(record.run_id for record in shared)
    assert [test.t_holm for test in once] == [once[0].t_p] * 2
    planned += make_plan([record.spec for record in equal])
    twice = paired_tests(build_table(ours + shared + equal, PROTOCOL, planned=planned), "cc")
    assert [test.t_holm for test in twice] == [pytest.approx(2 * (once[0].t_p or 1))] * 3


def test_pairs_have_the_same_process_and_options() -> None:
    records = [
        *make_records(CC, method="cc"),
        *make_records(RC, method="rc"),
        *make_records(RC, method="cc", candidates=FREE),
        *make_records(CC, method="rc", candidates=FREE),
    ]
    differences = {test.candidates: test.difference for test in compared(records)}
    assert differences == {
        "uniform": pytest.approx(0.64),
        "uniform:policy=free": pytest.approx(-0.64),
    }
    titles = [table.title for table in reported(records).tables]
    assert titles == ["CC on Digits, uniform", "CC on Digits, uniform, policy=free"]


@pytest.mark.parametrize(
    ("other", "note"), [(CC, "identical"), ([a + 1 for a in CC], "no spread"), ([90.0], "n = 1")]
)
def test_differences_without_a_test_say_why(other: list[float], note: str) -> None:
    records = make_records(CC[: len(other)], method="cc") + make_records(other, method="rc")
    [test] = compared(records)
    assert (test.note, test.t_p, test.t_holm) == (note, None, None)


def test_missing_runs_are_not_tested() -> None:
    records = make_records(CC, method="cc") + make_records(RC, method="rc")
    planned = make_plan([record.spec for record in records])
    [test] = paired_tests(build_table(records[:-1], PROTOCOL, planned=planned), "cc")
    assert (test.note, test.n, test.difference) == ("incomplete", 0, None)


def test_runs_on_other_candidate_sets_are_no_pairs() -> None:
    """As a variant that fixes its data_seed has them."""
    ours, theirs = make_records(CC, method="cc"), make_records(RC, method="rc")
    [test] = compared([*ours, *on_other_sets(theirs[:1]), *theirs[1:]])
    assert (test.note, test.n, test.difference) == ("not paired", 0, None)
    [test] = compared(ours + make_records(RC[:3], method="rc"))
    assert (test.note, test.n, test.difference) == ("not paired", 0, None)


def test_a_row_that_is_not_there_or_there_twice_is_refused() -> None:
    records = make_records(CC, method="cc") + make_records(RC, method="rc")
    with pytest.raises(
        ValueError, match="tests other: must be one of at least two rows here: cc, rc"
    ):
        compared(records, "other")
    twice = records + make_records(CC, method="cc", train={"epochs": 5})
    with pytest.raises(ValueError, match=r"2 rows on digits \(CC, CC \(epochs=5\)\); select one"):
        compared(twice)


def test_a_report_has_the_tests_of_each_data_set_and_the_ranks() -> None:
    report = reported(three_data_sets(), "rc")
    assert [table.title for table in report.tables] == [
        "RC on Digits",
        "RC on BirdSong",
        "RC on Lost",
        "Average ranks over data sets",
    ]
    assert texts(report.tables[-1].rows[-1]) == ("PRODEN", "3.00", "3", "3", "3")


def test_a_line_says_difference_interval_p_and_its_adjustment() -> None:
    report = reported(
        make_records(CC, method="cc")
        + make_records(RC, method="rc")
        + make_records(CC, method="proden")
    )
    [table] = report.tables
    assert [header for (header,) in table.headers] == [
        *("Against", "q", "n", "Difference", "p (t)", "Holm")
    ]
    assert list(map(texts, table.rows)) == [
        ("RC", "0.3", "5", "+0.64 [+0.00, +1.28]", ".049", ".049"),
        ("PRODEN", "0.3", "5", "identical", "--", "--"),
    ]
    interval = stats.ttest_rel(CC, RC).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((0.0, 1.28), abs=0.005)
    assert "Difference: CC - the other, " in " ".join(report.notes)
    assert report.notes[-1].startswith("n is too small for Wilcoxon's signed-rank test")


def test_wilcoxon_has_columns_where_n_is_large_enough_for_some_pairs() -> None:
    [table] = reported(
        make_records([*CC, 95.0], method="cc")
        + make_records([*RC, 94.5], method="rc")
        + make_records([*CC, 94.0], method="proden")
    ).tables
    assert table.headers[6:] == (("p (Wilcoxon)",), ("Holm",))
    assert [texts(row)[6:] for row in table.rows] == [(".062", ".062"), ("n too small", "--")]


def test_tests_stand_where_there_are_too_few_rows_for_ranks() -> None:
    records = make_records([70, 71, 73], method="rc")
    for where in ({"q": 0.3}, {"q": 0.5}, {"dataset": "birdsong", "q": None}):
        records += make_records([72, 73, 74], method="cc", **where)
    report = reported(records, "rc")
    assert [table.title for table in report.tables] == ["RC on Digits"]
    assert report.notes[0].startswith("No average ranks: ranks need at least two rows")
