"""Residual encoders for images: ResNet-18 with the CIFAR stem, and WideResNet-34-10.

K. He, X. Zhang, S. Ren, J. Sun: Deep Residual Learning for Image Recognition, CVPR 2016.
S. Zagoruyko, N. Komodakis: Wide Residual Networks, BMVC 2016.

Both end in a global average pool, so any image size fits.
"""

import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor, nn


def conv3x3(num_in: int, num_out: int, stride: int = 1) -> nn.Conv2d:
    """A 3 x 3 convolution without bias that keeps the image size at stride 1."""
    return nn.Conv2d(num_in, num_out, 3, stride, padding=1, bias=False)


class Block(nn.Module):
    """Two convolutions and a shortcut; BatchNorm after each convolution."""

    def __init__(self, num_in: int, num_out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv3x3(num_in, num_out, stride), nn.BatchNorm2d(num_out)
        self.conv2, self.bn2 = conv3x3(num_out, num_out), nn.BatchNorm2d(num_out)
        self.shortcut = nn.Sequential()
        if stride != 1 or num_in != num_out:
            projection = nn.Conv2d(num_in, num_out, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(num_out))

    def forward(self, x: Tensor) -> Tensor:
        """[B, num_in, H, W] -> [B, num_out, H / stride, W / stride]."""
        out = F.relu(self.bn1(self.conv1(x)))
        sums: Tensor = self.bn2(self.conv2(out)) + self.shortcut(x)
        return sums.relu()


class PreActivationBlock(nn.Module):
    """Two convolutions and a shortcut; BatchNorm and ReLU before each convolution."""

    def __init__(self, num_in: int, num_out: int, stride: int) -> None:
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(num_in), conv3x3(num_in, num_out, stride)
        self.bn2, self.conv2 = nn.BatchNorm2d(num_out), conv3x3(num_out, num_out)
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
            stages += [Block(num_in, num_out, stride), Block(num_out, num_out, 1)]
            num_in = num_out
        self.stem = nn.Sequential(conv3x3(channels, 64), nn.BatchNorm2d(64), nn.ReLU())
        self.stages = nn.Sequential(*stages)

    def forward(self, x: Tensor) -> Tensor:
        """Features [B, 512]."""
        features: Tensor = self.stages(self.stem(x)).mean((2, 3))
        return features


class WideResNet34x10(nn.Module):
    """WideResNet of 34 layers, 10 times as wide: [B, channels, H, W] -> [B, 640]."""

    num_features = 640

    def __init__(self, channels: int) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        num_in = 16
        for num_out, stride in ((160, 1), (320, 2), (640, 2)):
            for number in range(5):
                stages.append(PreActivationBlock(num_in, num_out, 1 if number else stride))
                num_in = num_out
        self.stem = conv3x3(channels, 16)
        self.stages = nn.Sequential(*stages, nn.BatchNorm2d(640), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        """Features [B, 640]."""
        features: Tensor = self.stages(self.stem(x)).mean((2, 3))
        return features
