"""A third party's methods, which use every member of the contract that was there in version 1."""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from pllbench.method import (
    CONTRACT,
    Batch,
    FittedMethod,
    Hparams,
    Method,
    Network,
    ParamGroup,
    Problem,
    Step,
    TrainView,
)

assert CONTRACT >= 1


class StepsHparams(Hparams):
    """Hyperparameters of Steps."""

    num_strong: int = 1
    """Strong views beside the weak one."""
    momentum: float = 0.5
    """Share of the old confidence that stays."""
    start: float = 50.0
    """Reference epoch from which the confidence is renewed."""
    head: Literal["mean", "own"] = "mean"
    """Which features the second head sees."""


class Steps(Method[StepsHparams]):
    """Two heads on one encoder, and a confidence that moves with their predictions."""

    hparams_type = StepsHparams
    version = 3
    reference_epochs = 100
    labels = "candidates"
    family = "confidence"
    year = 2026
    venue = "nowhere"
    noisy_candidates = False
    confidence: Tensor
    prior: Tensor

    def __init__(self, problem: Problem, hparams: StepsHparams) -> None:
        super().__init__(problem, hparams)
        assert problem.epochs == self.epochs
        assert problem.candidates.shape[1] == problem.num_classes
        self.network: Network = problem.make_network()
        assert isinstance(self.network.encoder, nn.Module)
        assert self.network.classifier.out_features == problem.num_classes
        self.second = nn.Linear(self.network.num_features, problem.num_classes)
        sets = problem.candidates.float()
        self.register_buffer("confidence", sets / sets.sum(1, keepdim=True))
        self.register_buffer("prior", torch.ones(problem.num_classes) / problem.num_classes)

    @property
    def views(self) -> tuple[str, ...]:
        return ("weak", *("strong",) * self.hparams.num_strong)

    def param_groups(self) -> Sequence[ParamGroup]:
        slow = tuple(self.network.encoder.parameters())
        fast = (*self.network.classifier.parameters(), *self.second.parameters())
        return (
            ParamGroup(slow, lr_factor=0.9, weight_decay_factor=1.0),
            ParamGroup(fast, weight_decay_factor=0.5),
        )

    def on_epoch_start(self, train: TrainView) -> None:
        total = torch.zeros_like(self.prior)
        for batch in train.batches():
            (x,) = batch.x
            assert len(x) == len(batch.index) == len(batch.candidates)
            total += self.confidence[batch.index].sum(0)
        self.prior.copy_(total / total.sum())

    def restarts(self) -> bool:
        return self.epoch == 1

    def loss(self, batch: Batch) -> Step:
        logits, features = self.network.views(batch.x)  # [V, B, C], [V, B, D]
        seen = features.mean(0) if self.hparams.head == "mean" else features[0]
        second = self.second(seen)
        target = self.confidence[batch.index]
        first_loss = -(target * logits.log_softmax(2)).sum(2).mean()
        second_loss = -(target * second.log_softmax(1)).sum(1).mean()
        if self.reference_epoch >= self.hparams.start:
            inside = logits[0].detach().masked_fill(~batch.candidates, -torch.inf)
            belief = inside.softmax(1)
            share = self.hparams.momentum
            self.confidence[batch.index] = share * target + (1 - share) * belief
        pseudo = target.argmax(1)
        return Step(first_loss + second_loss, pseudo, {"second": second_loss.detach()})

    def after_step(self, batch: Batch) -> None:
        inside = self.confidence[batch.index] * batch.candidates
        self.confidence[batch.index] = inside / inside.sum(1, keepdim=True)

    def predict(self, x: Tensor) -> Tensor:
        logits, _ = self.network(x)
        return logits

    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        _, features = self.network(x)
        return {"second": self.second(features)}


class Fit(FittedMethod[Hparams]):
    """The nearest mean of the rows that have a class among their candidates."""

    family = "classical"
    means: Tensor

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.num_rows = len(problem.candidates)
        self.register_buffer("means", torch.zeros(problem.num_classes, *problem.shape))

    def fit(self, train: TrainView) -> Tensor | None:
        rows = [(b.x[0].flatten(1), b.candidates.float(), b.index) for b in train.batches()]
        x, sets, index = map(torch.cat, zip(*rows, strict=True))
        means = (sets.T @ x) / sets.sum(0).clamp(min=1)[:, None]
        self.means.copy_(means.view_as(self.means))
        pseudo = torch.empty(self.num_rows, dtype=torch.long, device=x.device)
        scores = self._scores(x).masked_fill(sets == 0, -torch.inf)
        pseudo[index] = scores.argmax(1)
        return pseudo

    def predict(self, x: Tensor) -> Tensor:
        return self._scores(x.flatten(1))

    def _scores(self, x: Tensor) -> Tensor:
        means = self.means.flatten(1)  # [C, D]
        return 2 * x @ means.T - means.square().sum(1)


class Reference(Method[Hparams]):
    """Cross-entropy on the true labels."""

    labels = "true"
    family = "reference"

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()

    def loss(self, batch: Batch) -> Step:
        log_probs = self.network(batch.x[0])[0].log_softmax(1)
        return Step(-(batch.candidates * log_probs).sum(1).mean())

    def predict(self, x: Tensor) -> Tensor:
        return self.network(x)[0]
