"""CroSel: cross selection of confident pseudo labels.

S. Tian, H. Wei, Y. Wang, L. Feng: CroSel: Cross Selection of Confident Pseudo Labels for
Partial-Label Learning, CVPR 2024.

Both networks take their steps together, on one batch: its rows that the peer has selected are the
labelled ones, and all of its rows the unlabelled ones. The authors draw labelled batches of their
own, and train the networks one after the other. Their two networks are one object by mistake; here
they are two.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor

from pllbench.method import Batch, Hparams, Method, Network, Problem, Schedule, Step, TrainView
from pllbench_methods.shared.confidence import restrict
from pllbench_methods.shared.losses import log_candidate_prob
from pllbench_methods.shared.mixup import mixup_cross_entropy
from pllbench_methods.shared.selection import mean_over
from pllbench_methods.shared.softmax import softmax


class CroSelHparams(Hparams):
    """Hyperparameters of CroSel."""

    warmup: float = Field(default=10.0, ge=0)
    """Reference epochs (of 200) of CC."""
    memory: int = Field(default=3, ge=1)
    """Epochs in which a network's prediction of an instance must have been the same."""
    threshold: float = Field(default=0.9, ge=0, le=1)
    """What the mean of its largest probabilities in these epochs must exceed."""
    cr_weight: float = Field(default=1.0, ge=0)
    """Weight of co-mix where nothing is selected; the authors take 4 on CIFAR-10."""
    mixup_alpha: float = Field(default=0.75, gt=0)
    """Parameter of co-mix's Beta distribution."""


class CroSel(Method[CroSelHparams]):
    """Two networks: each learns the labels that the other predicts steadily and confidently.

    Attributes:
        network: the first network.
        peer: the second network.
        predicted: [2, N], each network's last prediction of the plain instances; -1 at first.
        runs: [2, N], for how many epochs it has been the same.
        peaks: [2, memory, N], the largest probabilities of the last epochs, newest last.
        selected: [2, N], whether a network has selected the instance for this epoch.
        warming_up: whether both networks train by CC in this epoch.
    """

    hparams_type = CroSelHparams
    family = "peers"
    year = 2024
    venue = "CVPR"
    predicted: Tensor
    runs: Tensor
    peaks: Tensor
    selected: Tensor
    warming_up: bool

    def __init__(self, problem: Problem, hparams: CroSelHparams) -> None:
        super().__init__(problem, hparams)
        self.network, self.peer = problem.make_network(), problem.make_network()
        device, num_rows = problem.candidates.device, len(problem.candidates)
        self.register_buffer("predicted", torch.full((2, num_rows), -1, device=device))
        self.register_buffer("runs", torch.zeros(2, num_rows, dtype=torch.int64, device=device))
        self.register_buffer("peaks", torch.zeros(2, hparams.memory, num_rows, device=device))
        selected = torch.zeros(2, num_rows, dtype=torch.bool, device=device)
        self.register_buffer("selected", selected)

    @property
    def views(self) -> tuple[str, ...]:
        """The weak and the strong view."""
        return ("weak", "strong")

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The warm-up."""
        warmup = self.hparams.warmup
        return {"warming_up": lambda epoch: epoch < warmup}

    def on_epoch_start(self, train: TrainView) -> None:
        """Remember what both networks predict after the last epoch, and select."""
        if self.epoch == 0:
            return
        self.eval()
        for batch in train.batches():
            for number, network in enumerate((self.network, self.peer)):
                self.remember(number, softmax(network(batch.x[0])[0]), batch)
        self.train()

    def remember(self, number: int, probs: Tensor, batch: Batch) -> None:
        """Store a network's probabilities [B, C] of a plain batch, and select from its rows."""
        index, memory = batch.index, self.peaks[number]  # [memory, N]
        newest, predicted = probs.max(1)  # [B]
        same = predicted == self.predicted[number, index]
        runs = torch.where(same, self.runs[number, index] + 1, 1)
        peaks = torch.cat([memory[1:, index], newest[None]])  # [memory, B]
        inside = batch.candidates.gather(1, predicted[:, None])[:, 0]
        confident = peaks.mean(0) > self.hparams.threshold
        self.predicted[number, index] = predicted
        self.runs[number, index] = runs
        memory[:, index] = peaks
        self.selected[number, index] = (runs >= len(memory)) & confident & inside

    def loss(self, batch: Batch) -> Step:
        """CC in the warm-up, then the peer's labels and co-mix, for both networks."""
        if self.warming_up:
            return self.warmup_loss(batch)
        weight = self.hparams.cr_weight * (1 - self.selected.float().mean())
        first, target = self.network_loss(self.network, batch, 1, weight)
        second, _ = self.network_loss(self.peer, batch, 0, weight)
        chosen, labels = self.selected[1, batch.index], self.predicted[1, batch.index]
        return Step(first + second, torch.where(chosen, labels, target.argmax(1)))

    def warmup_loss(self, batch: Batch) -> Step:
        """CC on the weak view; the first network's best candidate is the pseudo label."""
        logits = torch.stack([self.network(batch.x[0])[0], self.peer(batch.x[0])[0]])  # [2, B, C]
        loss = -log_candidate_prob(logits, batch.candidates).mean(1).sum()
        return Step(loss, restrict(logits[0].detach(), batch.candidates).argmax(1))

    def network_loss(
        self, network: Network, batch: Batch, peer: int, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Loss of a network, a scalar, and its target [B, C] for the weak view.

        The target of a view is the network's own prediction for the other view, on the candidates.

        Args:
            network: the network.
            batch: weak and strong view.
            peer: number of the other network, whose selection counts.
            weight: of co-mix.
        """
        weak, strong = batch.x
        chosen, labels = self.selected[peer, batch.index], self.predicted[peer, batch.index]
        losses = F.cross_entropy(network(weak)[0], labels.clamp(min=0), reduction="none")  # [B]
        labelled = mean_over(chosen, losses)
        with torch.no_grad():
            swapped = network(torch.cat([strong, weak]))[0]  # [2 B, C]
            target = softmax(restrict(swapped, batch.candidates.repeat(2, 1)))
        both = torch.cat([weak, strong])
        alpha = self.hparams.mixup_alpha
        mixed = mixup_cross_entropy(lambda x: network(x)[0], both, target, alpha)
        return labelled + weight * mixed, target[: len(weak)]

    def predict(self, x: Tensor) -> Tensor:
        """The mean of both networks' logits [B, C]."""
        return self.predictions(x)[""]

    def predictions(self, x: Tensor) -> Mapping[str, Tensor]:
        """The mean of both networks' logits, and those of each."""
        network, peer = self.network(x)[0], self.peer(x)[0]
        return {"": (network + peer) / 2, "network": network, "peer": peer}
