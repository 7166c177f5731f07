"""The checks of methods without gradient alone: what `fit` must satisfy."""

from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pllbench.method import Method
from pllbench.testing.checks import require_nothing_hidden, require_pure, train_finitely
from pllbench.testing.support import (
    AnyMethod,
    difference,
    predict,
    require,
    reseeded,
    same,
    toy_spec,
    toy_task,
)
from pllbench.training.loader import Loader
from pllbench.training.task import Task
from pllbench.training.trainer import build_method, train


def fit(cls: AnyMethod, task: Task, batch_size: int = 16) -> tuple[Method[Any], Tensor | None]:
    """A method that is fitted to a task as the trainer does it, and its pseudo labels."""
    method = build_method(toy_spec(cls), cls, task)
    loader = Loader(task.x, task.candidates, task.views, method.views, batch_size, seed=0)
    torch.manual_seed(0)
    with torch.no_grad():
        pseudo = method.fit(loader)
    return method, pseudo


def pseudo_labels(cls: AnyMethod) -> None:
    """`fit` returns a candidate of every row, or None, and leaves the candidate sets alone."""
    task = toy_task(48, cls.labels)
    original = task.candidates.clone()
    _, pseudo = fit(cls, task)
    if pseudo is not None:
        shape, dtype = list(pseudo.shape), pseudo.dtype
        proper = shape == [48] and dtype == torch.int64
        require(proper, f"fit returns {dtype} of shape {shape}, not int64 [N]")
        among = original.gather(1, pseudo[:, None]).all()
        require(among, "a pseudo label is not a candidate of its row")
    require(same(task.candidates, original), "it writes to the candidate sets of its problem")


def fitted_predictions(cls: AnyMethod) -> None:
    """Scores depend on nothing but the fit and the row, and asking for them changes nothing."""
    task = toy_task(48, cls.labels)
    method, _ = fit(cls, task)
    require_pure(method, task.test_x[:40])


def fitted_state(cls: AnyMethod) -> None:
    """A differently seeded instance predicts from a stored state_dict alone, without a fit."""
    task = toy_task(48, cls.labels)
    method, _ = fit(cls, task)
    stored = BytesIO()
    torch.save(method.state_dict(), stored)
    stored.seek(0)
    other = build_method(toy_spec(cls), reseeded(cls, 1), task)
    other.load_state_dict(torch.load(stored, weights_only=True))
    equal = same(predict(other, task.test_x), predict(method, task.test_x))
    require(equal, "a copy of its state_dict predicts other scores")
    require_nothing_hidden(method, other)


def repeating(cls: AnyMethod) -> None:
    """Two runs of one spec are equal in state and results."""
    task, spec = toy_task(48, cls.labels), toy_spec(cls)
    once, again = train(spec, cls, task), train(spec, cls, task)
    changed = difference(once.method.state_dict(), again.method.state_dict())
    require(changed is None, f"{changed} differs between two runs of one seed")
    for name, values in once.curves.items():
        equal = np.array_equal(values, again.curves[name], equal_nan=True)
        require(equal, f"column {name} differs between two runs of one seed")


def batch_sizes(cls: AnyMethod) -> None:
    """33 rows in batches of 16, of which the last has one row, and in one batch of 1000."""
    task = toy_task(33, cls.labels)
    parts, whole = (predict(fit(cls, task, size)[0], task.test_x) for size in (16, 1000))
    close = torch.allclose(parts, whole, 1e-4, 1e-4)  # sums over batches may round differently
    require(close, "its scores depend on how the training rows are cut into batches")


def odd_rows(cls: AnyMethod) -> None:
    """Distances, norms and deviations of 0 are survived."""
    task = toy_task(48, cls.labels)
    equal, zeros = task.x.clone(), task.x.clone()
    equal[:24] = equal[0]  # more of them than the neighbours that a method looks at
    zeros[:4] = 0
    for x in (equal, zeros, torch.ones_like(task.x), torch.zeros_like(task.x)):
        train_finitely(cls, toy_spec(cls), replace(task, x=x))
