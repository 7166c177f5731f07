"""Image operations: each image gets what torchvision's tensor operation gives at its magnitude."""

from collections.abc import Callable

import pytest
import torch
import torchvision.transforms.functional as tv
from torch import Tensor

from pllbench.views import image_ops as ops

Shape = tuple[int, int, int]
SHAPES: list[Shape] = [(3, 32, 32), (1, 28, 28), (3, 20, 33)]


def images(shape: Shape = (3, 32, 32), num: int = 40) -> Tensor:
    """Smooth and noisy images, one black, one white, one of a single colour, one of two values."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(num, shape[0], 4, 4, generator=generator)
    smooth = torch.nn.functional.interpolate(coarse, shape[1:], mode="bilinear")
    noise = torch.rand(num, *shape, generator=generator)
    share = torch.linspace(0, 1, num).view(-1, 1, 1, 1)
    x = (255 * (smooth * (1 - share) + noise * share)).to(torch.uint8)
    x[0], x[1], x[2], x[3] = 0, 255, 77, (x[3] > 128) * 255
    return x


def spread(low: float, high: float, num: int) -> Tensor:
    """Magnitudes from one end to the other, in an order that is not that of the images."""
    order = torch.randperm(num, generator=torch.Generator().manual_seed(1))
    return torch.linspace(low, high, num, dtype=torch.float64)[order]


def sheared(x: Tensor, degrees: list[float], fill: list[float]) -> Tensor:
    result: Tensor = tv.affine(x, 0.0, [0, 0], 1.0, degrees, fill=fill, center=[0, 0])
    return result


def tangent(level: float) -> float:
    return torch.tensor(level, dtype=torch.float64).atan().rad2deg().item()


Batched = Callable[[Tensor, Tensor], Tensor]
Single = Callable[[Tensor, float], Tensor]

POINTWISE: dict[str, tuple[Batched, Single, float, float]] = {
    "brightness": (ops.adjust_brightness, tv.adjust_brightness, 0.0, 2.0),
    "contrast": (ops.adjust_contrast, tv.adjust_contrast, 0.0, 2.0),
    "saturation": (ops.adjust_saturation, tv.adjust_saturation, 0.0, 2.0),
    "sharpness": (ops.adjust_sharpness, tv.adjust_sharpness, 0.0, 2.0),
    "posterize": (
        lambda x, v: ops.posterize(x, v.long()),
        lambda x, v: tv.posterize(x, int(v)),
        0,
        8,
    ),
    "solarize": (ops.solarize, tv.solarize, 0.0, 255.0),
}


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("shape", SHAPES)
def test_pointwise_operations_are_torchvisions(name: str, shape: Shape) -> None:
    batched, single, low, high = POINTWISE[name]
    x = images(shape)
    magnitudes = spread(low, high, len(x))
    found = batched(x, magnitudes)
    assert found.dtype == torch.uint8
    for image, magnitude, result in zip(x, magnitudes.tolist(), found, strict=True):
        assert torch.equal(result, single(image[None], magnitude)[0]), (name, magnitude)


@pytest.mark.parametrize("name", ["autocontrast", "equalize", "invert"])
@pytest.mark.parametrize("shape", SHAPES)
def test_operations_without_magnitude_are_torchvisions(name: str, shape: Shape) -> None:
    x = images(shape)
    expected = torch.stack([getattr(tv, name)(image) for image in x])
    assert torch.equal(getattr(ops, name)(x), expected)


GEOMETRIC: dict[
    str, tuple[Callable[[Tensor, Tensor, int], Tensor], Callable[..., Tensor], float]
] = {
    "shear_x": (ops.shear_x, lambda x, v, f: sheared(x, [tangent(v), 0.0], f), 0.3),
    "shear_y": (ops.shear_y, lambda x, v, f: sheared(x, [0.0, tangent(v)], f), 0.3),
    "translate_x": (
        ops.translate_x,
        lambda x, v, f: tv.affine(x, 0.0, [int(v), 0], 1.0, [0.0, 0.0], fill=f),
        14.5,
    ),
    "translate_y": (
        ops.translate_y,
        lambda x, v, f: tv.affine(x, 0.0, [0, int(v)], 1.0, [0.0, 0.0], fill=f),
        14.5,
    ),
    "rotate": (ops.rotate, lambda x, v, f: tv.rotate(x, v, fill=f), 30.0),
}


@pytest.mark.parametrize("name", GEOMETRIC)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fill", [0, 128])
def test_geometric_operations_are_torchvisions(name: str, shape: Shape, fill: int) -> None:
    batched, single, high = GEOMETRIC[name]
    x = images(shape)
    magnitudes = spread(-high, high, len(x))
    found = batched(x, magnitudes, fill)
    expected = torch.stack(
        [
            single(image, value, [float(fill)] * shape[0])
            for image, value in zip(x, magnitudes.tolist(), strict=True)
        ]
    )
    differs = (found != expected).any(1)
    # Where a source lies just between two pixels, rounding may choose the other.
    assert differs.double().mean() < 2e-3, differs.double().mean()
    zero = torch.zeros(len(x), dtype=torch.float64)
    assert torch.equal(batched(x, zero, fill), x)


def test_hue_is_torchvisions() -> None:
    x = images()
    magnitudes = spread(-0.5, 0.5, len(x))
    found = ops.adjust_hue(x, magnitudes)
    expected = torch.stack(
        [tv.adjust_hue(image, v) for image, v in zip(x, magnitudes.tolist(), strict=True)]
    )
    assert (found.int() - expected.int()).abs().max() <= 1
    assert (found != expected).double().mean() < 1e-2
    grey = images((1, 8, 8))
    assert torch.equal(ops.adjust_hue(grey, magnitudes), grey)


def test_grey_is_torchvisions() -> None:
    for shape in SHAPES:
        x = images(shape)
        assert torch.equal(ops.grey(x), tv.rgb_to_grayscale(x, shape[0]) if shape[0] == 3 else x)


@pytest.mark.parametrize("shape", SHAPES)
def test_flip_and_crop_is_flip_then_reflecting_pad_then_crop(shape: Shape) -> None:
    x = images(shape, 9 * 9 * 2)
    n = torch.arange(len(x))
    flip, top, left = n % 2 == 1, n // 2 % 9, n // 18
    found = ops.flip_and_crop(x, flip, top, left, 4)
    for i, image in enumerate(x):
        padded = tv.pad(tv.hflip(image) if flip[i] else image, [4], padding_mode="reflect")
        expected = tv.crop(padded, int(top[i]), int(left[i]), *shape[1:])
        assert torch.equal(found[i], expected)
    still = torch.full((len(x),), 4)
    assert torch.equal(ops.flip_and_crop(x, flip & False, still, still, 4), x)


@pytest.mark.parametrize("shape", SHAPES)
def test_resized_crop_is_torchvisions(shape: Shape) -> None:
    x = images(shape)
    num, generator = len(x), torch.Generator().manual_seed(2)
    height = torch.randint(5, shape[1] + 1, (num,), generator=generator)
    width = torch.randint(5, shape[2] + 1, (num,), generator=generator)
    top = (torch.rand(num, generator=generator) * (shape[1] - height + 1)).long()
    left = (torch.rand(num, generator=generator) * (shape[2] - width + 1)).long()
    found = ops.resized_crop(x, top, left, height, width)
    for i, image in enumerate(x):
        box = (int(top[i]), int(left[i]), int(height[i]), int(width[i]))
        expected = tv.resized_crop(image.float(), *box, list(shape[1:]), antialias=False)
        assert (found[i] - expected).abs().max() <= 0.51


def test_erase_takes_the_part_that_lies_inside() -> None:
    x = torch.full((3, 2, 6, 5), 9, dtype=torch.uint8)
    top, bottom = torch.tensor([-2, 1, 5]), torch.tensor([2, 3, 9])
    left, right = torch.tensor([-1, 0, 4]), torch.tensor([3, 5, 8])
    found = ops.erase(x, top, bottom, left, right, 1)
    assert (found == 1).sum((1, 2, 3)).tolist() == [2 * 3 * 2, 2 * 5 * 2, 1 * 1 * 2]
    assert (found[0, :, :2, :3] == 1).all()
    assert (x == 9).all()


@pytest.mark.parametrize("name", [*POINTWISE, *GEOMETRIC])
def test_no_operation_writes_to_its_images(name: str) -> None:
    x = images(num=8)
    before = x.clone()
    if name in POINTWISE:
        batched, _, _, high = POINTWISE[name]
        batched(x, torch.full((8,), high, dtype=torch.float64))
    else:
        moved, _, high = GEOMETRIC[name]
        moved(x, torch.full((8,), high, dtype=torch.float64), 128)
    assert torch.equal(x, before)
