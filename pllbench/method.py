"""The contract between a method and the framework. Read this file first.

A method is a `torch.nn.Module` with two required members, `loss` and `predict`. It is made from a
`Problem`, which holds all that a method may know: candidate sets, the number of epochs and a
factory for networks. True labels are not in it. The trainer owns everything else: views, batches,
the optimizer and its schedule, evaluation, checkpoints. A method without gradient is a
`FittedMethod`: it has `fit` in the place of `loss`.

All state is a parameter or a buffer, so that `state_dict` is a complete checkpoint. What changes
from epoch to epoch without being learned is a schedule: a function of the epoch, which the trainer
sets and which is constant inside `loss`.

Letters in shape comments: N training instances, B batch, C classes, V views, D features.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

import torch
from pydantic import ConfigDict
from torch import Tensor, nn

from pllbench.validation import StrictModel

CONTRACT = 1
"""Version of this contract. A plug-in for one version runs under it for ever: what is added has a
default. The next version is the first that a plug-in of today might not run under."""


class Hparams(StrictModel):
    """Hyperparameters of a method: one typed field each, with a default and a docstring.

    A method's mathematics belong here. Optimizer, epochs and network are train settings, candidate
    sets and views have settings of their own. Numbers are finite: records are JSON. Docstrings are
    the fields' descriptions.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)


class BatchNorm2d(nn.BatchNorm2d):
    """BatchNorm that can take a batch of several views, with the statistics of each by itself.

    Attributes:
        num_views: views in what comes next, one after another; 1 is BatchNorm as it is.
    """

    num_views = 1

    def forward(self, x: Tensor) -> Tensor:
        """[V * B, channels, H, W], normalised; running statistics move once a view, in order."""
        norm = super().forward
        if self.num_views == 1 or not self.training:
            return norm(x)
        return torch.cat([norm(view) for view in x.chunk(self.num_views)])


