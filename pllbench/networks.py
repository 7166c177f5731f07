"""Networks by name: an encoder for rows of a given shape, and the linear classifier on it."""

from collections.abc import Callable
from math import prod

from torch import nn

from pllbench.method import Network
from pllbench.spec import NetworkName, TrainSpec

Shape = tuple[int, ...]
"""Shape of one instance, without the batch dimension."""


def linear(shape: Shape) -> tuple[nn.Module, int]:
    """No hidden layer: the features are the row itself."""
    return nn.Flatten(), prod(shape)


def mlp(shape: Shape) -> tuple[nn.Module, int]:
    """One hidden layer of 500 ReLU units, without BatchNorm."""
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), 500), nn.ReLU()), 500


ENCODERS: dict[NetworkName, Callable[[Shape], tuple[nn.Module, int]]] = {
    "linear": linear,
    "mlp": mlp,
}
"""Each makes, for the shape of one instance, an encoder and the width of its output."""


def make_network(spec: TrainSpec, shape: Shape, num_classes: int) -> Network:
    """A freshly initialised network, on the CPU, from torch's global generator."""
    encoder, num_features = ENCODERS[spec.network](shape)
    return Network(
        encoder,
        num_features,
        num_classes,
        forward_mode=spec.forward,
        bf16=spec.precision == "bf16",
    )
