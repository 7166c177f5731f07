"""OP-W: weighted order-preserving losses of complementary labels.

S. Liu, Y. Cao, Q. Zhang, L. Feng, B. An: Consistent Complementary-Label Learning via
Order-Preserving Losses, AISTATS 2023. The authors' code is not public: the formula is the one on
which the released re-implementations agree.
"""

import torch
from torch import Tensor

from pllbench_methods.shared.complementary import ComplementaryHparams, PairwiseMethod
from pllbench_methods.shared.softmax import log_softmax, softmax

WEIGHT_FLOOR = 1e-6
"""What is added to every weight: all that a pair off the prediction weighs."""
LARGEST_EXPONENT = 20.0
"""Of e^20 and beyond, the difference of any two float32 exponents makes a softmax one-hot, so that
larger ones change no weight; the bound keeps gradients finite where two are equal."""


class OPWHparams(ComplementaryHparams):
    """Hyperparameters of OP-W."""

    weighted: bool = True
    """False: the loss without its weight, which the paper calls OP."""


def order_preserving_weights(logits: Tensor) -> Tensor:
    """softmax(u) * p + 1e-6 with u_k = 1 / softmax(-z)_k, [..., C].

    u grows like exp(z), so its softmax is soon one-hot at the predicted class.
    """
    exponents = -log_softmax(-logits)  # log u
    peak = exponents.detach().amax(-1, keepdim=True)
    # u - max u, without the overflow of u itself.
    gaps = peak.clamp(max=LARGEST_EXPONENT).exp() * torch.expm1(exponents - peak)
    return softmax(gaps) * softmax(logits) + WEIGHT_FLOOR


class OPW(PairwiseMethod[OPWHparams]):
    """Cross entropy of softmax(-z) with the complementary label, where that label is predicted."""

    hparams_type = OPWHparams
    family = "loss"
    year = 2023
    venue = "AISTATS"

    def pair_losses(self, logits: Tensor) -> Tensor:
        """-w_k log softmax(-z)_k, [V, B, C]. As in the released codes, the weight has gradient."""
        losses = -log_softmax(-logits)
        if not self.hparams.weighted:
            return losses
        return order_preserving_weights(logits) * losses
