"""Average ranks of a table's rows over data sets."""

from dataclasses import replace

from pllbench.reports.aggregate import build_table
from pllbench.reports.ranks import (
    Place,
    datasets_to_rank,
    places,
    rank_lines,
    rank_notes,
    rank_rows,
    tabulate_ranks,
)
from pllbench.reports.statistics import rank
from tests.factories import PROTOCOL, make_plan, make_records, on_other_sets
from tests.reports.examples import texts, three_data_sets


def test_the_noise_rates_of_a_data_set_are_one_block() -> None:
    ranks, notes = rank_rows(build_table(three_data_sets(), PROTOCOL))
    assert ranks.num_blocks == 3
    assert ranks.by_block == {"CC": (2, 1, 1.5), "RC": (1, 2, 1.5), "PRODEN": (3, 3, 3)}
    assert ranks.average == {"CC": 1.5, "RC": 1.5, "PRODEN": 3.0}
    assert any("k = 3 over N = 3: 1.91" in note for note in notes)


def test_a_setting_on_one_data_set_does_not_change_the_name_in_the_ranks() -> None:
    records = [r for r in three_data_sets() if r.spec.dataset != "lost"]
    for method in ("cc", "rc", "proden"):
        records += make_records([50], method=method, dataset="lost", q=None, train={"lr": 0.05})
    assert set(rank_rows(build_table(records, PROTOCOL))[0].average) == {"CC", "RC", "PRODEN"}


def test_a_row_that_has_other_settings_on_every_data_set_keeps_its_title() -> None:
    records = three_data_sets()
    for dataset, lr in ("digits", 0.02), ("lost", 0.03), ("birdsong", 0.04):
        for q in (0.3, 0.7) if dataset == "digits" else (None,):
            own = {"lr": lr, "milestones": (0.5, 0.75)}
            records += make_records([50, 51], method="pico", dataset=dataset, q=q, train=own)
    assert set(rank_rows(build_table(records, PROTOCOL))[0].average) == {
        *("CC", "RC", "PRODEN", "PiCO"),
    }


def test_absence_is_not_rewarded() -> None:
    records = [r for r in three_data_sets() if (r.spec.method, r.spec.dataset) != ("rc", "lost")]
    ranks, notes = rank_rows(build_table(records, PROTOCOL))
    assert (ranks.num_blocks, set(ranks.average)) == (2, {"CC", "RC", "PRODEN"})
    over = "Ranked over 2 of 3 data sets, on which most rows have all their runs"
    assert notes[-1] == f"{over}: Digits; BirdSong."
    records += make_records([50, 51, 52], method="pico")
    left = rank_rows(build_table(records, PROTOCOL))[1][-1]
    assert left == "Left out, since runs are missing or on other candidate sets: PiCO."


def test_rows_that_share_their_runs_are_ranked_once() -> None:
    records = three_data_sets()
    planned = make_plan([record.spec for record in records])
    planned += [replace(run, name="again", label="RC again") for run in planned if run.name == "rc"]
    ranks, notes = rank_rows(build_table(records, PROTOCOL, planned=planned))
    assert ranks.average == {"CC": 1.5, "RC": 1.5, "PRODEN": 3.0}
    assert "Rows that share their runs are ranked once: RC again as RC." in notes


def test_one_split_that_is_easy_is_no_rank() -> None:
    records = three_data_sets()
    for dataset, mean in (("digits", 99.0), ("birdsong", 99.0), ("lost", 99.0)):
        for q in (0.3, 0.7) if dataset == "digits" else (None,):
            runs = make_records([mean, mean], method="dpll", dataset=dataset, q=q)
            records += on_other_sets(runs)
    ranks, notes = rank_rows(build_table(records, PROTOCOL))
    assert ranks.average == {"CC": 1.5, "RC": 1.5, "PRODEN": 3.0}
    assert notes[-1].endswith(": DPLL.")


def test_too_few_data_sets_are_said_to_be_too_few() -> None:
    records = [r for r in three_data_sets() if r.spec.dataset == "lost"]
    assert "N is too small" in " ".join(rank_rows(build_table(records, PROTOCOL))[1])


def test_ranks_are_printed_best_first_with_those_of_each_data_set() -> None:
    table = tabulate_ranks(build_table(three_data_sets(), PROTOCOL))
    assert table.headers == (("Method",), ("Average rank",), ("Digits",), ("BirdSong",), ("Lost",))
    assert list(map(texts, table.rows)) == [
        ("CC", "1.50", "2", "1", "1.5"),
        ("RC", "1.50", "1", "2", "1.5"),
        ("PRODEN", "3.00", "3", "3", "3"),
    ]


def test_of_several_rows_of_a_method_that_without_further_settings_goes_on() -> None:
    records = three_data_sets()
    records += make_records([99, 99], method="cc", dataset="lost", q=None, train={"lr": 0.05})
    ranks, notes = rank_rows(build_table(records, PROTOCOL))
    assert ranks.average == {"CC": 1.5, "RC": 1.5, "PRODEN": 3.0}
    assert notes[-1].endswith(": CC (lr=0.05).")


def test_ranks_are_over_the_data_sets_that_most_lines_share() -> None:
    """4 methods on 2 data sets and 3 on 3 give 3 and 4 degrees of freedom."""
    records = three_data_sets()
    for dataset, q in (("digits", 0.3), ("digits", 0.7), ("lost", None)):
        records += make_records([70, 70], method="pico", dataset=dataset, q=q)
    table = build_table(records, PROTOCOL)
    assert datasets_to_rank(table) == ["digits", "birdsong", "lost"]
    records += make_records([70, 70], method="dpll", q=0.3)
    records += make_records([70, 70], method="dpll", q=0.7)
    records += make_records([60, 60], method="dpll", dataset="lost", q=None)
    table = build_table(records, PROTOCOL)  # of equally many, 4, the one with more lines
    assert datasets_to_rank(table) == ["digits", "lost"]
    ranked = rank_lines(table, datasets_to_rank(table))
    assert ranked.datasets == ["digits", "lost"]
    assert len(ranked.ranks.average) == 5


def test_the_place_of_a_line_is_what_the_critical_difference_leaves_open() -> None:
    """Four lines over 30 blocks: 0.86, so the first and the second differ from the others."""
    scores = {"a": [9.0] * 15 + [8.0] * 15, "b": [8.0] * 15 + [9.0] * 15, "c": [7.0] * 30}
    ranks = rank(scores | {"d": [6.0] * 29 + [7.5]})
    assert round(ranks.critical_difference, 2) == 0.86
    assert places(ranks) == {
        "a": Place(1.5, 1, 2, "a"),
        "b": Place(1.5, 1, 2, "a"),
        "c": Place(91 / 30, 3, 3, "b"),
        "d": Place(119 / 30, 4, 4, "c"),
    }
    assert places(rank({"a": [2.0, 2.0], "b": [1.0, 1.0]})) == {
        "a": Place(1.0, 1, 2, "a"),
        "b": Place(2.0, 1, 2, "a"),
    }


def test_a_small_p_is_below_and_not_equal() -> None:
    table = build_table(three_data_sets(), PROTOCOL)
    lines = rank_lines(table, datasets_to_rank(table))
    notes = [
        " ".join(rank_notes(replace(lines, ranks=replace(lines.ranks, friedman_p=p))))
        for p in (0.0004, 0.25)
    ]
    assert "all are alike: p < .001." in notes[0]
    assert "all are alike: p = .250." in notes[1]
