"""SyCo: the symmetric counterpart of AsyCo, two networks with one task that teach each other.

Ablation of AsyCo (B. Li et al., 2024, arXiv 2407.15036, section 4.3). Where the paper is silent,
each network keeps a confidence of its own without refinement, there is no hand-over, and the first
network predicts.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from pllbench.method import Batch, Problem, Schedule, Step
from pllbench_methods.shared.confidence import ConfidenceState, confidence
from pllbench_methods.shared.disambiguation import DisambiguationHparams, disambiguation_losses
from pllbench_methods.shared.losses import kl_divergence
from pllbench_methods.shared.peers import PeerMethod
from pllbench_methods.shared.softmax import log_softmax


class SyCo(PeerMethod[DisambiguationHparams], ConfidenceState[DisambiguationHparams]):
    """Two differently initialised networks: AsyCo's disambiguation loss and mutual distillation.

    Attributes:
        peer: the second network.
        confidence: [N, C], weights of the candidates that the first network learns from.
        peer_confidence: [N, C], those of the second network.
        gamma: weight of all losses but L_cc in this epoch.
        co_training: whether the warm-up is over.
    """

    hparams_type = DisambiguationHparams
    family = "peers"
    year = 2024
    venue = "arXiv"
    peer_confidence: Tensor
    gamma: Tensor
    co_training: bool

    def __init__(self, problem: Problem, hparams: DisambiguationHparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("peer_confidence", self.initial_confidence(problem.candidates))

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The balancing factor, and the end of the warm-up."""
        return {"gamma": self.hparams.gamma, "co_training": self.hparams.co_training}

    def loss(self, batch: Batch) -> Step:
        """Both disambiguation losses, and after the warm-up both KL divergences.

        The pseudo label is the argmax of the first network's stored confidence.
        """
        hparams, index = self.hparams, batch.index
        logits = self.both_logits(batch) / hparams.tau  # [2, V, B, C]
        target = torch.stack([self.confidence[index], self.peer_confidence[index]])  # [2, B, C]
        losses = disambiguation_losses(logits, target[:, None], batch.candidates, self.gamma)
        loss = self.reduce_views(losses).sum()  # Eq. 8 for each network
        if self.co_training:
            log_probs = log_softmax(logits[:, 0])  # [2, B, C]
            teacher = log_probs.detach().exp().flip(0)  # each network learns from the other
            loss = loss + self.gamma * kl_divergence(teacher, log_probs).mean(-1).sum()
        renewed = confidence(logits, batch.candidates)  # [2, B, C], Eq. 6
        self.confidence[index], self.peer_confidence[index] = renewed
        return Step(loss, target[0].argmax(-1))

    def predict(self, x: Tensor) -> Tensor:
        """Logits / tau [B, C] of the first network."""
        return super().predict(x) / self.hparams.tau

    def predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        """Scores of each network and of the mean of both logits, as AsyCo's."""
        scores, peer = self.predict(x), self.peer(x)[0] / self.hparams.tau
        return {"": scores, "peer": peer, "ensemble": (scores + peer) / 2}
