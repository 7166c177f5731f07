"""What a run keeps on request: the scores of its test rows, and the trained method.

Letters in shape comments: M test rows, C classes, N training rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pllbench.data.readers.base import Dataset, short_message
from pllbench.method import Method, Network, Problem
from pllbench.networks import compile_encoders, make_network
from pllbench.registry import load_method
from pllbench.results.kept import Kept
from pllbench.spec import RunSpec
from pllbench.training.evaluation import predictions
from pllbench.training.task import Task
from pllbench.views.roles import Views
from pllbench.views.scaling import Statistics


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
    """A .npz file about the test rows, after the last epoch.

    `rows` [M], their places in the data set; `y` [M], true labels; `scores` [M, C]; `predicted`
    [M]; `class_accuracy` [C], the share of a class's rows that are right, NaN where it has none;
    `classes` [C], where the classes have names.
    """
    task = run.task
    scores = predictions(run.method, task, task.test_x)
    predicted, num_classes = scores.argmax(1), scores.shape[1]
    counts = torch.bincount(task.test_y, minlength=num_classes)
    right = torch.bincount(task.test_y[predicted == task.test_y], minlength=num_classes)
    arrays = {
        "rows": task.test_rows,
        "y": task.test_y,
        "scores": scores.float(),
        "predicted": predicted,
        "class_accuracy": right.double() / counts,
    }
    content = {name: values.cpu().numpy() for name, values in arrays.items()}
    if run.dataset.classes:
        content["classes"] = np.array(run.dataset.classes)
    buffer = BytesIO()
    np.savez_compressed(buffer, **content)  # type: ignore[arg-type]
    return buffer.getvalue()


def _model(run: TrainedRun) -> bytes:
    """All that `load_model` needs: no data, and no code."""
    task, stats = run.task, run.task.views.stats
    buffer = BytesIO()
    content = {
        "spec": run.spec.model_dump_json(),
        "kind": task.views.kind,
        "statistics": {field.name: getattr(stats, field.name).cpu() for field in fields(stats)},
        "state": {name: values.cpu() for name, values in run.method.state_dict().items()},
        "shape": list(task.x.shape[1:]),
        "num_train": len(task.x),
        "num_classes": task.candidates.shape[1],
    }
    torch.save(content, buffer)
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A trained method with the scaling of its training rows.

    Attributes:
        spec: the run that trained it.
        method: in eval mode, on the CPU.
        views: scale rows as the run did.
    """

    spec: RunSpec
    method: Method[Any]
    views: Views

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Scores [M, C] of rows x [M, ...] as its data set has them, unscaled."""
        return self.method.predict(self.views.plain(x))


def load_model(path: Path) -> TrainedModel:
    """The trained method of a file that a run has kept.

    Raises:
        ValueError: it is none, or it does not fit the method of now; the message names the file.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        spec = RunSpec.model_validate_json(content["spec"])
        views = Views(content["kind"], spec.views, Statistics(**content["statistics"]))
        method = _rebuilt(spec, content)
    except Exception as error:  # torch, pickle, pydantic and a method each raise their own kinds
        raise ValueError(f"{path}: not a model of this version ({short_message(error)})") from error
    return TrainedModel(spec, method.eval(), views)


def _rebuilt(spec: RunSpec, content: dict[str, Any]) -> Method[Any]:
    cls, shape = load_method(spec.method), tuple(content["shape"])
    if cls.version != spec.version:
        raise ValueError(f"{spec.method} is of version {cls.version} now, not {spec.version}")

    def network() -> Network:
        return make_network(spec.train, shape, content["num_classes"])

    # The sets themselves are in the method's state, as far as it needs them.
    sets = torch.ones(content["num_train"], content["num_classes"], dtype=torch.bool)
    method = cls(
        Problem(sets, spec.train.epochs, network, shape), cls.hparams_type.parse(spec.hparams)
    )
    if spec.train.compile:
        compile_encoders(method)
    method.load_state_dict(content["state"])
    return method
