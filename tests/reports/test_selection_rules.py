"""Selection rules side by side."""

from pllbench.reports.aggregate import build_table
from pllbench.reports.selection_rules import report_rules
from tests.factories import PROTOCOL, make_records
from tests.reports.examples import rules, texts


def test_a_column_a_rule_and_a_row_a_cell() -> None:
    report = rules()
    [table] = report.tables
    assert [header for (header,) in table.headers] == [
        *("Method", "q", "Covering rate", "last", "last10", "Oracle (diagnostic)")
    ]
    cc, rc = map(texts, table.rows)
    assert cc[:4] == ("CC", "0.3", "-- (no hold-out)", "82.00 ± 1.00")
    assert rc[:3] == ("RC (holdout=0.1)", "0.3", "83.50 ± 1.00")
    assert [entry.select for entry in report.entries].count("last") == 2
    assert [entry.select for entry in report.entries].count("covering_rate") == 1


def test_the_oracle_is_named_as_one_and_a_missing_rule_is_named() -> None:
    report = rules()
    assert "The oracle is the best test epoch: a diagnostic, not a result." in report.notes
    missing = "Without a value here, since no run has a hold-out: approximated accuracy."
    assert missing in report.notes
    last = report_rules({"last": build_table(make_records([90, 91]), PROTOCOL, "last")})
    assert not any("oracle is the best" in note for note in last.notes)
