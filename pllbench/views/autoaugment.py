"""Chains of random operations on a batch of images: AutoAugment, RandAugment, colour jitter.

E. D. Cubuk, B. Zoph, D. Mane, V. Vasudevan, Q. V. Le: AutoAugment, CVPR 2019.
E. D. Cubuk, B. Zoph, J. Shlens, Q. V. Le: RandAugment, CVPR Workshops 2020.

What happens to which image is drawn on the CPU, a few numbers an image, so that the images of one
operation are known without asking the device; the images are then worked on operation by operation,
in few and large kernels. The same seed draws the same chains on every device.

Letters in shape comments: M images, S steps of a chain, P sub-policies.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import torch
from torch import Generator, Tensor

from pllbench.spec import AugmentPolicy
from pllbench.views import image_ops as ops

MOVES: Mapping[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "ShearX": ops.shear_x,
    "ShearY": ops.shear_y,
    "TranslateX": ops.translate_x,
    "TranslateY": ops.translate_y,
    "Rotate": ops.rotate,
}
"""Of images, a value for each, and what comes in from outside the image."""

ADJUSTMENTS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Brightness": ops.adjust_brightness,
    "Color": ops.adjust_saturation,
    "Contrast": ops.adjust_contrast,
    "Sharpness": ops.adjust_sharpness,
    "Hue": ops.adjust_hue,
    "Posterize": ops.posterize,
    "Solarize": ops.solarize,
}
"""Of images and a value for each."""

PLAIN: Mapping[str, Callable[[Tensor], Tensor]] = {
    "Identity": lambda x: x,
    "AutoContrast": ops.autocontrast,
    "Equalize": ops.equalize,
    "Invert": ops.invert,
}

OPERATIONS = (*PLAIN, *MOVES, *ADJUSTMENTS)
"""Names in AutoAugment's spelling; a chain holds their places in this tuple."""

IDENTITY = OPERATIONS.index("Identity")

_NUMBER = {name: number for number, name in enumerate(OPERATIONS)}


def operate(name: str, x: Tensor, value: Tensor, fill: int) -> Tensor:
    """Images [M, K, H, W] uint8 after one operation, each with its value [M]."""
    if name in MOVES:
        return MOVES[name](x, value, fill)
    return ADJUSTMENTS[name](x, value) if name in ADJUSTMENTS else PLAIN[name](x)


@dataclass(frozen=True, slots=True)
class Chain:
    """What happens to each image, step by step; on the CPU.

    Attributes:
        operation: [S, M] int64, places in `OPERATIONS`.
        value: [S, M] float64: factor, angle, pixels, bits or threshold.
    """

    operation: Tensor
    value: Tensor

    def part(self, rows: slice) -> "Chain":
        """The chains of some of the images."""
        return Chain(self.operation[:, rows], self.value[:, rows])


def apply(x: Tensor, chain: Chain, fill: int) -> Tensor:
    """Images [M, K, H, W] uint8 after their chains; `fill` comes in from outside the image."""
    x = x.clone()
    for operation, value in zip(chain.operation, chain.value, strict=True):
        order = operation.argsort(stable=True)
        counts = torch.bincount(operation, minlength=len(OPERATIONS)).tolist()
        places = to_device(order, x.device).split(counts)
        values = to_device(value[order], x.device).split(counts)
        for name, rows, magnitudes in zip(OPERATIONS, places, values, strict=True):
            if len(rows) and name != "Identity":
                x[rows] = operate(name, x[rows], magnitudes, fill)
    return x


