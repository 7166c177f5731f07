"""CC: the classifier-consistent partial-label loss.

L. Feng, J. Lv, B. Han, M. Xu, G. Niu, X. Geng, B. An, M. Sugiyama: Provably Consistent
Partial-Label Learning, NeurIPS 2020.
"""

from torch import Tensor

from pllbench_methods.shared.losses import log_candidate_prob
from pllbench_methods.shared.stateless import StatelessMethod
from pllbench_methods.shared.views import ViewHparams


class CC(StatelessMethod[ViewHparams]):
    """Maximises the probability of the candidate set; keeps no state between steps.

    The gradient with respect to the logits is p - c, where c is p on the candidates, normalised:
    RC and PRODEN follow the same gradient with an older c.
    """

    hparams_type = ViewHparams
    family = "loss"
    year = 2020
    venue = "NeurIPS"

    def losses(self, logits: Tensor, candidates: Tensor) -> Tensor:
        """-log p(Y) [V, B], AsyCo Eq. 5."""
        return -log_candidate_prob(logits, candidates)
