"""AsyCo: asymmetric dual-task co-training, a disambiguation and an auxiliary network.

B. Li, Y. Zheng, B. Jin, T. Xiang, H. Wang, L. Feng: AsyCo: An Asymmetric Dual-task Co-training
Model for Partial-label Learning, 2024 (arXiv 2407.15036). Equation numbers are the paper's;
defaults follow its text, and an option that follows the released code instead says so.
"""

from collections.abc import Mapping
from typing import Literal, Self

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field, model_validator
from torch import Tensor

from pllbench.method import Batch, Problem, Schedule, Step, TrainView
from pllbench_methods.shared.confidence import ConfidenceMethod, confidence, restrict
from pllbench_methods.shared.disambiguation import DisambiguationHparams, disambiguation_losses
from pllbench_methods.shared.losses import kl_divergence, soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax, softmax


class AsyCoHparams(DisambiguationHparams):
    """Hyperparameters of AsyCo."""

    auxiliary: bool = True
    """False: the disambiguation network alone, as if the warm-up never ended."""
    aux_loss: Literal["similarity", "ce"] = "similarity"
    """Task of the auxiliary network: similarity of pairs, or cross entropy with pseudo labels."""
    aux_views: Literal["shared", "independent"] = "shared"
    """Whether both networks see the same views or each draws its own."""
    sim_diag: bool = True
    """Whether a pair of an instance with itself counts as similar (the sum over j in Eq. 12)."""
    ssl_target: Literal["raw", "renorm"] = "raw"
    """Target of L_ssl: p on the candidates (Eq. 11), or normalised to sum to 1 (released code)."""
    ssl_views: Literal["strong", "all"] = "strong"
    """Views that L_ssl trains: the strong ones (Eq. 11), or the weak one too (released code)."""
    distillation: bool = True
    """Whether the auxiliary network's probabilities teach the disambiguation network (Eq. 13)."""
    rho: float = Field(default=0.02, ge=0)
    """Rise per reference epoch of mu, the auxiliary network's share in the confidence (Eq. 14)."""
    mu_max: float = Field(default=0.9, ge=0, le=1)
    """Upper bound of mu; 0 switches confidence refinement off."""
    refinement_delay: float = Field(default=50.0, ge=0)
    """Reference epochs from the end of the warm-up to the start of refinement."""
    test_net: Literal["disambiguation", "auxiliary", "ensemble"] = "disambiguation"
    """What predicts; the ensemble averages the logits of both networks."""

    @model_validator(mode="after")
    def require_auxiliary(self) -> Self:
        """Refuse a test network that is switched off."""
        if not self.auxiliary and self.test_net != "disambiguation":
            raise ValueError(f"test_net = {self.test_net} needs the auxiliary network")
        return self

    def mu(self, epoch: float) -> float:
        """Refinement factor at a reference epoch (below Eq. 14)."""
        start = self.warmup + self.refinement_delay
        return min(self.rho * max(epoch - start, 0.0), self.mu_max)


def similarity_loss(logits: Tensor, pseudo: Tensor, sim_diag: bool = True) -> Tensor:
    """Binary cross entropy of p_i . p_j with equality of pseudo labels (Eq. 10), a scalar.

    The mean over the views and all B * B pairs of a batch; gradient flows through both factors.

    1 - p_i . p_j is p_i . (1 - p_j), since p_i sums to 1, and 1 - p_k is the sum over all other
    classes. So every number is a sum of positive ones, exact to its last digits, and the range of
    float64 is wide enough. Logits 700 below their row's maximum count as there.
    """
    wide = logits.double()
    powers = (wide - wide.detach().amax(-1, keepdim=True)).clamp(min=-700.0).exp()
    probs = powers / powers.sum(-1, keepdim=True)  # [V, B, C]
    others = 1 - torch.eye(probs.shape[-1], dtype=probs.dtype, device=probs.device)  # [C, C]
    similar = pseudo[:, None] == pseudo  # [B, B]
    right = torch.where(similar, probs @ probs.mT, probs @ (probs @ others).mT)  # [V, B, B]
    losses = -right.log()
    if sim_diag:
        return losses.mean().to(logits.dtype)
    num_views, batch_size = losses.shape[:2]
    pairs = ~torch.eye(batch_size, dtype=torch.bool, device=losses.device)
    mean = (losses * pairs).sum() / max(num_views * batch_size * (batch_size - 1), 1)
    return mean.to(logits.dtype)


