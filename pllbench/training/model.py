"""A trained method that predicts, and its file: of a classifier, or kept by a run.

Letters in shape comments: N training instances, M rows, C classes.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor

from pllbench.candidates.audit import audit_candidates
from pllbench.candidates.processes import Candidates
from pllbench.data.readers.base import Dataset
from pllbench.method import Method
from pllbench.registry import load_method
from pllbench.results.curves import Curves
from pllbench.spec import CORE_VERSION, Kind, RunSpec
from pllbench.training.checkpoints import sealed, unsealed
from pllbench.training.evaluation import predictions
from pllbench.training.task import Task, make_task, require_fit
from pllbench.training.trainer import Progress, build_method, train
from pllbench.validation import FieldError, one_line
from pllbench.views.roles import Views
from pllbench.views.scaling import Statistics

CPU = torch.device("cpu")

MODEL_HEADER = b"pllbench model 1\n"
"""Begin of the file of a model, with the version of its layout."""


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A trained method with what its predictions need.

    Attributes:
        spec: the run that has made it.
        method: trained.
        task: of that run; its rows and candidate sets are not looked at.
    """

    spec: RunSpec
    method: Method[Any]
    task: Task

    @torch.no_grad()
    def probabilities(self, x: Tensor) -> Tensor:
        """Class probabilities [M, C], float64 on the CPU, of unscaled rows x [M, ...].

        Raises:
            ValueError: rows of another shape than the training rows.
        """
        shape, known = tuple(x.shape[1:]), tuple(self.task.x.shape[1:])
        if shape != known:
            raise ValueError(f"rows of the shape {shape}; the model was trained on {known}")
        scores = predictions(self.method, self.task, x.to(self.task.x.device))
        return scores.double().softmax(1).cpu()


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model that has just been trained.

    Attributes:
        model: without rows.
        confidence: [N, C] float32 on the CPU, weights of the classes of every training row.
        curves: per-epoch columns.
    """

    model: TrainedModel
    confidence: Tensor
    curves: Curves


def fit_model(
    spec: RunSpec,
    dataset: Dataset,
    device: torch.device,
    *,
    on_epoch: Callable[[Progress], bool] = lambda _: True,
    stop_after: int | None = None,
) -> Fitted:
    """The model of a run on the training rows of a data set; options and errors as of `train`.

    Raises:
        FieldError: `stop_after` is no number of its epochs.
        ValueError: the settings do not fit the data, as a grid refuses them before its runs.
    """
    if stop_after is not None and not (
        isinstance(stop_after, int) and 1 <= stop_after <= spec.train.epochs
    ):
        raise FieldError("stop_after", f"must be from 1 to {spec.train.epochs}", stop_after)
    require_fit(spec, dataset, noisy=True)
    task, cls = make_task(spec, dataset, device, noisy=True), load_method(spec.method)
    outcome = train(spec, cls, task, on_epoch=on_epoch, stop_after=stop_after)
    confidence = _confidence(outcome.method, task)
    model = TrainedModel(spec, outcome.method, _without_rows(task))
    return Fitted(model, confidence, outcome.curves)


def restricted(weights: Tensor, candidates: Tensor) -> Tensor:
    """Weights [M, C] as shares among the candidates [M, C]; equal ones where all are 0."""
    inside = weights * candidates
    inside = torch.where(inside.sum(1, keepdim=True) > 0, inside, candidates.to(inside.dtype))
    return inside / inside.sum(1, keepdim=True)


def rows_digest(x: Tensor, candidates: Candidates) -> str:
    """Equal for equal rows x [N, ...] with equal candidate sets [N, C]."""
    content = hashlib.sha256(f"{x.dtype}{tuple(x.shape)}{candidates.shape}".encode())
    content.update(x.numpy().tobytes())
    content.update(np.packbits(candidates).tobytes())
    return content.hexdigest()


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """The candidate sets that a classifier was trained on, and how to know its rows again.

    Attributes:
        candidates: [N, C].
        digest: of rows and candidate sets.
    """

    candidates: Candidates
    digest: str


@torch.no_grad()
def _confidence(method: Method[Any], task: Task) -> Tensor:
    """What the method believes of each training row, [N, C] float32 on the CPU; rows sum to 1.

    Raises:
        ValueError: its weights are not as the contract says.
    """
    kept, sets = method.training_confidence(), task.candidates
    if kept is None:
        kept = predictions(method, task, task.x).double().softmax(1)
    elif method.noisy_candidates:
        sets = torch.ones_like(sets)
    if kept.shape != sets.shape or not (kept >= 0).all() or not kept.isfinite().all():
        shape = list(sets.shape)
        raise ValueError(f"training_confidence must be weights from 0 of the shape {shape}")
    return restricted(kept.detach(), sets).float().cpu()


def _without_rows(task: Task) -> Task:
    """The task, whose rows a model does not keep."""
    empty = {name: getattr(task, name)[:0].clone() for name in ("x", "test_x", "holdout_x")}
    values = {field.name: getattr(task, field.name) for field in fields(Task)} | empty
    return Task(**values)


def pack_model(model: TrainedModel, extra: Mapping[str, Any]) -> bytes:
    """The file of a model and of further tensors, text, numbers, lists and dictionaries.

    It holds no code, and of the data no more than `extra` and the state of the method do.
    """
    task = model.task
    content = {
        "spec": model.spec.model_dump_json(),
        "kind": task.views.kind,
        "shape": list(task.x.shape[1:]),
        "sets": list(task.candidates.shape),
        "statistics": {
            field.name: getattr(task.views.stats, field.name).cpu() for field in fields(Statistics)
        },
        "state": {name: value.cpu() for name, value in model.method.state_dict().items()},
        "epoch": model.method.epoch,
        "extra": dict(extra),
    }
    buffer = BytesIO()
    torch.save(content, buffer)
    return sealed(buffer.getvalue(), MODEL_HEADER)


def read_model(path: Path, device: torch.device = CPU) -> tuple[TrainedModel, dict[str, Any]]:
    """The model and the further values of a file of `pack_model`; no stored code is run.

    Raises:
        ValueError: no such file, or no whole model; or its method is not installed, or in another
            version than that which made it. The message names the file.
    """
    content = _read(path)
    try:
        spec = RunSpec.model_validate_json(content["spec"])
    except ValidationError as error:
        reason = one_line(error, "its run", RunSpec)
        raise ValueError(f"{path}: of another version of pllbench ({reason})") from error
    _require_versions(spec, path)
    task = _stored_task(spec, content, device)
    try:
        method = build_method(spec, load_method(spec.method), task)
        method.load_state_dict(content["state"])
    except (ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"{path}: does not fit method {spec.method} any more ({reason})"
        ) from error
    method.epoch = content["epoch"]
    return TrainedModel(spec, method, task), content["extra"]


def _read(path: Path) -> dict[str, Any]:
    try:
        file = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: not readable ({error.strerror})") from error
    name = MODEL_HEADER.rpartition(b" ")[0]
    if file.startswith(name) and not file.startswith(MODEL_HEADER):
        version = file[len(name) :].partition(b"\n")[0].decode(errors="replace").strip()
        raise ValueError(f"{path}: a model of layout {version[:20]}, this version reads layout 1")
    try:
        content = unsealed(file, MODEL_HEADER)
        return cast("dict[str, Any]", torch.load(BytesIO(content), weights_only=True))
    except Exception as error:  # torch and pickle raise their own kinds
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path}: not a model of pllbench ({reason})") from error


def _require_versions(spec: RunSpec, path: Path) -> None:
    """Refuse a model that this installation does not predict with as the one that made it."""
    try:
        version = load_method(spec.method).version
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    pairs = {f"method {spec.method}": (spec.version, version)}
    pairs["the core"] = (spec.core_version, CORE_VERSION)
    for name, (made, here) in pairs.items():
        if made != here:
            raise ValueError(
                f"{path}: made with version {made} of {name}, this is version {here}: fit it again"
            )


def _stored_task(spec: RunSpec, content: Mapping[str, Any], device: torch.device) -> Task:
    """The task of a stored model: without rows, and without anything to evaluate on.

    The candidate sets are in the method's state, as far as it needs them.
    """
    candidates = torch.ones(*content["sets"], dtype=torch.bool)
    kind: Kind = content["kind"]
    images = kind in ("image", "digits")
    x = torch.empty(0, *content["shape"], dtype=torch.uint8 if images else torch.float32)
    return Task(
        x=x.to(device),
        candidates=candidates.to(device),
        true_labels=None,
        test_x=x.to(device),
        test_y=torch.empty(0, dtype=torch.int64, device=device),
        holdout_x=x.to(device),
        holdout_candidates=candidates[:0].to(device),
        views=Views(kind, spec.views, Statistics(**content["statistics"]).to(device)),
        audit=audit_candidates(candidates.numpy(), None),
    )
