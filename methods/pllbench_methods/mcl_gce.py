"""MCL-GCE: the unbiased risk of multiple complementary labels with the generalised cross entropy.

L. Feng, T. Kaneko, B. Han, G. Niu, B. An, M. Sugiyama: Learning with Multiple Complementary Labels,
ICML 2020.
"""

from torch import Tensor

from pllbench_methods.shared.label_losses import GCEHparams, generalised_cross_entropy
from pllbench_methods.shared.multiple_complementary import UnbiasedMethod


class MCLGCE(UnbiasedMethod[GCEHparams]):
    """Estimates the supervised risk of the generalised cross entropy."""

    hparams_type = GCEHparams
    family = "loss"
    year = 2020
    venue = "ICML"

    def class_losses(self, log_probs: Tensor) -> Tensor:
        """Generalised cross entropies [V, B, C]."""
        return generalised_cross_entropy(log_probs, self.hparams.exponent)
