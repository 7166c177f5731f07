"""PALS, at first named SARI: pseudo labels from neighbours, and label smoothing.

D. Saravanan, N. Manwani, V. Gandhi: Pseudo-labelling meets Label Smoothing for Noisy Partial Label
Learning, CVPR Workshops 2025 (arXiv 2402.04835).

The loss is taken over the selected rows of every batch. The authors draw, in every epoch, as many
rows from the selected ones as there are instances, with replacement.

Letters in shape comments: N training instances, B batch, C classes, D features, K neighbours.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Method, Problem, Step, TrainView
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.mixup import draw_larger_share, draw_partners, mix
from pllbench_methods.shared.softmax import softmax
from pllbench_methods.shared.training_set import nearest_neighbours, plain_outputs


class PALSHparams(Hparams):
    """Hyperparameters of PALS."""

    num_neighbours: int = Field(default=15, ge=1)
    """Neighbours that vote, beside the row itself."""
    vote_temperature: float = Field(default=0.1, gt=0)
    """A vote weighs exp(cosine / temperature)."""
    balance: float = Field(default=0.25, ge=0, le=1)
    """Quantile of the classes' counts that bounds how many rows of a class are selected."""
    threshold_start: float = Field(default=0.45, ge=0, le=1)
    """Probability above which the network's best class counts as a candidate, at first."""
    threshold_end: float = Field(default=0.35, ge=0, le=1)
    """The same in the last epoch; linear in between."""
    label_smoothing: float = Field(default=0.5, ge=0, le=1)
    """Share of the target that is equal for all classes."""
    mixup_alpha: float = Field(default=1.0, gt=0)
    """Parameter of mixup's Beta distribution."""


def vote_weights(features: Tensor, neighbours: Tensor, temperature: float) -> Tensor:
    """exp(cosine / temperature) of each row [N, D] and its neighbours [N, K]: [N, K]."""
    unit = F.normalize(features, dim=1)
    cosines = [(unit * unit[rows]).sum(1) for rows in neighbours.T]  # N x K x D would be large
    return (torch.stack(cosines, 1) / temperature).exp()


def votes(labels: Tensor, neighbours: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum [N, C] of the labels [N, C] of each row's neighbours [N, K]."""
    total = torch.zeros_like(labels)
    for rows, weight in zip(neighbours.T, weights.T, strict=True):
        total += weight[:, None] * labels[rows]
    return total


def balanced_selection(posterior: Tensor, sets: Tensor, balance: float) -> Tensor:
    """Which rows of a class are selected for it, bool [N, C]: equally many, the most probable.

    The bound is a quantile of how often a class is the best of a row and in its set; as released,
    that of 1/2 is the lower of two in the middle. Among equals the earlier row is selected.

    Args:
        posterior: [N, C].
        sets: [N, C], classes for which a row may be selected.
        balance: the quantile.
    """
    best = F.one_hot(posterior.argmax(1), sets.shape[1]).bool() & sets
    interpolation = "lower" if balance == 0.5 else "linear"
    bound = best.sum(0).float().quantile(balance, interpolation=interpolation).floor()
    order = restrict(posterior, sets).argsort(dim=0, descending=True, stable=True)
    rank = order.argsort(dim=0)  # 0 is the most probable
    return sets & (rank < bound)


class PALS(Method[PALSHparams]):
    """Learns, with smoothed labels and mixup, what weighted neighbours vote for.

    Attributes:
        network: the network that is trained and predicts.
        selected: [N], whether an instance is learned from in this epoch.
        pseudo: [N], the label it was selected for; where it was not, the best by the votes.
    """

    hparams_type = PALSHparams
    reference_epochs = 500
    family = "graph"
    year = 2025
    venue = "CVPRW"
    noisy_candidates = True
    selected: Tensor
    pseudo: Tensor

    def __init__(self, problem: Problem, hparams: PALSHparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()
        candidates = problem.candidates
        none = torch.zeros(len(candidates), dtype=torch.bool, device=candidates.device)
        self.register_buffer("selected", none)
        self.register_buffer("pseudo", candidates.int().argmax(1))

    @property
    def views(self) -> tuple[str, ...]:
        """The weak and the strong view."""
        return ("weak", "strong")

    @property
    def threshold(self) -> float:
        """Probability above which the network's best class counts as a candidate."""
        hparams = self.hparams
        progress = self.epoch / max(self.epochs - 1, 1)
        return hparams.threshold_start + progress * (
            hparams.threshold_end - hparams.threshold_start
        )

    def on_epoch_start(self, train: TrainView) -> None:
        """Let neighbours vote twice, on the sets and on their verdict, and select by classes."""
        hparams = self.hparams
        logits, features, candidates = plain_outputs(self.network, train)
        sets = candidates
        if self.epoch > 0:
            peak, best = softmax(logits).max(1)
            confident = (peak > self.threshold)[:, None]
            sets = sets | (F.one_hot(best, sets.shape[1]).bool() & confident)
        rows = torch.arange(len(sets), device=sets.device)[:, None]
        nearest = nearest_neighbours(F.normalize(features, dim=1), hparams.num_neighbours)
        neighbours = torch.cat([rows, nearest], 1)  # the row itself votes too
        weights = vote_weights(features, neighbours, hparams.vote_temperature)
        verdict = votes(sets.float(), neighbours, weights).argmax(1)
        posterior = votes(F.one_hot(verdict, sets.shape[1]).float(), neighbours, weights)
        posterior = posterior / posterior.sum(1, keepdim=True)
        chosen = balanced_selection(posterior, sets, hparams.balance)
        self.selected.copy_(chosen.any(1))
        label = restrict(posterior, chosen).argmax(1)
        self.pseudo.copy_(torch.where(self.selected, label, posterior.argmax(1)))

    def loss(self, batch: Batch) -> Step:
        """Smoothed cross entropy of the selected rows, mixed, over both views.

        The pseudo label, selected or not, may be no candidate.
        """
        selected, pseudo = self.selected[batch.index], self.pseudo[batch.index]
        losses = torch.stack([self.mixed_losses(x, selected, pseudo) for x in batch.x])  # [2, B]
        loss = losses.sum() / (len(losses) * selected.sum().clamp(min=1))
        return Step(loss, pseudo)

    def mixed_losses(self, x: Tensor, selected: Tensor, pseudo: Tensor) -> Tensor:
        """Losses [B] of a view mixed with a permutation of itself; only selected labels count."""
        share = draw_larger_share(self.hparams.mixup_alpha, x.device)
        partners = draw_partners(x)
        logits, _ = self.network(mix(x, partners, share))
        smoothing = self.hparams.label_smoothing
        own, other = (
            F.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing) * counts
            for labels, counts in ((pseudo, selected), (pseudo[partners], selected[partners]))
        )
        return share * own + (1 - share) * other

    def predict(self, x: Tensor) -> Tensor:
        """The network's logits [B, C]."""
        logits: Tensor = self.network(x)[0]
        return logits
