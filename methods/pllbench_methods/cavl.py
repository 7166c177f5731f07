"""CAVL: class activation values choose the label among the candidates.

F. Zhang, L. Feng, B. Han, T. Liu, G. Niu, T. Qin, M. Sugiyama: Exploiting Class Activation Value
for Partial-Label Learning, ICLR 2022. The label is always a candidate; in the released code it is
not where all activation values of the candidates are negative.
"""

import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor

from pllbench.method import Batch, Step
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.refresh import PostStepMethod, RefreshHparams
from pllbench_methods.shared.softmax import log_softmax


def activation_values(logits: Tensor) -> Tensor:
    """Class activation values z |1 - z| of logits, elementwise.

    They fall between 1/2 and 1, and a constant added to all logits changes their order.
    """
    return logits * (1 - logits).abs()


class CAVL(PostStepMethod[RefreshHparams]):
    """Cross entropy with uniform weights on the first visit, with one hard label on later ones.

    Attributes:
        confidence: [N, C], uniform on the candidates, then one-hot.
    """

    hparams_type = RefreshHparams
    family = "confidence"
    year = 2022
    venue = "ICLR"

    def loss(self, batch: Batch) -> Step:
        """Cross entropy with the stored weights, whose argmax is the pseudo label."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        target = self.target(batch.index)  # [B, C]
        losses = soft_cross_entropy(log_softmax(logits), target)  # [V, B]
        return Step(self.reduce_views(losses), target.argmax(-1))

    def renewed(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """One-hot [B, C] at the candidate of the largest activation value, of the mean logits."""
        values = activation_values(logits.mean(0))  # [B, C]
        return F.one_hot(restrict(values, candidates).argmax(-1), values.shape[-1]).float()
