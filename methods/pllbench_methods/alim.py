"""ALIM: adjusting how much labels outside the candidate sets count.

M. Xu, Z. Lian, L. Feng, B. Liu, J. Tao: ALIM: Adjusting Label Importance Mechanism for Noisy
Partial Label Learning, NeurIPS 2023. On PiCO, with mixup.

Mixup partners are a permutation of the batch; the authors draw them from a second pass over the
training set.
"""

from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Problem, Step, TrainView
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.mixup import mixup_cross_entropy
from pllbench_methods.shared.prototypes import PrototypeContrast, PrototypeHparams
from pllbench_methods.shared.softmax import log_softmax, softmax


class ALIMHparams(PrototypeHparams):
    """Hyperparameters of ALIM."""

    target: Literal["onehot", "scale"] = "onehot"
    """What the confidence moves towards: the best class alone, or all of them normalised."""
    start: float = Field(default=80.0, ge=0)
    """Reference epoch (of 1000) from which labels outside the sets count."""
    noise_rate: float = Field(default=0.2, ge=0, le=1)
    """Share of the sets that are assumed to lack the true label."""
    oracle_noise_rate: float | None = Field(default=None, ge=0, le=1)
    """The true share in place of the assumed one: an oracle, as in the authors' runs."""
    cluster_temperature: float = Field(default=0.07, gt=0)
    """Temperature of the softmax over the prototypes."""
    mixup_alpha: float = Field(default=4.0, gt=0)
    """Parameter of mixup's Beta distribution."""
    mixup_weight: float = Field(default=1.0, ge=0)
    """Weight of mixup's cross entropy."""


class ALIM(PrototypeContrast[ALIMHparams]):
    """PiCO in which a class outside the candidate set counts, if less than a candidate.

    Attributes:
        margins: [N], the best candidate's share of the best other class, at most 1; 0 at first.
        importance: how much a class outside the set counts (lambda), in [0, 1].
    """

    hparams_type = ALIMHparams
    reference_epochs = 1000
    family = "contrastive"
    year = 2023
    venue = "NeurIPS"
    noisy_candidates = True
    margins: Tensor
    importance: Tensor

    def __init__(self, problem: Problem, hparams: ALIMHparams) -> None:
        super().__init__(problem, hparams)
        device = problem.candidates.device
        self.register_buffer("margins", torch.zeros(len(problem.candidates), device=device))
        self.register_buffer("importance", torch.zeros((), device=device))

    def on_epoch_start(self, train: TrainView) -> None:  # noqa: ARG002 - the contract's
        """Let so many sets fail as are assumed to lack the label, by the last epoch's margins."""
        hparams = self.hparams
        if self.reference_epoch < hparams.start:
            return
        rate = hparams.noise_rate
        if hparams.oracle_noise_rate is not None:
            rate = hparams.oracle_noise_rate
        if rate > 0:
            rank = min(int(len(self.margins) * rate), len(self.margins) - 1)
            self.importance.copy_(self.margins.sort().values[rank])

    def loss(self, batch: Batch) -> Step:
        """L_cls + L_cont + L_mix; the argmax of the updated confidence is the pseudo label.

        That may be no candidate.
        """
        hparams, candidates, index = self.hparams, batch.candidates, batch.index
        logits, query = self.query(batch.x[0])  # [B, C], [B, E]
        with torch.no_grad():
            log_importance = torch.where(candidates, 0.0, self.importance.log())  # [B, C]
            pseudo = (logits + log_importance).argmax(1)  # [B]
            # Of the prototypes before this batch changes them.
            clusters = query @ self.prototypes.T / hparams.cluster_temperature  # [B, C]
            best, other = (restrict(clusters, s).amax(1) for s in (candidates, ~candidates))
            self.margins[index] = (best - other).clamp(max=0).exp()  # 1 for a full set
            self.move_prototypes(query, pseudo)
            key = self.key_embeddings(batch.x[1])  # [B, E]
            scores = clusters + log_importance
            if hparams.target == "onehot":
                weights = F.one_hot(scores.argmax(1), scores.shape[1]).float()
            else:
                weights = softmax(scores)
            target = self.move_confidence(index, weights)
        loss = soft_cross_entropy(log_softmax(logits), target).mean()
        loss = loss + hparams.cont_weight * self.label_contrast(query, key, pseudo)
        mixed = mixup_cross_entropy(self.predict, batch.x[0], target, hparams.mixup_alpha)
        self.enqueue(key, pseudo)
        return Step(loss + hparams.mixup_weight * mixed, target.argmax(1))
