"""Networks by name: an encoder for rows of a given shape, and the linear classifier on it."""

from collections.abc import Callable
from math import prod

import torch
from torch import nn

from pllbench.convnets import LeNet, SmallCNN
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


def lenet(shape: Shape) -> tuple[nn.Module, int]:
    """LeNet-5, for images of 28 x 28 or 32 x 32."""
    channels = _channels(shape, "lenet")
    if shape[1:] not in ((28, 28), (32, 32)):
        raise ValueError(
            f"network lenet takes images of 28 x 28 or 32 x 32, these have {shape[1]} x {shape[2]}"
        )
    return LeNet(channels, shape[1]), LeNet.num_features


def small_cnn(shape: Shape) -> tuple[nn.Module, int]:
    """Three convolutions, for CPUs."""
    return SmallCNN(_channels(shape, "small_cnn")), SmallCNN.num_features


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
    "lenet": lenet,
    "small_cnn": small_cnn,
    "resnet18": resnet18,
    "wide_resnet34_10": wide_resnet34_10,
}
"""Each makes, for the shape of one instance, an encoder and the width of its output."""


def make_network(spec: TrainSpec, shape: Shape, num_classes: int) -> Network:
    """A freshly initialised network, on the CPU, from torch's global generator.

    Raises:
        ValueError: it does not take instances of this shape.
    """
    encoder, num_features = ENCODERS[spec.network](shape)
    if spec.channels_last:
        encoder = encoder.to(memory_format=torch.channels_last)
    return Network(
        encoder,
        num_features,
        num_classes,
        forward_mode=spec.forward,
        bf16=spec.precision == "bf16",
        channels_last=spec.channels_last,
    )


def compile_encoders(method: nn.Module) -> None:
    """Compile the encoder of every network in a method, in place: parameters keep their names.

    The method must be complete: a deep copy of a compiled module is not compiled.
    """
    for module in method.modules():
        if isinstance(module, Network):
            module.encoder.compile()
