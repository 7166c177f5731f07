"""`fit`, `predict` and `disambiguate`: from a file without true labels to one of labels."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pllbench import PartialLabelClassifier
from pllbench.results.records import read_records
from tests.commands import Answer, contents, pllbench, refused

NUM_ROWS = 90

rng = np.random.default_rng(0)
Y = np.arange(NUM_ROWS) % 3
X = np.eye(3)[Y] + 0.45 * rng.normal(size=(NUM_ROWS, 3))
SETS = (np.eye(3, dtype=bool)[Y] | (rng.random((NUM_ROWS, 3)) < 0.4)).astype(np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`birds.npz` without true labels, `new.npz` with rows alone, and the model of the former."""
    folder = tmp_path_factory.mktemp("birds")
    np.savez(folder / "birds.npz", x=X, candidates=SETS)
    np.savez(folder / "new.npz", x=X[:7])
    answer = fit(folder, folder / "birds.model")
    assert (answer.code, answer.out) == (0, "")
    assert f"proden on 90 rows of {folder / 'birds.npz'}, 3 classes:" in answer.err
    return folder


def fit(folder: Path, output: Path, *flags: object) -> Answer:
    flags = flags or ("--method", "proden", "--epochs", 10)
    return pllbench("fit", folder / "birds.npz", *flags, "--output", output)


def table(answer: Answer) -> list[dict[str, str]]:
    assert answer.code == 0, answer.err
    return list(csv.DictReader(io.StringIO(answer.out)))


def test_the_model_is_the_classifiers(folder: Path) -> None:
    ours = PartialLabelClassifier("proden", epochs=10, random_state=0).fit(X, SETS)
    read = PartialLabelClassifier.load(folder / "birds.model")
    assert np.array_equal(read.predict_proba(X), ours.predict_proba(X))
    assert (read.method, read.epochs, read.random_state) == ("proden", 10, 0)


def test_predictions_are_a_line_a_row(folder: Path) -> None:
    read = PartialLabelClassifier.load(folder / "birds.model")
    rows = table(pllbench("predict", folder / "birds.model", folder / "new.npz"))
    assert [row["row"] for row in rows] == list("0123456")
    assert [int(row["label"]) for row in rows] == read.predict(X[:7]).tolist()
    shown = [[float(row[f"p_{k}"]) for k in range(3)] for row in rows]
    assert np.allclose(shown, read.predict_proba(X[:7]), atol=1e-5)


