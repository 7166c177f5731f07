"""Own data from CSV and Parquet."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pllbench.data.custom import custom_info
from pllbench.data.dataset import load_dataset
from pllbench.data.readers.base import Dataset
from tests.commands import pllbench, refused
from tests.data.files import X, Y, save_npz

SETS = np.maximum(np.eye(4, dtype=np.int64)[Y], np.eye(4, dtype=np.int64)[(Y + 1) % 4])
"""Candidate sets of `Y`: the true label and the next one."""

NAMES = ("ash", "birch", "elm", "oak")


def read(path: Path) -> Dataset:
    return load_dataset(custom_info(path), path.parent)


def save_csv(path: Path, header: str, *rows: str) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return path


def save_parquet(path: Path, **columns: Any) -> Path:
    pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path)
    return path


def test_labels_in_one_cell(tmp_path: Path) -> None:
    header = "wing,weight,candidates,y"
    rows = ("1.5,2,owl|finch,owl", '-1e3, 3 ,"owl",owl', "0,.5,finch | robin,robin")
    found = read(save_csv(tmp_path / "birds.csv", header, *rows))
    assert found.classes == ("finch", "owl", "robin")
    assert found.columns == ("wing", "weight")
    assert found.x.tolist() == [[1.5, 2.0], [-1000.0, 3.0], [0.0, 0.5]]
    assert found.y.tolist() == [1, 1, 2]
    assert found.candidates is not None
    assert found.candidates.int().tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]
    assert (found.info.name, found.info.kind, found.info.real_candidates) == (
        *("birds", "tabular"),
        True,
    )


def test_true_labels_may_be_left_out_beside_candidates(tmp_path: Path) -> None:
    path = save_csv(tmp_path / "birds.csv", "a,candidates", "1,owl|finch", "2,owl", "3,finch")
    found = read(path)
    assert not custom_info(path).labelled
    assert (found.true_labels, found.classes) == (None, ("finch", "owl"))
    assert found.candidates is not None
    assert found.candidates.int().tolist() == [[1, 1], [0, 1], [1, 0]]


def test_a_column_for_each_class_gives_their_order(tmp_path: Path) -> None:
    header = "candidate:owl,a,candidate:finch,y,b"
    found = read(save_csv(tmp_path / "t.csv", header, "1,5,0,owl,6", "1,7,1,finch,8"))
    assert found.classes == ("owl", "finch")
    assert found.columns == ("a", "b")
    assert found.x.tolist() == [[5, 6], [7, 8]]
    assert found.y.tolist() == [0, 1]
    assert found.candidates is not None
    assert found.candidates.int().tolist() == [[1, 0], [1, 1]]


def test_labels_that_are_numbers_are_in_their_order(tmp_path: Path) -> None:
    found = read(save_csv(tmp_path / "t.csv", "a,candidates,y", "1,10|9,10", "2,2|10,2"))
    assert found.classes == ("2", "9", "10")
    assert found.y.tolist() == [2, 0]


def test_without_candidates_they_are_generated(tmp_path: Path) -> None:
    rows = [f"{i},{NAMES[i % 4]}" for i in range(20)]
    path = save_csv(tmp_path / "t.csv", "a,y", *rows)
    found = read(path)
    assert (found.candidates, found.info.real_candidates) == (None, False)
    facts = json.loads(pllbench("data", path, "--q", 0.5, "--json").out)
    assert facts["candidates"] == "process=uniform, q=0.5, policy=force"
    assert (facts["classes"], facts["columns"]) == (list(NAMES), ["a"])


def test_what_a_spreadsheet_saves_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    text = 'a,"long\nname",y\r\n1,2,ä\r\n\r\n3,4,"b, c"\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = read(path)
    assert found.columns == ("a", "long\nname")
    assert found.classes == ("b, c", "ä")
    assert found.x.tolist() == [[1, 2], [3, 4]]


def test_the_three_forms_of_one_data_set_are_equal(tmp_path: Path) -> None:
    npz = read(save_npz(tmp_path, "one", candidates=SETS))
    features = {f"x{i}": X[:, i] for i in range(5)}
    cells = ["|".join(NAMES[k] for k in np.flatnonzero(row)) for row in SETS]
    lines = [
        ",".join([*map(repr, map(float, row)), cell, NAMES[label]])
        for row, cell, label in zip(X, cells, Y, strict=True)
    ]
    header = ",".join([*features, "candidates", "y"])
    columns = {f"candidate:{name}": SETS[:, i] for i, name in enumerate(NAMES)}
    labels = [NAMES[label] for label in Y]
    lists = [[NAMES[k] for k in np.flatnonzero(row)] for row in SETS]
    others = [
        save_csv(tmp_path / "two.csv", header, *lines),
        save_parquet(tmp_path / "three.parquet", **features, **columns, y=labels),
        save_parquet(tmp_path / "four.parquet", **features, candidates=cells, y=labels),
        save_parquet(tmp_path / "five.parquet", **features, candidates=lists, y=labels),
        save_parquet(
            tmp_path / "six.parquet",
            **features,
            **{k: v == 1 for k, v in columns.items()},
            y=labels,
        ),
    ]
    for path in others:
        found = read(path)
        assert found.classes == NAMES
        assert torch.equal(found.x, npz.x)
        assert torch.equal(found.y, npz.y)
        assert found.candidates is not None
        assert npz.candidates is not None
        assert torch.equal(found.candidates, npz.candidates)


def test_whole_numbers_are_labels_whatever_their_type(tmp_path: Path) -> None:
    for name, kind in (("a", np.int8), ("b", np.float64)):
        path = save_parquet(tmp_path / f"{name}.parquet", x=X[:, 0], y=Y.astype(kind))
        assert read(path).classes == ("0", "1", "2", "3")


def test_runs_on_a_table_have_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "birds.csv"
    assert pllbench("data", "--template", "csv", "--output", path).code == 0
    results = tmp_path / "results"
    selection = ("--methods", "pl_knn", "--datasets", path, "--seeds", "0,")
    answer = pllbench("run", *selection, "--jobs", 1, "--results", results)
    assert answer.code == 0, answer.err
    [stored] = (results / "records" / "birds" / "pl_knn").glob("*.json")
    assert json.loads(stored.read_text())["spec"]["digest"] == custom_info(path).digest


def test_the_template_is_a_data_set(tmp_path: Path) -> None:
    path = tmp_path / "birds.csv"
    path.write_text(pllbench("data", "--template", "csv").out)
    found = read(path)
    assert found.classes == ("finch", "owl", "robin")
    assert found.columns == ("wing_cm", "weight_g")
    assert len(found.x) == 15


def test_the_template_overwrites_nothing_and_goes_with_nothing_else(tmp_path: Path) -> None:
    path = save_csv(tmp_path / "birds.csv", "mine")
    reason = refused("data", "--template", "csv", "--output", path)
    assert reason == f"--output {path}: is there already: name another file"
    assert path.read_text() == "mine\n"
    assert "without the data set digits" in refused("data", "digits", "--template", "csv")
    assert refused("data", "digits", "--output", path).endswith("only with --template")
    assert refused("data") == "data: name a data set, or the path of your own"
