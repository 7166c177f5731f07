"""Labels of several annotators in custom data: in the file or a CSV, as sets, malformed ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllbench.data.custom import custom_info
from pllbench.data.dataset import load_dataset
from pllbench.data.readers.base import Dataset
from tests.commands import refused
from tests.damage import is_refused
from tests.data.files import Y, save_npz

ROWS = np.arange(40)

UNION = np.concatenate([np.stack([ROWS, ROWS * 0, Y], 1), np.stack([ROWS, ROWS * 0 + 1, 3 - Y], 1)])
"""Two annotators: one is always right, the other one never."""


def save_csv(path: Path, lines: str) -> Path:
    file = path.with_name(f"{path.stem}.annotations.csv")
    file.write_text(lines, "utf-8")
    return file


def as_csv(annotations: Any) -> str:
    lines = (f"{row},annotator {who},{label}" for row, who, label in annotations.tolist())
    return "\n".join(["row,annotator,label", *lines, ""])


def load(path: Path) -> Dataset:
    return load_dataset(custom_info(path), path.parent)


def test_annotations_in_the_file_and_beside_it_give_the_same_votes(tmp_path: Path) -> None:
    inside = save_npz(tmp_path, annotations=UNION)
    beside = save_npz(tmp_path, "other")
    save_csv(beside, as_csv(UNION))
    for path in (inside, beside):
        info, dataset = custom_info(path), load(path)
        assert (info.annotated, info.real_candidates) == (True, True)
        assert dataset.candidates is None
        assert dataset.votes is not None
        assert dataset.votes[1].tolist() == [0, 1, 1, 0]
        assert dataset.votes.sum(1).tolist() == [2] * 40


def test_columns_of_a_csv_may_stand_in_any_order_and_annotators_have_any_name(
    tmp_path: Path,
) -> None:
    path = save_npz(tmp_path, x=np.eye(2), y=np.array([0, 1]))
    save_csv(path, '\ufefflabel,row,annotator\n1,0,"Ann, B."\n0,0,"Ann, B."\n1,1,ü\n1,1,ü\n')
    dataset = load(path)
    assert dataset.votes is not None
    assert dataset.votes.tolist() == [[1, 1], [0, 1]]


def test_a_label_that_nobody_has_in_truth_is_a_class(tmp_path: Path) -> None:
    path = save_npz(tmp_path, annotations=np.concatenate([UNION, [[0, 2, 5]]]))
    assert load(path).num_classes == 6
    declared = save_npz(tmp_path, annotations=UNION, num_classes=9)
    assert load(declared).num_classes == 9


def test_test_rows_of_a_fixed_split_need_no_annotation(tmp_path: Path) -> None:
    kept = UNION[UNION[:, 0] < 30]
    dataset = load(save_npz(tmp_path, annotations=kept, num_train=30))
    assert dataset.votes is not None
    assert not dataset.votes[30:].any()
    is_refused(
        save_npz(tmp_path, annotations=kept, num_train=31),
        "row 30 (counted from 0) of the data set has no annotation (1 of 31 rows)",
    )


def test_annotations_are_part_of_the_content_digest(tmp_path: Path) -> None:
    path = save_npz(tmp_path)
    digests = [custom_info(path).digest]
    for text in (as_csv(UNION), as_csv(UNION[:-1])):
        save_csv(path, text)
        digests.append(custom_info(path).digest)
    assert len(set(digests)) == 3
    info = custom_info(path)
    save_csv(path, as_csv(UNION))
    with pytest.raises(ValueError, match="has changed since the runs were planned"):
        load_dataset(info, tmp_path)


@pytest.mark.parametrize(
    ("annotations", "problem"),
    [
        (UNION.astype(float), "must be whole numbers in three columns, row, annotator and label"),
        (UNION[:, :2], "must be whole numbers in three columns"),
        (UNION[:, 0], "must be whole numbers in three columns"),
        (
            np.concatenate([UNION, [[40, 0, 0]]]),
            "row 80 (counted from 0) names a row outside 0..",
        ),
        (
            np.concatenate([UNION, [[-1, 0, 0]]]),
            "row 80 (counted from 0) names a row outside 0..",
        ),
        (np.concatenate([UNION, [[0, 0, -1]]]), "names a label outside 0..3"),
        (UNION[UNION[:, 0] != 7], "row 7 (counted from 0) of the data set has no annotation"),
        (UNION[:0], "row 0 (counted from 0) of the data set has no annotation (40 of 40 rows)"),
        (np.array([[0, 0, 10**9]]), "classes, must be from 2 to 100000"),
    ],
)
def test_malformed_annotations_in_the_file(tmp_path: Path, annotations: Any, problem: str) -> None:
    is_refused(save_npz(tmp_path, annotations=annotations), problem)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("", "its columns must be row, annotator, label"),
        ("row,label\n0,1\n", "its columns must be row, annotator, label"),
        ("row,annotator,label,time\n0,a,1,5\n", "its columns must be row, annotator, label"),
        ("row,row,label\n0,a,1\n", "its columns must be row, annotator, label"),
        ("row,annotator,label\n0,a\n", "line 2 has not three entries"),
        ("row,annotator,label\n0,a,1,2\n", "line 2 has not three entries"),
        ("row,annotator,label\n0,a,1\nx,a,1\n", "line 3: row and label must be whole numbers"),
        ("row,annotator,label\n0,a,1.0\n", "line 2: row and label must be whole numbers"),
        ("row,annotator,label\n0,a,-1\n", "line 2: row and label must be whole numbers"),
        ("row,annotator,label\n40,a,1\n", "names a row outside 0..39"),
        ("row,annotator,label\n0,a,1\n", "row 1 (counted from 0) of the data set has no annot"),
        ('row,annotator,label\n0,"a,1\n', "unexpected end of data"),
    ],
)
def test_malformed_csv(tmp_path: Path, lines: str, problem: str) -> None:
    path = save_npz(tmp_path)
    file = save_csv(path, lines)
    message = refused("data", path)
    assert message.startswith(str(file))
    assert problem in message


def test_two_sources_of_sets_are_refused(tmp_path: Path) -> None:
    both = save_npz(tmp_path, annotations=UNION, candidates=np.ones((40, 4)))
    is_refused(both, "holds `candidates`, and has annotations: leave one of them out")
    path = save_npz(tmp_path, annotations=UNION)
    save_csv(path, as_csv(UNION))
    is_refused(path, "holds `annotations`, and mine.annotations.csv does too: delete one")