def test_a_file_with_more_than_rows_is_predicted_too(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "deep" / "predictions.csv"
    paths = (folder / "birds.model", folder / "birds.npz")
    answer = pllbench("predict", *paths, "--output", output)
    assert (answer.code, answer.out) == (0, "")
    assert len(output.read_text().splitlines()) == 1 + NUM_ROWS


def test_labels_are_a_line_a_training_row(folder: Path) -> None:
    read = PartialLabelClassifier.load(folder / "birds.model")
    rows = table(pllbench("disambiguate", folder / "birds.model", folder / "birds.npz"))
    assert list(rows[0]) == ["row", "candidates", "label", "confidence", "second"]
    assert [int(row["label"]) for row in rows] == read.confidence_.argmax(axis=1).tolist()
    assert np.mean([int(row["label"]) == label for row, label in zip(rows, Y, strict=True)]) > 0.8
    for row, sets, weights in zip(rows, SETS, read.confidence_, strict=True):
        assert row["candidates"] == "|".join(map(str, np.flatnonzero(sets)))
        assert float(row["confidence"]) == pytest.approx(weights.max(), abs=1e-5)
        assert (row["second"] == "") == (np.sort(weights)[-2] == 0)


def test_other_rows_are_disambiguated_by_their_predictions(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=X[:5] + 0.5, candidates=SETS[5:10])
    read = PartialLabelClassifier.load(folder / "birds.model")
    rows = table(pllbench("disambiguate", folder / "birds.model", tmp_path / "other.npz"))
    inside = read.predict_proba(X[:5] + 0.5) * SETS[5:10]
    assert [int(row["label"]) for row in rows] == inside.argmax(axis=1).tolist()


def test_a_table_gives_the_names_of_its_classes(tmp_path: Path) -> None:
    names = np.array(["finch", "owl", "robin"])
    cells = ["|".join(names[row.astype(bool)]) for row in SETS]
    lines = [f"{a},{b},{c},{cell}" for (a, b, c), cell in zip(X, cells, strict=True)]
    (tmp_path / "birds.csv").write_text("\n".join(["a,b,c,candidates", *lines]))
    (tmp_path / "new.csv").write_text("\n".join(["a,b,c", *(",".join(map(str, x)) for x in X[:7])]))
    flags = ("--epochs", 10, "--output", tmp_path / "model")
    assert pllbench("fit", tmp_path / "birds.csv", *flags).code == 0
    ours = PartialLabelClassifier("proden", epochs=10, random_state=0)
    ours.fit(X, [set(cell.split("|")) for cell in cells])
    rows = table(pllbench("predict", tmp_path / "model", tmp_path / "new.csv"))
    assert [row["label"] for row in rows] == ours.predict(X[:7]).tolist()
    assert [float(row["p_owl"]) for row in rows] == pytest.approx(
        ours.predict_proba(X[:7])[:, 1], abs=1e-5
    )
    rows = table(pllbench("disambiguate", tmp_path / "model", tmp_path / "birds.csv"))
    assert [row["label"] for row in rows] == ours.disambiguate().label.tolist()
    assert rows[0]["candidates"] == cells[0]


def test_a_model_that_a_run_has_kept_predicts(tmp_path: Path) -> None:
    np.savez(tmp_path / "known.npz", x=X, candidates=SETS, y=Y, num_train=60)
    np.savez(tmp_path / "test.npz", x=X[60:])
    grid = ("--methods", "cc", "--epochs", 4, "--seeds", "1", "--jobs", 1, "--keep", "model")
    data = ("--datasets", tmp_path / "known.npz", "--results", tmp_path / "results")
    assert pllbench("run", *grid, *data).code == 0
    (record,) = read_records(tmp_path / "results")[0]
    [model] = (tmp_path / "results").rglob("*.model")
    rows = table(pllbench("predict", model, tmp_path / "test.npz"))
    right = [int(row["label"]) == label for row, label in zip(rows, Y[60:], strict=True)]
    assert np.mean(right) == record.result.accuracy["last"]


def test_flags_are_the_parameters(folder: Path, tmp_path: Path) -> None:
    flags = ("--method", "asyco", "--epochs", 4, "--stop-after", 3, "--network", "mlp", "--seed", 5)
    more = ("--set", "num_strong=1", "--train", "lr=0.05", "--view", "scaling=zscore")
    assert fit(folder, tmp_path / "model", *flags, *more).code == 0
    read = PartialLabelClassifier.load(tmp_path / "model")
    ours = PartialLabelClassifier(
        "asyco",
        epochs=4,
        stop_after=3,
        network="mlp",
        hparams={"num_strong": 1},
        train={"lr": 0.05},
        views={"scaling": "zscore"},
        random_state=5,
    ).fit(X, SETS)
    assert np.array_equal(read.predict_proba(X), ours.predict_proba(X))
    assert len(ours.curves_["loss"]) == 3


def test_a_fixed_split_trains_on_its_training_rows(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "split.npz", x=X, candidates=SETS, num_train=60)
    flags = ("--method", "proden", "--epochs", 10, "--output", tmp_path / "model")
    assert pllbench("fit", tmp_path / "split.npz", *flags).code == 0
    ours = PartialLabelClassifier("proden", epochs=10, random_state=0).fit(X[:60], SETS[:60])
    read = PartialLabelClassifier.load(tmp_path / "model")
    assert np.array_equal(read.predict_proba(X), ours.predict_proba(X))
    rows = table(pllbench("disambiguate", tmp_path / "model", tmp_path / "split.npz"))
    assert [int(row["label"]) for row in rows] == ours.confidence_.argmax(axis=1).tolist()


def test_true_labels_change_nothing(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "birds.npz", x=X, candidates=SETS, y=(Y + 1) % 3)
    assert fit(tmp_path, tmp_path / "birds.model").code == 0
    models = (folder / "birds.model", tmp_path / "birds.model")
    one, other = (PartialLabelClassifier.load(path).predict_proba(X) for path in models)
    assert np.array_equal(one, other)


def test_annotations_are_sets_by_a_rule(tmp_path: Path) -> None:
    rows = np.arange(NUM_ROWS)
    votes = [
        np.stack([rows, rows * 0 + who, (Y + shift) % 3], 1)
        for who, shift in ((0, 0), (1, 1), (2, 0))
    ]
    np.savez(tmp_path / "birds.npz", x=X, annotations=np.concatenate(votes))
    agreed = ("--method", "proden", "--epochs", 2, "--annotations", "votes=2")
    assert fit(tmp_path, tmp_path / "birds.model", *agreed).code == 0
    shown = table(
        pllbench("disambiguate", tmp_path / "birds.model", tmp_path / "birds.npz", *agreed[-2:])
    )
    assert [row["candidates"] for row in shown] == [str(label) for label in Y]
    assert fit(tmp_path, tmp_path / "union.model").code == 0
    shown = table(pllbench("disambiguate", tmp_path / "union.model", tmp_path / "birds.npz"))
    assert {len(row["candidates"].split("|")) for row in shown} == {2}


TABLE = "wing,weight,candidates"
FINCHES = ["1,0,finch", "1.1,0.1,finch|owl", "0.9,0,finch|wren", "0,1,owl", "0.1,1.2,owl|finch"]
FINCHES += ["0,0.9,wren|owl", "3,3,wren", "3.1,3,wren|finch", "2.9,3.1,owl|wren"]


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table without true labels, and a model of it."""
    folder = tmp_path_factory.mktemp("wild")
    (folder / "wild.csv").write_text("\n".join([TABLE, *FINCHES]))
    flags = ("--method", "pl_knn", "--set", "num_neighbours=3")
    answer = pllbench("fit", folder / "wild.csv", *flags, "--output", folder / "wild.model")
    assert answer.code == 0, answer.err
    return folder


def test_tables_name_classes_and_columns(wild: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("weight,id,wing\n0,7,1\n1,8,0\n3,9,3\n")
    rows = table(pllbench("predict", wild / "wild.model", tmp_path / "new.csv"))
    assert list(rows[0]) == ["row", "label", "p_finch", "p_owl", "p_wren"]
    assert [row["label"] for row in rows] == ["finch", "owl", "wren"]
    np.savez(tmp_path / "new.npz", x=np.array([[1, 0], [0, 1], [3, 3]]))
    assert table(pllbench("predict", wild / "wild.model", tmp_path / "new.npz")) == rows
    shown = table(pllbench("disambiguate", wild / "wild.model", wild / "wild.csv"))
    assert [row["candidates"] for row in shown][1:3] == ["finch|owl", "finch|wren"]
    assert [row["label"] for row in shown] == [*["finch"] * 3, *["owl"] * 3, *["wren"] * 3]
    lines = (wild / "wild.csv").read_text().splitlines()
    turned = ["candidates,weight,wing", *(",".join(line.split(",")[::-1]) for line in lines[1:])]
    (tmp_path / "turned.csv").write_text("\n".join(turned))
    assert table(pllbench("disambiguate", wild / "wild.model", tmp_path / "turned.csv")) == shown


def test_a_kept_model_of_a_table_finds_its_columns(wild: Path, tmp_path: Path) -> None:
    flags = ("--methods", "pl_knn", "--set", "pl_knn.num_neighbours=3", "--seeds", "1")
    data = ("--datasets", wild / "wild.csv", "--keep", "model", "--results", tmp_path, "--jobs", 1)
    assert pllbench("run", *flags, *data).code == 0
    (model,) = tmp_path.rglob("*.model")
    (tmp_path / "new.csv").write_text("weight,wing\n0,1\n3,3\n")
    rows = table(pllbench("predict", model, tmp_path / "new.csv"))
    assert [row["label"] for row in rows] == ["finch", "wren"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_that_the_model_does_not_know_may_hold_anything(
    wild: Path, tmp_path: Path, form: str
) -> None:
    frame = pd.DataFrame({"ring": ["A7", None], "weight": [0, 3], "hue": [1e300, 0], "wing": 1})
    path = tmp_path / f"new.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow", reason="writes Parquet")
        frame.to_parquet(path)
    frame[["wing", "weight"]].to_csv(tmp_path / "known.csv", index=False)
    expected = pllbench("predict", wild / "wild.model", tmp_path / "known.csv").out
    assert expected.count("\n") == 3
    assert pllbench("predict", wild / "wild.model", path).out == expected


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["wing"], "no rows below the names of its columns"),
        (["wing", "1"], "no column `weight`, which the model was trained on"),
        (["wing,Weight", "1,2"], "no column `weight`, which the model was trained on"),
        (["wing,weight", "1,heavy"], "row 0 (counted from 0; line 2), column `weight`: 'heavy'"),
        (["wing,weight", "1,"], "row 0 (counted from 0; line 2), column `weight`: '' is no number"),
        (["wing,weight", "1,2", "1,nan"], "row 1 (counted from 0; line 3), column `weight`: nan"),
        (["wing,weight", "1,1e300"], "column `weight`: 1e+300 is missing or infinite in float32"),
        (["wing,weight", "1"], "row 0 (counted from 0; line 2) has 1 cells, the header has 2"),
        (["wing,wing", "1,1"], "two columns are named `wing`"),
        (["wing;weight", "1;1"], "one column `wing;weight`: separate them by commas"),
        ([], "empty, it must begin with the names of its columns"),
        (["candidates", "finch"], "no columns of features"),
    ],
)
def test_malformed_tables_to_predict(
    wild: Path, tmp_path: Path, lines: list[str], problem: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    line = refused("predict", wild / "wild.model", path, "--output", tmp_path / "out.csv")
    assert line.startswith(f"{path}: ")
    assert problem in line
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["wing", "1"], "no column `y`, and none of candidates"),
        ([TABLE, "1,2,"], "row 0 (counted from 0; line 2), column `candidates`: no candidate"),
        ([TABLE, "1,2,a||b"], "column `candidates`: an empty label in 'a||b'"),
        ([TABLE, "1,2,a|a"], "column `candidates`: a label twice in 'a|a'"),
        ([TABLE, "1,2,a", "1,2,a"], "fewer than two classes in it, `a`"),
        ([TABLE, "1,x,a|b"], "row 0 (counted from 0; line 2), column `weight`: 'x' is no number"),
        ([TABLE, "1,2"], "row 0 (counted from 0; line 2) has 2 cells, the header has 3"),
        (["wing,candidate:a,candidate:b", "1,0,0"], "and all others of candidates are 0"),
        (["wing,candidate:a,candidate:b", "1,1,2"], "column `candidate:b`: '2' is neither 0 nor 1"),
        ([f"{TABLE},candidate:a", "1,2,a,1"], "candidate sets twice"),
        ([TABLE], "no rows below the names of its columns"),
    ],
)
def test_malformed_tables_without_true_labels(
    tmp_path: Path, lines: list[str], problem: str
) -> None:
    path = tmp_path / "wild.csv"
    path.write_text("\n".join(lines))
    line = refused("fit", path, "--output", tmp_path / "model")
    assert line.startswith(f"{path}: ")
    assert problem in line
    assert not (tmp_path / "model").exists()


def test_a_table_and_the_model_of_other_classes(wild: Path, tmp_path: Path) -> None:
    path = tmp_path / "eagles.csv"
    path.write_text("\n".join([TABLE, "1,2,finch|eagle", "2,1,owl"]))
    line = refused("disambiguate", wild / "wild.model", path)
    assert line == f"{path}: candidate sets: class 'eagle' is not known"


def test_fit_and_run_give_the_same_test_accuracy(tmp_path: Path) -> None:
    """The run sees true labels, `fit` the training rows of the same split without any."""
    np.savez(tmp_path / "known.npz", x=X, candidates=SETS, y=Y, num_train=60)
    np.savez(tmp_path / "birds.npz", x=X[:60], candidates=SETS[:60])
    np.savez(tmp_path / "test.npz", x=X[60:])
    for method in ("cc", "asyco"):
        grid = ("--methods", method, "--epochs", 12, "--seeds", "2,", "--jobs", 1)
        data = ("--datasets", tmp_path / "known.npz", "--results", tmp_path / method)
        assert pllbench("run", *grid, *data).code == 0
        (record,) = read_records(tmp_path / method)[0]
        flags = ("--method", method, "--epochs", 12, "--seed", 2)
        assert fit(tmp_path, tmp_path / "model", *flags).code == 0
        rows = table(pllbench("predict", tmp_path / "model", tmp_path / "test.npz"))
        right = [int(row["label"]) == label for row, label in zip(rows, Y[60:], strict=True)]
        assert np.mean(right) == record.result.accuracy["last"]
        assert 0.4 < np.mean(right) < 1


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"x": None}, "no array `x` in it"),
        ({"x": X[:, :2]}, "X has 2 features, but PartialLabelClassifier is expecting 3"),
        ({"x": np.where(X > 1, np.nan, X)}, "has a feature that is NaN or infinite"),
        ({"x": X * 1e300}, "has a feature that is NaN or infinite in float32"),
        ({"x": X.astype(str)}, "`x` is no matrix of numbers"),
        ({"x": X[0]}, "`x` is no matrix of numbers"),
        ({"x": X[:, :0]}, "`x` has no features"),
        ({"x": X[:0]}, "Found array with 0 sample"),
        ({"x": np.array([None])}, "not a .npz file, or cut off"),
        ({"x": X.astype(complex)}, "`x` is no matrix of numbers"),
    ],
)
def test_malformed_rows_to_predict(
    folder: Path, tmp_path: Path, changed: dict[str, Any], problem: str
) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, **{key: value for key, value in changed.items() if value is not None})
    line = refused("predict", folder / "birds.model", path, "--output", tmp_path / "out.csv")
    assert line.startswith(f"{path}: ")
    assert problem in line
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("--method", "prodn"), "--method: unknown method 'prodn': did you mean proden?"),
        (("--method", "supervised"), "--method supervised: learns from true labels"),
        (("--epochs", "0"), "epochs: Input should be greater than or equal to 1, got 0"),
        (("--epochs", "4", "--stop-after", "5"), "--stop-after 5: must be from 1 to 4"),
        (("--stop-after", "0"), "--stop-after 0: must be from 1 to 200"),
        (("--network", "resnet18"), "network resnet18 needs images"),
        (("--set", "tau=1"), "unknown key 'tau'"),
        (("--set", "tau"), "--set tau: must be KEY=VALUE"),
        (("--train", "lr=fast"), "lr: Input should be a valid number, got 'fast'"),
        (("--train", "rate=1"), "unknown key 'rate'"),
        (("--view", "cutout=3"), "no run reads 'cutout' here"),
        (("--annotations", "union"), "--annotations union: birds does not come with annotators'"),
    ],
)
def test_what_fit_refuses(
    folder: Path, tmp_path: Path, flags: tuple[str, ...], problem: str
) -> None:
    before = contents(folder)
    line = refused("fit", folder / "birds.npz", *flags, "--output", tmp_path / "model")
    assert problem in line
    assert not (tmp_path / "model").exists()
    assert contents(folder) == before


@pytest.mark.parametrize("place", [".", "birds.npz/model"])
def test_where_no_model_can_be_written_nothing_is_trained(
    place: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PartialLabelClassifier, "fit", None)
    line = refused("fit", folder / "birds.npz", "--output", folder / place)
    assert line.startswith(f"--output {folder / place}: not writable (")


def test_files_that_are_none_are_refused(folder: Path, tmp_path: Path) -> None:
    model, out = folder / "birds.model", ("--output", tmp_path / "out")
    assert "give your own data by its path" in refused("fit", "digits", *out)
    assert "no such file" in refused("fit", tmp_path / "none.npz", *out)
    np.savez(tmp_path / "known.npz", x=X, y=Y)
    assert "comes without candidate sets" in refused("fit", tmp_path / "known.npz", *out)
    assert "comes without candidate sets" in refused("disambiguate", model, tmp_path / "known.npz")
    np.savez(tmp_path / "more.npz", x=X, candidates=np.ones((NUM_ROWS, 4), dtype=int))
    assert "more.npz: candidate sets: class 3 is not known" in refused(
        "disambiguate", model, tmp_path / "more.npz"
    )
    assert "not a model of pllbench" in refused("predict", folder / "new.npz", folder / "new.npz")
    assert "No such file" in refused("predict", tmp_path / "none.model", folder / "new.npz")
    assert "no such file" in refused("predict", model, tmp_path / "none.npz")
    (tmp_path / "rows.txt").write_text("1 2 3")
    assert "the array `x` of a .npz file, or a .csv" in refused(
        "predict", model, tmp_path / "rows.txt"
    )
    device = ("--device", "tpu9")
    assert refused("predict", model, folder / "new.npz", *device) == (
        "--device tpu9: must be auto, cpu, cuda or cuda:1"
    )
    assert not (tmp_path / "out").exists()
