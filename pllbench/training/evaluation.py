"""Metrics of predictions, pseudo labels, and hold-outs without true labels."""

import torch
from torch import Tensor


def accuracy(scores: Tensor, y: Tensor) -> float:
    """Share of rows whose highest score [M, C] is at the true label [M]."""
    return (scores.argmax(1) == y).double().mean().item()


def noise_rates(pseudo: Tensor, y: Tensor, num_classes: int) -> tuple[float, float]:
    """Class and pairwise noise rate of pseudo labels [N] against true labels [N].

    Class: share of rows with pseudo != y. Pairwise: share of the pairs i != j for which "same
    pseudo label" and "same true label" disagree (AsyCo, Fig. 5), from the C x C confusion counts
    instead of N^2 pairs; NaN where there is no pair.
    """
    n = len(y)
    cells = torch.bincount(y * num_classes + pseudo, minlength=num_classes**2)
    counts = cells.view(num_classes, num_classes).double()  # [true, pseudo]
    same_true, same_pseudo = counts.sum(1).square().sum(), counts.sum(0).square().sum()
    disagreeing = same_true + same_pseudo - 2 * counts.square().sum()
    wrong = (pseudo != y).double().mean().item()
    return wrong, (disagreeing / (n * (n - 1))).item() if n > 1 else float("nan")


def covering_rate(scores: Tensor, candidates: Tensor) -> float:
    """Share of rows whose predicted label is one of their candidates [M, C]."""
    return candidates.gather(1, scores.argmax(1, keepdim=True)).double().mean().item()


def approximated_accuracy(scores: Tensor, candidates: Tensor) -> float:
    """Mean over rows of p_k / p(candidates), k the predicted label; 0 where k is no candidate.

    p is the softmax of the scores [M, C] (PLENCH's selection criterion).
    """
    log_p = scores.double().log_softmax(1)
    inside = log_p.masked_fill(~candidates, -torch.inf).logsumexp(1, keepdim=True)
    share = (log_p - inside).exp().masked_fill(~candidates, 0.0)
    return share.gather(1, log_p.argmax(1, keepdim=True)).mean().item()
