"""SCL-EXP: the exponential surrogate loss of complementary labels.

Y.-T. Chou, G. Niu, H.-T. Lin, M. Sugiyama: Unbiased Risk Estimators Can Mislead: A Case Study of
Learning with Complementary Labels, ICML 2020.
"""

from torch import Tensor

from pllbench_methods.shared.complementary import ComplementaryHparams, PairwiseMethod
from pllbench_methods.shared.softmax import softmax


class SCLEXP(PairwiseMethod[ComplementaryHparams]):
    """Pushes every non-candidate down, and never by more than a bounded gradient."""

    hparams_type = ComplementaryHparams
    family = "loss"
    year = 2020
    venue = "ICML"

    def pair_losses(self, logits: Tensor) -> Tensor:
        """exp(p_k), [V, B, C]."""
        return softmax(logits).exp()