class Network(nn.Module):
    """An encoder and a linear classifier; made by `Problem.make_network`.

    It owns what is the same for every method: mixed precision, memory format, and whether the views
    of a batch pass one by one or together. Logits and features leave it as float32, outside
    autocast, so that no loss is ever computed in bfloat16.

    Attributes:
        num_features: D, the width of the encoder's output.
        encoder: maps [B, ...] to [B, D].
        classifier: maps [B, D] to logits [B, C].
    """

    def __init__(
        self,
        encoder: nn.Module,
        num_features: int,
        num_classes: int,
        *,
        forward_mode: Literal["separate", "concat", "grouped"] = "separate",
        bf16: bool = False,
        channels_last: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(num_features, num_classes)
        self.num_features = num_features
        self.forward_mode = forward_mode
        self.bf16 = bf16
        self.channels_last = channels_last

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [B, C] and features [B, D] of one view, float32."""
        if self.channels_last and x.ndim == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(x.device.type, dtype=torch.bfloat16) if self.bf16 else nullcontext():
            features = self.encoder(x)  # [B, D]
            logits = self.classifier(features)  # [B, C]
        return logits.float(), features.float()

    def views(self, xs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Logits [V, B, C] and features [V, B, D] of several views of one batch.

        `separate` passes them one after another, in order, so BatchNorm sees the statistics of each
        view by itself (as the published codes do); `concat` passes them as one batch of V * B;
        `grouped` does that, too, but for BatchNorm, so that it is `separate` up to rounding.
        """
        if self.forward_mode == "separate":
            outputs = [self(x) for x in xs]
            return torch.stack([z for z, _ in outputs]), torch.stack([h for _, h in outputs])
        num, together = len(xs), torch.cat(tuple(xs))
        with self._grouped(num) if self.forward_mode == "grouped" else nullcontext():
            logits, features = self(together)
        return logits.view(num, -1, logits.shape[1]), features.view(num, -1, features.shape[1])

    @contextmanager
    def _grouped(self, num: int) -> Iterator[None]:
        norms = [module for module in self.encoder.modules() if isinstance(module, BatchNorm2d)]
        for norm in norms:
            norm.num_views = num
        try:
            yield
        finally:
            for norm in norms:
                norm.num_views = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of training instances.

    Attributes:
        x: one tensor [B, ...] per role in `Method.views`, in that order.
        index: [B] int64, rows in the training set: the key into N x C state.
        candidates: [B, C] bool, the candidate sets; every row has at least one True.
    """

    x: tuple[Tensor, ...]
    index: Tensor
    candidates: Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """What `Method.loss` returns. The trainer reads it at the end of the epoch.

    So none of it may be a view of a buffer, which later steps write.

    Attributes:
        loss: scalar with gradient.
        pseudo: [B] int64, the current guess of the true label: argmax of the target used in this
            step's loss. The trainer turns it into noise rates. None where there is no such guess.
        logs: detached scalars on the device, averaged over the rows of the epoch. Never `.item()`
            them: that makes every step wait for the device.
    """

    loss: Tensor
    pseudo: Tensor | None = None
    logs: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParamGroup:
    """Parameters whose learning rate and weight decay are multiples of the train settings'.

    Attributes:
        params: the parameters.
        lr_factor: times the learning rate, in every epoch.
        weight_decay_factor: times the weight decay.
    """

    params: Sequence[Tensor]
    lr_factor: float = 1.0
    weight_decay_factor: float = 1.0


@dataclass(frozen=True)
class Problem:
    """All that a method may know of its task.

    Attributes:
        candidates: [N, C] bool on the training device.
        epochs: length of the run.
        make_network: builds a fresh network on the training device; call it once per network.
        shape: of one plain instance, for state that has the size of a row.
    """

    candidates: Tensor
    epochs: int
    make_network: Callable[[], Network]
    shape: tuple[int, ...] = ()

    @property
    def num_classes(self) -> int:
        """C."""
        return self.candidates.shape[1]


class TrainView(Protocol):
    """The training set as `Method.on_epoch_start` and `Method.fit` may see it."""

    def batches(self) -> Iterator[Batch]:
        """Plain instances (no augmentation) in order, each batch with one view."""
        ...


Family = Literal[
    "loss", "confidence", "contrastive", "peers", "graph", "classical", "reference", "other"
]
"""Groups of methods in lists and documentation, by what they are built on."""

H = TypeVar("H", bound=Hparams)

Schedule = Callable[[float], float | bool]
"""A number or a switch, from the reference epoch."""


class Method(nn.Module, ABC, Generic[H]):
    """A partial-label learning method.

    Subclasses set `hparams_type`, build their networks and buffers in `__init__`, and implement
    `loss` and `predict`. Everything else has a default.

    Attributes:
        hparams_type: the class of its hyperparameters.
        version: bumped whenever a change alters the numbers of a run.
        reference_epochs: the run length in which the paper states its schedules.
        labels: "true" for supervised references, whose candidate sets are the true labels.
        family: group in lists and documentation.
        year: of the publication; None where there is none.
        venue: of the publication.
        gradient: False for a `FittedMethod`, which is fitted once instead of trained in steps.
        noisy_candidates: whether it allows for candidate sets without the true label; only then may
            a pseudo label be no candidate.
    """

    hparams_type: ClassVar[type[Hparams]] = Hparams
    version: ClassVar[int] = 1
    reference_epochs: ClassVar[int] = 200
    labels: ClassVar[Literal["candidates", "true"]] = "candidates"
    family: ClassVar[Family] = "other"
    year: ClassVar[int | None] = None
    venue: ClassVar[str] = ""
    gradient: ClassVar[bool] = True
    noisy_candidates: ClassVar[bool] = False

    def __init__(self, problem: Problem, hparams: H) -> None:
        super().__init__()
        self.hparams = hparams
        self.epochs = problem.epochs
        for name, schedule in self.schedules.items():
            if not isinstance(schedule(0.0), bool):
                start = torch.zeros((), device=problem.candidates.device)
                self.register_buffer(name, start, persistent=False)
        self.epoch = 0

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """What `loss` reads as an attribute of that name, and curves show: functions of the epoch.

        They take the reference epoch and nothing else but hyperparameters, since the first value
        is needed before `__init__` has gone further. A number becomes a 0-d buffer, which is no
        state: the epoch says what is in it. A switch stays a bool, so that `loss` can branch on it.
        Unlike an arithmetic with `self.epoch` neither makes a compiled step compile every epoch.
        """
        return {}

    @property
    def epoch(self) -> int:
        """0-based; set by the trainer before each epoch. Setting it sets the schedules."""
        return self._epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self._epoch = epoch
        for name, value in self.scheduled().items():
            if isinstance(value, bool):
                setattr(self, name, value)
            else:
                getattr(self, name).fill_(value)

    def scheduled(self) -> dict[str, float | bool]:
        """The schedules' values at this epoch."""
        epoch = self.reference_epoch
        return {name: schedule(epoch) for name, schedule in self.schedules.items()}

    @property
    def reference_epoch(self) -> float:
        """Position in the published schedule: epoch * reference_epochs / epochs.

        A run of the reference length has exactly the paper's schedule; a short one keeps its
        proportions.
        """
        return self.epoch * self.reference_epochs / self.epochs

    @property
    def views(self) -> tuple[str, ...]:
        """Roles of the views in `Batch.x`: any of weak, strong, query, key, in any number."""
        return ("weak",)

    @abstractmethod
    def loss(self, batch: Batch) -> Step:
        """Loss of one batch, in training mode. May write buffers (confidence, queue, prototypes).

        Gradients are taken by the trainer; nothing here may wait for the device.
        """

    @abstractmethod
    def predict(self, x: Tensor) -> Tensor:
        """Scores [B, C] of plain instances [B, ...], in eval mode and without gradient.

        The softmax of the scores is taken as the method's class probabilities: a score of -inf is
        a probability of 0, but one score of a row is finite.
        """

    def param_groups(self) -> Sequence[ParamGroup]:
        """What the optimizer trains: by default all parameters, at the rates of the train settings.

        Each parameter that needs a gradient belongs to exactly one group. A resumed run must find
        the groups as they were.
        """
        return (ParamGroup(tuple(self.parameters())),)

    def on_epoch_start(self, train: TrainView) -> None:
        """Called before the first batch of each epoch, without gradient, with `epoch` set."""

    def restarts(self) -> bool:
        """Whether training begins anew in this epoch: asked after `on_epoch_start`.

        Where it does, `on_epoch_start` has written the new weights, and the trainer makes a fresh
        optimizer, whose momentum knows nothing of the old ones. The answer must depend on `epoch`
        and on buffers alone, or a resumed run differs.
        """
        return False

    def after_step(self, batch: Batch) -> None:
        """Called after the optimizer's step, without gradient: sees the new weights."""

    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:  # noqa: ARG002 - a default
        """Scores [B, C] of further heads (auxiliary network, ensemble) whose accuracy is logged."""
        return {}

    def predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        """Those of `predict` under the empty name, and the extra ones: what evaluation asks for.

        A method whose heads share networks overrides it, to pass each of them once.
        """
        return {"": self.predict(x), **self.extra_predictions(x)}

    def training_confidence(self) -> Tensor | None:
        """What it believes of the training rows after training: weights of the classes, [N, C].

        They are at least 0, and taken as shares of their sum over a row: over its candidates,
        unless the method allows for `noisy_candidates`. None where it keeps none: then its
        predictions of these rows stand for them.
        """
        return None

    def fit(self, train: TrainView) -> Tensor | None:
        """Called once, where `gradient` is False: see `FittedMethod`."""
        raise NotImplementedError(f"{type(self).__name__} is trained in steps")


class FittedMethod(Method[H]):
    """A method without gradient: it is fitted once, on all rows, and takes no steps.

    Subclasses implement `fit` and `predict`. The trainer calls `fit` once and evaluates once: the
    run is one epoch, and no other hook is called. It reads no train setting (network, optimizer,
    batch size, epochs), so its runs have `pllbench.spec.FITTED` as theirs, whatever is asked for.

    Its state is made of buffers too, whose shapes are known after `__init__`: `fit` fills them.
    """

    gradient = False

    @abstractmethod
    def fit(self, train: TrainView) -> Tensor | None:
        """Learn from the plain rows and candidate sets of `train`, without gradient.

        Random numbers come from torch's global generator, which the run seeds. Nothing may depend
        on how the rows are cut into batches.

        Returns:
            Pseudo labels [N] int64 of the training rows, each one of its candidates, which the
            trainer turns into noise rates; None where the method makes none.
        """

    def loss(self, batch: Batch) -> Step:
        """A fitted method has no loss."""
        raise NotImplementedError(f"{type(self).__name__} is fitted, not trained in steps")
