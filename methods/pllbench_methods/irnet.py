"""IRNet: iterative refinement of noisy candidate sets.

Z. Lian, M. Xu, L. Chen, L. Sun, B. Liu, L. Feng, J. Tao: IRNet: Iterative Refinement Network for
Noisy Partial Label Learning, TPAMI 2025 (arXiv 2211.04774). PiCO whose candidate sets grow.

The released code starts to add candidates when the accuracy on the test set no longer rises, and
takes its margin from the true noise rates. Here the signal is how often the best class of a
training instance is one of its candidates, and the margin is a constant.
"""

from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Problem, Schedule, Step, TrainView
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.prototypes import PrototypeContrast, PrototypeHparams
from pllbench_methods.shared.softmax import log_softmax, softmax

TARGET_FLOOR = 1e-4
"""Floor of the target in the symmetric loss; its log is what the reverse cross entropy costs."""


class IRNetHparams(PrototypeHparams):
    """Hyperparameters of IRNet."""

    cls_loss: Literal["sce", "ce"] = "sce"
    """Classification loss: symmetric cross entropy, or cross entropy, as on CIFAR-100."""
    ce_weight: float = Field(default=6.0, ge=0)
    """Weight of the cross entropy in the symmetric one."""
    rce_weight: float = Field(default=1.0, ge=0)
    """Weight of the reverse cross entropy in it."""
    proto_start: float = Field(default=0.0, ge=0)
    """Reference epoch (of 1000) from which prototypes move the confidence; 100 on KMNIST."""
    theta: float = Field(default=0.01, ge=0)
    """By how much a new candidate must be above all others; 0.002 for 100 classes."""
    oracle_theta: float | None = Field(default=None, ge=0)
    """A margin that was chosen by the true noise rates in its place: an oracle, as the authors'."""
    correct_start: float | None = Field(default=None, ge=0)
    """Reference epoch from which candidates are added; none: when the signal stops rising."""


def symmetric_cross_entropy(
    log_probs: Tensor, target: Tensor, ce_weight: float, rce_weight: float
) -> Tensor:
    """Weighted cross entropy and reverse cross entropy, [B], with a floor under the target."""
    target = target.clamp(min=TARGET_FLOOR)
    reverse = -(log_probs.exp() * target.log()).sum(-1)
    return ce_weight * soft_cross_entropy(log_probs, target) + rce_weight * reverse


def shortest_history(epochs: int) -> int:
    """Values of the signal before which it is not judged: 100 in a run of 1000 epochs."""
    return max(round(epochs / 10), 3)


def stops_rising(signal: Tensor, epochs: int) -> bool:
    """Whether a signal, one value an epoch so far, no longer rises.

    The authors smooth it over windows of 100 epochs and ask for a mean slope below 1e-6 in the last
    10. In a run of 1000 epochs that is the same as this: the mean of the last 50 values but one is
    not above that of the 10 before by 6e-5. Windows keep their share of a shorter run.
    """
    late, early = max(round(epochs / 20), 1), max(round(epochs / 100), 1)
    past = signal[:-1].double()
    rise = past[-late:].mean() - past[-late - early : -late].mean()
    return len(signal) >= shortest_history(epochs) and bool(rise < 6e-5)


