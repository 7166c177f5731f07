"""Tuned rows: ranked within a budget, and beside the same rows with default settings."""

import json

import numpy as np
import pytest

from pllbench.budget import Budget, TuningSpec
from pllbench.reports.aggregate import build_metric_table, build_table
from pllbench.reports.captions import Shown
from pllbench.reports.formats.render import to_text
from pllbench.reports.paired_tests import paired_tests
from pllbench.reports.plots.critical_difference import Diagram, plot_ranks
from pllbench.reports.plots.figure import save
from pllbench.reports.plots.tuning import plot_tuning
from pllbench.reports.ranks import rank_rows, ranks_title, tabulate_ranks
from pllbench.reports.table import Table
from pllbench.reports.tuning_worth import report_tuning, tuning_worth
from pllbench.results.records import Record
from tests.factories import PROTOCOL, make_records
from tests.reports.examples import texts

BUDGET = Budget(trials=(20,), space="3f2a91bc")
LESS = Budget(trials=(5,), space="3f2a91bc")
WORDS = "20 trials, covering_rate, seeds 100, space 3f2a91bc"


def tuned(budget: Budget = BUDGET, own: str = "77aa01ce") -> TuningSpec:
    return TuningSpec(budget=budget, own_space=own, train=("lr",))


def records() -> list[Record]:
    """Two methods on two data sets, with default and with tuned settings."""
    found: list[Record] = []
    for dataset, q in (("digits", 0.3), ("lost", None)):
        for method, default, better in (("cc", 80.0, 82.0), ("rc", 81.0, 81.5)):
            where = {"dataset": dataset, "q": q, "method": method}
            found += make_records([default - 1, default, default + 1], **where)
            train = {"lr": 0.03 if method == "cc" else 0.04}
            found += make_records(
                [better - 1, better, better + 2.5], **where, train=train, tuning=tuned()
            )
    return found


def table(more: list[Record] | None = None, *, mixed: bool = False) -> Table:
    shown = Shown(mixed_budgets=mixed)
    return build_metric_table([*records(), *(more or [])], PROTOCOL, shown)


def marks(found: Table) -> dict[str, str]:
    return {row.label: row.cells[0].mark for row in found.blocks[0].rows if row.cells[0]}


def test_a_tuned_row_says_what_its_search_was_given_instead_of_what_it_found() -> None:
    labels = [row.label for row in table().blocks[0].rows]
    assert labels == [
        "CC",
        f"CC (tuned: {WORDS}/77aa01ce)",
        "RC",
        f"RC (tuned: {WORDS}/77aa01ce)",
    ]
    assert [row.untuned_label for row in table().blocks[0].rows] == ["CC", "CC", "RC", "RC"]


def test_best_and_second_best_are_those_of_a_budget() -> None:
    assert list(marks(table()).values()) == ["second", "best", "best", "second"]
    # 80, 82.5, 81, 82 together
    assert list(marks(table(mixed=True)).values()) == ["", "best", "", "second"]
    assert "Tuned rows and rows with default settings are ranked apart" in " ".join(table().notes)
    assert "Mixed budgets:" in " ".join(table(mixed=True).notes)
    plain = build_table([r for r in records() if not r.spec.tuning], PROTOCOL)
    assert "udget" not in " ".join(plain.notes)


def test_ranks_are_those_of_a_budget() -> None:
    assert table().budgets == ["", WORDS]
    assert rank_rows(table())[0].average == {"CC": 2.0, "RC": 1.0}
    assert rank_rows(table(), WORDS)[0].average == {"CC": 1.0, "RC": 2.0}
    together = rank_rows(table(mixed=True))[0].average
    assert list(together.values()) == [4.0, 1.0, 3.0, 2.0]
    assert ranks_title(table(), "") == "Average ranks over data sets, default settings"
    assert tabulate_ranks(table(), WORDS).title == f"Average ranks over data sets, tuned: {WORDS}"
    assert ranks_title(table(mixed=True), "") == "Average ranks over data sets"


def test_tests_compare_rows_of_a_budget() -> None:
    tests = paired_tests(table(), "cc")
    assert {(test.dataset, test.label) for test in tests} == {
        (dataset, label)
        for dataset in ("digits", "lost")
        for label in ("RC", f"RC (tuned: {WORDS}/77aa01ce)")
    }
    with pytest.raises(ValueError, match="2 rows on digits"):
        paired_tests(table(mixed=True), "cc")


def test_the_worth_of_tuning_is_a_paired_difference() -> None:
    found = tuning_worth(table())
    assert [(w.dataset, w.label, w.n) for w in found] == [
        ("digits", "CC", 3),
        ("digits", "RC", 3),
        ("lost", "CC", 3),
        ("lost", "RC", 3),
    ]
    first = found[0]
    # differences 2, 2, 3.5: mean 2.5, std sqrt(0.75), times 4.30265 / sqrt(3)
    numbers = [first.default, first.tuned, first.difference, first.low, first.high]
    assert numbers == pytest.approx([80.0, 82.5, 2.5, 0.3487, 4.6513], abs=1e-4)
    assert (first.method, first.budget) == ("cc", WORDS)


