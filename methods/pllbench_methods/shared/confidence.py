"""Confidence: weights of the candidates of every instance, and the methods that keep them.

Letters in shape comments: N training instances, B batch, C classes, V views; `...` are leading
dimensions (networks), over which every function broadcasts.
"""

import math

import torch
from torch import Tensor

from pllbench.method import H, Method, Problem
from pllbench_methods.shared.softmax import softmax
from pllbench_methods.shared.views import MultiViewMethod, V


def uniform_confidence(candidates: Tensor) -> Tensor:
    """Equal weights on the candidates, float32 [N, C]: where every confidence matrix starts."""
    return candidates / candidates.sum(-1, keepdim=True)


def restrict(scores: Tensor, candidates: Tensor) -> Tensor:
    """Scores with -inf off the candidates: what a softmax or argmax over the candidates takes.

    The mask comes from the candidate sets, never from weights above 0: a candidate whose weight
    has underflowed may come back.
    """
    return torch.where(candidates, scores, -math.inf)  # [..., B, C]


def confidence(logits: Tensor, candidates: Tensor) -> Tensor:
    """Normalised geometric mean of the views' probabilities on the candidates, without gradient.

    AsyCo Eq. 6. Normalising each view over its candidates first would change nothing: constants per
    view cancel. That is also why logits [..., V, B, C] serve as well as log probabilities.

    Returns:
        Weights [..., B, C]; rows sum to 1 and are exactly 0 off the candidates.
    """
    return softmax(restrict(logits.detach().mean(-3), candidates))


class ConfidenceState(Method[H]):
    """A method that keeps a confidence matrix as state, whatever networks it has.

    Attributes:
        confidence: [N, C], weights of the candidates.
    """

    confidence: Tensor

    def __init__(self, problem: Problem, hparams: H) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("confidence", self.initial_confidence(problem.candidates))

    def initial_confidence(self, candidates: Tensor) -> Tensor:
        """Where the confidence starts, float32 [N, C]: equal weights on the candidates [N, C]."""
        return uniform_confidence(candidates)

    def target(self, index: Tensor) -> Tensor:
        """The stored confidence [B, C] of the instances `index` [B]: a copy, without gradient."""
        return self.confidence[index]

    def training_confidence(self) -> Tensor:
        """The stored confidence [N, C]."""
        return self.confidence

    def renew(self, index: Tensor, weights: Tensor) -> None:
        """Store new weights [B, C] of the instances `index` [B]."""
        self.confidence[index] = weights


class ConfidenceMethod(MultiViewMethod[V], ConfidenceState[V]):
    """A multi-view method with a confidence matrix."""
