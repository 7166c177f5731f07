"""The method and epoch that the criteria of a hold-out pick."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from pllbench.budget import Criterion
from pllbench.reports.choice import ChosenEntry, choose_methods, report_choices
from pllbench.reports.groups import recorded_groups
from pllbench.results.curves import Curves
from pllbench.results.model_selection import chosen_epoch
from pllbench.results.records import Record
from pllbench.validation import FieldError
from tests.factories import PROTOCOL, make_record, make_spec

Values = Sequence[Sequence[float]]
"""Covering rates by seed and epoch."""


def column(covering: Sequence[float], approximated: Sequence[float] | None = None) -> Curves:
    """The columns of a run; its test accuracy falls as its covering rate rises."""
    rates = np.array(covering)
    other = rates / 2 if approximated is None else np.array(approximated)
    return {"covering_rate": rates, "approximated_accuracy": other, "accuracy": 1 - rates}


def choose(
    methods: Mapping[str, Values],
    criterion: Criterion = "covering_rate",
    others: Mapping[str, Values] | None = None,
) -> list[ChosenEntry]:
    runs: dict[str, Record] = {}
    columns: dict[str, Curves] = {}
    for method, by_seed in methods.items():
        for seed, covering in enumerate(by_seed):
            spec = make_spec(method, train={"epochs": len(covering)}, seed=seed)
            runs[spec.run_id] = make_record(spec, 50)
            approximated = others[method][seed] if others else None
            columns[spec.run_id] = column(covering, approximated)
    return choose_methods(recorded_groups(runs, PROTOCOL), columns, criterion)


def test_the_epoch_is_that_of_the_highest_mean_over_seeds() -> None:
    runs = [column([0.2, 0.9, 0.5]), column([0.2, 0.1, 0.7])]
    assert chosen_epoch(runs, "covering_rate") == 2
    tie = [column([0.5, 0.5, 0.5], [0.1, 0.3, 0.2])]
    assert chosen_epoch(tie, "covering_rate") == 1
    assert chosen_epoch([column([0.5, 0.5], [0.2, 0.2])], "covering_rate") == 1
    assert chosen_epoch(tie, "approximated_accuracy") == 1


def test_the_best_method_comes_first_with_intervals() -> None:
    best, second = choose({"cc": [[0.5, 0.6], [0.5, 0.8]], "rc": [[0.7, 0.6], [0.9, 0.8]]})
    assert (best.method, best.epoch, best.epochs, best.n, best.chosen) == ("rc", 1, 2, 2, True)
    assert (second.method, second.epoch, second.chosen) == ("cc", 2, False)
    assert best.mean == pytest.approx(80)
    assert (best.low, best.high) == (0, 100)  # 80 +- 12.7 * 10, and no share is beyond these
    assert second.behind == pytest.approx(10)
    assert second.behind_low == second.behind_high == pytest.approx(10)
    assert best.behind is None


def test_the_interval_is_students() -> None:
    (choice,) = choose({"cc": [[0.50], [0.52], [0.54], [0.56]]})
    margin = 3.182446 * 2.581989 / 2  # t(0.975, 3) * std / sqrt(4)
    assert choice.mean == pytest.approx(53)
    assert choice.low == pytest.approx(53 - margin, abs=1e-4)
    assert choice.high == pytest.approx(53 + margin, abs=1e-4)


def test_no_true_label_takes_part() -> None:
    """The accuracies of `column` would choose the other method and the other epoch."""
    (best, _) = choose({"cc": [[0.5, 0.6]], "rc": [[0.4, 0.3]]})
    assert (best.method, best.epoch) == ("cc", 2)
    learns = make_spec("supervised", train={"epochs": 1})
    runs = {learns.run_id: make_record(learns, 99)}
    with pytest.raises(FieldError, match=r"^holdout: no run here has one"):
        choose_methods(
            recorded_groups(runs, PROTOCOL), {learns.run_id: column([0.9])}, "covering_rate"
        )


def test_the_other_criterion_breaks_ties_of_methods() -> None:
    same = {"cc": [[0.5]], "rc": [[0.5]]}
    others = {"cc": [[0.1]], "rc": [[0.2]]}
    assert [c.method for c in choose(same, others=others)] == ["rc", "cc"]
    assert [c.method for c in choose(same, others={"cc": [[0.3]], "rc": [[0.2]]})] == ["cc", "rc"]
    chosen = choose(same, "approximated_accuracy", others)
    assert [(c.method, c.mean) for c in chosen] == [("rc", 20), ("cc", 10)]


def test_one_seed_has_no_interval_and_other_seeds_no_difference() -> None:
    best, second = choose({"cc": [[0.5]], "rc": [[0.4]]})
    assert (best.low, best.high) == (None, None)
    assert second.behind == pytest.approx(10)
    assert second.behind_low is None
    unpaired = choose({"cc": [[0.5], [0.5]], "rc": [[0.4]]})[1]
    assert (unpaired.method, unpaired.behind, unpaired.n) == ("rc", None, 1)


def test_runs_without_a_hold_out_take_no_part() -> None:
    spec, held = make_spec("cc"), make_spec("rc")
    runs = {spec.run_id: make_record(spec, 50), held.run_id: make_record(held, 50)}
    columns = {spec.run_id: {"accuracy": np.ones(200)}, held.run_id: column([0.5] * 200)}
    (choice,) = choose_methods(recorded_groups(runs, PROTOCOL), columns, "covering_rate")
    assert choice.method == "rc"


def test_each_column_has_a_choice_of_its_own() -> None:
    runs, columns = {}, {}
    for method, q, rate in (("cc", 0.1, 0.9), ("rc", 0.1, 0.8), ("cc", 0.3, 0.6), ("rc", 0.3, 0.7)):
        spec = make_spec(method, q=q, train={"epochs": 1})
        runs[spec.run_id], columns[spec.run_id] = make_record(spec, 50), column([rate])
    choices = choose_methods(recorded_groups(runs, PROTOCOL), columns, "covering_rate")
    assert [(c.method, c.q) for c in choices if c.chosen] == [("cc", 0.1), ("rc", 0.3)]
    report = report_choices(choices)
    assert [text.title for text in report.tables] == [
        "Digits, uniform, q = 0.1",
        "Digits, uniform, q = 0.3",
    ]
    assert report.notes[0] == (
        "Chosen: CC (epochs=1), epoch 1 of 1; not told apart from RC (epochs=1) on Digits, "
        "uniform, q = 0.1."
    )


def test_the_report_marks_the_choice_and_says_what_is_close() -> None:
    choices = choose({"cc": [[0.50], [0.52]], "rc": [[0.90], [0.91]], "lws": [[0.89], [0.93]]})
    report = report_choices(choices)
    (table,) = report.tables
    assert table.title == "Digits, uniform, q = 0.3"
    assert [tuple(cell.text for cell in row.cells) for row in table.rows] == [
        ("LWS (epochs=1)", "1 of 1", "91.00 [65.59, 100.00]", ""),
        ("RC (epochs=1)", "1 of 1", "90.50 [84.15, 96.85]", "+0.50 [-18.56, +19.56]"),
        ("CC (epochs=1)", "1 of 1", "51.00 [38.29, 63.71]", "+40.00 [+27.29, +52.71]"),
    ]
    assert [row.cells[2].mark for row in table.rows] == ["best", "", ""]
    assert report.notes[0] == (
        "Chosen: LWS (epochs=1), epoch 1 of 1; not told apart from RC (epochs=1)."
    )
    assert "mean over n = 2 seeds, at the epoch where it is highest" in report.notes[1]
    assert list(choices[0].values()) == ChosenEntry.header.split(",")
