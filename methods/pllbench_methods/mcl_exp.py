"""MCL-EXP, or EXP: the exponential bound of the loss of multiple complementary labels.

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


class MCLEXP(MultipleComplementaryMethod[ViewHparams]):
    """Raises the probability of the candidate set, by a bounded loss; large sets count more.

    The gradient is CC's times p(Y) exp(-p(Y)) and the weight of the row.
    """

    hparams_type = ViewHparams
    family = "loss"
    year = 2020
    venue = "ICML"

    def losses(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """(C - 1) / s * exp(-p(Y)), [V, B]."""
        prob = log_candidate_prob(logits, candidates).exp()
        return complementary_weights(candidates) * (-prob).exp()