class AsyCo(ConfidenceMethod[AsyCoHparams]):
    """A disambiguation network, and an auxiliary one that learns its pseudo labels and corrects it.

    The auxiliary network starts as a copy when the warm-up ends. Whatever passes between the two
    carries no gradient, so one optimizer over both is the same as two.

    Attributes:
        auxiliary: the auxiliary network; None in the ablation without it.
        confidence: [N, C], refined weights of the candidates.
        handed_over: whether the auxiliary network has received its starting weights.
        gamma: weight of all losses but L_cc and L_ssl in this epoch.
        mu: the auxiliary network's share in the confidence.
        co_training: whether the warm-up is over.
    """

    hparams_type = AsyCoHparams
    family = "peers"
    year = 2024
    venue = "arXiv"
    handed_over: Tensor
    gamma: Tensor
    mu: Tensor
    co_training: bool

    def __init__(self, problem: Problem, hparams: AsyCoHparams) -> None:
        super().__init__(problem, hparams)
        self.auxiliary = problem.make_network() if hparams.auxiliary else None
        device = problem.candidates.device
        self.register_buffer("handed_over", torch.tensor(False, device=device))

    @property
    def views(self) -> tuple[str, ...]:
        """One weak and the strong views; twice, where the auxiliary network draws its own."""
        hparams = self.hparams
        return super().views * (1 + (hparams.auxiliary and hparams.aux_views == "independent"))

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """Balancing and refinement factor, and the end of the warm-up.

        That is not read from `handed_over`: asking a buffer would wait for a GPU.
        """
        hparams = self.hparams
        if not hparams.auxiliary:
            return {"gamma": hparams.gamma}
        return {"gamma": hparams.gamma, "mu": hparams.mu, "co_training": hparams.co_training}

    def on_epoch_start(self, train: TrainView) -> None:  # noqa: ARG002 - the contract's
        """Hand-over: once, before the first epoch of co-training."""
        if self.auxiliary is not None and self.co_training and not self.handed_over:
            self.auxiliary.load_state_dict(self.network.state_dict())
            self.handed_over.fill_(True)

    def loss(self, batch: Batch) -> Step:
        """L_total (Eq. 15); the argmax of the stored confidence is the pseudo label."""
        hparams = self.hparams
        num_views = 1 + hparams.num_strong
        logits = self.network.views(batch.x[:num_views])[0] / hparams.tau  # [V, B, C], Eq. 4
        target = self.target(batch.index)  # [B, C]
        pseudo = target.argmax(-1)  # [B]
        losses = disambiguation_losses(logits, target, batch.candidates, self.gamma)  # Eq. 8
        loss = self.reduce_views(losses)
        refined = confidence(logits, batch.candidates)  # [B, C], Eq. 6
        if self.auxiliary is not None and self.co_training:
            other = self.auxiliary.views(batch.x[-num_views:])[0] / hparams.tau  # [V, B, C]
            loss = loss + self.auxiliary_loss(other, pseudo, batch.candidates)
            if hparams.distillation:  # Eq. 13
                teacher = softmax(other[0].detach())
                distillation = kl_divergence(teacher, log_softmax(logits[0])).mean()
                loss = loss + self.gamma * distillation
            refined = refined.lerp(confidence(other, batch.candidates), self.mu)  # Eq. 14
        self.renew(batch.index, refined)
        return Step(loss, pseudo)

    def auxiliary_loss(self, logits: Tensor, pseudo: Tensor, candidates: Tensor) -> Tensor:
        """L_aux = L_ssl + gamma * L_sim (Eqs. 10 to 12), from the auxiliary logits [V, B, C]."""
        hparams = self.hparams
        if hparams.aux_loss == "similarity":
            loss = self.gamma * similarity_loss(logits, pseudo, hparams.sim_diag)
        else:
            labels = pseudo.expand(logits.shape[:-1])  # [V, B]
            loss = self.gamma * F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        students = logits[1:] if hparams.ssl_views == "strong" else logits
        if len(students) == 0:
            return loss
        teacher = logits[0].detach()  # [B, C]
        if hparams.ssl_target == "renorm":
            target = softmax(restrict(teacher, candidates))
        else:
            target = softmax(teacher) * candidates
        return loss + self.reduce_views(soft_cross_entropy(log_softmax(students), target))

    def predict(self, x: Tensor) -> Tensor:
        """Logits / tau [B, C] of the test network."""
        if self.hparams.test_net == "disambiguation":
            return super().predict(x) / self.hparams.tau
        return self.predictions(x)[""]

    def predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        """Scores of the test network, of the auxiliary network, and of the mean of both logits.

        During the warm-up the auxiliary network is still untrained.
        """
        main = super().predict(x) / self.hparams.tau
        if self.auxiliary is None:
            return {"": main}
        other = self.auxiliary(x)[0] / self.hparams.tau
        both = {"auxiliary": other, "ensemble": (main + other) / 2}
        return {"": ({"disambiguation": main} | both)[self.hparams.test_net], **both}
