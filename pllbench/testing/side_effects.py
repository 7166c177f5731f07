"""Checks of what a method does beside learning: to its process, and to the tensors it is given."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from pllbench.method import Batch, Method, Step, TrainView
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

    def on_epoch_start(self: Method[Any], train: TrainView) -> None:
        shown = _Shown(train)
        cls.on_epoch_start(self, shown)
        shown.require_unchanged("on_epoch_start")

    def fit(self: Method[Any], train: TrainView) -> Tensor | None:
        shown = _Shown(train)
        pseudo = cls.fit(self, shown)
        shown.require_unchanged("fit")
        return pseudo

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

    members = (on_epoch_start, fit, loss, after_step, predict, extra_predictions)
    return type(cls.__name__, (cls,), {member.__name__: member for member in members})


@dataclass(frozen=True, slots=True)
class _Shown:
    """A training set that remembers what its batches were.

    Attributes:
        train: the training set.
        given: tensors by name and copies of them, an entry a batch.
    """

    train: TrainView
    given: list[tuple[dict[str, Tensor], dict[str, Tensor]]] = field(default_factory=list)

    def batches(self) -> Iterator[Batch]:
        """Those of the training set."""
        for batch in self.train.batches():
            tensors = _tensors(batch)
            self.given.append((tensors, _copies(tensors)))
            yield batch

    def require_unchanged(self, member: str) -> None:
        """Raise CheckFailed where `member` has changed one of them."""
        for tensors, before in self.given:
            _compare(member, tensors, before)


def _tensors(batch: Batch) -> dict[str, Tensor]:
    views = {f"view {number} of its batch": x for number, x in enumerate(batch.x)}
    return views | {"batch.index": batch.index, "batch.candidates": batch.candidates}


@contextmanager
def _unchanged(member: str, given: Mapping[str, Tensor]) -> Iterator[None]:
    before = _copies(given)
    yield
    _compare(member, given, before)


def _copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}


def _compare(member: str, given: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> None:
    for name, tensor in given.items():
        require(same(tensor, before[name]), f"{member} writes to {name}")
