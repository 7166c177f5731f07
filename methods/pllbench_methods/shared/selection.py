"""Reliable instances of a batch: choosing them class by class, and mixing them with each other.

Nothing here depends on how many are chosen, so that no device is waited for.
"""

import torch
from torch import Tensor

from pllbench_methods.shared.mixup import draw_larger_share, draw_partners, mix


def smallest_by_class(losses: Tensor, labels: Tensor, counts: Tensor) -> Tensor:
    """Which instances have the smallest losses among those of their label, bool [B].

    Args:
        losses: [B]; of two equal ones the earlier counts as smaller.
        labels: [B].
        counts: how many of each label to choose, rounded up, [C]; at least one of each that occurs.
    """
    place = torch.arange(len(losses), device=losses.device)
    smaller = (losses < losses[:, None]) | ((losses == losses[:, None]) & (place < place[:, None]))
    rank = ((labels == labels[:, None]) & smaller).sum(1)  # [B], 0 is the smallest
    return rank < counts.ceil().clamp(min=1)[labels]


def mean_over(chosen: Tensor, losses: Tensor) -> Tensor:
    """Mean of the chosen losses [B], a scalar; 0 if none is chosen."""
    return (losses * chosen).sum() / chosen.sum().clamp(min=1)


def chosen_rows(chosen: Tensor) -> Tensor:
    """The chosen rows in random order, repeated until there are B of them: int64 [B].

    At least one must be chosen.
    """
    order = (torch.rand(len(chosen), device=chosen.device) + ~chosen).argsort()  # chosen ones first
    return order[torch.arange(len(chosen), device=chosen.device) % chosen.sum()]


def mix_chosen(x: Tensor, target: Tensor, chosen: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Mixup of chosen instances with each other, and of their targets alike.

    As many mixtures as the batch has rows: other rows would enter BatchNorm's statistics.

    Args:
        x: instances [B, ...].
        target: [B, C].
        chosen: bool [B].
        alpha: both parameters of the Beta distribution; the larger share is the first one's.
    """
    rows = chosen_rows(chosen)
    share, partners = draw_larger_share(alpha, x.device), draw_partners(rows)
    return mix(x[rows], partners, share), mix(target[rows], partners, share)
