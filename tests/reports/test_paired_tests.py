"""Paired tests and ranks of a table's rows."""

from dataclasses import replace

import pytest
from scipy import stats

from pllbench.grid.plan import PlannedRun
from pllbench.reports.aggregate import build
from pllbench.reports.paired_tests import PairedTest, paired_tests, ranks, to_report
from pllbench.reports.report import Report
from pllbench.results.records import Record
from tests.records_factory import FREE, PROTOCOL, make_plan, make_records, on_other_sets

CC = [90.0, 91.0, 92.5, 93.0, 94.0]
RC = [89.0, 90.5, 92.7, 92.0, 93.1]


def compared(records: list[Record], name: str = "cc") -> list[PairedTest]:
    return paired_tests(build(records, PROTOCOL), name)


def test_the_t_test_is_scipys_paired_one_and_five_pairs_are_too_few_for_wilcoxon() -> None:
    [found] = compared(make_records(CC, method="cc") + make_records(RC, method="rc"))
    assert found.t_p == pytest.approx(stats.ttest_rel(CC, RC).pvalue)
    assert found.difference == pytest.approx(0.64)
    assert (found.n, found.wilcoxon_p, found.note) == (5, None, "")


def test_six_pairs_are_enough_for_wilcoxon() -> None:
    a, b = [*CC, 95.0], [*RC, 94.5]
    [found] = compared(make_records(a, method="cc") + make_records(b, method="rc"))
    assert found.wilcoxon_p == pytest.approx(stats.wilcoxon(a, b, method="exact").pvalue)


def test_p_values_are_adjusted_over_the_whole_table() -> None:
    records = [
        record
        for q in (0.3, 0.7)
        for method, shift in (("cc", 0.0), ("rc", 0.2), ("proden", 0.6))
        for record in make_records(
            [a + shift * (i + q) for i, a in enumerate(CC)], method=method, q=q
        )
    ]
    found = compared(records)
    smallest = min(found, key=lambda test: test.t_p or 1)
    assert len(found) == 4
    assert smallest.t_holm == pytest.approx(4 * (smallest.t_p or 0))


def test_rows_that_share_their_runs_are_one_hypothesis() -> None:
    """As two variants that differ nowhere on a data set have them."""
    ours = make_records(CC, method="cc")
    shared = make_records([a - i for i, a in enumerate(CC)], method="rc")
    equal = make_records([a - i for i, a in enumerate(CC)], method="proden")
    planned = make_plan([record.spec for record in ours + shared])
    planned += [PlannedRun("rc-again", "RC again", record.spec) for record in shared]
    once = paired_tests(build(ours + shared, PROTOCOL, planned=planned), "cc")
    assert [test.against for test in once] == ["rc", "rc-again"]
    assert once[0].run_ids == once[1].run_ids == tuple(record.run_id for record in shared)
    assert [test.t_holm for test in once] == [once[0].t_p] * 2
    planned += make_plan([record.spec for record in equal])
    twice = paired_tests(build(ours + shared + equal, PROTOCOL, planned=planned), "cc")
    assert [test.t_holm for test in twice] == [pytest.approx(2 * (once[0].t_p or 1))] * 3


def test_pairs_have_the_same_process_and_options() -> None:
    records = [
        *make_records(CC, method="cc"),
        *make_records(RC, method="rc"),
        *make_records(RC, method="cc", candidates=FREE),
        *make_records(CC, method="rc", candidates=FREE),
    ]
    found = {test.candidates: test.difference for test in compared(records)}
    assert found == {
        "uniform": pytest.approx(0.64),
        "uniform:policy=free": pytest.approx(-0.64),
    }
    titles = [sheet.title for sheet in reported(records).sheets]
    assert titles == ["CC on Digits, uniform", "CC on Digits, uniform, policy=free"]


@pytest.mark.parametrize(
    ("other", "note"), [(CC, "identical"), ([a + 1 for a in CC], "no spread"), ([90.0], "n = 1")]
)
def test_differences_without_a_test_say_why(other: list[float], note: str) -> None:
    records = make_records(CC[: len(other)], method="cc") + make_records(other, method="rc")
    [found] = compared(records)
    assert (found.note, found.t_p, found.t_holm) == (note, None, None)


def test_missing_runs_are_not_tested() -> None:
    records = make_records(CC, method="cc") + make_records(RC, method="rc")
    planned = make_plan([record.spec for record in records])
    [found] = paired_tests(build(records[:-1], PROTOCOL, planned=planned), "cc")
    assert (found.note, found.n, found.difference) == ("incomplete", 0, None)


def test_runs_on_other_candidate_sets_are_no_pairs() -> None:
    """As a variant that fixes its data_seed has them."""
    ours, theirs = make_records(CC, method="cc"), make_records(RC, method="rc")
    [found] = compared([*ours, *on_other_sets(theirs[:1]), *theirs[1:]])
    assert (found.note, found.n, found.difference) == ("not paired", 0, None)
    [found] = compared(ours + make_records(RC[:3], method="rc"))
    assert (found.note, found.n, found.difference) == ("not paired", 0, None)


def test_a_row_that_is_not_there_or_there_twice_is_refused() -> None:
    records = make_records(CC, method="cc") + make_records(RC, method="rc")
    with pytest.raises(ValueError, match=r"--tests nobody: must be one of .*: CC|cc, rc"):
        compared(records, "nobody")
    twice = records + make_records(CC, method="cc", train={"epochs": 5})
    with pytest.raises(ValueError, match=r"2 rows on digits \(CC, CC \(epochs=5\)\); select one"):
        compared(twice)


