"""SCL-NL: the negative-learning surrogate loss of complementary labels.

Y.-T. Chou, G. Niu, H.-T. Lin, M. Sugiyama: Unbiased Risk Estimators Can Mislead: A Case Study of
Learning with Complementary Labels, ICML 2020. Released codes add 1e-6 to the probability, which
stops the loss at 13.8; the logarithm here is exact.
"""

from torch import Tensor

from pllbench_methods.shared.complementary import ComplementaryHparams, PairwiseMethod
from pllbench_methods.shared.losses import log_complement


class SCLNL(PairwiseMethod[ComplementaryHparams]):
    """Pushes every non-candidate down on its own; summed over instances, DPLL's supervised term."""

    hparams_type = ComplementaryHparams
    family = "loss"
    year = 2020
    venue = "ICML"

    def pair_losses(self, logits: Tensor) -> Tensor:
        """-log(1 - p_k), [V, B, C]."""
        return -log_complement(logits)
