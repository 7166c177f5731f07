"""The checks themselves, of methods that are trained in steps or of all methods.

Each is a function of a method's class that raises where it fails.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.method import Family, Hparams, Method, Network, Problem
from pllbench.networks import make_network
from pllbench.spec import RunSpec, TrainSpec
from pllbench.testing.support import (
    EPOCHS,
    NUM_CLASSES,
    AnyMethod,
    CheckFailed,
    difference,
    leaves,
    plain_attributes,
    plain_data,
    predict,
    require,
    reseeded,
    same,
    snapshot,
    toy_spec,
    toy_task,
    train_epoch,
    train_in_pieces,
    walk,
)
from pllbench.training.task import Task
from pllbench.training.trainer import build_method, train


def train_finitely(cls: AnyMethod, spec: RunSpec, task: Task) -> None:
    """Train in the real trainer; weights and probabilities must come out finite."""
    outcome = train(spec, cls, task)
    for name, weights in outcome.method.named_parameters():
        require(weights.isfinite().all(), f"{name} is not finite after training")
    probs = predict(outcome.method, task.test_x).softmax(1)
    require(probs.isfinite().all(), "its scores are not finite: a row is NaN, inf, or all -inf")


def declarations(cls: AnyMethod) -> None:
    """Class attributes, hyperparameters and views are as the contract wants them."""
    for name in ("version", "reference_epochs"):
        number = getattr(cls, name)
        require(type(number) is int and number >= 1, f"{name} is {number!r}, not an int >= 1")
    known = cls.labels in ("candidates", "true")
    require(known, f'labels is {cls.labels!r}, neither "candidates" nor "true"')
    families = get_args(Family)
    require(cls.family in families, f"family is {cls.family!r}, none of {', '.join(families)}")
    hparams_type = cls.hparams_type
    require(issubclass(hparams_type, Hparams), "hparams_type is no subclass of Hparams")
    for key, value in (("frozen", True), ("extra", "forbid"), ("strict", True)):
        kept = hparams_type.model_config.get(key) == value
        require(kept, f"{hparams_type.__name__} gives up {key} = {value!r} of Hparams")
    for name, field in hparams_type.model_fields.items():
        require(not field.is_required(), f"hyperparameter {name} has no default")
        require(bool(field.description), f"hyperparameter {name} has no docstring")
    hparams = hparams_type()
    stored = hparams_type.parse(hparams.model_dump(mode="json"))
    require(stored == hparams, "its default hyperparameters do not survive JSON, as records do")
    task = toy_task(32, cls.labels)
    method = build_method(toy_spec(cls), cls, task)  # refuses unknown roles
    proper = isinstance(method.views, tuple) and len(method.views) > 0
    require(proper, f"views is {method.views!r}, not a tuple of roles")
    answer = method.restarts()
    require(isinstance(answer, bool), f"restarts() gives {answer!r}, not a bool")
    for epoch in range(EPOCHS):
        method.epoch = epoch
        for name, number in method.scheduled().items():
            where = f"at epoch {epoch} of {EPOCHS}"
            require(math.isfinite(number), f"schedule {name} is {number} {where}")
    weights = method.training_confidence()
    if weights is not None:
        proper = weights.shape == task.candidates.shape and bool((weights >= 0).all())
        require(proper, "training_confidence gives no weights from 0 for each row and class")


def steps(cls: AnyMethod) -> None:
    """`loss` returns a scalar with gradient, pseudo labels among the candidates, detached logs."""
    task = toy_task(48, cls.labels)
    method = build_method(toy_spec(cls), cls, task)
    original = task.candidates.clone()
    for epoch in range(EPOCHS):
        for batch, step in walk(method, task, epoch):
            where = f"at epoch {epoch} of {EPOCHS}"
            require(step.loss.ndim == 0, f"its loss has shape {list(step.loss.shape)} {where}")
            if step.pseudo is not None:
                shape, dtype = list(step.pseudo.shape), step.pseudo.dtype
                proper = shape == [len(batch.index)] and dtype == torch.int64
                require(proper, f"pseudo is {dtype} of shape {shape} {where}, not int64 [B]")
                known = (step.pseudo >= 0) & (step.pseudo < NUM_CLASSES)
                require(known.all(), f"a pseudo label is no class {where}")
                among = batch.candidates.gather(1, step.pseudo[:, None]).all()
                free = cls.noisy_candidates
                require(among | free, f"a pseudo label is not a candidate of its row {where}")
            for name, value in step.logs.items():
                scalar = isinstance(value, Tensor) and value.ndim == 0
                require(scalar and not value.requires_grad, f"log {name} is no detached scalar")
    require(same(task.candidates, original), "it writes to the candidate sets of its problem")


def learning(cls: AnyMethod) -> None:
    """It gets past half of the way from the majority class to all rows right.

    A learning rate is no property of a method, and the published ones span orders of magnitude: a
    method that fails at the default one may succeed at a tenth of it.
    """
    task = toy_task(192, cls.labels)
    majority = task.test_y.bincount().max().item() / len(task.test_y)
    enough = (1 + majority) / 2
    best = 0.0
    for lr in (0.1, 0.01) if cls.gradient else (0.1,):
        spec = toy_spec(cls, epochs=10, batch_size=32, lr=lr)
        best = max(best, train(spec, cls, task).result.accuracy["last"])
        if best > enough:
            return
    raise CheckFailed(
        f"its accuracy on separable blobs is {best:.2f}, not above {enough:.2f}; "
        f"the majority class alone gives {majority:.2f}"
    )


def rowwise_predictions(cls: AnyMethod) -> None:
    """Scores depend on nothing but weights and row, and asking for them changes nothing."""
    task = toy_task(48, cls.labels)
    method = build_method(toy_spec(cls), cls, task)
    x = task.test_x[:40]
    for epoch in range(EPOCHS):
        train_epoch(method, task, epoch)
        require_pure(method, x)


def require_pure(method: Method[Any], x: Tensor) -> None:
    """Predicting the rows x [B, ...] is a function of each row, and has no effect."""
    before = snapshot(method)
    scores = predict(method, x)
    require(scores.shape == (len(x), NUM_CLASSES), f"its scores are {list(scores.shape)}")
    require(same(predict(method, x), scores), "two predictions of one batch differ")
    with torch.no_grad():
        every = method.predictions(x)
    require(same(every.get(""), scores), "predictions has other scores than predict")
    for name, found in every.items():
        require(found.shape == scores.shape, f"scores {name} are {list(found.shape)}")
    changed = difference(before, method.state_dict())
    require(changed is None, f"predicting changes {changed}")
    alone = torch.cat([predict(method, row) for row in x.split(1)])
    turned = predict(method, x.flip(0)).flip(0)
    for other in (alone, turned):
        # Kernels for other batch sizes may round differently.
        close = other.shape == scores.shape and torch.allclose(other, scores, 1e-4, 1e-4)
        require(close, "its scores of a row depend on the other rows of the batch")


def state(cls: AnyMethod) -> None:
    """At every epoch, a differently seeded instance goes on from a state_dict alone."""
    task, spec = toy_task(48, cls.labels), toy_spec(cls)
    method = build_method(spec, cls, task)
    for epoch in range(EPOCHS):
        other = build_method(spec, reseeded(cls, epoch + 1), task)
        other.load_state_dict(snapshot(method))
        other.epoch = method.epoch
        equal = same(predict(other, task.test_x), predict(method, task.test_x))
        require(equal, f"after epoch {epoch}, a copy of its state_dict predicts other scores")
        train_epoch(method, task, epoch)
        train_epoch(other, task, epoch)
        require_nothing_hidden(method, other)
        changed = difference(method.state_dict(), other.state_dict())
        require(changed is None, f"{changed} differs one epoch after a copy of its state_dict")


def require_nothing_hidden(method: Method[Any], other: Method[Any]) -> None:
    """No state of `method` stands outside its state_dict, from which `other` was made."""
    for name, value in plain_attributes(method).items():
        held = any(isinstance(leaf, (Tensor, np.ndarray, nn.Module)) for leaf in leaves(value))
        require(not held, f"{name} holds tensors, yet is neither parameter, buffer nor module")
    buffers = dict(method.named_buffers()).keys() - method.state_dict().keys()
    buffers -= method.schedules.keys()
    require(not buffers, f"buffers outside state_dict: {', '.join(sorted(buffers))}")
    counted = difference(plain_data(method), plain_data(other))
    require(counted is None, f"attribute {counted} changes in training: make it a buffer")


def resuming(cls: AnyMethod) -> None:
    """A run that stops after every epoch equals one that never stops."""
    task, spec = toy_task(48, cls.labels), toy_spec(cls)
    whole = train(spec, cls, task)
    pieces = train_in_pieces(cls, spec, task)
    for name in sorted({*whole.curves, *pieces.curves}):
        once, resumed = (outcome.curves.get(name, np.empty(0)) for outcome in (whole, pieces))
        equal = np.array_equal(once, resumed, equal_nan=True)
        require(equal, f"column {name} differs when resumed")
    changed = difference(whole.method.state_dict(), pieces.method.state_dict())
    require(changed is None, f"{changed} differs when resumed")


def labels_unseen(cls: AnyMethod) -> None:
    """Other true labels, of training and of test rows, change no parameter and no buffer."""
    task, spec = toy_task(48), toy_spec(cls)
    shifted, shifted_test = ((y + 1) % NUM_CLASSES for y in (task.y, task.test_y))
    other = replace(task, true_labels=shifted, test_y=shifted_test)

    def final(task: Task) -> dict[str, Any]:
        return train(spec, cls, task).method.state_dict()

    reference = final(task)
    changed = difference(reference, final(other))
    if changed is None:
        return
    repeats = difference(reference, final(task)) is None
    require(repeats, f"{changed} differs between two runs of one seed and the same labels")
    raise CheckFailed(f"{changed} changes with the true labels of the training or test rows")


def extreme_logits(cls: AnyMethod) -> None:
    """Loss, gradient and scores are finite where probabilities are 0 and 1 to the last bit."""
    task, spec = toy_task(48, cls.labels), toy_spec(cls)

    def network(train: TrainSpec, largest: float) -> Network:
        made = make_network(train, tuple(task.x.shape[1:]), NUM_CLASSES)
        with torch.no_grad():
            factor = largest / made(task.x)[0].abs().max()
            made.classifier.weight.mul_(factor)
            made.classifier.bias.mul_(factor)
        return made

    # The larger size is for methods with a temperature.
    for precision, largest in (("float32", 200.0), ("float32", 4000.0), ("bf16", 200.0)):
        settings = spec.train.model_copy(update={"precision": precision})
        made = partial(network, settings, largest)
        problem = Problem(task.candidates, EPOCHS, made, tuple(task.x.shape[1:]))
        method = cls(problem, cls.hparams_type())
        for epoch in range(EPOCHS):
            where = f"at epoch {epoch} of {EPOCHS} with logits up to {largest:.0f}, {precision}"
            for _, step in walk(method, task, epoch, lr=0.0):  # the weights stay extreme
                require(step.loss.isfinite(), f"its loss is {step.loss.item()} {where}")
                gradients = (p.grad for p in method.parameters() if p.grad is not None)
                finite = all(bool(gradient.isfinite().all()) for gradient in gradients)
                require(finite, f"its gradient is not finite {where}")
            require(predict(method, task.x).isfinite().all(), f"its scores are not finite {where}")


def set_sizes(cls: AnyMethod) -> None:
    """Sets of one candidate and of all of them, mixed and alone, train finitely."""
    task = toy_task(48, cls.labels)
    single = F.one_hot(task.y, NUM_CLASSES).bool()
    full = torch.ones_like(single)
    mixed = torch.where(torch.arange(len(task.y))[:, None] % 2 == 0, single, full)
    for sets in (single,) if cls.labels == "true" else (single, mixed, full):
        train_finitely(cls, toy_spec(cls), replace(task, candidates=sets))


def last_batch_of_one(cls: AnyMethod) -> None:
    """33 rows in batches of 16."""
    train_finitely(cls, toy_spec(cls), toy_task(33, cls.labels))


def large_batch(cls: AnyMethod) -> None:
    """48 rows in a batch of 1000."""
    train_finitely(cls, toy_spec(cls, batch_size=1000), toy_task(48, cls.labels))


def single_epoch(cls: AnyMethod) -> None:
    """The schedules survive a run whose first epoch is its last."""
    train_finitely(cls, toy_spec(cls, epochs=1), toy_task(48, cls.labels))
