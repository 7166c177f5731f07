"""L-W: a weighted loss of the predicted distribution of complementary labels.

Y. Gao, M.-L. Zhang: Discriminative Complementary-Label Learning with Weighted Loss, ICML 2021.
"""

from torch import Tensor

from pllbench_methods.shared.complementary import ComplementaryHparams, PairwiseMethod
from pllbench_methods.shared.softmax import log_softmax, softmax


class LWHparams(ComplementaryHparams):
    """Hyperparameters of L-W."""

    weighted: bool = True
    """False: the loss without its weight, which the paper calls L-UW."""


class LW(PairwiseMethod[LWHparams]):
    """Cross entropy of softmax(1 - p) with the complementary label.

    The second softmax sees numbers between 0 and 1 only: the loss is bounded on both sides, and its
    gradient fades where a complementary label is predicted with certainty.
    """

    hparams_type = LWHparams
    family = "loss"
    year = 2021
    venue = "ICML"

    def pair_losses(self, logits: Tensor) -> Tensor:
        """-(1 + w_k) log softmax(1 - p)_k with w_k = (1 - p_k) / (C - 1), [V, B, C].

        As in the released code, the weight carries gradient.
        """
        others = 1 - softmax(logits)
        losses = -log_softmax(others)
        if not self.hparams.weighted:
            return losses
        return (1 + others / (logits.shape[-1] - 1)) * losses
