"""Long-tailed runs in tables: a block an imbalance, a column a metric, missing values, matching."""

from collections.abc import Mapping

import pytest

from pllbench.grid.plan import Selection
from pllbench.reports.aggregate import build_metric_table, build_table
from pllbench.reports.captions import Shown
from pllbench.reports.paired_tests import paired_tests, report_tests
from pllbench.reports.ranks import rank_rows
from pllbench.reports.report import report_table, table_entries
from pllbench.reports.selection_rules import report_rules
from pllbench.results.filter import Filter
from pllbench.results.metrics import METRICS, ClassMetric, Metric
from pllbench.results.records import Record
from pllbench.spec import PruningSpec
from pllbench.validation import FieldError
from tests.factories import PROTOCOL, make_record, make_spec

ALL: tuple[Metric, ...] = ("accuracy", "many", "medium", "few")

BY_CLASS: Mapping[ClassMetric, float] = {"balanced": 0, "many": 10, "medium": 0, "few": -30}
"""How far a metric of `tailed` lies from its accuracy, in percentage points."""


def tailed(accuracy: float, imbalance: float = 10, **spec: object) -> Record:
    """A long-tailed run whose last epochs have accuracies by class."""
    record = make_record(make_spec(imbalance=imbalance, **spec), accuracy)  # type: ignore[arg-type]
    values = {metric: (accuracy + shift) / 100 for metric, shift in BY_CLASS.items()}
    by_class = {m: {"last10": value, "last": value} for m, value in values.items()}
    result = record.result.model_copy(update={"class_accuracy": by_class})
    return record.model_copy(update={"result": result})


def shown(records: list[Record], *metrics: Metric) -> list[tuple[str, ...]]:
    """Headers and rows of the printed tables, without their spread."""
    table = build_metric_table(records, PROTOCOL, Shown(metrics=metrics))
    lines = []
    for text in report_table(table).tables:
        lines.append(tuple(" ".join(parts) for parts in text.headers))
        lines += [tuple(cell.text for cell in row.by_column) for row in text.rows]
    return lines


def test_each_imbalance_is_a_block_with_its_own_reference() -> None:
    records = [
        make_record(make_spec(q=0.3), 90),
        tailed(70),
        tailed(60, 20),
        make_record(make_spec("supervised", imbalance=10), 80),
        make_record(make_spec("supervised", imbalance=20), 75),
    ]
    assert shown(records, "accuracy") == [
        ("Digits", "q = 0.3"),
        ("CC", "90.00"),
        ("Digits, imbalance 10", "q = 0.3"),
        ("Fully supervised", "80.00"),
        ("CC", "70.00"),
        ("Digits, imbalance 20", "q = 0.3"),
        ("Fully supervised", "75.00"),
        ("CC", "60.00"),
    ]


def test_each_metric_has_a_column_in_the_order_asked_for() -> None:
    records = [tailed(70), tailed(60, q=0.5), make_record(make_spec("rc", imbalance=10), 50)]
    assert shown(records, "few", "accuracy") == [
        (
            "Digits, imbalance 10",
            "q = 0.3 few",
            "q = 0.3 accuracy",
            "q = 0.5 few",
            "q = 0.5 accuracy",
        ),
        ("CC", "40.00", "70.00", "30.00", "60.00"),
        ("RC", "--", "50.00", "--", "--"),
    ]
    table = build_metric_table(records, PROTOCOL, Shown(metrics=("few",)))
    assert [cell.note for _, cell in table.cells] == ["", "", "not long-tailed"]
    notes = " ".join(table.notes)
    assert f"few: {METRICS['few']}." in notes
    assert "not long-tailed: runs without imbalance have no accuracies by class." in notes


def test_a_reference_spans_the_columns_of_one_metric_or_has_one_each() -> None:
    records = [tailed(70), tailed(60, q=0.5), tailed(90, method="supervised", q=None)]
    assert shown(records, "many")[1] == ("Fully supervised", "100.00", "100.00")
    assert shown(records, "many", "few")[1] == (
        "Fully supervised",
        "100.00",
        "60.00",
        "100.00",
        "60.00",
    )
    assert shown(records[2:], "many", "few") == [
        ("Digits, imbalance 10", "many", "few"),
        ("Fully supervised", "100.00", "60.00"),
    ]