def to_device(values: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on `device`, without waiting for what the device is doing."""
    if device.type == "cuda":
        return values.pin_memory().to(device, non_blocking=True)
    return values.to(device)


@dataclass(frozen=True, slots=True)
class SubPolicies:
    """Sub-policies of two operations each.

    Attributes:
        operation: [P, 2] int64, places in `OPERATIONS`.
        probability: [P, 2].
        index: [P, 2] int64, 0..9: how strong; some operations know no strength.
    """

    operation: Tensor
    probability: Tensor
    index: Tensor


@cache
def policy(name: AugmentPolicy) -> SubPolicies:
    """A policy by name.

    `extended` is the list in the appendix of the AutoAugment paper (97 sub-policies), which the
    codes of DPLL and AsyCo use; `standard25` and `svhn` are torchvision's lists.
    """
    if name == "extended":
        text = (files("pllbench.views") / "autoaugment_cifar10.csv").read_text("utf-8")
        rows = list(csv.reader(text.splitlines()))[1:]
        uses = [[(row[i], row[i + 1], row[i + 2]) for i in (0, 3)] for row in rows]
    else:
        from torchvision.transforms import AutoAugment, AutoAugmentPolicy

        listed = {"standard25": AutoAugmentPolicy.CIFAR10, "svhn": AutoAugmentPolicy.SVHN}
        uses = AutoAugment(listed[name]).policies
    return SubPolicies(
        torch.tensor([[_NUMBER[operation] for operation, _, _ in pair] for pair in uses]),
        torch.tensor([[float(probability) for _, probability, _ in pair] for pair in uses]),
        torch.tensor([[int(index or 0) for _, _, index in pair] for pair in uses]),
    )


def values(height: int, width: int) -> Tensor:
    """Values by operation, index and sign, [operations, 10, 2], for images of this size.

    Those of the AsyCo code: its rotations are always counter-clockwise.
    """
    share = torch.arange(10, dtype=torch.float64) / 9
    table = torch.zeros(len(OPERATIONS), 10, 2, dtype=torch.float64)
    sign = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    signed = {
        "ShearX": 0.3 * share,
        "ShearY": 0.3 * share,
        "TranslateX": 150 / 331 * width * share,
        "TranslateY": 150 / 331 * height * share,
    }
    for name, strength in signed.items():
        table[_NUMBER[name]] = strength[:, None] * sign
    for name in ("Brightness", "Color", "Contrast", "Sharpness"):
        table[_NUMBER[name]] = 1 + 0.9 * share[:, None] * sign
    unsigned = {
        "Rotate": 30 * share,
        "Posterize": (8 - 4 * share).round(),
        "Solarize": 256 - 256 * share,
    }
    for name, strength in unsigned.items():
        table[_NUMBER[name]] = strength[:, None]
    return table


def draw_autoaugment(name: AugmentPolicy, shape: torch.Size, generator: Generator) -> Chain:
    """One sub-policy for each image of a batch of this shape, each operation by its probability."""
    chosen = policy(name)
    size = (shape[0], 2)
    row = torch.randint(len(chosen.operation), size[:1], generator=generator)
    happens = torch.rand(size, generator=generator) < chosen.probability[row]
    sign = torch.randint(2, size, generator=generator)
    operation = chosen.operation[row]  # [M, 2]
    value = values(*shape[2:])[operation, chosen.index[row], sign]
    return Chain(torch.where(happens, operation, IDENTITY).T, value.T)


def draw_randaugment(num_steps: int, shape: torch.Size, generator: Generator) -> Chain:
    """Operations with replacement, each with a value uniform in its range (PiCO's ranges)."""
    ranges = {
        "AutoContrast": (0.0, 0.0),
        "Brightness": (0.05, 0.95),
        "Color": (0.05, 0.95),
        "Contrast": (0.05, 0.95),
        "Equalize": (0.0, 0.0),
        "Identity": (0.0, 0.0),
        "Posterize": (4.0, 8.0),
        "Rotate": (-30.0, 30.0),
        "Sharpness": (0.05, 0.95),
        "ShearX": (-0.3, 0.3),
        "ShearY": (-0.3, 0.3),
        "Solarize": (0.0, 256.0),
        "TranslateX": (-0.3 * shape[3], 0.3 * shape[3]),
        "TranslateY": (-0.3 * shape[2], 0.3 * shape[2]),
    }
    numbers = torch.tensor([_NUMBER[name] for name in ranges])
    low, high = torch.tensor(list(ranges.values()), dtype=torch.float64).T
    choice = torch.randint(len(ranges), (num_steps, shape[0]), generator=generator)
    share = torch.rand(choice.shape, generator=generator, dtype=torch.float64)
    return Chain(numbers[choice], low[choice].lerp(high[choice], share))


def draw_jitter(
    strength: Mapping[str, float], probability: float, shape: torch.Size, generator: Generator
) -> Chain:
    """Colour jitter: all operations in random order, or none.

    Args:
        strength: by operation: factors are within 1 +- strength, hue shifts within +- strength.
        probability: of an image to be jittered.
        shape: of the batch.
        generator: of the CPU.
    """
    size = (len(strength), shape[0])
    order = torch.rand(size, generator=generator).argsort(0)  # [S, M], a permutation an image
    happens = torch.rand(shape[0], generator=generator) < probability
    share = 2 * torch.rand(size, generator=generator, dtype=torch.float64) - 1
    numbers = torch.tensor([_NUMBER[name] for name in strength])
    width = torch.tensor(list(strength.values()), dtype=torch.float64)
    centre = torch.tensor([0.0 if name == "Hue" else 1.0 for name in strength])
    return Chain(
        torch.where(happens, numbers[order], IDENTITY), centre[order] + width[order] * share
    )
