"""Co-teaching on (instance, candidate) pairs. This is NOT NCPD.

AsyCo describes its baseline NCPD as "multi-birth duplication" with "co-teaching", and the published
numbers fit that better than NCPD itself (see ncpd.py). That is an inference; the method is here to
explain those numbers, not as a reproduction of anybody's paper.

B. Han, Q. Yao, X. Yu, G. Niu, M. Xu, W. Hu, I. Tsang, M. Sugiyama: Co-teaching: Robust Training of
Deep Neural Networks with Extremely Noisy Labels, NeurIPS 2018.
"""

import math
from collections.abc import Mapping

from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Problem, Schedule, Step
from pllbench_methods.shared.confidence import confidence
from pllbench_methods.shared.losses import smallest_pairs
from pllbench_methods.shared.peers import PeerMethod
from pllbench_methods.shared.softmax import log_softmax
from pllbench_methods.shared.views import ViewHparams


class NCPDCoteachHparams(ViewHparams):
    """Hyperparameters of co-teaching on pairs."""

    ramp_epochs: float = Field(default=10.0, gt=0)
    """T_k: reference epochs until the share of dropped pairs reaches the noise rate."""
    ramp_exponent: float = Field(default=1.0, gt=0)
    """c: exponent of that rise."""

    def rise(self, epoch: float) -> float:
        """Share of the noise rate that is dropped at a reference epoch."""
        return math.pow(min(epoch / self.ramp_epochs, 1.0), self.ramp_exponent)


class NCPDCoteach(PeerMethod[NCPDCoteachHparams]):
    """Every candidate is a label of its own; each network trains on what its peer finds easy.

    Attributes:
        network: the network that predicts.
        peer: the other one.
        noise_rate: share of wrong pairs in the training set, 1 - 1 / mean size of candidate sets.
        rise: share of the noise rate that is dropped in this epoch.
    """

    hparams_type = NCPDCoteachHparams
    family = "peers"
    rise: Tensor

    def __init__(self, problem: Problem, hparams: NCPDCoteachHparams) -> None:
        super().__init__(problem, hparams)
        self.noise_rate = 1 - len(problem.candidates) / int(problem.candidates.sum())

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The rise of what is dropped."""
        return {"rise": self.hparams.rise}

    @property
    def remember_rate(self) -> Tensor:
        """R: the share of a batch's pairs that is kept, a scalar."""
        return 1 - self.noise_rate * self.rise

    def loss(self, batch: Batch) -> Step:
        """Mean cross entropy of both networks, each over the pairs that the other one chose.

        The pseudo label is the best candidate of the first network.
        """
        logits = self.both_logits(batch)  # [2, V, B, C]
        losses = -log_softmax(logits)
        num_pairs = batch.candidates.sum()
        kept = (self.remember_rate * num_pairs).floor().clamp(min=1)
        chosen = smallest_pairs(losses.detach().mean(-3), batch.candidates, kept)  # [2, B, C]
        by_peer = chosen.flip(0)[:, None]  # [2, 1, B, C]
        # reduce_views averages over the B instances; the mean is over the kept pairs.
        per_view = (losses * by_peer).sum(-1) * (len(batch.candidates) / kept)  # [2, V, B]
        pseudo = confidence(logits[0], batch.candidates).argmax(-1)
        return Step(self.reduce_views(per_view).sum(), pseudo)