def several() -> list[Record]:
    """Three methods on three data sets; RC wins at each q of digits, but not on average."""
    values = {
        "cc": {0.3: 90.0, 0.7: 80.0, "birdsong": 70.0, "lost": 60.0},
        "rc": {0.3: 90.5, 0.7: 80.5, "birdsong": 69.0, "lost": 60.0},
        "proden": {0.3: 89.0, 0.7: 79.0, "birdsong": 68.0, "lost": 59.0},
    }
    records = make_records([99, 98], method="supervised")
    for method, columns in values.items():
        for column, mean in columns.items():
            half = 1.5 if method == "rc" else 1.0
            accuracies = [mean - half, mean + half]
            if isinstance(column, str):
                records += make_records(accuracies, method=method, dataset=column, q=None)
            else:
                records += make_records(accuracies, method=method, q=column)
    return records


def test_the_noise_rates_of_a_data_set_are_one_block() -> None:
    found, notes = ranks(build(several(), PROTOCOL))
    assert found.num_blocks == 3
    assert found.by_block == {"CC": (2, 1, 1.5), "RC": (1, 2, 1.5), "PRODEN": (3, 3, 3)}
    assert found.average == {"CC": 1.5, "RC": 1.5, "PRODEN": 3.0}
    assert any("k = 3 over N = 3: 1.91" in note for note in notes)


def test_a_setting_on_one_data_set_does_not_change_the_name_in_the_ranks() -> None:
    records = [r for r in several() if r.spec.dataset != "lost"]
    for method in ("cc", "rc", "proden"):
        records += make_records([50], method=method, dataset="lost", q=None, train={"lr": 0.05})
    assert set(ranks(build(records, PROTOCOL))[0].average) == {"CC", "RC", "PRODEN"}


def test_absence_is_not_rewarded() -> None:
    records = [r for r in several() if (r.spec.method, r.spec.dataset) != ("rc", "lost")]
    found, notes = ranks(build(records, PROTOCOL))
    assert set(found.average) == {"CC", "PRODEN"}
    assert notes[-1] == "Left out, since runs are missing or on other candidate sets: RC."


def test_rows_that_share_their_runs_are_ranked_once() -> None:
    records = several()
    planned = make_plan([record.spec for record in records])
    planned += [replace(run, name="again", label="RC again") for run in planned if run.name == "rc"]
    found, notes = ranks(build(records, PROTOCOL, planned=planned))
    assert found.average == {"CC": 1.5, "RC": 1.5, "PRODEN": 3.0}
    assert "Rows that share their runs are ranked once: RC again as RC." in notes


def test_one_split_that_is_easy_is_no_rank() -> None:
    records = several()
    for dataset, mean in (("digits", 99.0), ("birdsong", 99.0), ("lost", 99.0)):
        for q in (0.3, 0.7) if dataset == "digits" else (None,):
            runs = make_records([mean, mean], method="dpll", dataset=dataset, q=q)
            records += on_other_sets(runs)
    found, notes = ranks(build(records, PROTOCOL))
    assert found.average == {"CC": 1.5, "RC": 1.5, "PRODEN": 3.0}
    assert notes[-1].endswith(": DPLL.")


def test_too_few_data_sets_are_said_to_be_too_few() -> None:
    records = [r for r in several() if r.spec.dataset == "lost"]
    assert "N is too small" in " ".join(ranks(build(records, PROTOCOL))[1])


def test_a_report_has_the_tests_of_each_data_set_and_the_ranks() -> None:
    table = build(several(), PROTOCOL)
    report = to_report(paired_tests(table, "rc"), table)
    assert [sheet.title for sheet in report.sheets] == [
        "RC on Digits",
        "RC on BirdSong",
        "RC on Lost",
        "Average ranks over data sets",
    ]
    assert report.sheets[-1].rows[-1] == ("PRODEN", "3.00", "3", "3", "3")


def reported(records: list[Record], name: str = "cc") -> Report:
    table = build(records, PROTOCOL)
    return to_report(paired_tests(table, name), table)


def test_a_line_says_difference_interval_p_and_its_adjustment() -> None:
    report = reported(
        make_records(CC, method="cc")
        + make_records(RC, method="rc")
        + make_records(CC, method="proden")
    )
    [sheet] = report.sheets
    assert sheet.heads == ("Against", "q", "n", "Difference", "p (t)", "Holm")
    assert sheet.rows == (
        ("RC", "0.3", "5", "+0.64 [+0.00, +1.28]", ".049", ".049"),
        ("PRODEN", "0.3", "5", "identical", "--", "--"),
    )
    interval = stats.ttest_rel(CC, RC).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((0.0, 1.28), abs=0.005)
    assert "Difference: CC - the other, " in " ".join(report.notes)
    assert report.notes[-1].startswith("n is too small for Wilcoxon's signed-rank test")


def test_wilcoxon_has_columns_where_n_is_large_enough_for_some_pairs() -> None:
    [sheet] = reported(
        make_records([*CC, 95.0], method="cc")
        + make_records([*RC, 94.5], method="rc")
        + make_records([*CC, 94.0], method="proden")
    ).sheets
    assert sheet.heads[6:] == ("p (Wilcoxon)", "Holm")
    assert [row[6:] for row in sheet.rows] == [(".062", ".062"), ("n too small", "--")]


def test_tests_stand_where_there_are_too_few_rows_for_ranks() -> None:
    records = [r for r in several() if (r.spec.method, r.spec.dataset) != ("rc", "lost")]
    report = reported([r for r in records if r.spec.method != "proden"], "rc")
    assert [sheet.title for sheet in report.sheets] == ["RC on Digits", "RC on BirdSong"]
    assert report.notes[0].startswith("No average ranks: ranks need at least two rows")
