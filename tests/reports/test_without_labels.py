"""Runs without true labels in tables, tests and plots: criteria where others have accuracy."""

import numpy as np
import pytest

from pllbench.reports.aggregate import build_metric_table, build_table
from pllbench.reports.captions import Shown
from pllbench.reports.formats.html import to_html
from pllbench.reports.page import PageSource, build_page
from pllbench.reports.paired_tests import paired_tests, report_tests
from pllbench.reports.plots.accuracy import plot_accuracy
from pllbench.reports.plots.epochs import plot_curves
from pllbench.reports.report import report_table, table_entries
from pllbench.reports.selection_rules import report_rules
from pllbench.reports.table import Table
from pllbench.results.metrics import Metric
from pllbench.results.model_selection import RULES, Select
from pllbench.results.records import Record
from pllbench.spec import ViewSpec
from pllbench.validation import FieldError
from tests.factories import PROTOCOL, make_record, make_spec

RULES_WITHOUT: tuple[Select, ...] = ("covering_rate", "approximated_accuracy", "last", "last10")


def unlabelled(covering: float, method: str = "cc", seed: int = 0) -> Record:
    """A run on `birds`: its covering rate is given, its approximated accuracy is 10 points less."""
    own = {"dataset": "birds", "digest": "b" * 16, "kind": "tabular", "views": ViewSpec()}
    run = make_spec(method, "lost", None, seed).model_copy(update=own)
    record = make_record(run, covering)
    values = {"covering_rate": covering / 100, "approximated_accuracy": (covering - 10) / 100}
    criteria = {name: dict.fromkeys(RULES_WITHOUT, value) for name, value in values.items()}
    result = record.result.model_copy(update={"accuracy": {}, "criteria": criteria})
    return record.model_copy(update={"result": result})


BIRDS = [unlabelled(90), unlabelled(80, seed=1), unlabelled(70, "rc"), unlabelled(70, "rc", 1)]
LOST = [make_record(make_spec("cc", "lost", None), 60)]


def lines(table: Table) -> list[tuple[str, ...]]:
    found = []
    for text in report_table(table).tables:
        found.append(tuple(" ".join(parts) for parts in text.headers))
        found += [tuple(cell.text for cell in row.by_column) for row in text.rows]
    return found


def of(records: list[Record], *metrics: Metric, select: Select = "last10") -> Table:
    return build_metric_table(records, PROTOCOL, Shown(select, metrics or ("accuracy",)))


def test_both_criteria_stand_where_accuracy_would() -> None:
    table = of(BIRDS)
    assert lines(table) == [
        ("birds", "covering rate", "approximated accuracy"),
        ("CC", "85.00 ± 7.07", "75.00 ± 7.07"),
        ("RC", "70.00 ± 0.00", "60.00 ± 0.00"),
    ]
    assert " ".join(table.notes[:3]) == (
        "Criteria of the hold-out (%), since true labels are not known, mean of the last 10 "
        "epochs; mean ± sample std (ddof = 1) over n = 2 seeds. "
        "covering rate: share of hold-out rows whose predicted label is a candidate. "
        "approximated accuracy: mean probability of the predicted label among the candidates of a "
        "hold-out row, 0 where it is none."
    )
    assert [(e.metric, e.mean) for e in table_entries(table) if e.method == "rc"] == [
        ("covering_rate", 70),
        ("approximated_accuracy", pytest.approx(60)),
    ]


def test_data_with_labels_beside_them_keep_their_accuracy() -> None:
    table = of(BIRDS + LOST)
    assert lines(table) == [
        ("Lost", "accuracy"),
        ("CC", "60.00"),
        ("birds", "covering rate", "approximated accuracy"),
        ("CC", "85.00 ± 7.07", "75.00 ± 7.07"),
        ("RC", "70.00 ± 0.00", "60.00 ± 0.00"),
    ]
    assert table.notes[0].startswith(
        "Test accuracy (%); on birds criteria of the hold-out (%), since true labels are not known"
    )


