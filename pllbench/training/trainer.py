"""The one training loop. It names no method and knows none of their mathematics."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pllbench.method import Method, Network, Problem
from pllbench.networks import compile_encoders, make_network
from pllbench.results.curves import Curves
from pllbench.results.metrics import CLASS_METRICS, CRITERIA, DEFAULT_METRIC, column_of
from pllbench.results.model_selection import choose, last_epochs, under_rules
from pllbench.results.records import Result
from pllbench.seeds import stream_seed
from pllbench.spec import RunSpec, TrainSpec
from pllbench.training.checkpoints import Checkpoints, State
from pllbench.training.compiling import compiled_loss
from pllbench.training.evaluation import EXTRA, evaluate, noise_rates
from pllbench.training.graph import GraphedSteps, Take, require_cuda
from pllbench.training.loader import Loader
from pllbench.training.optimizer import learning_rate, make_optimizer
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench.training.task import Task

Series = list[tuple[int, Tensor]]
"""A scalar for each batch of an epoch, with the number of its rows."""

Columns = dict[str, list[float]]
"""Values by column, one an epoch; NaN where an epoch has none."""


class Interrupted(Exception):  # noqa: N818 - asked for, not an error
    """Training has stopped before its end; a checkpoint is written.

    Attributes:
        curves: per-epoch columns so far, where it was to pause here; None where it was asked to
            stop.
    """

    def __init__(self, curves: Curves | None = None) -> None:
        super().__init__()
        self.curves = curves


@dataclass(frozen=True, slots=True)
class Progress:
    """An epoch has ended.

    Attributes:
        epoch: 0-based.
        accuracy: test accuracy, a fraction; None without test rows.
        covering_rate: of the hold-out; None without one.
        approximated_accuracy: likewise.
    """

    epoch: int
    accuracy: float | None = None
    covering_rate: float | None = None
    approximated_accuracy: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished training.

    Attributes:
        result: summaries.
        curves: per-epoch columns, each [epochs].
        resumed_from: epochs at which training went on from a checkpoint.
        seconds_before: wall time of the parts before the last checkpoint it went on from.
        method: the trained method.
    """

    result: Result
    curves: Curves
    resumed_from: tuple[int, ...]
    seconds_before: float
    method: Method[Any]


def train(
    spec: RunSpec,
    cls: type[Method[Any]],
    task: Task,
    *,
    checkpoints: Checkpoints | None = None,
    on_epoch: Callable[[Progress], bool] = lambda _: True,
    until: int | None = None,
    stop_after: int | None = None,
) -> Outcome:
    """Train a method to the end of its run, from its checkpoint where there is one.

    A method without gradient is fitted: there is nothing to resume, and nothing to stop between.

    Args:
        spec: the run.
        cls: class of the method.
        task: its tensors; they decide the device.
        checkpoints: where state is kept between epochs; None keeps none.
        on_epoch: called after every epoch; False asks to stop.
        until: number of epochs after which it pauses, if it is longer; None to go on to its end.
        stop_after: end after so many epochs, with the schedules of the whole run; None for all.

    Raises:
        FloatingPointError: a loss was not finite, or scores were none (`evaluate`); it says when.
        ValueError: pseudo labels were not one class a row, scores not of the contract's shape, or
            the run asks for graphs on a device that has none, or of steps that none can hold.
        Interrupted: `on_epoch` asked to stop, or it pauses; the state was saved.
    """
    device, clock = task.x.device, time.perf_counter()
    if spec.train.graph:
        require_cuda(device)
    with _reproducible(device):
        _seed(device, stream_seed(spec.seed, "init"))
        method = build_method(spec, cls, task)
        loader = Loader(
            task.x, task.candidates, task.views, method.views, spec.train.batch_size, spec.seed
        )
        if not cls.gradient:
            outcome = _fit(method, loader, task)
            on_epoch(_progress({name: list(c) for name, c in outcome.curves.items()}, 0))
            return outcome
        optimizer = make_optimizer(method, spec.train)
        loss = compiled_loss(method) if spec.train.compile == "step" else method.loss
        columns: Columns = {}
        start, resumed_from, seconds = 0, [], 0.0
        if checkpoints and (state := checkpoints.load(device)):
            _restore(state, method, optimizer, checkpoints)
            columns = state.columns
            start = state.next_epoch
            resumed_from = [*state.resumed_from, start]
            seconds = state.seconds
            if until is not None and start >= until:  # it has paused before
                raise Interrupted(_as_curves(columns, until))
        for epoch in range(start, spec.train.epochs):
            _seed(device, stream_seed(spec.seed, "method", epoch))
            _start_epoch(method, loader, epoch)
            if method.restarts():
                optimizer = make_optimizer(method, spec.train)
            optimizer.lr = lr = learning_rate(spec.train, epoch)
            take: Take = partial(take_step, method, optimizer=optimizer, loss=loss)
            steps = GraphedSteps(take) if spec.train.graph else take
            row = {"lr": lr} | _train_epoch(method, loader, steps, task)
            row |= {f"schedule_{name}": float(value) for name, value in method.scheduled().items()}
            _append(columns, row | evaluate(method, task), epoch)
            go_on = on_epoch(_progress(columns, epoch))
            if epoch + 1 in (spec.train.epochs, stop_after):
                break
            pauses = epoch + 1 == until
            if checkpoints and (pauses or not go_on or checkpoints.due(epoch + 1)):
                checkpoints.save(
                    State(
                        epoch + 1,
                        method.state_dict(),
                        optimizer.state_dict(),
                        columns,
                        resumed_from,
                        seconds + time.perf_counter() - clock,
                    )
                )
            if pauses:
                raise Interrupted(_as_curves(columns))
            if not go_on:
                raise Interrupted
    curves = _as_curves(columns)
    return Outcome(summarise(curves, task), curves, tuple(resumed_from), seconds, method)


