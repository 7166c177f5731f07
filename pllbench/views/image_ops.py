"""Operations on a batch of images in which every image has a magnitude of its own.

torchvision's tensor operations take one magnitude for a whole batch. These take one for each image
and give, image by image, what torchvision gives at that magnitude
(`tests/views/test_image_ops.py`).
Operations without a magnitude are torchvision's own. Nothing here is random, writes to its
arguments, or waits for the device.

Letters in shape comments: M images, K channels (1 or 3), H x W pixels. Images are uint8
[M, K, H, W]; magnitudes are [M], on the device of the images.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import Tensor
from torchvision.transforms.functional import autocontrast, invert, rgb_to_grayscale
from torchvision.transforms.v2.functional import equalize  # the older one loops over the images

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "autocontrast",
    "equalize",
    "erase",
    "flip_and_crop",
    "grey",
    "invert",
    "posterize",
    "resized_crop",
    "rotate",
    "shear_x",
    "shear_y",
    "solarize",
    "translate_x",
    "translate_y",
]


def adjust_brightness(x: Tensor, factor: Tensor) -> Tensor:
    """Pixels times `factor`: 0 is black, 1 the image itself."""
    return _blend(x, torch.zeros((), device=x.device), factor)


def adjust_contrast(x: Tensor, factor: Tensor) -> Tensor:
    """Between the image's mean grey (0) and the image itself (1), or beyond."""
    mean = rgb_to_grayscale(x).float() if x.shape[1] == 3 else x.float()
    return _blend(x, mean.mean((1, 2, 3), keepdim=True), factor)


def adjust_saturation(x: Tensor, factor: Tensor) -> Tensor:
    """Between the grey image (0) and the image itself (1), or beyond."""
    return x if x.shape[1] == 1 else _blend(x, rgb_to_grayscale(x).float(), factor)


def adjust_sharpness(x: Tensor, factor: Tensor) -> Tensor:
    """Between the smoothed image (0) and the image itself (1), or beyond; the border stays."""
    pixels = x.float()
    centre = pixels[..., 1:-1, 1:-1]
    neighbours = F.avg_pool2d(pixels, 3, stride=1, divisor_override=1)  # sums of 3 x 3
    smooth = pixels.clone()
    smooth[..., 1:-1, 1:-1] = ((neighbours + 4 * centre) / 13).round()
    return _blend(x, smooth, factor)


def _blend(x: Tensor, other: Tensor, factor: Tensor) -> Tensor:
    share, rest = factor.view(-1, 1, 1, 1).float(), (1 - factor.double()).view(-1, 1, 1, 1).float()
    return (x * share).add_(other * rest).clamp_(0, 255).to(torch.uint8)


def adjust_hue(x: Tensor, shift: Tensor) -> Tensor:
    """Hue turned by `shift` of a full circle."""
    if x.shape[1] == 1:
        return x
    pixels = x.float() / 255
    value, strongest = pixels.max(1)  # [M, H, W]
    chroma = value - pixels.amin(1)
    red, green, blue = pixels.unbind(1)
    sector = torch.stack([green - blue, blue - red, red - green], 1)  # [M, 3, H, W]
    ratio = sector.gather(1, strongest[:, None])[:, 0] / torch.where(chroma > 0, chroma, 1.0)
    hue = (ratio + 2 * strongest) / 6 + shift.view(-1, 1, 1).float()  # of a circle
    # RGB from hue, value and chroma without cases: channel n falls off around its own hue.
    offset = torch.arange(5.0, 0.0, -2.0, device=x.device).view(3, 1, 1)  # 5, 3, 1
    k = (offset + 6 * hue[:, None]) % 6  # [M, 3, H, W]
    turned = value[:, None] - chroma[:, None] * torch.minimum(k, 4 - k).clamp(0, 1)
    return (turned * 255.999).to(torch.uint8)


def grey(x: Tensor) -> Tensor:
    """The grey image, with as many channels."""
    return x if x.shape[1] == 1 else rgb_to_grayscale(x, num_output_channels=3)


def posterize(x: Tensor, bits: Tensor) -> Tensor:
    """The `bits` highest bits of every pixel."""
    mask = (255 << (8 - bits.long())) & 255
    return x & mask.to(torch.uint8).view(-1, 1, 1, 1)


def solarize(x: Tensor, threshold: Tensor) -> Tensor:
    """Pixels from `threshold` on inverted; 256 inverts none."""
    return torch.where(x >= threshold.view(-1, 1, 1, 1).float(), 255 - x, x)


def shear_x(x: Tensor, level: Tensor, fill: int) -> Tensor:
    """Rows moved to the left by `level` pixels for each row from the top."""
    return _affine(x, {(0, 1): level, (0, 2): level * x.shape[2] / 2}, fill)


