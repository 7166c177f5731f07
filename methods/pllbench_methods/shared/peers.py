"""Methods of two networks of equal rank."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from pllbench.method import Batch, Problem
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.views import MultiViewMethod, V


class PeerMethod(MultiViewMethod[V]):
    """A multi-view method of two networks of equal rank, initialised differently, on equal batches.

    Attributes:
        peer: the second network.
    """

    def __init__(self, problem: Problem, hparams: V) -> None:
        super().__init__(problem, hparams)
        self.peer = problem.make_network()

    def both_logits(self, batch: Batch) -> Tensor:
        """Logits of both networks on all views, [2, V, B, C]."""
        return torch.stack([self.network.views(batch.x)[0], self.peer.views(batch.x)[0]])

    def predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        """Scores of each network, and the log of the mean of both networks' probabilities."""
        scores, peer = self.predict(x), self.peer(x)[0]
        both = torch.stack([log_softmax(scores), log_softmax(peer)])  # [2, B, C]
        return {"": scores, "peer": peer, "ensemble": both.logsumexp(0) - math.log(2)}
