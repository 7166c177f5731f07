"""GFWS: expectation and maximisation with imprecise labels; here its case of candidate sets.

H. Chen, J. Wang, L. Feng, X. Li, Y. Wang, X. Xie, M. Sugiyama, R. Singh, B. Raj: A General
Framework for Learning from Weak Supervision, ICML 2024. The balance term, off among the released
code's defaults, is on in its settings and here; its floor of 1e-6 under the mean probability falls
away, since the logarithm is taken of a sum of exponentials. The authors pass all views in one batch
(train setting forward = "concat") and clip the gradient's norm at 1.
"""

import math

from pydantic import Field

from pllbench.method import Batch, Step
from pllbench_methods.shared.confidence import confidence
from pllbench_methods.shared.losses import log_complement, soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.views import MultiViewMethod, ViewHparams


class GFWSHparams(ViewHparams):
    """Hyperparameters of GFWS."""

    balance: float = Field(default=0.1, ge=0)
    """Weight of the pull of the batch's mean prediction towards equal shares of all classes, which
    is wrong where classes are imbalanced; 0 switches it off."""


class GFWS(MultiViewMethod[GFWSHparams]):
    """Every view learns the weak view's present confidence; keeps no state between steps."""

    hparams_type = GFWSHparams
    family = "confidence"
    year = 2024
    venue = "ICML"

    def loss(self, batch: Batch) -> Step:
        """Supervised, consistency and balance term; the confidence is the pseudo label."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        log_probs = log_softmax(logits)
        target = confidence(logits[:1], batch.candidates)  # [B, C], of the weak view alone
        supervised = -(log_complement(logits[0]) * ~batch.candidates).sum(-1).mean()
        consistency = self.reduce_views(soft_cross_entropy(log_probs, target))
        shares = log_probs[0].logsumexp(0) - math.log(len(target))  # [C], log of the mean
        loss = supervised + consistency - self.hparams.balance * shares.mean()
        return Step(loss, target.argmax(-1))
