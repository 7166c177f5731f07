"""Problems small enough to work by hand, and random ones that train within milliseconds.

Letters in shape comments: N instances, B batch, C classes, V views, D features.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pllbench.method import Batch, Method, Network, Problem, TrainView
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench_methods.asyco import AsyCo
from pllbench_methods.cc import CC
from pllbench_methods.dpll import DPLL
from pllbench_methods.ncpd import NCPD
from pllbench_methods.ncpd_coteach import NCPDCoteach
from pllbench_methods.pico import PiCO
from pllbench_methods.proden import PRODEN
from pllbench_methods.rc import RC
from pllbench_methods.supervised import Supervised
from pllbench_methods.syco import SyCo

Array = NDArray[np.float64]
M = TypeVar("M", bound=Method[Any])

CO_TRAINING = 120
"""An epoch of AsyCo's co-training in which gamma is 1."""

BUILTIN: tuple[type[Method[Any]], ...] = (
    Supervised,
    CC,
    RC,
    PRODEN,
    DPLL,
    PiCO,
    NCPD,
    NCPDCoteach,
    AsyCo,
    SyCo,
)


class NoInstances(TrainView):
    """A training set for methods that do not look at it."""

    def batches(self) -> Iterator[Batch]:
        raise AssertionError("no built-in method walks the training set")


def sets(*rows: set[int], num_classes: int) -> Tensor:
    """Candidate sets as a mask, bool [B, C]."""
    return torch.tensor([[k in row for k in range(num_classes)] for row in rows])


def log(*rows: Sequence[float]) -> Tensor:
    """Logits with the given softmax, one row each: [B, C]."""
    return torch.tensor(rows).log()


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal logits."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def lookup_problem(
    candidates: Tensor, *networks: Tensor, epochs: int = 200
) -> tuple[Problem, Batch]:
    """Networks whose logits are free parameters, and the batch that looks all of them up.

    Args:
        candidates: [B, C]; the batch is the whole training set.
        networks: logits [V, B, C] of each network that the method makes, in that order.
        epochs: length of the run.
    """
    num_views, batch_size, num_classes = networks[0].shape
    rows = num_views * batch_size
    tables = iter(networks)

    def make_network() -> Network:
        network = Network(nn.Identity(), rows, num_classes)
        network.classifier.weight.data = next(tables).reshape(rows, -1).T.clone()
        network.classifier.bias.data.zero_()
        network.classifier.bias.requires_grad_(False)
        return network

    x = torch.eye(rows).split(batch_size)
    return Problem(candidates, epochs, make_network), Batch(x, torch.arange(batch_size), candidates)


def logit_gradient(network: nn.Module, num_views: int = 1) -> Tensor:
    """Gradient that a lookup network's logits have received, [V, B, C]."""
    assert isinstance(network, Network)
    gradient = network.classifier.weight.grad
    assert gradient is not None
    return gradient.T.reshape(num_views, -1, gradient.shape[0])


def make(cls: type[M], problem: Problem, **hparams: object) -> M:
    """The method with its default hyperparameters but for the given ones."""
    return cls(problem, cls.hparams_type.parse(hparams))


def co_training_asyco(
    main: Tensor, auxiliary: Tensor, candidates: Tensor, **hparams: object
) -> tuple[AsyCo, Batch]:
    """AsyCo after the hand-over, whose networks have the given logits [V, B, C] at tau = 1."""
    problem, batch = lookup_problem(candidates, main, auxiliary)
    method = make(AsyCo, problem, **{"tau": 1.0, "num_strong": len(main) - 1, **hparams})
    method.handed_over.fill_(True)
    method.epoch = CO_TRAINING
    return method, batch


def start_epoch(method: Method[Any], epoch: int) -> None:
    """What the trainer does before the first batch of an epoch."""
    method.epoch = epoch
    method.train()
    with torch.no_grad():
        method.on_epoch_start(NoInstances())


def sgd(method: Method[Any], lr: float = 0.1, momentum: float = 0.0) -> SGD:
    """The optimizer of the tests."""
    return SGD(method.parameters(), lr, momentum)


def random_candidates(num_instances: int = 24, num_classes: int = 5, seed: int = 0) -> Tensor:
    """Candidate sets of all sizes, [N, C]; row 0 is a singleton and row 1 the full set."""
    generator = torch.Generator().manual_seed(seed)
    candidates = torch.rand(num_instances, num_classes, generator=generator) < 0.4
    label = torch.randint(num_classes, (num_instances, 1), generator=generator)
    candidates.scatter_(1, label, True)
    candidates[0] = torch.arange(num_classes) == label[0]
    candidates[1] = True
    return candidates


def random_problem(
    candidates: Tensor, epochs: int = 200, *, bf16: bool = False, seed: int = 0
) -> Problem:
    """Networks with a BatchNorm encoder on 6 features; network k of a problem is always equal."""
    count = iter(range(10))

    def make_network() -> Network:
        with torch.random.fork_rng():
            torch.manual_seed(seed + next(count))
            encoder = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
            return Network(encoder, 8, candidates.shape[1], bf16=bf16)

    return Problem(candidates, epochs, make_network)


def random_batches(
    method: Method[Any], candidates: Tensor, seed: int = 0, batch_size: int = 8
) -> Iterator[Batch]:
    """One epoch in a random order, with random views."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(len(candidates), 6, generator=generator)
    for index in torch.randperm(len(candidates), generator=generator).split(batch_size):
        noise = torch.randn(len(method.views), len(index), 6, generator=generator)
        yield Batch(tuple(x[index] + 0.1 * noise), index, candidates[index])


def trained(method: M, candidates: Tensor, epochs: Sequence[int], lr: float = 0.1) -> M:
    """The method after training in these epochs, whose batches depend on the epoch alone."""
    optimizer = sgd(method, lr, momentum=0.9)
    for epoch in epochs:
        start_epoch(method, epoch)
        for batch in random_batches(method, candidates, seed=epoch):
            take_step(method, batch, optimizer)
    return method


def assert_equal_states(a: nn.Module, b: nn.Module, tolerance: float = 0.0) -> None:
    """Parameters and buffers agree by name."""
    torch.testing.assert_close(
        dict(a.state_dict()), dict(b.state_dict()), rtol=tolerance, atol=tolerance
    )


def softmax(logits: Tensor) -> Array:
    """Naive softmax over the last axis in float64."""
    powers = np.exp(logits.detach().double().numpy())
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def geometric_mean(probs: Array, candidates: Tensor) -> Array:
    """Naive confidence [B, C] from probabilities [V, B, C] of several views."""
    mean = np.prod(probs, axis=0) ** (1 / len(probs)) * candidates.numpy()
    return np.asarray(mean / mean.sum(-1, keepdims=True))