def test_the_best_of_a_column_is_that_of_its_metric() -> None:
    better = tailed(72, method="rc")
    values = dict(better.result.class_accuracy) | {"few": {"last10": 0.1}}
    result = better.result.model_copy(update={"class_accuracy": values})
    records = [tailed(70), better.model_copy(update={"result": result})]
    table = build_metric_table(records, PROTOCOL, Shown(metrics=("accuracy", "few")))
    marks = {(row.name, cell.column.metric): cell.mark for row, cell in table.cells}
    assert marks == {
        ("cc", "accuracy"): "second",
        ("cc", "few"): "best",
        ("rc", "accuracy"): "best",
        ("rc", "few"): "second",
    }


def test_entries_name_imbalance_and_metric() -> None:
    table = build_metric_table([tailed(70)], PROTOCOL, Shown(metrics=("balanced", "few")))
    entries = table_entries(table)
    assert [(e.candidates, e.imbalance) for e in entries] == [("uniform", 10.0)] * 2
    assert [e.metric for e in entries] == ["balanced", "few"]
    assert [e.mean for e in entries] == pytest.approx([70, 40])


def test_rules_tests_and_ranks_keep_imbalances_apart() -> None:
    records = [
        tailed(a + seed, imbalance, method=method, seed=seed)
        for imbalance in (10, 20)
        for method, a in (("cc", 60), ("rc", 62 + imbalance / 10))
        for seed in (0, 1, 2)
    ]
    table = build_metric_table(records, PROTOCOL, Shown(metrics=("few",)))
    titles = [text.title for text in report_rules({"last10": table}).tables]
    assert titles == ["Digits, imbalance 10", "Digits, imbalance 20"]
    tests = paired_tests(table, "rc")
    assert [(test.imbalance, test.metric) for test in tests] == [(10.0, "few"), (20.0, "few")]
    assert [test.difference for test in tests] == pytest.approx([3, 4])
    printed = report_tests(tests, table).tables
    assert [text.title for text in printed[:2]] == [
        "RC on Digits, imbalance 10",
        "RC on Digits, imbalance 20",
    ]
    assert rank_rows(table)[0].num_blocks == 2


def test_a_data_set_at_two_imbalances_is_ranked_at_each() -> None:
    """CC leads at 10 and RC at 20, so neither is ahead."""
    values = {("cc", 10): 70, ("rc", 10): 60, ("cc", 20): 50, ("rc", 20): 55}
    records = [tailed(value, tail, method=name) for (name, tail), value in values.items()]
    table = build_table(records, PROTOCOL)
    lines = {key: list(rows) for key, rows in table.lines().items()}
    blocks = ["digits, imbalance 10", "digits, imbalance 20"]
    assert lines == {"cc": blocks, "rc": blocks}
    ranks, _ = rank_rows(table)
    assert ranks.by_block == {"CC": (1, 2), "RC": (2, 1)}
    assert ranks.average == {"CC": 1.5, "RC": 1.5}


def test_a_metric_that_no_run_has_is_refused() -> None:
    with pytest.raises(FieldError, match="metric few: no run here has a value of it"):
        build_metric_table([make_record(make_spec(), 70)], PROTOCOL, Shown(metrics=("few",)))


def test_pruned_and_annotated_sets_are_columns_of_their_own() -> None:
    pruning = PruningSpec(tau=0.6, k=5)
    records = [
        make_record(make_spec(), 70),
        make_record(make_spec(pruning=pruning), 75),
        make_record(make_spec(dataset="lost", q=None), 60),
        make_record(make_spec(dataset="lost", q=None, annotations="votes=2"), 65),
    ]
    columns = [cell.column.candidates for _, cell in build_table(records, PROTOCOL).cells]
    assert columns == ["uniform", "uniform:prune tau=0.6 k=5", "real", "real:votes=2"]
    assert shown(records, "accuracy") == [
        ("Digits", "uniform q = 0.3", "uniform prune tau=0.6 k=5 q = 0.3"),
        ("CC", "70.00", "75.00"),
        ("Lost", "real candidate sets", "real candidate sets votes=2"),
        ("CC", "60.00", "65.00"),
    ]


def test_a_filter_takes_imbalances() -> None:
    kept = Filter(Selection(imbalance=(10.0, 20.0)))
    allowed = [kept.allows(make_spec(imbalance=ratio)) for ratio in (1.0, 10.0, 20.0, 50.0)]
    assert allowed == [False, True, True, False]