def shear_y(x: Tensor, level: Tensor, fill: int) -> Tensor:
    """Columns moved up by `level` pixels for each column from the left."""
    return _affine(x, {(1, 0): level, (1, 2): level * x.shape[3] / 2}, fill)


def translate_x(x: Tensor, pixels: Tensor, fill: int) -> Tensor:
    """The image moved to the right, by whole pixels."""
    return _affine(x, {(0, 2): -pixels.trunc()}, fill)


def translate_y(x: Tensor, pixels: Tensor, fill: int) -> Tensor:
    """The image moved down, by whole pixels."""
    return _affine(x, {(1, 2): -pixels.trunc()}, fill)


def rotate(x: Tensor, degrees: Tensor, fill: int) -> Tensor:
    """The image turned counter-clockwise around its centre."""
    angle = degrees * (math.pi / 180)
    cos, sin = angle.cos(), angle.sin()
    return _affine(x, {(0, 0): cos, (0, 1): -sin, (1, 0): sin, (1, 1): cos}, fill)


def _affine(x: Tensor, entries: dict[tuple[int, int], Tensor], fill: int) -> Tensor:
    """The pixel nearest to A (x, y, 1) for each (x, y), in pixels from the centre.

    Args:
        x: images.
        entries: where A differs from the identity, each [M].
        fill: what lies outside the image.
    """
    height, width = x.shape[2:]
    matrix = torch.eye(2, 3, device=x.device).repeat(len(x), 1, 1)
    # Into the coordinates of affine_grid, where a side has the length 2.
    unit = {(0, 1): height / width, (1, 0): width / height, (0, 2): 2 / width, (1, 2): 2 / height}
    for place, value in entries.items():
        matrix[:, place[0], place[1]] = value.float() * unit.get(place, 1.0)
    grid = F.affine_grid(matrix, list(x.shape), align_corners=False)
    moved = F.grid_sample(x.float() - fill, grid, mode="nearest", align_corners=False)
    return (moved + fill).to(torch.uint8)


def flip_and_crop(x: Tensor, flip: Tensor, top: Tensor, left: Tensor, padding: int) -> Tensor:
    """Mirrored where `flip`, then padded by reflection and cropped to its size at (top, left).

    Args:
        x: images; both sides are longer than the padding.
        flip: bool.
        top: int64, 0..2 * padding; `padding` is the unmoved image.
        left: the same for columns.
        padding: pixels on each side.
    """
    height, width = x.shape[2:]
    rows = _reflect(top[:, None] + torch.arange(height, device=x.device) - padding, height)
    columns = _reflect(left[:, None] + torch.arange(width, device=x.device) - padding, width)
    columns = torch.where(flip[:, None], width - 1 - columns, columns)
    places = (rows[:, :, None] * width + columns[:, None, :]).view(len(x), 1, -1)  # [M, 1, H W]
    return x.flatten(2).gather(2, places.expand(-1, x.shape[1], -1)).view_as(x)


def _reflect(places: Tensor, size: int) -> Tensor:
    return (size - 1) - ((size - 1) - places.abs()).abs()


def resized_crop(x: Tensor, top: Tensor, left: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """A part of each image, enlarged to the image's size by bilinear interpolation.

    Args:
        x: images.
        top: first row of the part.
        left: first column.
        height: rows of the part, at least 1.
        width: columns.
    """
    rows = _enlarged(top, height, x.shape[2])  # [M, H]
    columns = _enlarged(left, width, x.shape[3])  # [M, W]
    grid = torch.stack(
        torch.broadcast_tensors(columns[:, None, :], rows[:, :, None]), -1
    )  # [M, H, W, 2]
    sampled = F.grid_sample(x.float(), grid, padding_mode="border", align_corners=False)
    return sampled.round_().to(torch.uint8)


def _enlarged(start: Tensor, length: Tensor, size: int) -> Tensor:
    """Where `size` samples of start..start + length lie, -1 and 1 being the ends of the side."""
    start, length = start[:, None].float(), length[:, None].float()
    centres = torch.arange(size, device=start.device) + 0.5
    inside = (centres * length / size - 0.5).clamp_(min=0).minimum(length - 1)
    return (2 * (start + inside) + 1) / size - 1


def erase(
    x: Tensor, top: Tensor, bottom: Tensor, left: Tensor, right: Tensor, value: int
) -> Tensor:
    """Rows top..bottom - 1 of columns left..right - 1 set to `value`; may reach over the edges."""
    rows = torch.arange(x.shape[2], device=x.device)
    columns = torch.arange(x.shape[3], device=x.device)
    in_rows = (rows >= top[:, None]) & (rows < bottom[:, None])  # [M, H]
    in_columns = (columns >= left[:, None]) & (columns < right[:, None])  # [M, W]
    return x.masked_fill((in_rows[:, :, None] & in_columns[:, None, :])[:, None], value)
