"""NCPD: network cooperation with progressive disambiguation.

Y. Yao, C. Gong, J. Deng, J. Yang: Network Cooperation with Progressive Disambiguation for Partial
Label Learning, ECML-PKDD 2020. Equation numbers are the paper's.

The paper repeats an instance once per candidate and weighs the pairs (instance, candidate) of this
group. Without augmentation per pair that is bookkeeping: here one pass per instance gives the
losses of all its pairs, and the loss is the mean over instances instead of the sum over pairs.
"""

import math
from collections.abc import Mapping
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Schedule, Step
from pllbench_methods.shared.confidence import confidence, uniform_confidence
from pllbench_methods.shared.losses import smallest_pairs, soft_cross_entropy
from pllbench_methods.shared.peers import PeerMethod
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.views import ViewHparams


class NCPDHparams(ViewHparams):
    """Hyperparameters of NCPD."""

    ramp_epochs: float = Field(default=80.0, gt=0)
    """t_r of the time function: reference epochs until it is 1. The paper cross-validates it."""
    budget: Literal["pairs", "groups"] = "pairs"
    """What the time function is a share of: the pairs of a batch (Algorithm 1) or its groups."""
    exchange: bool = True
    """False: each network learns from its own weights (the ablation without cooperation)."""
    progressive: bool = True
    """False: every group is disambiguated from the start (the ablation without progression)."""

    def share(self, epoch: float) -> float:
        """Time function T at a reference epoch that counts from 1."""
        return math.exp(-5 * (min(epoch / self.ramp_epochs, 1.0) - 1) ** 2)


class NCPD(PeerMethod[NCPDHparams]):
    """Two networks that hand each other the weights of the candidates of every instance.

    The weights are a network's confidence where it is reliable, and uniform elsewhere. They are
    computed again in every step, so there is no state but the networks.

    Attributes:
        network: alpha, which predicts.
        peer: beta.
        share: of all pairs or groups, how much of them is disambiguated in this epoch.
    """

    hparams_type = NCPDHparams
    family = "peers"
    year = 2020
    venue = "ECML-PKDD"
    share: Tensor

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The time function; the paper counts epochs from 1."""
        one = self.reference_epochs / self.epochs
        return {"share": lambda epoch: self.hparams.share(epoch + one)}

    def loss(self, batch: Batch) -> Step:
        """L_alpha + L_beta (Eqs. 6 and 7); the pseudo label comes from alpha's confidence."""
        logits = self.both_logits(batch)  # [2, V, B, C]
        log_probs = log_softmax(logits)
        weights = confidence(logits, batch.candidates)  # [2, B, C], Eq. 1
        pseudo = weights[0].argmax(-1)
        if self.hparams.progressive:
            simple = self.reliable_pairs(log_probs, batch.candidates).any(-1, keepdim=True)
            weights = torch.where(simple, weights, uniform_confidence(batch.candidates))  # Eq. 2
        if self.hparams.exchange:
            weights = weights.flip(0)
        losses = soft_cross_entropy(log_probs, weights[:, None])  # [2, V, B]
        return Step(self.reduce_views(losses).sum(), pseudo)

    def reliable_pairs(self, log_probs: Tensor, candidates: Tensor) -> Tensor:
        """Pairs with a small loss whose label is the network's prediction, bool [2, B, C].

        At most one pair of an instance; none if its prediction is no candidate.
        """
        scores = log_probs.detach().mean(-3)  # [2, B, C], over views
        units = candidates.sum() if self.hparams.budget == "pairs" else len(candidates)
        small = smallest_pairs(-scores, candidates, self.share * units)
        predicted = torch.zeros_like(small).scatter(-1, scores.argmax(-1, keepdim=True), True)
        return small & predicted
