"""MCL-MAE: the unbiased risk of multiple complementary labels with the absolute error.

L. Feng, T. Kaneko, B. Han, G. Niu, B. An, M. Sugiyama: Learning with Multiple Complementary Labels,
ICML 2020.
"""

from torch import Tensor

from pllbench_methods.shared.label_losses import absolute_error
from pllbench_methods.shared.multiple_complementary import UnbiasedMethod
from pllbench_methods.shared.views import ViewHparams


class MCLMAE(UnbiasedMethod[ViewHparams]):
    """Estimates the supervised risk of the absolute error 2 - 2 p_k."""

    hparams_type = ViewHparams
    family = "loss"
    year = 2020
    venue = "ICML"

    def class_losses(self, log_probs: Tensor) -> Tensor:
        """Absolute errors [V, B, C]."""
        return absolute_error(log_probs)