def test_cells_that_no_search_has_seen_are_left_out() -> None:
    more = make_records([70, 71, 72], method="cc", dataset="digits", q=0.7)
    found = tuning_worth(table(more))
    assert {(w.dataset, w.q) for w in found} == {("digits", 0.3), ("lost", None)}


def test_what_is_said_of_one_budget_alone_names_it() -> None:
    """A third method, last with default settings, is between the two others on Lost when tuned."""
    more: list[Record] = []
    for dataset, q, better in (("digits", 0.3, 70.0), ("lost", None, 82.2)):
        where = {"dataset": dataset, "q": q, "method": "proden"}
        more += make_records([69, 70, 71], **where)
        more += make_records([better] * 3, **where, train={"lr": 0.05}, tuning=tuned())
    notes = report_tuning(table(more)).tables[-1].notes
    assert [note for note in notes if ":" in note and note.startswith(("Default", "Tuned"))] == [
        "Default: Friedman's test that all are alike: p = .135.",
        "Tuned: Friedman's test that all are alike: p = .223.",
    ]
    assert sum("Nemenyi" in note for note in notes) == 1


def test_the_report_has_ranks_before_and_after_side_by_side() -> None:
    report = report_tuning(table())
    digits, lost, ranks = report.tables
    assert (digits.title, lost.title) == ("Digits", "Lost")
    assert texts(digits.rows[0]) == ("CC", "0.3", "3", "80.00", "82.50", "+2.50 [+0.35, +4.65]")
    assert ranks.headers == (("Method",), ("Default",), ("Tuned",))
    assert list(map(texts, ranks.rows)) == [("RC", "1.00", "2.00"), ("CC", "2.00", "1.00")]
    assert f"Tuned: {WORDS}." in report.notes
    for form in ("markdown", "latex", "csv"):
        assert "2.5" in to_text(report, form)
    assert json.loads(to_text(report, "json"))[0]["budget"] == WORDS


def test_each_of_several_budgets_is_compared_and_named() -> None:
    more = make_records([85, 86, 87], method="cc", train={"lr": 0.2}, tuning=tuned(LESS))
    found = tuning_worth(table(more))
    assert [w.budget for w in found if w.dataset == "digits"] == [WORDS, LESS.words, WORDS]
    report = report_tuning(table(more))
    assert texts(report.tables[0].rows[1])[0] == f"CC ({LESS.words})"


def test_what_cannot_be_paired_says_why() -> None:
    few = [r for r in records() if not r.spec.tuning or r.spec.seed < 2]
    notes = {w.note for w in tuning_worth(build_table(few, PROTOCOL))}
    assert notes == {"not paired"}
    with pytest.raises(ValueError, match="no row here is there both with tuned settings"):
        tuning_worth(build_table([r for r in records() if r.spec.tuning], PROTOCOL))


def test_two_own_spaces_are_two_rows() -> None:
    other = make_records([70, 71, 72], method="cc", train={"lr": 0.2}, tuning=tuned(own="0badcafe"))
    labels = [row.label for row in table(other).blocks[0].rows]
    assert f"CC (tuned: {WORDS}/0badcafe)" in labels
    assert len(rank_rows(table(other), WORDS)[0].average) == 2, "the third lacks runs on lost"


def test_the_figure_has_a_panel_a_column_and_a_row_a_method() -> None:
    figure = plot_tuning(table())
    assert [axes.get_title() for axes in figure.axes] == ["Digits, q = 0.3", "Lost"]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["CC", "RC"]
    assert figure.axes[0].get_xlabel() == "tuned - default (points)"
    ends = [np.asarray(line.get_xdata(), float) for line in figure.axes[0].lines]
    assert list(ends[0]) == pytest.approx([0.3487, 4.6513], abs=1e-4)


def test_a_diagram_of_ranks_a_budget(tmp_path_factory: pytest.TempPathFactory) -> None:
    diagrams = [
        Diagram(*rank_rows(table(), budget), ranks_title(table(), budget)) for budget in ("", WORDS)
    ]
    figure = plot_ranks(diagrams)
    assert len(figure.axes) == 2
    titles = [axes.texts[0].get_text() for axes in figure.axes]
    assert titles == [ranks_title(table(), budget) for budget in ("", WORDS)]
    heights = [axes.get_position() for axes in figure.axes]
    assert heights[0].y0 > heights[1].y1, "one below the other"
    save(figure, tmp_path_factory.mktemp("ranks") / "ranks.svg")
