"""VALEN: instance-dependent partial-label learning by variational label enhancement.

N. Xu, C. Qiao, X. Geng, M.-L. Zhang: Instance-Dependent Partial Label Learning, NeurIPS 2021.

The paper and the code released with it are two algorithms, and the code is what later work compares
with: it is the default, and `mode = "paper"` follows the text. In both, the mask is the candidate
set and not what has kept a weight above 0, and Dirichlet draws are taken in log space.

Letters in shape comments: N training instances, B batch, C classes, D features, K neighbours, M
samples.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from pydantic import Field
from torch import Tensor, nn
from torch.distributions import Dirichlet, Gamma, kl_divergence

from pllbench.method import Batch, Hparams, Problem, Schedule, Step, TrainView
from pllbench_methods.shared.confidence import ConfidenceState, restrict
from pllbench_methods.shared.losses import soft_cross_entropy
from pllbench_methods.shared.softmax import log_softmax, softmax
from pllbench_methods.shared.training_set import nearest_neighbours, plain_outputs

SMALLEST, LARGEST = math.log(0.01), math.log(30.0)
"""Range of the log of a Dirichlet parameter."""


class VALENHparams(Hparams):
    """Hyperparameters of VALEN."""

    mode: Literal["code", "paper"] = "code"
    """Which of the two algorithms."""
    warmup: float = Field(default=10.0, ge=0)
    """Reference epochs (of 510) of PRODEN before labels are enhanced."""
    num_neighbours: int = Field(default=3, ge=1)
    """Neighbours of an instance in the graph."""
    rec_weight: float = Field(default=1.0, ge=0)
    """Code: weight of the reconstruction of instance, candidates and graph."""
    input_weight: float = Field(default=0.01, ge=0)
    """Code: weight of the instance within that; the authors take 1 on real-world sets."""
    kl_weight: float = Field(default=0.1, ge=0)
    """Code: weight of the KL divergence to the uniform Dirichlet; 0.01 on real-world sets."""
    encoder_weight: float = Field(default=10.0, ge=0)
    """Code: weight of the encoder's cross entropy; 5 to 20 in the authors' settings."""
    target_weight: float = Field(default=1.0, ge=0)
    """Code: weight of the network's cross entropy."""
    correction: float = Field(default=1.0, ge=0, le=1)
    """Code: share of the sampled distribution in a target; the rest is the old confidence."""
    copy_network: bool = False
    """Code: start the encoder as a copy of the network, as for instance-dependent candidates."""
    num_samples: int = Field(default=1, ge=1)
    """Paper: draws whose average is the target."""
    prior: float = Field(default=0.01, gt=0)
    """Paper: every parameter of the prior Dirichlet, of which the text says that it is small."""
    compatibility: float = Field(default=1.0, ge=0)
    """Paper: weight of the compatibility with the candidates (lambda)."""


def sample_dirichlet(concentration: Tensor) -> Tensor:
    """Log of a reparameterised draw from Dirichlet distributions [..., C].

    Gamma(a) = Gamma(a + 1) U^(1/a): in logs no entry becomes 0, as most do in float32 where a is
    near 0.01.
    """
    gamma = Gamma(concentration + 1, concentration.new_ones(()), validate_args=False).rsample()
    log_uniform = -torch.empty_like(concentration).exponential_()
    return log_softmax(gamma.log() + log_uniform / concentration)


def dirichlet_divergence(concentration: Tensor, prior: float) -> Tensor:
    """KL divergence of Dirichlet distributions [..., C] to the symmetric one, [...]."""
    symmetric = torch.full_like(concentration, prior)
    return kl_divergence(
        Dirichlet(concentration, validate_args=False), Dirichlet(symmetric, validate_args=False)
    )


