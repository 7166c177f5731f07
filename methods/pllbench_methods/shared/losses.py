"""Pure functions that several methods share. All in log space and float32, without epsilons.

Letters in shape comments: B batch, C classes, V views; `...` are leading dimensions (views,
networks), over which every function broadcasts. A function of logits is unchanged when a constant
is added to all logits of an instance, so it takes log probabilities just as well.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.softmax import log_softmax


def log_candidate_prob(logits: Tensor, candidates: Tensor) -> Tensor:
    """Log of the probability that the label is a candidate, [..., B]; exactly 0 for a full set."""
    return restrict(logits, candidates).logsumexp(-1) - logits.logsumexp(-1)


def log_complement(logits: Tensor) -> Tensor:
    """log(1 - p), [..., B, C], exact also where p rounds to 1.

    The largest p of a row is summed over the other classes; all others are at most 1/2, where
    log1p is accurate.
    """
    log_probs = log_softmax(logits)
    top = log_probs.argmax(-1, keepdim=True)  # [..., B, 1]
    log_others = log_probs.scatter(-1, top, -math.inf).logsumexp(-1, keepdim=True)  # [..., B, 1]
    probs = log_probs.exp().scatter(-1, top, 0.0)
    return torch.log1p(-probs).scatter(-1, top, log_others)


def non_candidate_losses(logits: Tensor, candidates: Tensor) -> Tensor:
    """Sum over the labels outside the candidate set of -log(1 - p_k), [..., B].

    DPLL's supervised term: candidates have no part in it, and a full set has the loss 0.
    """
    return -(log_complement(logits) * ~candidates).sum(-1)


def soft_cross_entropy(log_probs: Tensor, target: Tensor) -> Tensor:
    """Cross entropy -sum_k t_k log p_k with a target of weights, [..., B].

    log_softmax is finite, so a zero weight contributes exactly zero.
    """
    return -(target * log_probs).sum(-1)


def kl_divergence(target: Tensor, log_probs: Tensor) -> Tensor:
    """KL(t || p) of every instance, [..., B], with t log t = 0 at t = 0."""
    return F.kl_div(log_probs, target, reduction="none").sum(-1)


def smallest_pairs(losses: Tensor, candidates: Tensor, count: Tensor | float) -> Tensor:
    """Which (instance, candidate) pairs of a batch are among the floor(count) smallest losses.

    Args:
        losses: [..., B, C], of which only the candidates' count.
        candidates: [B, C].
        count: at most the number of pairs; a tensor, where the device must not be waited for.

    Returns:
        bool [..., B, C]; among equal losses the earlier pair counts as smaller.
    """
    pairs = losses.masked_fill(~candidates, math.inf).flatten(-2)  # [..., B * C]
    place = pairs.argsort(dim=-1, stable=True).argsort(dim=-1) + 1  # 1 is the smallest
    return (place <= count).view(losses.shape)
