"""Candidate sets in the forms that users have them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from pllbench.candidates.forms import as_candidates

MATRIX = [[1, 1, 0], [0, 1, 0], [1, 0, 1]]

SETS = [{"ant", "bee"}, {"bee"}, {"cow", "ant"}]


@pytest.mark.parametrize(
    "given",
    [
        MATRIX,
        np.array(MATRIX),
        np.array(MATRIX, dtype=bool),
        np.array(MATRIX, dtype=float),
        csr_array(np.array(MATRIX)),
        np.array(MATRIX, dtype=object),
    ],
    ids=["lists", "int", "bool", "float", "sparse", "object"],
)
def test_a_matrix_has_a_column_a_class(given: Any) -> None:
    candidates, classes = as_candidates(given)
    assert candidates.dtype == np.bool_
    assert candidates.tolist() == np.array(MATRIX, dtype=bool).tolist()
    assert classes.tolist() == [0, 1, 2]


def test_a_class_without_any_candidate_keeps_its_column() -> None:
    candidates, classes = as_candidates([[1, 0, 0], [1, 1, 0]])
    assert classes.tolist() == [0, 1, 2]
    assert candidates.sum(axis=0).tolist() == [2, 1, 0]


def test_the_columns_of_a_data_frame_are_the_classes() -> None:
    frame = pd.DataFrame(MATRIX, columns=["cow", "ant", "bee"], index=[7, 8, 9])
    candidates, classes = as_candidates(frame)
    assert classes.tolist() == ["cow", "ant", "bee"]
    assert candidates.tolist() == np.array(MATRIX, dtype=bool).tolist()


@pytest.mark.parametrize(
    "given", [SETS, tuple(SETS), pd.Series(SETS), np.array(SETS), [frozenset(s) for s in SETS]]
)
def test_sets_have_the_labels_that_occur_as_classes_in_order(given: Any) -> None:
    candidates, classes = as_candidates(given)
    assert classes.tolist() == ["ant", "bee", "cow"]
    assert candidates.tolist() == np.array(MATRIX, dtype=bool).tolist()


def test_labels_of_sets_may_be_numbers() -> None:
    candidates, classes = as_candidates([{10, np.int64(2)}, {2}])
    assert classes.tolist() == [2, 10]
    assert candidates.tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize("labels", [["b", "a", "b"], np.array(["b", "a", "b"], dtype=object)])
def test_a_label_a_row_is_its_only_candidate(labels: Any) -> None:
    candidates, classes = as_candidates(labels)
    assert classes.tolist() == ["a", "b"]
    assert candidates.tolist() == [[False, True], [True, False], [False, True]]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([[1, 0], [2, 1]], "row 1 has '2' for class 0, must be 0 or 1; or give a list of sets"),
        ([[1, 0], [np.nan, 1]], "row 1 has 'nan' for class 0, must be 0 or 1"),
        ([[1, 0], [0, 0], [0, 0]], r"row 1 has no candidate \(2 of 3 rows\)"),
        ([[1, 0], [1]], "rows of several lengths are no matrix; sets are written {'a', 'b'}"),
        ([["a", "b"], ["a", "c"]], "row 0 has 'a' for class 0, must be 0 or 1"),
        (np.ones((2, 2, 2)), "3 dimensions; they must be a matrix of 0 and 1"),
        (np.float64(1), "0 dimensions"),
        ([{"a"}, set()], r"row 1 has no candidate \(1 of 2 rows\)"),
        ([{"a"}, None], "row 1 is 'None', not a set"),
        ([{"a"}, "a"], "row 1 is 'a', not a set"),
        ([{"a", 1}], "labels must be all text or all numbers"),
        ([{"a"}, {1}], "labels must be all text or all numbers"),
        ([{("a", "b")}], "labels must be text or numbers, got a tuple"),
        (["a", None], "row 1 has no candidate"),
        ([1.0, np.nan], "row 1 has no candidate"),
        (pd.DataFrame([[1, 1]], columns=["a", "a"]), "two columns of the data frame have one name"),
        (pd.DataFrame({"a": ["x|y"], "b": ["x"]}), "row 0 has 'x|y' for class a, must be 0 or 1"),
        (pd.DataFrame({("a", 1): [1], ("b", 2): [0]}), "labels must be text or numbers, got a tup"),
        (csr_array((2, 3)), r"row 0 has no candidate \(2 of 2 rows\)"),
    ],
)
def test_malformed_sets(given: Any, problem: str) -> None:
    with pytest.raises(
        ValueError, match="^candidate sets: .*" + problem.replace("|", r"\|")
    ) as caught:
        as_candidates(given)
    assert "\n" not in str(caught.value)
