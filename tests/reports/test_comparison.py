"""Our cells beside published numbers."""

import numpy as np
import pytest
from scipy import stats

from pllbench.reports.aggregate import build
from pllbench.reports.comparison import Compared, compare
from pllbench.reports.published import load_table
from pllbench.results.records import Record
from tests.records_factory import (
    PROTOCOL,
    RELATIVE,
    make_plan,
    make_record,
    make_records,
    make_spec,
)

CNAE9 = load_table("cnae9")


def scored(records: list[Record], missing: int = 0) -> list[Compared]:
    """The records against CNAE-9's table, by last10, where the last `missing` were not run."""
    planned = make_plan([record.spec for record in records])
    done = records[: len(records) - missing]
    return compare([build(done, PROTOCOL, planned=planned)], CNAE9)


def cnae9(accuracies: list[float], method: str = "cc", q: float = 0.1) -> list[Record]:
    return make_records(accuracies, method=method, dataset="cnae9", q=q)


def test_the_interval_is_welchs_against_the_runs_behind_the_published_digits() -> None:
    ours = [93.0, 94.0, 93.4, 92.8, 94.4]
    theirs = np.array([202, 202, 203]) / 216 * 100  # what 93.673 +- .218 is made of
    [found] = scored(cnae9(ours))
    expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    assert found.published_mean == 93.673
    assert found.difference == pytest.approx(np.mean(ours) - 93.673)
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.005)
    assert (found.n, found.published_n, found.verdict) == (5, 3, "agrees")
    assert found.source == "tab:performance-cmp-cnae"


def test_verdicts() -> None:
    [differs] = scored(cnae9([80, 80.5, 81]))
    [short] = scored(cnae9([93.0, 94.0, 93.4]), missing=1)
    [single] = scored(cnae9([93.7]))
    assert (differs.verdict, short.verdict, single.verdict) == (
        "differs",
        "too few",
        "too few",
    )
    assert (single.std, single.low) == (None, None)
    assert single.difference == pytest.approx(0.027)


def test_a_planned_cell_without_runs_is_not_run() -> None:
    found = scored(cnae9([93.0, 94.0]) + cnae9([93.0, 94.0], method="rc"), missing=2)
    assert [(one.method, one.verdict, one.mean) for one in found] == [
        ("cc", "agrees", 93.5),
        ("rc", "not run", None),
    ]


def test_two_sides_without_spread_agree_only_where_they_are_equal() -> None:
    [entry] = [e for e in CNAE9 if e.matches("cc", "cnae9", "uniform", 0.1)]
    same = entry.model_copy(update={"mean": 93.0, "std": 0.0})
    table = build(cnae9([93.0, 93.0]), PROTOCOL)
    assert compare([table], [same])[0].verdict == "agrees"
    assert compare([table], [same.model_copy(update={"mean": 93.1})])[0].verdict == "differs"


def test_a_supervised_row_is_compared_once_though_it_spans_the_columns() -> None:
    records = make_records([95, 96], method="supervised", dataset="cnae9")
    found = scored(records + cnae9([93, 94]) + cnae9([93, 94], q=0.3))
    assert [(one.method, one.q) for one in found] == [
        ("supervised", None),
        ("cc", 0.1),
        ("cc", 0.3),
    ]


def test_the_paper_names_the_process_but_not_its_options() -> None:
    records = make_records([96.0, 96.1], method="cc", dataset="svhn", candidates=RELATIVE)
    [found] = compare([build(records, PROTOCOL)], load_table("instance_dependent"))
    assert (found.label, found.candidates, found.q) == ("CC", "instance:rule=max", None)
    assert found.published_mean == 96.072
    assert found.difference == pytest.approx(-0.022)


def test_cells_that_the_paper_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="the paper has no number for any cell here"):
        compare([build(make_records([90, 91]), PROTOCOL)], CNAE9)


def test_a_cell_whose_runs_have_no_value_is_not_called_not_run() -> None:
    runs = cnae9([93.0, 94.0])
    runs += [
        make_record(make_spec("rc", "cnae9", 0.1, seed, holdout=0.1), 93, {"covering_rate": 90})
        for seed in (0, 1)
    ]
    found = compare([build(runs, PROTOCOL, "covering_rate")], CNAE9)
    assert [(one.method, one.n, one.verdict) for one in found] == [
        ("cc", 0, "too few"),
        ("rc", 2, "differs"),
    ]
