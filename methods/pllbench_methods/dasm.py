"""DASM: two augmentations, a single network, each view learning from the other (ours).

The formulas are this project's own. The name and the idea, that a minimal method purifies the
candidate sets within each mini-batch, are those of J. Lv, Y. Liu, S. Xia, N. Xu, M. Xu, G. Niu,
M. Zhang, M. Sugiyama, X. Geng: What Makes Partial-Label Learning Algorithms Effective?, NeurIPS
2024, of which neither code nor algorithm was at hand. No number of this method is one of that
paper's DASM.
"""

from collections.abc import Mapping

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Method, Problem, Schedule, Step
from pllbench_methods.shared.confidence import restrict, uniform_confidence
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax, softmax


class DASMHparams(Hparams):
    """Hyperparameters of DASM."""

    warmup: float = Field(default=0.0, ge=0)
    """Reference epochs in which all candidates weigh the same."""
    store: bool = False
    """Learn from the other view's confidence of the last visit instead of this step's."""


class DASM(Method[DASMHparams]):
    """Cross entropy of each of two views with the confidence that the network has in the other.

    Attributes:
        network: the network that is trained and predicts.
        stored: [2, N, C], the confidence of both views at the last visit; None without `store`.
        warming_up: whether all candidates weigh the same in this epoch.
    """

    hparams_type = DASMHparams
    family = "confidence"
    stored: Tensor | None
    warming_up: bool

    def __init__(self, problem: Problem, hparams: DASMHparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()
        uniform = uniform_confidence(problem.candidates)
        self.register_buffer("stored", torch.stack([uniform] * 2) if hparams.store else None)

    @property
    def views(self) -> tuple[str, ...]:
        """A weak view and a strong one."""
        return ("weak", "strong")

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The warm-up."""
        warmup = self.hparams.warmup
        return {"warming_up": lambda epoch: epoch < warmup}

    def loss(self, batch: Batch) -> Step:
        """Mean over both views; the weak view's confidence, as a target, is the pseudo label."""
        logits, _ = self.network.views(batch.x)  # [2, B, C]
        target = softmax(restrict(logits.detach(), batch.candidates))  # [2, B, C]
        if self.stored is not None:
            fresh, target = target, self.stored[:, batch.index]
            self.stored[:, batch.index] = fresh
        if self.warming_up:
            target = uniform_confidence(batch.candidates).expand_as(target)
        losses = soft_cross_entropy(log_softmax(logits), target.flip(0))  # [2, B]
        return Step(losses.mean(), target[0].argmax(-1))

    def predict(self, x: Tensor) -> Tensor:
        """The network's logits [B, C]."""
        logits: Tensor = self.network(x)[0]
        return logits
