"""Settings that all rows share stand below a table, not in each of its labels."""

from collections.abc import Sequence

import pytest

from pllbench.grid.benchmark import load_benchmark
from pllbench.grid.plan import Selection, plan
from pllbench.reports.aggregate import build_table
from pllbench.reports.paired_tests import paired_tests, report_tests
from pllbench.reports.ranks import tabulate_ranks
from pllbench.reports.report import Report, report_table
from pllbench.reports.selection_rules import report_rules
from pllbench.reports.shared_settings import without_settings
from pllbench.reports.styles import style_rows
from pllbench.reports.table import Table
from pllbench.results.records import Record
from tests.factories import PROTOCOL, make_record, make_records


def labels(report: Report) -> list[str]:
    return [row.cells[0].text for table in report.tables for row in table.rows]


def said(table: Table) -> list[str]:
    """What the caption says of shared settings."""
    return [note for note in table.notes if note.startswith("Shared")]


def test_rows_of_a_benchmark_say_what_differs_among_them() -> None:
    benchmark = load_benchmark("valen_real")
    planned = plan(Selection(benchmark=benchmark, datasets=("lost", "msrcv2")))
    records = [make_record(run.spec, 60 + i % 7) for i, run in enumerate(planned)]
    table = build_table(records, PROTOCOL, planned=planned, benchmark=benchmark)
    names = ["PRODEN", "RC", "CC", "GA", "CLPL", "PL-SVM", "PL-kNN", "IPAL"]
    own = "input_weight=1.0, kl_weight=0.01, encoder_weight=20.0"
    assert labels(report_table(table)) == [f"VALEN ({own})", *names] * 2
    shared = "epochs=500, batch_size=100, lr=0.01, milestones=(1.0,), folds=5"
    assert said(table) == [f"Shared settings: {shared}."]
    assert [style.label for style in style_rows(table).values()] == [f"VALEN ({own})", *names]
    ranked = {row.cells[0].text for row in tabulate_ranks(table).rows}
    assert ranked == {f"VALEN ({own})", *names}
    tested = report_tests(paired_tests(table, "cc"), table)
    assert labels(tested)[:3] == [f"VALEN ({own})", "PRODEN", "RC"]
    assert tested.tables[0].title == "CC on Lost"
    assert [row.label for row in table.blocks[0].rows][2] == f"RC ({shared})", "as in CSV"
    assert labels(report_rules({"last10": table}))[2] == "RC"


def shared_of(*records: Sequence[Record]) -> tuple[str, ...]:
    return build_table([one for some in records for one in some], PROTOCOL).shared


def test_a_setting_is_shared_where_all_rows_have_its_value() -> None:
    short = {"epochs": 20}
    cc, rc = make_records([90.0], train=short), make_records([91.0], method="rc", train=short)
    assert shared_of(cc, rc) == ("epochs=20",)
    assert shared_of(cc) == (), "nothing to share it with"
    assert shared_of(cc, rc, make_records([92.0], method="proden")) == ()
    fitted = make_records([93.0], method="pl_knn", train=short)
    assert shared_of(cc, rc, fitted) == ("epochs=20",), "a fitted method has no epochs"
    assert shared_of(cc, make_records([91.0], method="rc", train={"epochs": 30})) == ()


@pytest.mark.parametrize(
    ("label", "left"),
    [
        ("CC (folds=5)", "CC"),
        ("CC (folds=5, lr=0.1)", "CC (lr=0.1)"),
        ("CC (lr=0.1, folds=5)", "CC (lr=0.1)"),
        ("CC (beta=2.0, folds=5, lr=0.1), version 2", "CC (beta=2.0, lr=0.1), version 2"),
        ("CC (milestones=(0.5, 0.75), folds=5)", "CC"),
        ("CC (folds=5) (tuned: 20 trials, seeds 100)", "CC (tuned: 20 trials, seeds 100)"),
        ("CC (folds=50, xfolds=5)", "CC (folds=50, xfolds=5)"),
    ],
)
def test_a_label_keeps_all_else(label: str, left: str) -> None:
    assert without_settings(label, ("folds=5", "milestones=(0.5, 0.75)")) == left
