"""Mixup: convex combinations of the instances of a batch, and of their targets.

H. Zhang, M. Cisse, Y. N. Dauphin, D. Lopez-Paz: mixup: Beyond Empirical Risk Minimization, ICLR
2018.
"""

import torch
from torch import Tensor
from torch.distributions import Beta


def draw_share(concentration: float) -> float:
    """A draw of Beta(concentration, concentration): the share of the first of two instances.

    It is drawn on the CPU, from torch's global generator, so that no device is waited for.
    """
    return float(Beta(concentration, concentration).sample())


def draw_partners(x: Tensor) -> Tensor:
    """For each row of x [B, ...] the row that it is mixed with: a random permutation, int64 [B]."""
    return torch.rand(len(x), device=x.device).argsort()


def mixed(x: Tensor, partners: Tensor, share: float) -> Tensor:
    """Rows [B, ...] that are `share` themselves and for the rest their partners [B]."""
    return share * x + (1 - share) * x[partners]
