"""AsyCo's disambiguation loss and its schedule, which AsyCo and SyCo share."""

from pydantic import Field
from torch import Tensor

from pllbench_methods.shared.losses import log_candidate_prob, soft_cross_entropy
from pllbench_methods.shared.schedules import ramp
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.views import ViewHparams


class DisambiguationHparams(ViewHparams):
    """Hyperparameters of AsyCo's disambiguation loss and of its schedule."""

    tau: float = Field(default=20.0, gt=0)
    """Temperature of every softmax, in both networks and in the confidence (Eq. 4)."""
    lambda_max: float = Field(default=1.0, ge=0)
    """lambda of Eq. 9: what gamma, the weight of all losses but L_cc and L_ssl, rises to."""
    gamma_cap: float = Field(default=1.0, ge=0, le=1)
    """Share of lambda_max at which gamma stops; the released code stops at 0.5."""
    ramp_epochs: float = Field(default=100.0, gt=0)
    """T of Eq. 9: reference epochs in which gamma rises to lambda_max, were it not capped."""
    warmup: float = Field(default=20.0, ge=0)
    """Reference epochs before the networks learn from each other."""

    def gamma(self, epoch: float) -> float:
        """Balancing factor at a reference epoch (Eq. 9)."""
        return self.lambda_max * min(ramp(epoch, self.ramp_epochs), self.gamma_cap)

    def co_training(self, epoch: float) -> bool:
        """Whether the warm-up is over at a reference epoch."""
        return epoch >= self.warmup


def disambiguation_losses(
    logits: Tensor, target: Tensor, candidates: Tensor, gamma: Tensor | float
) -> Tensor:
    """L_cc + gamma * L_rc of every view and instance, [..., V, B]: AsyCo Eqs. 5, 7 and 8.

    Args:
        logits: [..., V, B, C].
        target: confidence that broadcasts with the logits.
        candidates: [B, C].
        gamma: weight of L_rc.
    """
    candidate_losses = -log_candidate_prob(logits, candidates)
    return candidate_losses + gamma * soft_cross_entropy(log_softmax(logits), target)
