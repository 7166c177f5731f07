"""PRODEN: progressive identification of true labels.

J. Lv, M. Xu, L. Feng, G. Niu, X. Geng, M. Sugiyama: Progressive Identification of True Labels for
Partial-Label Learning, ICML 2020.
"""

from pllbench.method import Batch, Step
from pllbench_methods.shared.confidence import ConfidenceMethod, confidence
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.views import ViewHparams


class PRODEN(ConfidenceMethod[ViewHparams]):
    """Cross entropy with the confidence that the network had in the instance's previous step.

    One pass a step: the new confidence comes from the probabilities before the update. That is
    all that distinguishes it from RC.
    """

    hparams_type = ViewHparams
    family = "confidence"
    year = 2020
    venue = "ICML"

    def loss(self, batch: Batch) -> Step:
        """Cross entropy with the stored confidence, whose argmax is the pseudo label."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        target = self.target(batch.index)  # [B, C]
        losses = soft_cross_entropy(log_softmax(logits), target)  # [V, B], AsyCo Eq. 7
        self.renew(batch.index, confidence(logits, batch.candidates))  # AsyCo Eq. 6
        return Step(self.reduce_views(losses), target.argmax(-1))
