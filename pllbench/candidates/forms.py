"""Candidate sets in the forms that users have them, as a matrix and the classes of its columns.

Letters in shape comments: N instances, C classes.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pllbench.candidates.processes import Candidates

Classes = npt.NDArray[Any]
"""What the columns of candidate sets stand for, [C]: text or numbers."""

_FORMS = (
    "a matrix of 0 and 1 with a column for each class, a list of sets of labels, or a label for "
    "each row"
)


def as_candidates(given: Any) -> tuple[Candidates, Classes]:
    """Candidate sets [N, C] and their classes [C].

    Args:
        given: a matrix [N, C] of 0 and 1, dense or sparse, whose classes are 0..C-1; a data frame
            with such a column for each class; N sets of labels, whose classes are all labels that
            occur, in their order; or N labels, each the only candidate of its row.

    Raises:
        ValueError: it is none of these forms, or a row has no candidate; rows count from 0.
    """
    if hasattr(given, "columns"):  # a data frame
        names = list(given.columns)
        if len(set(names)) < len(names):
            raise ValueError("candidate sets: two columns of the data frame have one name")
        return _of_matrix(np.asarray(given), _as_classes(names))
    if _are_sets(given):
        return _of_sets(list(given))
    if given is None:
        raise ValueError(f"candidate sets: none are given; they must be {_FORMS}")
    values = _as_array(given)
    if values.ndim == 1:
        return _of_labels(values)
    if values.ndim != 2:
        raise ValueError(f"candidate sets: {values.ndim} dimensions; they must be {_FORMS}")
    return _of_matrix(values, np.arange(values.shape[1]))


def aligned_candidates(given: Any, classes: Classes) -> Candidates:
    """Candidate sets [N, C] in any of these forms, with the columns of `classes` [C].

    Raises:
        ValueError: as `as_candidates`; or a candidate is none of these classes.
    """
    candidates, found = as_candidates(given)
    places = {label: column for column, label in enumerate(classes.tolist())}
    aligned = np.zeros((len(candidates), len(places)), dtype=np.bool_)
    for column, label in enumerate(found.tolist()):
        if label in places:
            aligned[:, places[label]] = candidates[:, column]
        elif candidates[:, column].any():
            raise ValueError(f"candidate sets: class {label!r} is not known")
    return aligned


def _are_sets(given: Any) -> bool:
    vector = isinstance(given, Sequence) or getattr(given, "ndim", None) == 1
    return vector and any(isinstance(row, set | frozenset) for row in given)


def _as_array(given: Any) -> npt.NDArray[Any]:
    if hasattr(given, "toarray"):  # sparse
        given = given.toarray()
    try:
        return np.asarray(given)
    except ValueError as error:
        reason = "rows of several lengths are no matrix; sets are written {'a', 'b'}"
        raise ValueError(f"candidate sets: {reason}") from error


def _of_matrix(values: npt.NDArray[Any], classes: Classes) -> tuple[Candidates, Classes]:
    inside = np.isin(values, (0, 1)) if values.dtype.kind in "biuf" else _zero_or_one(values)
    if not inside.all():
        row, column = np.argwhere(~inside)[0]
        raise ValueError(
            f"candidate sets: row {row} has {str(values[row, column])[:40]!r} for class "
            f"{classes[column]!s}, must be 0 or 1; or give a list of sets of labels"
        )
    return _checked(values.astype(np.bool_)), classes


def _zero_or_one(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """For each object whether it is the number 0 or 1."""
    numbers = [isinstance(v, bool | int | float) and v in (0, 1) for v in values.flat]
    return np.array(numbers, dtype=np.bool_).reshape(values.shape)


def _of_sets(rows: Sequence[Any]) -> tuple[Candidates, Classes]:
    for number, row in enumerate(rows):
        if not isinstance(row, set | frozenset):
            raise ValueError(f"candidate sets: row {number} is {str(row)[:40]!r}, not a set")
        if any(label is None or label != label for label in row):
            raise ValueError(f"candidate sets: row {number} has a label that is missing")
    labels = {label for row in rows for label in row}
    try:
        classes = _as_classes(sorted(labels))
    except TypeError as error:
        raise ValueError("candidate sets: labels must be all text or all numbers") from error
    place = {label: column for column, label in enumerate(sorted(labels))}
    sets = np.zeros((len(rows), len(place)), dtype=np.bool_)
    for number, row in enumerate(rows):
        sets[number, [place[label] for label in row]] = True
    return _checked(sets), classes


def _of_labels(labels: npt.NDArray[Any]) -> tuple[Candidates, Classes]:
    missing = np.array([label is None or label != label for label in labels], dtype=np.bool_)
    if missing.any():
        raise ValueError(f"candidate sets: row {missing.argmax()} has no candidate")
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        reason = "Unknown label type: fractional numbers are no classes"  # begins as scikit-learn's
        raise ValueError(f"candidate sets: {reason}")
    classes, columns = np.unique(labels, return_inverse=True)
    return np.eye(len(classes), dtype=np.bool_)[columns], classes


def _as_classes(labels: Collection[Any]) -> Classes:
    for label in labels:
        if not isinstance(label, str | int | float | np.generic):
            kind = type(label).__name__
            raise ValueError(f"candidate sets: labels must be text or numbers, got a {kind}")
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("candidate sets: labels must be all text or all numbers")
    return np.array(list(labels))


def _checked(candidates: Candidates) -> Candidates:
    empty = np.flatnonzero(~candidates.any(axis=1))
    if len(empty):
        share = f"{len(empty)} of {len(candidates)} rows"
        raise ValueError(f"candidate sets: row {empty[0]} has no candidate ({share})")
    return candidates