def _seed(device: torch.device, seed: int) -> None:
    """Seed what methods draw from, as `torch.manual_seed` does.

    That also writes down the stack for every kind of device that may be found later, which takes up
    to a fortieth of an epoch on a small data set.
    """
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed_all(seed)


def _as_curves(columns: Columns, epochs: int | None = None) -> Curves:
    return {name: np.asarray(values[:epochs]) for name, values in sorted(columns.items())}


def _progress(columns: Columns, epoch: int) -> Progress:
    """What is told of the last epoch, whose number is given."""
    known = {DEFAULT_METRIC, *CRITERIA} & columns.keys()
    rates = {name: columns[name][-1] for name in known}
    return Progress(epoch, **rates)


def build_method(spec: RunSpec, cls: type[Method[Any]], task: Task) -> Method[Any]:
    """The method of a run, freshly initialised on the task's device.

    Networks are initialised on the CPU, so that a seed means the same weights on every device.

    Raises:
        ValueError: it asks for a view that the data does not have.
    """
    device = task.x.device
    shape, num_classes = tuple(task.x.shape[1:]), task.candidates.shape[1]

    network = partial(_network_on, device, spec.train, shape, num_classes)  # it can be pickled
    # a copy: what a method does to its candidate sets is not done to those of its batches
    problem = Problem(task.candidates.clone(), spec.train.epochs, network, shape)
    method = cls(problem, cls.hparams_type.parse(spec.hparams)).to(device)
    task.views.require(method.views)
    if spec.train.compile is True:
        compile_encoders(method)
    return method


def _network_on(
    device: torch.device, train: TrainSpec, shape: tuple[int, ...], num_classes: int
) -> Network:
    return make_network(train, shape, num_classes).to(device)


def _restore(state: State, method: Method[Any], optimizer: SGD, checkpoints: Checkpoints) -> None:
    try:
        method.load_state_dict(state.method)
        optimizer.load_state_dict(state.optimizer)
    except (RuntimeError, ValueError, KeyError) as error:  # its code has changed, its version not
        raise ValueError(
            "the checkpoint does not fit the method any more: moved to "
            f"{checkpoints.quarantine()}; the next try starts from the beginning"
        ) from error


@contextmanager
def _reproducible(device: torch.device) -> Iterator[None]:
    """Generators of its own, and of cuDNN's kernels those that give the same each time."""
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = True, False
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
    finally:
        cudnn.deterministic, cudnn.benchmark = before


def _append(columns: Columns, row: dict[str, float], epoch: int) -> None:
    """Add the values of an epoch. A method may log a value in some epochs only."""
    for name in columns | row:
        columns.setdefault(name, [math.nan] * epoch).append(row.get(name, math.nan))


def _start_epoch(method: Method[Any], loader: Loader, epoch: int) -> None:
    method.epoch = epoch
    method.train()
    with torch.no_grad():
        method.on_epoch_start(loader)


