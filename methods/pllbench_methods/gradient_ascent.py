"""GA: gradient ascent on the negative risks of complementary labels.

T. Ishida, G. Niu, A. Menon, M. Sugiyama: Complementary-Label Learning for Arbitrary Losses and
Models, ICML 2019.
"""

import torch
from torch import Tensor

from pllbench_methods.shared.complementary import ClassRiskMethod
from pllbench_methods.shared.views import ViewHparams


class GradientAscentHparams(ViewHparams):
    """Hyperparameters of GA."""

    count_weight: bool = False
    """Whether a negative risk is multiplied by its class's number of pairs in the batch, as in the
    authors' code: steps about B / C times larger."""


class GradientAscent(ClassRiskMethod[GradientAscentHparams]):
    """Minimises the unbiased risk while no class's part is negative, else raises what is.

    The authors' code turns gradients round inside the optimizer's step; as a loss it is the same.
    """

    hparams_type = GradientAscentHparams
    family = "loss"
    year = 2019
    venue = "ICML"

    def combine(self, risks: Tensor, counts: Tensor) -> Tensor:
        """Sum of the risks, or minus the sum of the negative ones if there are any, [V]."""
        negative = risks.clamp(max=0)
        if self.hparams.count_weight:
            negative = negative * counts
        return torch.where((risks < 0).any(-1), -negative.sum(-1), risks.sum(-1))
