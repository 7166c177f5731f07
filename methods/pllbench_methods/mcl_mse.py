"""MCL-MSE: the unbiased risk of multiple complementary labels with the squared error.

L. Feng, T. Kaneko, B. Han, G. Niu, B. An, M. Sugiyama: Learning with Multiple Complementary Labels,
ICML 2020.
"""

from torch import Tensor

from pllbench_methods.shared.multiple_complementary import UnbiasedMethod
from pllbench_methods.shared.views import ViewHparams


def squared_error(log_probs: Tensor) -> Tensor:
    """Sum over the classes of (p - onehot(k))^2, for every k: [..., C]."""
    probs = log_probs.exp()
    return probs.square().sum(-1, keepdim=True) - 2 * probs + 1


class MCLMSE(UnbiasedMethod[ViewHparams]):
    """Estimates the supervised risk of the squared error."""

    hparams_type = ViewHparams
    family = "loss"
    year = 2020
    venue = "ICML"

    def class_losses(self, log_probs: Tensor) -> Tensor:
        """Squared errors [V, B, C]."""
        return squared_error(log_probs)
