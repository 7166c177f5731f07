"""What a run keeps on request: the scores of its test rows, and the trained method.

Letters in shape comments: M test rows, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import torch

from pllbench.data.readers.base import Dataset
from pllbench.method import Method
from pllbench.results.kept import Kept
from pllbench.spec import RunSpec
from pllbench.training.evaluation import predictions
from pllbench.training.model import TrainedModel, pack_model
from pllbench.training.task import Task


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """A run that has just ended, with what it was made of."""

    spec: RunSpec
    method: Method[Any]
    task: Task
    dataset: Dataset


def files_to_keep(kinds: Sequence[Kept], run: TrainedRun) -> dict[Kept, bytes]:
    """The content of the files that a run was asked to keep, by kind."""
    makers = {"predictions": _predictions, "model": _model}
    return {kind: makers[kind](run) for kind in kinds}


def _predictions(run: TrainedRun) -> bytes:
    """A .npz file about the test rows, of which there may be none, after the last epoch.

    `rows` [M], their places in the data set; `y` [M], true labels; `scores` [M, C]; `predicted`
    [M]; `class_accuracy` [C], the share of a class's rows that are right, NaN where it has none;
    `classes` [C], where the classes have names.
    """
    task = run.task
    num_classes = task.candidates.shape[1]
    scores = torch.empty(0, num_classes)
    if len(task.test_x):
        scores = predictions(run.method, task, task.test_x).float().cpu()
    predicted, y = scores.argmax(1), task.test_y.cpu()
    counts = torch.bincount(y, minlength=num_classes)
    right = torch.bincount(y[predicted == y], minlength=num_classes)
    arrays = {
        "rows": task.test_rows,
        "y": y,
        "scores": scores,
        "predicted": predicted,
        "class_accuracy": right.double() / counts,
    }
    content = {name: values.numpy() for name, values in arrays.items()}
    if run.dataset.classes:
        content["classes"] = np.array(run.dataset.classes)
    buffer = BytesIO()
    np.savez_compressed(buffer, **content)  # type: ignore[arg-type]
    return buffer.getvalue()


def _model(run: TrainedRun) -> bytes:
    """What `read_model` and `PartialLabelClassifier.load` read: no data, and no code."""
    num_classes = run.task.candidates.shape[1]
    extra: dict[str, object] = {"classes": list(run.dataset.classes or range(num_classes))}
    if run.dataset.columns:
        extra |= {"feature_names": list(run.dataset.columns), "num_features": run.task.x.shape[1]}
    return pack_model(TrainedModel(run.spec, run.method, run.task), extra)
