"""Networks by name: encoders of rows of a given shape, and the linear classifier on them.

Y. LeCun, L. Bottou, Y. Bengio, P. Haffner: Gradient-Based Learning Applied to Document Recognition,
Proceedings of the IEEE, 1998. K. He, X. Zhang, S. Ren, J. Sun: Deep Residual Learning for Image
Recognition, CVPR 2016. S. Zagoruyko, N. Komodakis: Wide Residual Networks, BMVC 2016.
"""

from collections.abc import Callable
from math import prod

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn

from pllbench.method import BatchNorm2d, Network
from pllbench.spec import NetworkName, TrainSpec


class LeNet(nn.Module):
    """LeNet-5 with ReLU and maximum pooling: [B, channels, 28 or 32, the same] -> [B, 84]."""

    num_features = 84

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=(32 - size) // 2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features [B, 84]."""
        features: Tensor = self.layers(x)
        return features


class SmallCNN(nn.Module):
    """Three convolutions with BatchNorm, each halving the image: [B, channels, H, W] -> [B, 64].

    Strides halve it, since pooling after each convolution takes four times as long: 0.7 million
    multiplications for an image of 32 x 32, where ResNet-18 has 556 million. Ends in a global
    average pool, so any image size fits.
    """

    num_features = 64

    def __init__(self, channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        num_in = channels
        for num_out in (16, 32, 64):
            layers += [
                nn.Conv2d(num_in, num_out, 3, stride=2, padding=1, bias=False),
                BatchNorm2d(num_out),
                nn.ReLU(),
            ]
            num_in = num_out
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features [B, 64]."""
        features: Tensor = self.layers(x).mean((2, 3))
        return features


def conv3x3(num_in: int, num_out: int, stride: int = 1) -> nn.Conv2d:
    """A 3 x 3 convolution without bias that keeps the image size at stride 1."""
    return nn.Conv2d(num_in, num_out, 3, stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut; BatchNorm after each convolution."""

    def __init__(self, num_in: int, num_out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv3x3(num_in, num_out, stride), BatchNorm2d(num_out)
        self.conv2, self.bn2 = conv3x3(num_out, num_out), BatchNorm2d(num_out)
        self.shortcut = nn.Sequential()
        if stride != 1 or num_in != num_out:
            projection = nn.Conv2d(num_in, num_out, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, BatchNorm2d(num_out))

    def forward(self, x: Tensor) -> Tensor:
        """[B, num_in, H, W] -> [B, num_out, H / stride, W / stride]."""
        out = F.relu(self.bn1(self.conv1(x)))
        sums: Tensor = self.bn2(self.conv2(out)) + self.shortcut(x)
        return sums.relu()


class PreActivationBlock(nn.Module):
    """Two convolutions and a shortcut; BatchNorm and ReLU before each convolution."""

    def __init__(self, num_in: int, num_out: int, stride: int) -> None:
        super().__init__()
        self.bn1, self.conv1 = BatchNorm2d(num_in), conv3x3(num_in, num_out, stride)
        self.bn2, self.conv2 = BatchNorm2d(num_out), conv3x3(num_out, num_out)
        self.projection = (
            nn.Conv2d(num_in, num_out, 1, stride, bias=False) if num_in != num_out else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """[B, num_in, H, W] -> [B, num_out, H / stride, W / stride]."""
        activated = F.relu(self.bn1(x))
        out: Tensor = self.conv2(F.relu(self.bn2(self.conv1(activated))))
        # A block that changes the width projects the activated input, the others pass x as it is.
        shortcut: Tensor = x if self.projection is None else self.projection(activated)
        return out + shortcut


class ResNet18(nn.Module):
    """ResNet-18 whose stem is one 3 x 3 convolution: [B, channels, H, W] -> [B, 512]."""

    num_features = 512

    def __init__(self, channels: int) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        num_in = 64
        for num_out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            stages += [BasicBlock(num_in, num_out, stride), BasicBlock(num_out, num_out, 1)]
            num_in = num_out
        self.stem = nn.Sequential(conv3x3(channels, 64), BatchNorm2d(64), nn.ReLU())
        self.stages = nn.Sequential(*stages)

    def forward(self, x: Tensor) -> Tensor:
        """Features [B, 512]."""
        features: Tensor = self.stages(self.stem(x)).mean((2, 3))
        return features


class WideResNet(nn.Module):
    """WideResNet of 6 `blocks` + 4 layers, `width` times as wide: [B, channels, H, W] -> [B, D].

    D, `num_features`, is 64 times `width`.
    """

    def __init__(self, channels: int, blocks: int, width: int) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        num_in = 16
        for num_out, stride in ((16 * width, 1), (32 * width, 2), (64 * width, 2)):
            for number in range(blocks):
                stages.append(PreActivationBlock(num_in, num_out, 1 if number else stride))
                num_in = num_out
        self.num_features = num_in
        self.stem = conv3x3(channels, 16)
        self.stages = nn.Sequential(*stages, BatchNorm2d(num_in), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        """Features [B, D]."""
        features: Tensor = self.stages(self.stem(x)).mean((2, 3))
        return features


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
    encoder = WideResNet(_channels(shape, "wide_resnet34_10"), blocks=5, width=10)
    return encoder, encoder.num_features


def wide_resnet28_2(shape: Shape) -> tuple[nn.Module, int]:
    """WideResNet-28-2: 1,467,610 parameters with a classifier of 10 classes."""
    encoder = WideResNet(_channels(shape, "wide_resnet28_2"), blocks=4, width=2)
    return encoder, encoder.num_features


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
    "wide_resnet28_2": wide_resnet28_2,
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


def require_network(spec: TrainSpec, shape: Shape, num_rows: int) -> None:
    """Check that a network can be trained on `num_rows` instances of this shape; shapes alone.

    Raises:
        ValueError: it does not take instances of this shape; or the smallest batch is one row, of
            which BatchNorm finds a single value in a channel.
    """
    with torch.device("meta"):
        encoder, _ = ENCODERS[spec.network](shape)
        smallest = num_rows % spec.batch_size or spec.batch_size
        # Passed together, the views of a row are several; as many as the method asks for.
        if min(smallest, num_rows) > 1 or spec.forward == "concat":
            return
        try:
            encoder(torch.empty(1, *shape))
        except ValueError as error:
            size = " x ".join(map(str, shape[1:]))
            raise ValueError(
                f"{num_rows} training rows in batches of {spec.batch_size} leave a batch of one "
                f"row, which BatchNorm of network {spec.network} does not take at {size} pixels: "
                f"choose another batch_size"
            ) from error


def compile_encoders(method: nn.Module) -> None:
    """Compile the encoder of every network in a method, in place: parameters keep their names.

    The method must be complete: a deep copy of a compiled module is not compiled.
    """
    for module in method.modules():
        if isinstance(module, Network):
            module.encoder.compile()
