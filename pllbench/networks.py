"""Networks by name: an encoder for rows of a given shape, and the linear classifier on it."""

from collections.abc import Callable
from math import prod

from torch import nn

from pllbench.method import Network
from pllbench.resnets import ResNet18, WideResNet34x10
from pllbench.spec import NetworkName, TrainSpec

Shape = tuple[int, ...]
"""Shape of one instance, without the batch dimension."""


def linear(shape: Shape) -> tuple[nn.Module, int]:
    """No hidden layer: the features are the row itself."""
    return nn.Flatten(), prod(shape)


def mlp(shape: Shape) -> tuple[nn.Module, int]:
    """One hidden layer of 500 ReLU units, without BatchNorm."""
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), 500), nn.ReLU()), 500


def resnet18(shape: Shape) -> tuple[nn.Module, int]:
    """ResNet-18 with the CIFAR stem: 11,173,962 parameters with a classifier of 10 classes."""
    return ResNet18(_channels(shape, "resnet18")), ResNet18.num_features


def wide_resnet34_10(shape: Shape) -> tuple[nn.Module, int]:
    """WideResNet-34-10: 46,160,474 parameters with a classifier of 10 classes."""
    return WideResNet34x10(_channels(shape, "wide_resnet34_10")), WideResNet34x10.num_features


def _channels(shape: Shape, name: str) -> int:
    if len(shape) != 3:
        raise ValueError(f"network {name} needs images, these rows have the shape {shape}")
    return shape[0]


ENCODERS: dict[NetworkName, Callable[[Shape], tuple[nn.Module, int]]] = {
    "linear": linear,
    "mlp": mlp,
    "resnet18": resnet18,
    "wide_resnet34_10": wide_resnet34_10,
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
