"""Checks of what a method does beside learning: to its process, and to the tensors it is given."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from pllbench.method import Batch, Method, Step
from pllbench.testing.support import AnyMethod, require, same, toy_spec, toy_task
from pllbench.training.isolation import ProcessState
from pllbench.training.trainer import train


def process_state(cls: AnyMethod) -> None:
    """Training and prediction leave the process as they found it, for the next run."""
    before = ProcessState.capture()
    try:
        train(toy_spec(cls), cls, toy_task(48, cls.labels))
    finally:
        require_unchanged(before.restore())  # more telling than what it may raise in consequence


def require_unchanged(changed: Sequence[str]) -> None:
    """Raise CheckFailed if anything of the process was changed."""
    require(not changed, f"it changes what all runs of its process share: {', '.join(changed)}")


def inputs(cls: AnyMethod) -> None:
    """Neither a batch nor rows to predict are written to."""
    train(toy_spec(cls), _watched(cls), toy_task(48, cls.labels))


def _watched(cls: AnyMethod) -> AnyMethod:
    """`cls`, but each of its members raises where it has changed a tensor that it was given."""

    def loss(self: Method[Any], batch: Batch) -> Step:
        with _unchanged("loss", _tensors(batch)):
            return cls.loss(self, batch)

    def after_step(self: Method[Any], batch: Batch) -> None:
        with _unchanged("after_step", _tensors(batch)):
            cls.after_step(self, batch)

    def predict(self: Method[Any], x: Tensor) -> Tensor:
        with _unchanged("predict", {"x": x}):
            return cls.predict(self, x)

    def extra_predictions(self: Method[Any], x: Tensor) -> Mapping[str, Tensor]:
        with _unchanged("extra_predictions", {"x": x}):
            return cls.extra_predictions(self, x)

    members = (loss, after_step, predict, extra_predictions)
    return type(cls.__name__, (cls,), {member.__name__: member for member in members})


def _tensors(batch: Batch) -> dict[str, Tensor]:
    views = {f"view {number} of its batch": x for number, x in enumerate(batch.x)}
    return views | {"batch.index": batch.index, "batch.candidates": batch.candidates}


@contextmanager
def _unchanged(member: str, given: Mapping[str, Tensor]) -> Iterator[None]:
    before = {name: tensor.clone() for name, tensor in given.items()}
    yield
    for name, tensor in given.items():
        require(same(tensor, before[name]), f"{member} writes to {name}")