def test_a_criterion_asked_for_by_name_is_alone_and_says_who_has_none() -> None:
    table = of(BIRDS + LOST, "covering_rate")
    assert lines(table)[-2:] == [("CC", "85.00 ± 7.07"), ("RC", "70.00 ± 0.00")]
    assert [cell.note for _, cell in table.cells] == ["true labels", "", ""]
    assert "true labels: runs that can be tested have accuracies instead." in table.notes
    both = of(BIRDS, "accuracy", "covering_rate")
    assert lines(both)[0] == ("birds", "covering rate", "approximated accuracy")


def test_what_has_no_value_is_refused_with_the_reason() -> None:
    with pytest.raises(FieldError, match=r"^select oracle: .* it needs true labels$"):
        build_table(BIRDS, PROTOCOL, "oracle")
    with pytest.raises(FieldError, match=r"^metric covering_rate: .* data without true labels$"):
        of(LOST, "covering_rate")
    with pytest.raises(FieldError, match=r"^metric few: .* it needs long-tailed training rows$"):
        of(BIRDS, "few")


def test_rules_and_tests_have_a_section_a_criterion() -> None:
    rules = report_rules({rule: build_table(BIRDS, PROTOCOL, rule) for rule in RULES_WITHOUT})
    assert [text.title for text in rules.tables] == [
        "birds, covering rate",
        "birds, approximated accuracy",
    ]
    assert "No oracle: it needs true labels." in rules.notes
    assert not [note for note in rules.notes if "no run has a hold-out" in note]
    tests = paired_tests(of(BIRDS), "cc")
    assert [test.metric for test in tests] == ["covering_rate", "approximated_accuracy"]
    assert [test.difference for test in tests] == pytest.approx([15, 15])
    titles = [text.title for text in report_tests(tests, of(BIRDS)).tables]
    assert titles == ["CC on birds, covering rate", "CC on birds, approximated accuracy"]


def test_the_oracle_of_others_stands_beside_them() -> None:
    tables = {rule: build_table(BIRDS + LOST, PROTOCOL, rule) for rule in RULES}
    notes = [cell.note for _, cell in tables["oracle"].cells]
    assert notes == ["", *["no true labels"] * 4]
    assert "no true labels: there is nothing to test on." in tables["oracle"].notes


def test_plots_have_a_panel_a_criterion_and_name_it() -> None:
    figure = plot_accuracy(of(BIRDS + LOST))
    panels = [(axes.get_title(), axes.get_xlabel()) for axes in figure.axes if axes.get_title()]
    assert panels == [
        ("Lost", "test accuracy (%)"),
        ("birds, covering rate", "covering rate of the hold-out (%)"),
        ("birds, approximated accuracy", "approximated accuracy of the hold-out (%)"),
    ]
    columns = {
        record.run_id: {"covering_rate": np.full(200, 0.5), "approximated_accuracy": np.ones(200)}
        for record in BIRDS
    }
    curves = plot_curves(of(BIRDS), columns)
    drawn = {axes.get_ylabel(): axes.lines[0].get_ydata()[0] for axes in curves.axes if axes.lines}  # type: ignore[index]
    assert drawn == {
        "covering rate of the hold-out (%)": 50,
        "approximated accuracy of the hold-out (%)": 100,
    }


def test_a_page_ranks_by_both_criteria_and_names_them() -> None:
    curves = {
        record.run_id: {"covering_rate": np.full(200, 0.5), "approximated_accuracy": np.ones(200)}
        for record in BIRDS
    }
    page = build_page(PageSource(of(BIRDS), BIRDS, curves=curves))
    assert page.quantity == "Criteria of the hold-out"
    assert [" ".join(header) for header in page.leaderboard.headers[-2:]] == [
        "birds covering rate",
        "birds approximated accuracy",
    ]
    assert [row.by_column[0].text for row in page.leaderboard.rows] == ["CC", "RC"]
    [audits, _] = page.provenance
    assert len(audits.rows) == 1
    curve = page.figures["curves"]["cells"][1]  # type: ignore[index, call-overload]
    assert (curve["column"], curve["metric"]["mean"][0]) == (1, 10_000)  # type: ignore[index, call-overload]
    assert "Criteria of the hold-out on birds" in to_html(page)
    assert build_page(PageSource(of(BIRDS + LOST), BIRDS + LOST)).quantity == (
        "Test accuracy, or criteria of the hold-out"
    )
