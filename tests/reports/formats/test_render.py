"""Formats by name; CSV and JSON."""

import csv
import io
import json
from collections.abc import Callable
from typing import get_args

import pytest

from pllbench.cli.table import TableFormat
from pllbench.reports.aggregate import build_table
from pllbench.reports.formats.render import FORMATS, to_csv, to_json, to_text
from pllbench.reports.report import Report, table_entries
from pllbench.spec import FITTED
from tests.factories import PROTOCOL, make_records
from tests.reports.examples import GOLDEN, REPORTS, TABLES, example, golden_names, golden_text

ALL = TABLES | REPORTS


def test_the_command_line_has_all_formats() -> None:
    assert get_args(TableFormat) == tuple(FORMATS)


@pytest.mark.parametrize("form", FORMATS)
def test_every_report_is_printed_in_every_format(form: str) -> None:
    for make in ALL.values():
        assert to_text(make(), form)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"format markdwon: did you mean markdown\?"):
        to_text(example(), "markdwon")


def test_golden_files_are_there() -> None:
    assert len(golden_names(".csv")) == 2


@pytest.mark.parametrize("name", golden_names(".csv"))
def test_printed_reports_are_the_golden_files(name: str) -> None:
    assert golden_text(name) == (GOLDEN / name).read_text("utf-8")


@pytest.mark.parametrize("make", ALL.values())
def test_csv_holds_what_json_holds(make: Callable[[], Report]) -> None:
    report = make()
    lines = list(csv.DictReader(io.StringIO(to_csv(report.entries))))
    entries = json.loads(to_json(report.entries))
    assert [list(line) for line in lines] == [list(entry) for entry in entries]
    for line, entry in zip(lines, entries, strict=True):
        assert line.pop("run_ids").split() == entry.pop("run_ids")
        assert line == {k: "" if value is None else str(value) for k, value in entry.items()}


def test_json_has_the_documented_keys_and_percent() -> None:
    records = make_records([90, 92, 94], q=0.3)
    assert json.loads(to_json(table_entries(build_table(records, PROTOCOL)))) == [
        {
            "method": "cc",
            "label": "CC",
            "dataset": "digits",
            "candidates": "uniform",
            "q": 0.3,
            "imbalance": 1.0,
            "network": "linear",
            "epochs": 200,
            "n": 3,
            "mean": pytest.approx(92.0),
            "std": pytest.approx(2.0),
            "metric": "accuracy",
            "select": "last10",
            "run_ids": [record.run_id for record in records],
        }
    ]


def test_json_of_one_seed_real_sets_and_true_labels() -> None:
    records = [
        *make_records([70], dataset="birdsong", q=None),
        *make_records([99], method="supervised", dataset="birdsong"),
    ]
    entries = json.loads(to_json(table_entries(build_table(records, PROTOCOL))))
    reference, real = entries
    assert (real["candidates"], real["q"], real["std"]) == ("real", None, None)
    assert (reference["candidates"], reference["q"], reference["std"]) == (None, None, None)


def test_json_gives_no_network_to_methods_that_have_none() -> None:
    records = make_records([70], method="pl_knn", gradient=False, train=FITTED.model_dump())
    [entry] = json.loads(to_json(table_entries(build_table(records, PROTOCOL))))
    assert (entry["label"], entry["network"], entry["epochs"]) == ("PL-kNN", None, 1)
