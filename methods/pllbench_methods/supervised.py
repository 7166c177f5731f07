"""Fully supervised reference: cross entropy with the true labels on every view.

Not a partial-label method: it shows what the candidate sets cost.
"""

from pllbench.method import Batch, Problem, Step
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.views import MultiViewMethod, ViewHparams


class Supervised(MultiViewMethod[ViewHparams]):
    """Cross entropy, the mean over the views. Its candidate sets are the true labels.

    Raises:
        ValueError: a row has several candidates, so its true label is not known.
    """

    hparams_type = ViewHparams
    labels = "true"
    family = "reference"

    def __init__(self, problem: Problem, hparams: ViewHparams) -> None:
        if bool((problem.candidates.sum(1) != 1).any()):
            raise ValueError(
                "the supervised reference takes the true labels, one candidate a row: "
                "hand it one-hot candidates, or choose a partial-label method"
            )
        super().__init__(problem, hparams)

    def loss(self, batch: Batch) -> Step:
        """Cross entropy; there is no pseudo label."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        losses = soft_cross_entropy(log_softmax(logits), batch.candidates.float())  # [V, B]
        return Step(self.reduce_views(losses))
