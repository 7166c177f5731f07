"""Mixup: convex combinations of the instances of a batch, and of their targets.

H. Zhang, M. Cisse, Y. N. Dauphin, D. Lopez-Paz: mixup: Beyond Empirical Risk Minimization, ICLR
2018.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.distributions import Gamma

from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax


def draw_share(alpha: float, device: torch.device) -> Tensor | float:
    """A draw of Beta(alpha, alpha): the share of the first of two instances.

    It is drawn on the device, from torch's global generator: a CUDA graph would repeat what Python
    draws. There it stays a 0-d tensor, since no step waits for a GPU; of the CPU it is a number.
    """
    return _as_number(_share(alpha, device))


def draw_larger_share(alpha: float, device: torch.device) -> Tensor | float:
    """The larger of a draw of Beta(alpha, alpha) and the rest, so that it is at least 1/2."""
    share = _share(alpha, device)
    return _as_number(torch.maximum(share, 1 - share))


def _share(alpha: float, device: torch.device) -> Tensor:
    """A Beta as the share of two gammas, in float64, so that it and the rest sum to 1 exactly."""
    concentration = torch.full((2,), alpha, device=device, dtype=torch.float64)
    first, second = Gamma(
        concentration, torch.ones_like(concentration), validate_args=False
    ).sample()
    share: Tensor = first / (first + second)
    return share


def _as_number(share: Tensor) -> Tensor | float:
    return share.item() if share.is_cpu else share


def draw_partners(x: Tensor) -> Tensor:
    """For each row of x [B, ...] the row that it is mixed with: a random permutation, int64 [B]."""
    return torch.randperm(len(x), device=x.device)


def mix(values: Tensor, partners: Tensor, share: Tensor | float) -> Tensor:
    """`share` of each row, and for the rest its partner: [B, ...] from values [B, ...] and [B]."""
    if isinstance(share, Tensor):
        share = share.to(values.dtype)
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
    share, partners = draw_larger_share(alpha, x.device), draw_partners(x)
    log_probs = log_softmax(classify(mix(x, partners, share)))
    return soft_cross_entropy(log_probs, mix(target, partners, share)).mean()
