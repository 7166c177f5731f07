"""FREDIS: fusion of refinement and disambiguation for unreliable candidate sets.

C. Qiao, N. Xu, J. Lv, Y. Ren, X. Geng: FREDIS: A Fusion Framework of Refinement and Disambiguation
for Unreliable Partial Label Learning, ICML 2023.

The authors start from a trained network; here the first correction comes after a warm-up. They
count changes in entries of their data set; here in entries a row, which is the same on CIFAR.
"""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Problem, Step, TrainView
from pllbench_methods.shared.confidence import ConfidenceMethod, confidence, restrict
from pllbench_methods.shared.losses import kl_divergence, log_complement
from pllbench_methods.shared.softmax import log_softmax, softmax
from pllbench_methods.shared.views import ViewHparams


class FREDISHparams(ViewHparams):
    """Hyperparameters of FREDIS."""

    view_reduction: Literal["mean", "sum"] = "sum"
    """How the losses of the views combine; FREDIS takes their sum."""
    consistency_weight: float = Field(default=1.0, ge=0)
    """Weight of the consistency with the confidence (lambda)."""
    supervised_weight: float = Field(default=1.0, ge=0)
    """Weight of the term that pushes classes outside the sets down (alpha)."""
    warmup: float = Field(default=20.0, ge=0)
    """Reference epochs (of 250) before the first correction."""
    interval: float = Field(default=20.0, gt=0)
    """Reference epochs between two corrections."""
    theta: float = Field(default=1e-6, ge=0)
    """A class whose probability is less than this below the largest may be added."""
    theta_step: float = Field(default=1e-6, ge=0)
    """What theta rises by after a correction that changes little."""
    delta: float = Field(default=1.0, ge=0)
    """A candidate whose probability is more than this below the largest may be removed."""
    delta_step: float = Field(default=1e-6, gt=0)
    """Grid on which delta falls, and what it falls by after a correction that changes little."""
    change_rate: float = Field(default=0.01, gt=0)
    """Entries a row that one correction may add: the authors' 500 of 50,000 rows."""
    times: int = Field(default=2, ge=1)
    """Candidates that are removed for each one that is added."""


def lowered(delta: float, step: float, gaps: Tensor, count: int) -> float:
    """The largest delta - k * step, k >= 0, that at least `count` of the gaps [M] exceed.

    All of them, where they are fewer. A search that lowers delta step by step gives the same.
    """
    if count == 0 or len(gaps) == 0:
        return delta
    gap = gaps.sort(descending=True).values[min(count, len(gaps)) - 1].item()
    if gap > delta:
        return delta
    steps = math.floor((delta - gap) / step)
    return next(delta - k * step for k in (steps, steps + 1, steps + 2) if delta - k * step < gap)


def choose(entries: Tensor, count: int) -> Tensor:
    """The entries bool [N, C], or `count` random ones where they are more."""
    places = entries.flatten().nonzero()[:, 0]
    if len(places) <= count:
        return entries
    kept = places[torch.randperm(len(places), device=places.device)[:count]]
    return torch.zeros_like(entries).flatten().index_fill(0, kept, True).view_as(entries)


class FREDIS(ConfidenceMethod[FREDISHparams]):
    """DPLL on candidate sets to which probable classes are added and improbable ones removed.

    Attributes:
        sets: [N, C], the candidate sets as corrected.
        log_posterior: [N, C], log probabilities of the weak view at the last step.
        thresholds: theta and delta as they stand, float64.
    """

    hparams_type = FREDISHparams
    reference_epochs = 250
    family = "confidence"
    year = 2023
    venue = "ICML"
    noisy_candidates = True
    sets: Tensor
    log_posterior: Tensor
    thresholds: Tensor

    def __init__(self, problem: Problem, hparams: FREDISHparams) -> None:
        super().__init__(problem, hparams)
        candidates = problem.candidates
        self.register_buffer("sets", candidates.clone())
        even = torch.full_like(self.confidence, -math.log(problem.num_classes))
        self.register_buffer("log_posterior", even)
        start = torch.tensor([hparams.theta, hparams.delta], dtype=torch.float64)
        self.register_buffer("thresholds", start.to(candidates.device))

    @property
    def due(self) -> bool:
        """Whether sets are corrected before this epoch."""
        hparams = self.hparams
        before = (self.epoch - 1) * self.reference_epochs / self.epochs
        passed = self.reference_epoch // hparams.interval > before // hparams.interval
        return self.epoch > 0 and passed and self.reference_epoch >= hparams.warmup

    def on_epoch_start(self, train: TrainView) -> None:  # noqa: ARG002 - the contract's
        """Correct the sets, and start the confidence anew from the posterior."""
        if self.due:
            self.correct()
            self.confidence.copy_(softmax(restrict(self.log_posterior, self.sets)))

    def correct(self) -> None:
        """Add classes near the most probable one, remove candidates far from it, move thresholds.

        A row that would lose all its candidates keeps its set.
        """
        hparams, before = self.hparams, self.sets.clone()
        theta, delta = self.thresholds.tolist()
        limit = max(round(hparams.change_rate * len(before)), 1)
        probs = self.log_posterior.double().exp()
        gaps = probs.amax(1, keepdim=True) - probs  # [N, C]
        # Where they are too many, the choice is among all entries, changes or not, as released.
        near = gaps < theta
        num_new = int((near & ~before).sum())
        added = choose(near, limit) if num_new > limit else near
        wanted = hparams.times * min(num_new, limit)
        delta = lowered(delta, hparams.delta_step, gaps[before], wanted)
        far = gaps > delta
        too_many = int((far & before).sum()) > hparams.times * limit
        removed = choose(far, hparams.times * limit) if too_many else far
        sets = (before | added) & ~removed
        sets = torch.where(sets.any(1, keepdim=True), sets, before)
        self.sets.copy_(sets)
        if int((sets != before).sum()) < limit and theta < 0.9 and delta > 0.1:
            theta, delta = theta + hparams.theta_step, delta - hparams.delta_step
        self.thresholds.copy_(torch.tensor([theta, delta], dtype=torch.float64))

    def loss(self, batch: Batch) -> Step:
        """Both terms on all views; the argmax of the stored confidence is the pseudo label.

        That may be a class that was added.
        """
        hparams, sets = self.hparams, self.sets[batch.index]  # [B, C]
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        target = self.target(batch.index)  # [B, C]
        log_probs = log_softmax(logits)
        supervised = -(log_complement(logits) * ~sets).sum(-1)  # [V, B]
        losses = hparams.consistency_weight * kl_divergence(target, log_probs)
        losses = losses + hparams.supervised_weight * supervised
        self.renew(batch.index, confidence(logits, sets))
        self.log_posterior[batch.index] = log_probs[0].detach()
        size = sets.sum(1).float().mean()
        return Step(self.reduce_views(losses), target.argmax(-1), {"set_size": size})
