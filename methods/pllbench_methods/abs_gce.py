"""ABS-GCE: the average of the candidates' generalised cross entropies.

J. Lv, B. Liu, L. Feng, N. Xu, M. Xu, B. An, G. Niu, X. Geng, M. Sugiyama: On the Robustness of
Average Losses for Partial-Label Learning, TPAMI 2024.
"""

from torch import Tensor

from pllbench_methods.shared.confidence import uniform_confidence
from pllbench_methods.shared.label_losses import GCEHparams, generalised_cross_entropy
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.stateless import StatelessMethod


class ABSGCE(StatelessMethod[GCEHparams]):
    """All candidates count alike, for ever, in a loss between absolute error and cross entropy."""

    hparams_type = GCEHparams
    family = "loss"
    year = 2024
    venue = "TPAMI"

    def losses(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """Mean generalised cross entropy [V, B] of the candidates."""
        errors = generalised_cross_entropy(log_softmax(logits), self.hparams.exponent)
        return (uniform_confidence(candidates) * errors).sum(-1)
