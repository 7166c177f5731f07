"""CLPL: convex loss for partial labels.

T. Cour, B. Sapp, B. Taskar: Learning from Partial Labels, JMLR 12, 2011.

psi is the squared hinge, and it takes the scores of a linear classifier. On softmax probabilities,
which a public code takes, the terms of the other labels never vanish, and the loss is not convex.
"""

import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench_methods.shared.confidence import uniform_confidence
from pllbench_methods.shared.margins import MarginMethod


class CLPL(MarginMethod):
    """Pushes the mean score of the candidates above 1, and every other score below -1."""

    family = "classical"
    year = 2011
    venue = "JMLR"

    def losses(self, scores: Tensor, candidates: Tensor) -> Tensor:
        """psi(mean of the candidates' scores) + sum over the others of psi(-score), [B].

        psi(t) = max(0, 1 - t)^2.
        """
        mean = (scores * uniform_confidence(candidates)).sum(1)
        others = F.relu(1 + scores).square() * ~candidates
        return F.relu(1 - mean).square() + others.sum(1)
