"""`pllbench export`."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from pllbench.results.rows import RunRow, run_rows
from tests.commands import contents, pllbench, refused
from tests.factories import PROTOCOL, make_record, make_spec, store

RECORDS = [make_record(make_spec("cc", train={"epochs": 3}, seed=seed), 80.0) for seed in (0, 1)]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return store(tmp_path / "results", [*RECORDS, make_record(make_spec("rc"), 70.0)])


def test_json_has_an_object_a_run(results: Path) -> None:
    answer = pllbench("export", "--methods", "cc", "--results", results, "--format", "json")
    found = sorted(json.loads(answer.out), key=lambda row: row["seed"])
    assert found == run_rows(RECORDS, PROTOCOL)


def test_csv_has_a_header_and_empty_cells_for_what_a_run_has_not(results: Path) -> None:
    lines = list(csv.DictReader(io.StringIO(pllbench("export", "--results", results).out)))
    assert len(lines) == 3
    assert list(lines[0]) == list(RunRow.model_fields)
    by_method = {line["method"]: line for line in lines}
    assert by_method["rc"]["last10"] == "0.7"
    assert by_method["rc"]["covering_rate"] == ""


def test_parquet_has_typed_columns_even_where_all_are_empty(results: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    output = tmp_path / "runs.parquet"
    assert pllbench("export", "--results", results, "--output", output).code == 0
    table = parquet.read_table(output)
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["run_id"], types["seed"], types["last10"]) == ("string", "int64", "double")
    assert (types["commit"], types["epoch_covering_rate"]) == ("string", "int64")
    assert table.column("commit").null_count == 3
    rows = {row["run_id"]: row for row in table.to_pylist()}
    assert rows[RECORDS[1].run_id] == run_rows(RECORDS, PROTOCOL)[1]


def test_the_suffix_names_the_format(results: Path, tmp_path: Path) -> None:
    for name in ("runs.csv", "runs.json", "runs.txt"):
        assert pllbench("export", "--results", results, "--output", tmp_path / name).code == 0
    assert json.loads((tmp_path / "runs.json").read_text())[0]["dataset"] == "digits"
    text = (tmp_path / "runs.csv").read_text()
    assert text.startswith("run_id,method,label,")
    assert (tmp_path / "runs.txt").read_text() == text


def test_what_cannot_be_exported_is_refused(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(tmp_path)
    reason = refused("export", "--results", results, "--format", "parquet")
    assert reason == "--format parquet: no text: name a file with --output"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    arguments = ("export", "--results", results, "--output", tmp_path / "a.parquet")
    assert refused(*arguments) == "--format parquet: pip install 'pllbench[parquet]'"
    assert "is not one of" in refused("export", "--results", results, "--format", "xlsx")
    assert "unknown method" in refused("export", "--methods", "ccc", "--results", results)
    (tmp_path / "empty").mkdir()
    reason = refused("export", "--results", tmp_path / "empty")
    assert reason == f"--results {tmp_path / 'empty'}: no runs to export there"
    assert contents(tmp_path) == before