class IRNet(PrototypeContrast[IRNetHparams]):
    """A class that two views prefer to all candidates becomes one.

    Attributes:
        sets: [N, C], the candidate sets as they have grown.
        signal: [epochs], share of the instances whose best class was a candidate at first.
        correcting: whether candidates are added.
        disambiguating: whether prototypes move the confidence in this epoch.
        may_correct: whether the schedule allows new candidates; the signal is not asked.
    """

    hparams_type = IRNetHparams
    reference_epochs = 1000
    family = "contrastive"
    year = 2025
    venue = "TPAMI"
    noisy_candidates = True
    sets: Tensor
    signal: Tensor
    correcting: Tensor
    disambiguating: bool
    may_correct: bool

    def __init__(self, problem: Problem, hparams: IRNetHparams) -> None:
        super().__init__(problem, hparams)
        device = problem.candidates.device
        self.register_buffer("sets", problem.candidates.clone())
        self.register_buffer("signal", torch.zeros(problem.epochs, device=device))
        self.register_buffer("correcting", torch.tensor(False, device=device))

    @property
    def views(self) -> tuple[str, ...]:
        """Query and key view, and a second query view that a new candidate must convince too."""
        return ("query", "key", "query")

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """PiCO's, the start of the prototypes, and that of new candidates."""
        proto_start, correct_start = self.hparams.proto_start, self.hparams.correct_start
        if correct_start is None:
            correct_start = shortest_history(self.epochs) * self.reference_epochs / self.epochs
        return {
            **super().schedules,
            "disambiguating": lambda epoch: epoch >= proto_start,
            "may_correct": lambda epoch: epoch >= correct_start,
        }

    def on_epoch_start(self, train: TrainView) -> None:  # noqa: ARG002 - the contract's
        """Start to add candidates when the signal stops rising, or where the schedule says so."""
        if not self.may_correct or self.correcting:
            return
        scheduled = self.hparams.correct_start is not None
        if scheduled or stops_rising(self.signal[: self.epoch], self.epochs):
            self.correcting.fill_(True)

    def loss(self, batch: Batch) -> Step:
        """L_cls + weight * L_cont; the argmax of the updated confidence is the pseudo label.

        That may be a candidate that was added.
        """
        hparams, index = self.hparams, batch.index
        logits, query = self.query(batch.x[0])  # [B, C], [B, E]
        with torch.no_grad():
            sets = self.sets[index]  # [B, C]
            inside = batch.candidates.gather(1, logits.argmax(1, keepdim=True))
            self.signal[self.epoch] += inside.sum() / len(self.sets)
            pseudo = restrict(logits, sets).argmax(1)  # [B]
            first = softmax(query @ self.prototypes.T)  # [B, C], before the batch changes them
            self.move_prototypes(query, pseudo)
            key = self.key_embeddings(batch.x[1])  # [B, E]
            target = self.target(index)  # [B, C]
            if self.disambiguating:
                nearest = restrict(first, sets).argmax(1)
                target = self.move_confidence(index, F.one_hot(nearest, sets.shape[1]).float())
        log_probs = log_softmax(logits)
        if hparams.cls_loss == "sce":
            weights = hparams.ce_weight, hparams.rce_weight
            loss = symmetric_cross_entropy(log_probs, target, *weights).mean()
        else:
            loss = soft_cross_entropy(log_probs, target).mean()
        loss = loss + hparams.cont_weight * self.label_contrast(query, key, pseudo)
        if self.may_correct:
            with torch.no_grad():
                second = softmax(self.query(batch.x[2])[1] @ self.prototypes.T)
                self.correct(index, first, second)
        self.enqueue(key, pseudo)
        size = self.sets[index].sum(1).float().mean()
        return Step(loss, target.argmax(1), {"set_size": size})

    def correct(self, index: Tensor, first: Tensor, second: Tensor) -> None:
        """Add a class that both scores [B, C] prefer to all candidates of the rows `index` [B]."""
        sets, target = self.sets[index], self.target(index)
        oracle = self.hparams.oracle_theta
        theta = self.hparams.theta if oracle is None else oracle
        preferred = self.correcting
        for scores in (first, second):
            margin = restrict(scores, ~sets).amax(1) - restrict(scores, sets).amax(1)
            preferred = preferred & (margin > theta)
        labels = [restrict(scores, ~sets).argmax(1) for scores in (first, second)]
        preferred = (preferred & (labels[0] == labels[1]))[:, None]  # [B, 1]
        added = F.one_hot(labels[0], sets.shape[1]).bool() & preferred  # [B, C]
        weights = torch.where(added, first, target)
        self.sets[index] = sets | added
        self.renew(index, torch.where(preferred, weights / weights.sum(1, keepdim=True), target))
