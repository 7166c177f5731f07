"""LWS: the leveraged weighted loss, with the sigmoid loss or with cross entropy (LWC).

H. Wen, J. Cui, H. Hang, J. Liu, Y. Wang, Z. Lin: Leveraged Weighted Loss for Partial Label
Learning, ICML 2021. Cross entropy is free of the released code's 1e-8 under the logarithm.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Step
from pllbench_methods.shared.confidence import confidence, restrict
from pllbench_methods.shared.losses import log_complement
from pllbench_methods.shared.refresh import PostStepMethod, RefreshHparams
from pllbench_methods.shared.softmax import log_softmax


class LWSHparams(RefreshHparams):
    """Hyperparameters of LWS."""

    surrogate: Literal["sigmoid", "cross_entropy"] = "sigmoid"
    """Loss of one class: sigmoid of its logit (LWS), or log of its probability (LWC)."""
    beta: float = Field(default=1.0, ge=0)
    """Leverage: weight of the non-candidates' losses. The authors search 1 and 2."""


class LWS(PostStepMethod[LWSHparams]):
    """Pulls candidates up and pushes non-candidates down, each by a weight of its own.

    The weights are the network's probabilities after the instance's previous step, normalised over
    the candidates and, separately, over the non-candidates: what the network believes in counts
    more, as a candidate to gain and as a non-candidate to lose.

    Attributes:
        confidence: [N, C], both groups of weights. 1 / C everywhere before the first visit.
    """

    hparams_type = LWSHparams
    family = "confidence"
    year = 2021
    venue = "ICML"

    def initial_confidence(self, candidates: Tensor) -> Tensor:
        """Equal weights on all classes, candidates and others alike, float32 [N, C]."""
        return torch.full_like(candidates, 1 / candidates.shape[1], dtype=torch.float32)

    def loss(self, batch: Batch) -> Step:
        """The leveraged weighted loss; the pseudo label is the candidate of the largest weight."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        weights = self.target(batch.index)  # [B, C]
        if self.hparams.surrogate == "sigmoid":
            up, down = torch.sigmoid(-logits), torch.sigmoid(logits)
        else:
            up, down = -log_softmax(logits), -log_complement(logits)
        losses = weights * torch.where(batch.candidates, up, self.hparams.beta * down)
        pseudo = restrict(weights, batch.candidates).argmax(-1)
        return Step(self.reduce_views(losses.sum(-1)), pseudo)

    def renewed(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """The confidence among the candidates plus that among the others, [B, C]."""
        full = candidates.all(-1, keepdim=True)  # no others: all of them stand in, and count 0
        others = confidence(logits, ~candidates | full) * ~candidates
        return confidence(logits, candidates) + others
