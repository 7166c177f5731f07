"""Correct methods, which must pass every check of the conformance suite."""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench.method import Batch, Hparams, Method, ParamGroup, Problem, Step, TrainView


def uniform(candidates: Tensor) -> Tensor:
    return candidates / candidates.sum(1, keepdim=True)


class Minimal(Method[Hparams]):
    """The smallest plug-in: cross entropy with equal weights on the candidates."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()

    def loss(self, batch: Batch) -> Step:
        log_probs = self.network(batch.x[0])[0].log_softmax(1)
        return Step(-(self.weights(batch) * log_probs).sum(1).mean())

    def weights(self, batch: Batch) -> Tensor:
        """Weights of the candidates [B, C]; what most of the broken methods break."""
        return uniform(batch.candidates)

    def predict(self, x: Tensor) -> Tensor:
        scores: Tensor = self.network(x)[0]
        return scores


class Supervised(Minimal):
    """A reference that learns from true labels, and is given nothing else."""

    labels = "true"

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        assert bool((problem.candidates.sum(1) == 1).all()), "one label a row"
        super().__init__(problem, hparams)


class NoisyPseudo(Minimal):
    """The pseudo label is the best of all classes: the sets may lack the true one."""

    noisy_candidates = True

    def loss(self, batch: Batch) -> Step:
        return Step(super().loss(batch).loss, self.network(batch.x[0])[0].argmax(1))


class FullHparams(Hparams):
    dropout: float = 0.1
    """Share of features that a step leaves out."""
    decay: tuple[float, ...] = (0.9, 0.5)
    """Share of the confidence that a step keeps, before and after half of the run."""


class Full(Method[FullHparams]):
    """Uses everything that the contract allows."""

    hparams_type = FullHparams
    version = 3
    confidence: Tensor
    num_steps: Tensor
    plain_scores: Tensor

    def __init__(self, problem: Problem, hparams: FullHparams) -> None:
        super().__init__(problem, hparams)
        self.problem = problem
        self.make_network = problem.make_network
        self.network, self.peer = problem.make_network(), problem.make_network()
        self.register_buffer("confidence", uniform(problem.candidates))
        self.register_buffer("num_steps", torch.tensor(0))
        self.register_buffer("plain_scores", torch.full(problem.candidates.shape, float("nan")))
        self.decay = hparams.decay[0]

    @property
    def views(self) -> tuple[str, ...]:
        return ("weak", "strong", "query", "key", "strong")

    def on_epoch_start(self, train: TrainView) -> None:
        if self.restarts():
            self.peer.load_state_dict(self.make_network().state_dict())
        self.decay = self.hparams.decay[2 * self.epoch >= self.epochs]
        for batch in train.batches():
            self.plain_scores[batch.index] = self.network(batch.x[0])[0]

    def restarts(self) -> bool:
        return self.epoch == 3

    def param_groups(self) -> Sequence[ParamGroup]:
        return (
            ParamGroup(tuple(self.network.parameters())),
            ParamGroup(tuple(self.peer.parameters()), lr_factor=0.5),
        )

    def loss(self, batch: Batch) -> Step:
        dropped = [F.dropout(x, self.hparams.dropout) for x in batch.x]
        logits = self.network.views(dropped)[0].mean(0)
        target = self.confidence[batch.index]
        loss = -(target * (logits.log_softmax(1) + self.peer(batch.x[0])[0].log_softmax(1)))
        fresh = logits.detach().masked_fill(~batch.candidates, -torch.inf).softmax(1)
        self.confidence[batch.index] = fresh.lerp(target, self.decay)
        return Step(loss.sum(1).mean(), target.argmax(1), {"peak": target.amax(1).mean()})

    def after_step(self, batch: Batch) -> None:
        self.num_steps.add_(1)

    def predict(self, x: Tensor) -> Tensor:
        scores: Tensor = self.network(x)[0]
        return scores

    def extra_predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        return {"peer": self.peer(x)[0]}
