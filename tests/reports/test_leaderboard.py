"""The leaderboard: who stands where, and what is said of each line."""

from pllbench.reports.aggregate import build_table
from pllbench.reports.leaderboard import (
    Leaderboard,
    build_leaderboard,
    leaderboard_table,
)
from pllbench.reports.ranks import Place
from pllbench.results.records import Record
from tests.factories import PROTOCOL, make_records
from tests.reports.pages import FACTS, example_runs, timed


def board_of(runs: list[Record]) -> Leaderboard:
    return build_leaderboard(build_table(runs, PROTOCOL), runs, FACTS)


def test_lines_go_by_average_rank_then_those_without_one_then_references() -> None:
    board = board_of(example_runs())
    assert [line.label for line in board.lines] == [
        "PRODEN",
        "RC",
        "CC",
        "PiCO",
        "Fully supervised",
    ]
    assert [line.place for line in board.lines][2:] == [Place(3.0, 2, 3, "b"), None, None]
    assert board.ranked
    assert board.ranked.datasets == ["digits", "birdsong", "lost"]
    assert "Ranked over 3 data sets: Digits; BirdSong; Lost." in board.notes
    assert "No rank: one row that lacks runs there, or with other candidate sets." in board.notes


def test_a_line_goes_on_over_data_sets_and_its_further_rows_are_lines() -> None:
    runs = example_runs()
    runs += make_records([10, 11], method="cc", dataset="lost", q=None, train={"lr": 0.05})
    labels = [line.label for line in board_of(runs).lines]
    assert labels[:3] == ["PRODEN", "RC", "CC"]
    assert "CC (lr=0.05)" in labels[3:]


def test_seconds_are_the_mean_over_data_sets_of_the_mean_run() -> None:
    runs = [timed(r, 10.0 + 20 * r.spec.seed) for r in make_records([80, 90], method="cc")]
    runs += [timed(r, 100.0) for r in make_records([80], dataset="lost", q=None)]
    runs += [timed(r, 1.0) for r in make_records([80, 90], method="rc")]
    runs += [timed(r, 1.0) for r in make_records([81], method="rc", dataset="lost", q=None)]
    runs += [timed(r, 9.0) for r in make_records([70], method="pico", dataset="lost", q=None)]
    seconds = {line.label: line.seconds for line in board_of(runs).lines}
    assert seconds == {"CC": (20 + 100) / 2, "RC": 1.0, "PiCO": None}


def test_what_cannot_be_ranked_is_still_listed() -> None:
    board = board_of(make_records([80, 90]))
    assert board.ranked is None
    assert [line.label for line in board.lines] == ["CC"]
    assert board.notes[0].startswith("Not ranked: ranks need two methods")


def test_a_row_has_rank_places_group_accuracies_seconds_and_facts() -> None:
    table = leaderboard_table(board_of(example_runs()))
    assert [" ".join(parts) for parts in table.headers] == [
        *("Method", "Average rank", "Places", "Tie group", "Seconds", "Family", "Year"),
        *("Digits q = 0.1", "Digits q = 0.3", "Digits q = 0.7"),
        *("BirdSong accuracy", "Lost accuracy"),
    ]
    first = table.rows[0].cells
    assert [cell.text for cell in first[:4]] == ["PRODEN", "1.00", "1 to 2", "a"]
    assert [cell.text for cell in first[5:7]] == ["confidence", "2020"]
    assert (first[7].text, first[7].mark) == ("91.17 ± 1.15", "best")
    pico = [cell.text for cell in table.rows[3].cells]
    assert pico[1:7] == ["", "", "", "--", "other", ""]
    assert pico[7:] == ["", "", "", "", "61.00 ± 1.00"]
