"""What the conformance checks train on, and how they train and compare."""

import contextlib
import copy
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.candidates.audit import audit_candidates
from pllbench.method import Batch, Hparams, Method, Problem, Step
from pllbench.spec import FITTED, RunSpec, TrainSpec, ViewSpec
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.loader import Loader
from pllbench.training.sgd import SGD
from pllbench.training.step import Loss, take_gradient, update
from pllbench.training.task import Task
from pllbench.training.trainer import Interrupted, Outcome, train
from pllbench.views.roles import Views
from pllbench.views.scaling import statistics

NUM_CLASSES = 5
NUM_FEATURES = 8
EPOCHS = 6
"""Short, yet the schedules of a 200-epoch paper pass all their events within it."""

AnyMethod = type[Method[Any]]


def toy_task(num_rows: int, labels: Literal["candidates", "true"] = "candidates") -> Task:
    """Separable blobs: 40 % of the rows are of class 0, the others are shared equally.

    Each candidate set has the true label and one or two random ones; with `labels="true"`, it is
    the true label alone.
    """
    generator = torch.Generator().manual_seed(0)

    def draw(num: int) -> tuple[Tensor, Tensor]:
        shares = torch.tensor([0.4, 0.15, 0.15, 0.15, 0.15])
        y = torch.multinomial(shares, num, replacement=True, generator=generator)
        noise = torch.randn(num, NUM_FEATURES, generator=generator)
        return 8 * F.one_hot(y, NUM_FEATURES) + noise, y

    x, y = draw(num_rows)
    test_x, test_y = draw(200)
    order = torch.rand(num_rows, NUM_CLASSES, generator=generator)
    rank = order.scatter(1, y[:, None], -1.0).argsort(1).argsort(1)  # the true label is first
    sizes = torch.randint(2, 4, (num_rows, 1), generator=generator)
    sets = rank < (1 if labels == "true" else sizes)  # [N, C]
    return Task(
        x=x,
        candidates=sets,
        true_labels=y,
        test_x=test_x,
        test_y=test_y,
        holdout_x=x[:0],
        holdout_candidates=sets[:0],
        views=Views("tabular", ViewSpec(), statistics(x)),
        audit=audit_candidates(sets.numpy(), y.numpy()),
    )


def toy_spec(
    cls: AnyMethod, epochs: int = EPOCHS, batch_size: int = 16, lr: float = 0.1
) -> RunSpec:
    """A run of `cls` on the toy problem, with default hyperparameters.

    A method without gradient has no train settings: for it they stay as they are.
    """
    return RunSpec(
        method=cls.__name__,
        version=1,
        hparams={},
        dataset="toy",
        seed=0,
        gradient=cls.gradient,
        train=TrainSpec(epochs=epochs, batch_size=batch_size, lr=lr) if cls.gradient else FITTED,
    )


def reseeded(cls: AnyMethod, seed: int) -> AnyMethod:
    """`cls`, but its instances start from random numbers of their own, not of the run's seed."""

    def init(self: Method[Any], problem: Problem, hparams: Hparams) -> None:
        torch.manual_seed(seed)
        cls.__init__(self, problem, hparams)

    return type(cls.__name__, (cls,), {"__init__": init})


def walk(
    method: Method[Any], task: Task, epoch: int, lr: float = 0.1, loss: Loss | None = None
) -> Iterator[tuple[Batch, Step]]:
    """One epoch as the trainer does it; each step is handed out between gradient and update.

    `loss` stands in for that of the method.
    """
    loader = Loader(task.x, task.candidates, task.views, method.views, batch_size=16, seed=0)
    # Without momentum there is no state here that a copy of the method would lack.
    optimizer = SGD(method.parameters(), lr)
    torch.manual_seed(epoch)
    method.epoch = epoch
    method.train()
    with torch.no_grad():
        method.on_epoch_start(loader)
    for batch in loader.epoch(epoch):
        step = take_gradient(loss or method.loss, batch, optimizer)
        yield batch, step
        update(method, batch, optimizer)


def train_epoch(method: Method[Any], task: Task, epoch: int) -> None:
    """One epoch of training, its steps unseen."""
    for _ in walk(method, task, epoch):
        pass


@torch.no_grad()
def predict(method: Method[Any], x: Tensor) -> Tensor:
    """Scores [B, C] as evaluation asks for them."""
    method.eval()
    return method.predict(x)


def train_in_pieces(cls: AnyMethod, spec: RunSpec, task: Task) -> Outcome:
    """Train with a stop after every epoch; each piece starts from a differently seeded instance."""
    with TemporaryDirectory() as folder:
        checkpoints = Checkpoints(Path(folder, "checkpoint"), spec.run_id)
        for epoch in range(spec.train.epochs - 1):
            piece = reseeded(cls, epoch) if epoch > 0 else cls
            with contextlib.suppress(Interrupted):
                train(spec, piece, task, checkpoints=checkpoints, on_epoch=lambda _: False)
            # Without it, the trainer would start again from nothing, and be right in the end.
            readable = checkpoints.load(task.x.device) is not None
            require(readable, "its state_dict cannot be loaded with weights_only=True")
        return train(spec, reseeded(cls, spec.train.epochs), task, checkpoints=checkpoints)


class CheckFailed(Exception):  # noqa: N818 - what a check finds, not an error of the suite
    """What `require` raises: the method is wrong, and the message says how."""


def require(condition: bool | Tensor, reason: str) -> None:
    """Raise CheckFailed, with a reason for the reader, unless `condition` holds."""
    if not condition:
        raise CheckFailed(reason)


def same(a: object, b: object) -> bool:
    """Whether two values of a state_dict are equal to the last bit; NaN equals NaN."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return bool(a == b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def difference(a: Mapping[str, object], b: Mapping[str, object]) -> str | None:
    """The first key whose values differ between two mappings, or None."""
    changed = (key for key in [*a, *b] if key not in a or key not in b or not same(a[key], b[key]))
    return next(changed, None)


def snapshot(method: Method[Any]) -> dict[str, Any]:
    """A copy of its state_dict."""
    return copy.deepcopy(method.state_dict())


def plain_attributes(method: Method[Any]) -> dict[str, object]:
    """Attributes of a method and its submodules that torch does not manage, by dotted name."""
    managed = vars(nn.Module()).keys()
    return {
        f"{path}.{name}".removeprefix("."): value
        for path, module in method.named_modules()
        for name, value in vars(module).items()
        if name not in managed
    }


def leaves(value: object) -> Iterator[object]:
    """The values in nested containers."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def plain_data(method: Method[Any]) -> dict[str, object]:
    """Those plain attributes that can be compared by value."""
    plain = (bool, int, float, str, type(None))
    return {
        name: value
        for name, value in plain_attributes(method).items()
        if all(isinstance(leaf, plain) for leaf in leaves(value))
    }
