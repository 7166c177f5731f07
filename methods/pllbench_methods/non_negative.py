"""NN: the non-negative risk estimator of complementary labels.

T. Ishida, G. Niu, A. Menon, M. Sugiyama: Complementary-Label Learning for Arbitrary Losses and
Models, ICML 2019.
"""

from pydantic import Field
from torch import Tensor

from pllbench_methods.shared.complementary import ClassRiskMethod
from pllbench_methods.shared.views import ViewHparams


class NonNegativeHparams(ViewHparams):
    """Hyperparameters of NN."""

    beta: float = Field(default=0.0, ge=0)
    """How far the risk of a class may fall below 0 before it no longer counts."""


class NonNegative(ClassRiskMethod[NonNegativeHparams]):
    """The unbiased risk, each class's part cut off below 0, which only overfitting can reach."""

    hparams_type = NonNegativeHparams
    family = "loss"
    year = 2019
    venue = "ICML"

    def combine(self, risks: Tensor, counts: Tensor) -> Tensor:  # noqa: ARG002 - GA's
        """Sum of the classes' risks, none below -beta, [V]."""
        return risks.clamp(min=-self.hparams.beta).sum(-1)
