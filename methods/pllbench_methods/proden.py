"""PRODEN: progressive identification of true labels.

J. Lv, M. Xu, L. Feng, G. Niu, X. Geng, M. Sugiyama: Progressive Identification of True Labels for
Partial-Label Learning, ICML 2020.
"""

from torch import Tensor

from pllbench.method import Batch, Problem, Step
from pllbench_methods.common import MultiViewMethod, ViewHparams
from pllbench_methods.losses import confidence, soft_cross_entropy, uniform_confidence


class PRODEN(MultiViewMethod[ViewHparams]):
    """Cross entropy with the confidence that the network had in the instance's previous step.

    One pass a step: the new confidence comes from the probabilities before the update. That is
    all that distinguishes it from RC.

    Attributes:
        confidence: [N, C], weights of the candidates.
    """

    hparams_type = ViewHparams
    confidence: Tensor

    def __init__(self, problem: Problem, hparams: ViewHparams) -> None:
        super().__init__(problem, hparams)
        self.register_buffer("confidence", uniform_confidence(problem.candidates))

    def loss(self, batch: Batch) -> Step:
        """Cross entropy with the stored confidence, whose argmax is the pseudo label."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        target = self.confidence[batch.index]  # [B, C]
        losses = soft_cross_entropy(logits.log_softmax(-1), target)  # [V, B], AsyCo Eq. 7
        self.confidence[batch.index] = confidence(logits, batch.candidates)  # AsyCo Eq. 6
        return Step(self.reduce_views(losses), target.argmax(-1))
