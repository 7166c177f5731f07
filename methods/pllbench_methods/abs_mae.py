"""ABS-MAE: the average of the candidates' absolute errors.

J. Lv, B. Liu, L. Feng, N. Xu, M. Xu, B. An, G. Niu, X. Geng, M. Sugiyama: On the Robustness of
Average Losses for Partial-Label Learning, TPAMI 2024.
"""

from torch import Tensor

from pllbench_methods.shared.confidence import uniform_confidence
from pllbench_methods.shared.label_losses import absolute_error
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.stateless import StatelessMethod
from pllbench_methods.shared.views import ViewHparams


class ABSMAE(StatelessMethod[ViewHparams]):
    """All candidates count alike, for ever; the bounded loss makes that robust.

    The loss is 2 - 2 p(Y) / |Y|. Its gradient is CC's times 2 p(Y) / |Y|: it vanishes where no
    candidate is probable, which makes the loss slow, and at a full set.
    """

    hparams_type = ViewHparams
    family = "loss"
    year = 2024
    venue = "TPAMI"

    def losses(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """Mean absolute error [V, B] of the candidates."""
        errors = absolute_error(log_softmax(logits))  # [V, B, C]
        return (uniform_confidence(candidates) * errors).sum(-1)