def _train_epoch(method: Method[Any], loader: Loader, take: Take, task: Task) -> dict[str, float]:
    """One pass over the training set. The device is waited for once, at its end."""
    losses: Series = []
    logs: defaultdict[str, Series] = defaultdict(list)
    pseudo: list[tuple[Tensor, Tensor]] = []  # indices and labels
    for batch in loader.epoch(method.epoch):
        step = take(batch)
        losses.append((len(batch.index), step.loss.detach()))
        for name, value in step.logs.items():
            logs[name].append((len(batch.index), value))
        if step.pseudo is not None:
            pseudo.append((batch.index, step.pseudo))
    finite = torch.stack([loss for _, loss in losses]).isfinite().cpu()
    if not finite.all():
        number = int(finite.int().argmin())
        loss = losses[number][1].item()
        raise FloatingPointError(
            f"loss is {loss} at epoch {method.epoch}, step {number} of {len(loader)}"
        )
    row = {"loss": _mean(losses)}
    for name, found in logs.items():
        _require_scalars(name, found)
        row[f"log_{name}"] = _mean(found)
    if len(pseudo) == len(losses):
        index, labels = map(torch.cat, zip(*pseudo, strict=True))
        row |= _noise_columns(labels, index, task)
    return row


def _require_scalars(name: str, series: Series) -> None:
    """Raise ValueError if a value of a log is no scalar tensor."""
    for _, value in series:
        if not isinstance(value, Tensor) or value.numel() != 1:
            shape = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"the log {name!r} must be a scalar tensor in every step, is {shape}")


def _mean(series: Series) -> float:
    """Mean of the values over rows: the last batch of an epoch may be short."""
    sizes, values = zip(*series, strict=True)
    total = torch.stack(values).double().cpu().flatten() @ torch.tensor(sizes).double()
    return float(total.item() / sum(sizes))


@torch.no_grad()
def _fit(method: Method[Any], loader: Loader, task: Task) -> Outcome:
    """The run of a method without gradient: one fit, one evaluation, one row."""
    _seed(task.x.device, stream_seed(loader.seed, "method", 0))
    pseudo = method.fit(loader)
    row = {} if pseudo is None else _noise_columns(pseudo, torch.arange(len(task.x)), task)
    row |= evaluate(method, task)
    curves = {name: np.asarray([value]) for name, value in sorted(row.items())}
    return Outcome(summarise(curves, task), curves, (), 0.0, method)


def _noise_columns(pseudo: Tensor, index: Tensor, task: Task) -> dict[str, float]:
    """Noise rates of the pseudo labels [N] of the training rows `index` [N].

    None where true labels are not known.

    Raises:
        ValueError: they are not one class a row.
    """
    num_classes = task.candidates.shape[1]
    if pseudo.shape != index.shape:
        shape = tuple(pseudo.shape)
        raise ValueError(f"pseudo labels of shape {shape} for {len(index)} rows, not one a row")
    if pseudo.is_floating_point() or pseudo.dtype == torch.bool:
        dtype = str(pseudo.dtype).removeprefix("torch.")
        raise ValueError(f"pseudo labels must be whole numbers, one class a row, not {dtype}")
    if not ((pseudo >= 0) & (pseudo < num_classes)).all():
        raise ValueError(f"pseudo labels must be one of the classes 0..{num_classes - 1} a row")
    if task.true_labels is None:
        return {}
    wrong, disagreeing = noise_rates(pseudo, task.true_labels[index], num_classes)
    return {"class_noise": wrong, "pairwise_noise": disagreeing}


def summarise(curves: Curves, task: Task) -> Result:
    """A run's summaries: its accuracy under every selection rule, and its last noise rates.

    Without test rows, the hold-out's criteria in the place of accuracy.
    """
    accuracy, epochs = choose(curves)
    criteria = CRITERIA if len(task.holdout_x) and not len(task.test_x) else ()
    return Result(
        accuracy=accuracy,
        epoch=epochs,
        class_accuracy={
            metric: under_rules(curves[column], epochs)
            for metric in CLASS_METRICS
            if (column := column_of(metric)) in curves
        },
        criteria={criterion: under_rules(curves[criterion], epochs) for criterion in criteria},
        extra={
            name.removeprefix(EXTRA): last_epochs(values)
            for name, values in curves.items()
            if name.startswith(EXTRA) and np.isfinite(values[-10:]).all()
        },
        class_noise=_last_finite(curves.get("class_noise")),
        pairwise_noise=_last_finite(curves.get("pairwise_noise")),
        num_train=len(task.x),
        num_test=len(task.test_x),
        num_holdout=len(task.holdout_x),
    )


def _last_finite(values: "np.ndarray[Any, np.dtype[np.float64]] | None") -> float | None:
    return float(values[-1]) if values is not None and math.isfinite(values[-1]) else None
