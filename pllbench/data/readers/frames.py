"""Own data from tables with named columns; `pllbench.data.frames` reads their cells.

Letters in shape comments: N instances, C classes.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from pllbench.candidates.processes import Candidates
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.frames import (
    CANDIDATE,
    CANDIDATE_SET,
    SEPARATOR,
    TRUE_LABEL,
    Frame,
    read_frame,
)
from pllbench.data.readers.base import Dataset, as_features, check_labels


def read_frame_file(info: DatasetInfo, path: Path) -> Dataset:
    """The data set of a table; its classes are the labels that occur, in the order of `in_order`.

    Where each class has a column of its own, these are the classes, in the order of the columns.

    Raises:
        ValueError: as `read_frame`; or a cell holds no labels, or others than it may. The message
            names file, row and column.
    """
    frame = read_frame(path)
    classes = frame_classes(frame)
    numbers = {name: number for number, name in enumerate(classes)}
    y = None
    if frame.columns.labelled:
        labels = _true_labels(frame, numbers)
        y = torch.from_numpy(check_labels(labels, len(classes), f"{path}: `{TRUE_LABEL}`"))
    sets = _candidate_sets(frame, numbers)
    return Dataset(
        info,
        as_features(frame.x, str(path)),
        y,
        len(classes),
        None if sets is None else torch.from_numpy(sets),
        classes=classes,
        columns=frame.columns.features,
    )


def frame_classes(frame: Frame) -> tuple[str, ...]:
    """The classes of a table, in order.

    Raises:
        ValueError: there are fewer than two, or two that differ in the code of an accent alone; or
            a cell of a candidate set has no label, an empty one, or one twice.
    """
    found = dict.fromkeys(name.removeprefix(CANDIDATE) for name in frame.columns.indicators)
    if not found:
        for row, text in enumerate(frame.texts.get(CANDIDATE_SET, ())):
            found |= dict.fromkeys(_labels(frame, row, text))
        found |= dict.fromkeys(text for text in frame.texts.get(TRUE_LABEL, ()) if text)
        found = dict.fromkeys(in_order(found))
    if len(found) < 2:
        named = f", `{next(iter(found))}`" if found else ""
        raise ValueError(f"{frame.path}: fewer than two classes in it{named}")
    composed: dict[str, str] = {}
    for name in found:
        other = composed.setdefault(unicodedata.normalize("NFC", name), name)
        if other != name:
            raise ValueError(
                f"{frame.path}: the classes {other!r} and {name!r} differ in the code of an accent "
                f"alone: write them in one way"
            )
    return tuple(found)


def in_order(labels: Mapping[str, object]) -> list[str]:
    """Labels by their number where all are whole numbers, else by the alphabet."""
    if all(re.fullmatch(r"-?\d{1,18}", label) for label in labels):
        return sorted(labels, key=lambda label: (int(label), label))
    return sorted(labels)


def _labels(frame: Frame, row: int, text: str) -> list[str]:
    """The labels of a cell of candidate sets."""
    labels = [label.strip() for label in text.split(SEPARATOR)]
    where = frame.place(row, CANDIDATE_SET)
    if labels == [""]:
        raise ValueError(f"{where}: no candidate")
    if "" in labels:
        raise ValueError(f"{where}: an empty label in {text[:40]!r}")
    if len(set(labels)) < len(labels):
        raise ValueError(f"{where}: a label twice in {text[:40]!r}")
    return labels


def _true_labels(frame: Frame, numbers: Mapping[str, int]) -> list[int]:
    """The numbers of the true labels, [N]."""
    for row, text in enumerate(frame.texts[TRUE_LABEL]):
        if text not in numbers:
            known = ", ".join(numbers)
            reason = f"{text[:40]!r} is none of the classes {known[:100]}" if text else "empty"
            raise ValueError(f"{frame.place(row, TRUE_LABEL)}: {reason}")
    return [numbers[text] for text in frame.texts[TRUE_LABEL]]


def _candidate_sets(frame: Frame, numbers: Mapping[str, int]) -> Candidates | None:
    """Candidate sets [N, C]; None where the table has none."""
    if not frame.columns.has_sets:
        return None
    sets = np.zeros((len(frame.x), len(numbers)), dtype=np.bool_)
    for row, text in enumerate(frame.texts.get(CANDIDATE_SET, ())):
        sets[row, [numbers[label] for label in _labels(frame, row, text)]] = True
    for name in frame.columns.indicators:
        sets[:, numbers[name.removeprefix(CANDIDATE)]] = _zeros_and_ones(frame, name)
    empty = np.flatnonzero(~sets.any(axis=1))
    if len(empty):
        where = frame.place(int(empty[0]), frame.columns.indicators[0])
        raise ValueError(f"{where} and all others of candidates are 0: no candidate")
    return sets


def _zeros_and_ones(frame: Frame, name: str) -> Sequence[bool]:
    for row, text in enumerate(frame.texts[name]):
        if text not in ("0", "1"):
            raise ValueError(f"{frame.place(row, name)}: {text[:40]!r} is neither 0 nor 1")
    return [text == "1" for text in frame.texts[name]]
