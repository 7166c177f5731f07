"""PC: pairwise comparison of a complementary label's logit with all others.

T. Ishida, G. Niu, W. Hu, M. Sugiyama: Learning from Complementary Labels, NeurIPS 2017. Released
codes compare the complementary label with itself as well, a constant (C - 1) / 2.
"""

import torch
from torch import Tensor

from pllbench_methods.shared.complementary import ComplementaryHparams, PairwiseMethod


class PairwiseComparison(PairwiseMethod[ComplementaryHparams]):
    """Every logit should exceed the complementary label's, by the sigmoid loss."""

    hparams_type = ComplementaryHparams
    family = "loss"
    year = 2017
    venue = "NeurIPS"

    def pair_losses(self, logits: Tensor) -> Tensor:
        """(C - 1) sum_{j != k} sigmoid(z_k - z_j) - C (C - 1) / 2 + C - 1 for every k, [V, B, C].

        Since sigmoid(x) = 1/2 + tanh(x / 2) / 2, that is (C - 1) / 2 * (1 + sum_j tanh(...)): the
        constants are gone before they cost precision, and j = k adds 0.
        """
        gaps = logits[..., None] - logits[..., None, :]  # [V, B, C, C], z_k - z_j
        return (logits.shape[-1] - 1) / 2 * (1 + torch.tanh(gaps / 2).sum(-1))
