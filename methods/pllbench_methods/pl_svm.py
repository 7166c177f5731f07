"""PL-SVM: a linear classifier with a margin between candidates and the other labels.

N. Nguyen, R. Caruana: Classification with Partial Labels, KDD 2008.

The objective is the paper's; SGD with weight decay, the trainer's, takes the place of its solver.
"""

import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.margins import MarginMethod


class PLSVM(MarginMethod):
    """Asks of the best candidate alone that it leads the other labels, by a margin of 1."""

    family = "classical"
    year = 2008
    venue = "KDD"

    def losses(self, scores: Tensor, candidates: Tensor) -> Tensor:
        """max(0, 1 - (best candidate - best other label)), [B].

        A full set has no other label, and no loss: 1 - inf is below 0.
        """
        best = restrict(scores, candidates).amax(1)
        return F.relu(1 - (best - restrict(scores, ~candidates).amax(1)))
