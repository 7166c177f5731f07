"""CC: the classifier-consistent partial-label loss.

L. Feng, J. Lv, B. Han, M. Xu, G. Niu, X. Geng, B. An, M. Sugiyama: Provably Consistent
Partial-Label Learning, NeurIPS 2020.
"""

from pllbench.method import Batch, Step
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.views import MultiViewMethod, ViewHparams


class CC(MultiViewMethod[ViewHparams]):
    """Maximises the probability of the candidate set; keeps no state between steps.

    The gradient with respect to the logits is p - c, where c is p on the candidates, normalised:
    RC and PRODEN follow the same gradient with an older c.
    """

    hparams_type = ViewHparams
    family = "loss"
    year = 2020
    venue = "NeurIPS"

    def loss(self, batch: Batch) -> Step:
        """-log p(Y), AsyCo Eq. 5; the pseudo label is the weak view's best candidate."""
        logits, _ = self.network.views(batch.x)  # [V, B, C]
        inside = restrict(logits, batch.candidates)
        losses = logits.logsumexp(-1) - inside.logsumexp(-1)  # [V, B]; exactly 0 for a full set
        return Step(self.reduce_views(losses), inside[0].detach().argmax(-1))