def mlp(*widths: int) -> nn.Sequential:
    """Linear layers with ReLU between them, initialised as released: Xavier, biases 0.01."""
    layers: list[nn.Module] = []
    for width, following in itertools.pairwise(widths):
        linear = nn.Linear(width, following)
        nn.init.xavier_uniform_(linear.weight)
        nn.init.constant_(linear.bias, 0.01)
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class GraphNetwork(nn.Module):
    """Two graph convolutions: means over a row and its neighbours, each followed by a linear map.

    Attributes:
        first: from the inputs to the hidden width.
        second: from there to the classes.
    """

    def __init__(self, num_inputs: int, width: int, num_classes: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(num_inputs, width), nn.Linear(width, num_classes)

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs [B, C] from the inputs [B, K + 1, K + 1, ...] two steps around each row."""
        outputs: Tensor = self.second(F.relu(self.first(inputs.mean(2))).mean(1))
        return outputs


class VALEN(ConfidenceState[VALENHparams]):
    """A second model infers a Dirichlet distribution over label distributions; draws teach.

    Attributes:
        network: predicts, and learns from the draws.
        confidence: [N, C], the network's probabilities on the candidates at its last step.
        neighbours: [N, K], rows of the graph's neighbours; each row itself at first.
        ready: whether the warm-up has been handed over.
        enhancing: whether the warm-up is over in this epoch.
        encoder: code: the inference model.
        decoder: code: reconstructs the instance from a draw.
        distribution: code: [N, C], what the network learns from.
        graph_network: paper: the inference model.
        observation: paper: logits of the candidates from a draw.
        candidates: paper: [N, C], the candidate sets.
        features: paper: [N, D], features of the plain instances at the start of the epoch.
    """

    hparams_type = VALENHparams
    reference_epochs = 510
    family = "graph"
    year = 2021
    venue = "NeurIPS"
    neighbours: Tensor
    ready: Tensor
    distribution: Tensor
    candidates: Tensor
    features: Tensor
    enhancing: bool

    def __init__(self, problem: Problem, hparams: VALENHparams) -> None:
        super().__init__(problem, hparams)
        device, num_rows = problem.candidates.device, len(problem.candidates)
        num_classes = problem.num_classes
        self.network = problem.make_network()
        rows = torch.arange(num_rows, device=device)[:, None]
        num_neighbours = max(min(hparams.num_neighbours, num_rows - 1), 1)
        self.register_buffer("neighbours", rows.repeat(1, num_neighbours))
        self.register_buffer("ready", torch.tensor(False, device=device))
        if hparams.mode == "code":
            size = math.prod(problem.shape)
            self.encoder = problem.make_network()
            self.decoder = mlp(num_classes, size, size).to(device)
            self.register_buffer("distribution", self.initial_confidence(problem.candidates))
        else:
            width = self.network.num_features
            graph_network = GraphNetwork(width + num_classes, width, num_classes)
            self.graph_network = graph_network.to(device)
            self.observation = mlp(num_classes, width, width, num_classes).to(device)
            self.register_buffer("candidates", problem.candidates.clone())
            self.register_buffer("features", torch.zeros(num_rows, width, device=device))

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """The end of the warm-up."""
        warmup = self.hparams.warmup
        return {"enhancing": lambda epoch: epoch >= warmup}

    def on_epoch_start(self, train: TrainView) -> None:
        """Make the graph: once, after the warm-up (code), or before every epoch (paper)."""
        if not self.enhancing or (self.hparams.mode == "code" and self.ready):
            return
        _, features, _ = plain_outputs(self.network, train)
        self.neighbours.copy_(nearest_neighbours(features, self.neighbours.shape[1]))
        if self.hparams.mode == "paper":
            self.features.copy_(features)
        else:
            self.distribution.copy_(self.confidence)
            if self.hparams.copy_network:
                self.encoder.load_state_dict(self.network.state_dict())
        self.ready.fill_(True)

    def loss(self, batch: Batch) -> Step:
        """PRODEN in the warm-up, and the loss of the mode after it."""
        logits, _ = self.network(batch.x[0])  # [B, C]
        log_probs = log_softmax(logits)
        if not self.enhancing:
            target = self.target(batch.index)  # [B, C]
            loss = soft_cross_entropy(log_probs, target).mean()
        elif self.hparams.mode == "code":
            target = self.distribution[batch.index]
            loss = self.hparams.target_weight * soft_cross_entropy(log_probs, target).mean()
            loss = loss + self.encoder_loss(batch)
        else:
            loss, target = self.inference(batch)
            loss = loss + soft_cross_entropy(log_probs, target).mean()
        self.renew(batch.index, softmax(restrict(logits.detach(), batch.candidates)))
        return Step(loss, target.argmax(1))

    def encoder_loss(self, batch: Batch) -> Tensor:
        """Code: what the encoder and the decoder learn, a scalar; a draw renews the targets."""
        hparams, (x,), index = self.hparams, batch.x, batch.index
        old = self.target(index)  # [B, C]
        scores, _ = self.encoder(x)  # [B, C]
        log_probs = log_softmax(scores)
        inside = restrict(log_probs, batch.candidates)
        # The released code keeps the normaliser out of the gradient, and adds 0.01 to every class.
        concentration = (inside - inside.detach().logsumexp(1, keepdim=True)).exp() + 0.01
        log_draw = sample_dirichlet(concentration)  # [B, C]
        draw = log_draw.exp()
        alpha = (scores / 4).clamp(SMALLEST, LARGEST).exp()
        affinity = (draw @ draw.T).sigmoid().softmax(1)  # [B, B]
        adjacency = self.adjacency(index)
        reconstruction = (
            hparams.input_weight * F.mse_loss(self.decoder(draw), x.flatten(1))
            + 0.01 * F.binary_cross_entropy_with_logits(draw, batch.candidates.float())
            + F.mse_loss(affinity, adjacency / (self.neighbours.shape[1] + 1))
        )
        sampled = softmax(restrict(log_draw.detach(), batch.candidates))
        self.distribution[index] = old.lerp(sampled, hparams.correction)
        return (
            hparams.rec_weight * reconstruction
            + hparams.kl_weight * dirichlet_divergence(alpha, 1.0).mean()
            + hparams.encoder_weight * soft_cross_entropy(log_probs, old).mean()
        )

    def inference(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Paper: compatibility minus the evidence lower bound, a scalar, and the target [B, C]."""
        hparams, candidates = self.hparams, batch.candidates
        scores = self.graph_network(self.surroundings(batch.index))  # [B, C]
        alpha = scores.clamp(SMALLEST, LARGEST).exp()
        log_draws = sample_dirichlet(alpha.expand(hparams.num_samples, -1, -1))  # [M, B, C]
        draws = log_draws.exp()
        seen = candidates.float().expand_as(draws)
        unlikely = F.binary_cross_entropy_with_logits(self.observation(draws), seen)
        affinity = (draws @ draws.mT).sigmoid()  # [M, B, B]
        graph = F.mse_loss(affinity, self.adjacency(batch.index).expand_as(affinity))
        divergence = dirichlet_divergence(alpha, hparams.prior).mean()
        weights = candidates / candidates.sum(1, keepdim=True)
        compatibility = soft_cross_entropy(log_draws, weights).mean()
        target = softmax(restrict(log_draws.detach().logsumexp(0), candidates))
        bound = -(unlikely * candidates.shape[1] + graph + divergence)
        return hparams.compatibility * compatibility - bound, target

    def adjacency(self, index: Tensor) -> Tensor:
        """Which rows of a batch are a row's neighbours, or itself: 0 or 1, [B, B]."""
        linked = (self.neighbours[index][:, :, None] == index).any(1)  # [B, B]
        return (linked | (index[:, None] == index)).float()

    def surroundings(self, index: Tensor) -> Tensor:
        """Features and candidates two steps around the rows `index`, [B, K + 1, K + 1, D + C]."""
        near = torch.cat([index[:, None], self.neighbours[index]], 1)  # [B, K + 1]
        far = torch.cat([near[:, :, None], self.neighbours[near]], 2)  # [B, K + 1, K + 1]
        return torch.cat([self.features[far], self.candidates[far].float()], 3)

    def predict(self, x: Tensor) -> Tensor:
        """The network's logits [B, C]."""
        logits: Tensor = self.network(x)[0]
        return logits
