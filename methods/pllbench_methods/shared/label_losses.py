"""Bounded losses of one class at a time: what a classifier pays if class k is the true label.

Letters in shape comments: C classes; `...` are leading dimensions (views, instances).
"""

from pydantic import Field
from torch import Tensor

from pllbench_methods.shared.views import ViewHparams


class GCEHparams(ViewHparams):
    """Hyperparameters of every method with the generalised cross entropy."""

    exponent: float = Field(default=0.7, gt=0, le=1)
    """Exponent of the generalised cross entropy: 1 is half the absolute error, near 0 the log."""


def absolute_error(log_probs: Tensor) -> Tensor:
    """Sum over the classes of |p - onehot(k)|, which is 2 - 2 p_k, for every k: [..., C]."""
    return 2 - 2 * log_probs.exp()


def generalised_cross_entropy(log_probs: Tensor, exponent: float) -> Tensor:
    """(1 - p_k^exponent) / exponent for every k, [..., C].

    Z. Zhang, M. Sabuncu: Generalized Cross Entropy Loss for Training Deep Neural Networks with
    Noisy Labels, NeurIPS 2018.
    """
    return (1 - (exponent * log_probs).exp()) / exponent
