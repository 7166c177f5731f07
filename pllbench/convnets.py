"""Small convolutional encoders: LeNet, and a network that trains on a CPU.

Y. LeCun, L. Bottou, Y. Bengio, P. Haffner: Gradient-Based Learning Applied to Document Recognition,
Proceedings of the IEEE, 1998.
"""

from torch import Tensor, nn


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
                nn.BatchNorm2d(num_out),
                nn.ReLU(),
            ]
            num_in = num_out
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features [B, 64]."""
        features: Tensor = self.layers(x).mean((2, 3))
        return features
