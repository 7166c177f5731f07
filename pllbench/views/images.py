"""Views of images: uint8 [M, K, H, W] in and out; normalisation comes after them, in `views.scale`.

Weak and strong views are those of DPLL's and AsyCo's code, query and key views PiCO's. Digits are
never mirrored or cropped. Generators are the CPU's: what is drawn is a few numbers an image, so a
seed means the same views on every device. It is drawn for all images at once; the `Work` that comes
back is then done on as many of them at a time as the caller likes.

Letters in shape comments: M images, K channels, H x W pixels.
"""

from collections.abc import Callable

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

Work = Callable[[Tensor, slice], Tensor]
"""What happens to images, once it is drawn: of the images in a slice of all, and that slice."""

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


def weak(shape: torch.Size, generator: Generator) -> Work:
    """Mirrored half of the time, then a crop of the image padded by reflection."""
    flip = torch.rand(shape[0], generator=generator) < 0.5
    corner = torch.randint(2 * PADDING + 1, (2, shape[0]), generator=generator)

    def work(x: Tensor, rows: slice) -> Tensor:
        top, left = to_device(corner[:, rows], x.device)
        return ops.flip_and_crop(x, to_device(flip[rows], x.device), top, left, PADDING)

    return work


def strong(shape: torch.Size, generator: Generator, spec: ViewSpec, *, digits: bool) -> Work:
    """The weak view (digits: the image) after cutout and then AutoAugment.

    In this order, as in the published codes: the black square is input to AutoAugment.
    """
    works = [] if digits else [weak(shape, generator)]
    if spec.cutout:
        works.append(cutout(shape, spec.cutout, generator))
    if spec.autoaugment != "none":
        chain = draw_autoaugment(spec.autoaugment, shape, generator)
        works.append(lambda x, rows: apply(x, chain.part(rows), AUTOAUGMENT_FILL))

    def work(x: Tensor, rows: slice) -> Tensor:
        for each in works:
            x = each(x, rows)
        return x

    return work


def cutout(shape: torch.Size, length: int, generator: Generator) -> Work:
    """A black square around a random pixel, [c - length / 2, c + length / 2), cut at the edges."""
    top = torch.randint(shape[2], shape[:1], generator=generator) - length // 2
    left = torch.randint(shape[3], shape[:1], generator=generator) - length // 2
    corner, side = torch.stack([top, left]), length // 2 * 2

    def work(x: Tensor, rows: slice) -> Tensor:
        top, left = to_device(corner[:, rows], x.device)
        return ops.erase(x, top, top + side, left, left + side, 0)

    return work


def query(shape: torch.Size, generator: Generator, *, digits: bool) -> Work:
    """PiCO's query view: resized crop, mirror, colour jitter, and grey for one in five."""
    crop = random_resized_crop(shape, generator, digits=digits)
    chain = draw_jitter(JITTER, 0.8, shape, generator)
    colourless = torch.rand(shape[0], generator=generator) < 0.2

    def work(x: Tensor, rows: slice) -> Tensor:
        x = apply(crop(x, rows), chain.part(rows), 0)
        return torch.where(_by_image(colourless[rows], x), ops.grey(x), x)

    return work


def key(shape: torch.Size, generator: Generator, *, digits: bool) -> Work:
    """PiCO's key view: resized crop, mirror, three operations of RandAugment, and a grey square."""
    crop = random_resized_crop(shape, generator, digits=digits)
    chain = draw_randaugment(3, shape, generator)
    side = torch.rand(shape[0], generator=generator) * 0.5 * shape[3]
    size = torch.tensor(shape[2:]).view(2, 1)
    centre = torch.rand((2, shape[0]), generator=generator) * size
    square = torch.cat([(centre - side / 2).clamp(min=0).floor(), side[None]])

    def work(x: Tensor, rows: slice) -> Tensor:
        x = apply(crop(x, rows), chain.part(rows), 0)
        top, left, side = to_device(square[:, rows], x.device)
        return ops.erase(x, top, top + side, left, left + side, AUTOAUGMENT_FILL)

    return work


def random_resized_crop(shape: torch.Size, generator: Generator, *, digits: bool) -> Work:
    """A part of 0.2 to 1 of the area, with sides 3:4 to 4:3, at the image's size; then a mirror."""
    box = draw_boxes(shape, generator)
    flip = torch.rand(shape[0], generator=generator) < 0.5

    def work(x: Tensor, rows: slice) -> Tensor:
        top, left, height, width = to_device(box[:, rows], x.device)
        x = ops.resized_crop(x, top, left, height, width)
        return x if digits else torch.where(_by_image(flip[rows], x), x.flip(3), x)

    return work


def _by_image(drawn: Tensor, x: Tensor) -> Tensor:
    """What is drawn [M] for the images x, [M, 1, 1, 1] on their device."""
    return to_device(drawn, x.device).view(-1, 1, 1, 1)


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
