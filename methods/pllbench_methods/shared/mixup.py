"""Mixup: convex combinations of the instances of a batch, and of their targets.

H. Zhang, M. Cisse, Y. N. Dauphin, D. Lopez-Paz: mixup: Beyond Empirical Risk Minimization, ICLR
2018. Methods of partial-label learning fold the share to at least one half.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.distributions import Beta

from pllbench_methods.shared.losses import soft_cross_entropy


def mixup_share(alpha: float) -> float:
    """A draw from Beta(alpha, alpha), or 1 minus it where it is below 1/2.

    It is drawn on the CPU, where its value is known without waiting for a device.
    """
    share = Beta(alpha, alpha).sample().item()
    return max(share, 1 - share)


def mix(values: Tensor, partners: Tensor, share: float) -> Tensor:
    """`share` of each row, and the rest of its partner: [B, ...] from values [B, ...] and [B]."""
    return values[partners].lerp(values, share)


def mixup_cross_entropy(
    classify: Callable[[Tensor], Tensor], x: Tensor, target: Tensor, alpha: float
) -> Tensor:
    """Mean cross entropy on a batch mixed with a permutation of itself, a scalar.

    Args:
        classify: logits [B, C] of instances.
        x: instances [B, ...].
        target: their targets [B, C].
        alpha: of the Beta distribution.
    """
    share = mixup_share(alpha)
    partners = torch.randperm(len(x), device=x.device)
    log_probs = classify(mix(x, partners, share)).log_softmax(1)
    return soft_cross_entropy(log_probs, mix(target, partners, share)).mean()
