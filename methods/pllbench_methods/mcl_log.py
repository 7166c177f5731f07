"""MCL-LOG, or LOG: the logarithmic bound of the loss of multiple complementary labels.

L. Feng, T. Kaneko, B. Han, G. Niu, B. An, M. Sugiyama: Learning with Multiple Complementary Labels,
ICML 2020.
"""

from torch import Tensor

from pllbench_methods.shared.losses import log_candidate_prob
from pllbench_methods.shared.multiple_complementary import (
    MultipleComplementaryMethod,
    complementary_weights,
)
from pllbench_methods.shared.views import ViewHparams


class MCLLOG(MultipleComplementaryMethod[ViewHparams]):
    """CC with a weight per row: large sets count more.

    Where all sets have one size, it is CC at another learning rate.
    """

    hparams_type = ViewHparams
    family = "loss"
    year = 2020
    venue = "ICML"

    def losses(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """-(C - 1) / s * log p(Y), [V, B]."""
        return -complementary_weights(candidates) * log_candidate_prob(logits, candidates)
