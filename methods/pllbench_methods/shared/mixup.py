"""Mixup: convex combinations of the instances of a batch, and of their targets.

H. Zhang, M. Cisse, Y. N. Dauphin, D. Lopez-Paz: mixup: Beyond Empirical Risk Minimization, ICLR
2018.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.distributions import Beta

from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax


def draw_share(alpha: float) -> float:
    """A draw of Beta(alpha, alpha): the share of the first of two instances.

    It is drawn on the CPU, from torch's global generator, so that no device is waited for.
    """
    return float(Beta(alpha, alpha).sample())


def draw_larger_share(alpha: float) -> float:
    """The larger of a draw of Beta(alpha, alpha) and the rest, so that it is at least 1/2."""
    share = draw_share(alpha)
    return max(share, 1 - share)


def draw_partners(x: Tensor) -> Tensor:
    """For each row of x [B, ...] the row that it is mixed with: a random permutation, int64 [B]."""
    return torch.randperm(len(x), device=x.device)


def mix(values: Tensor, partners: Tensor, share: float) -> Tensor:
    """`share` of each row, and for the rest its partner: [B, ...] from values [B, ...] and [B]."""
    return values[partners].lerp(values, share)


def mixup_cross_entropy(
    classify: Callable[[Tensor], Tensor], x: Tensor, target: Tensor, alpha: float
) -> Tensor:
    """Mean cross entropy on a batch that is mixed with a permutation of itself, a scalar.

    Args:
        classify: logits [B, C] of instances.
        x: instances [B, ...].
        target: their targets [B, C].
        alpha: both parameters of the Beta distribution; the larger share is the row's own.
    """
    share, partners = draw_larger_share(alpha), draw_partners(x)
    log_probs = log_softmax(classify(mix(x, partners, share)))
    return soft_cross_entropy(log_probs, mix(target, partners, share)).mean()
