"""Views of images: uint8 [M, K, H, W] in and out; normalisation comes after them, in `views.scale`.

Weak and strong views are those of DPLL's and AsyCo's code, query and key views PiCO's. Digits are
never mirrored or cropped. Generators are the CPU's: what is drawn is a few numbers an image, so a
seed means the same views on every device.

Letters in shape comments: M images, K channels, H x W pixels.
"""

import torch
from torch import Generator, Tensor

from pllbench.spec import Kind, ViewSpec
from pllbench.views import image_ops as ops
from pllbench.views.autoaugment import (
    apply,
    draw_autoaugment,
    draw_jitter,
    draw_randaugment,
    to_device,
)

PADDING = 4
"""Pixels reflected on each side before a crop."""

AUTOAUGMENT_FILL = 128
"""What AutoAugment's operations move in, and the grey of PiCO's cutout."""

JITTER = {"Brightness": 0.4, "Contrast": 0.4, "Color": 0.4, "Hue": 0.1}
"""PiCO's colour jitter."""

SMALLEST: dict[Kind, int] = {"image": PADDING + 1, "digits": 3}
"""Shortest side of images that every view takes: a crop needs as many pixels as are reflected, and
sharpness the eight around one."""


def require_size(kind: Kind, shape: tuple[int, ...]) -> None:
    """Raise ValueError if images of this shape [K, H, W] are too small for a view of their kind."""
    if min(shape[1:]) < SMALLEST[kind]:
        raise ValueError(
            f"images of {shape[1]} x {shape[2]} pixels are too small for views: each side must "
            f"have at least {SMALLEST[kind]}"
        )


def weak(x: Tensor, generator: Generator) -> Tensor:
    """Mirrored half of the time, then a crop of the image padded by reflection."""
    num, device = len(x), x.device
    flip = torch.rand(num, generator=generator) < 0.5
    corner = torch.randint(2 * PADDING + 1, (2, num), generator=generator)
    top, left = to_device(corner, device)
    return ops.flip_and_crop(x, to_device(flip, device), top, left, PADDING)


def strong(x: Tensor, generator: Generator, spec: ViewSpec, *, digits: bool) -> Tensor:
    """The weak view (digits: the image) after cutout and then AutoAugment.

    In this order, as in the published codes: the black square is input to AutoAugment.
    """
    x = x if digits else weak(x, generator)
    if spec.cutout:
        x = cutout(x, spec.cutout, generator)
    if spec.autoaugment != "none":
        x = apply(x, draw_autoaugment(spec.autoaugment, x.shape, generator), AUTOAUGMENT_FILL)
    return x


def cutout(x: Tensor, length: int, generator: Generator) -> Tensor:
    """A black square around a random pixel, [c - length / 2, c + length / 2), cut at the edges."""
    top = torch.randint(x.shape[2], (len(x),), generator=generator) - length // 2
    left = torch.randint(x.shape[3], (len(x),), generator=generator) - length // 2
    top, left = to_device(torch.stack([top, left]), x.device)
    return ops.erase(x, top, top + length // 2 * 2, left, left + length // 2 * 2, 0)


def query(x: Tensor, generator: Generator, *, digits: bool) -> Tensor:
    """PiCO's query view: resized crop, mirror, colour jitter, and grey for one in five."""
    x = random_resized_crop(x, generator, digits=digits)
    x = apply(x, draw_jitter(JITTER, 0.8, x.shape, generator), 0)
    colourless = to_device(torch.rand(len(x), generator=generator) < 0.2, x.device)
    return torch.where(colourless.view(-1, 1, 1, 1), ops.grey(x), x)


def key(x: Tensor, generator: Generator, *, digits: bool) -> Tensor:
    """PiCO's key view: resized crop, mirror, three operations of RandAugment, and a grey square."""
    x = random_resized_crop(x, generator, digits=digits)
    x = apply(x, draw_randaugment(3, x.shape, generator), 0)
    side = torch.rand(len(x), generator=generator) * 0.5 * x.shape[3]
    size = torch.tensor(x.shape[2:]).view(2, 1)
    corner = (torch.rand((2, len(x)), generator=generator) * size - side / 2).clamp(min=0).floor()
    top, left, side = to_device(torch.cat([corner, side[None]]), x.device)
    return ops.erase(x, top, top + side, left, left + side, AUTOAUGMENT_FILL)


def random_resized_crop(x: Tensor, generator: Generator, *, digits: bool) -> Tensor:
    """A part of 0.2 to 1 of the area, with sides 3:4 to 4:3, at the image's size; then a mirror."""
    box = draw_boxes(x.shape, generator)
    flip = torch.rand(len(x), generator=generator) < 0.5
    top, left, height, width = to_device(box, x.device)
    x = ops.resized_crop(x, top, left, height, width)
    if digits:
        return x
    return torch.where(to_device(flip, x.device).view(-1, 1, 1, 1), x.flip(3), x)


def draw_boxes(shape: torch.Size, generator: Generator) -> Tensor:
    """Boxes of `torchvision.transforms.RandomResizedCrop(scale=(0.2, 1))`, [4, M] int64.

    Top, left, height and width. The first of ten tries that fits into the image; the whole image
    where none does.
    """
    num, height, width = shape[0], shape[2], shape[3]
    draws = torch.rand((2, 10, num), generator=generator)
    area = (0.2 + 0.8 * draws[0]) * height * width  # [10, M]
    bound = torch.tensor(4 / 3).log()
    ratio = (bound * (2 * draws[1] - 1)).exp()
    sizes = torch.stack([(area / ratio).sqrt(), (area * ratio).sqrt()]).round()  # [2, 10, M]
    limits = torch.tensor([height, width]).view(2, 1)
    fits = ((sizes >= 1) & (sizes <= limits[:, None])).all(0)  # [10, M]
    first = fits.int().argmax(0)  # [M]
    chosen = sizes.gather(1, first.expand(2, 1, num))[:, 0]  # [2, M]
    chosen = torch.where(fits.any(0), chosen, limits)
    corner = (torch.rand((2, num), generator=generator) * (limits - chosen + 1)).floor()
    return torch.cat([corner, chosen]).long()
