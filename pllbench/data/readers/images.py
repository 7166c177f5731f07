"""Image files as arrays."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from pllbench.data.readers.base import short_message

ImageArray = npt.NDArray[np.uint8]
"""[H, W] of a grey image, [H, W, 3] of one in colour."""


def read_image(file: Path, side: int | None = None) -> ImageArray:
    """An image of 8 bits a channel; resized to a square of `side` pixels unless that is None.

    Raises:
        ValueError: it is not readable, or its pixels have more bits.
    """
    from PIL import Image

    try:
        with Image.open(file) as image:
            if image.mode[0] in "IF":  # Pillow would cut their values off at 255
                raise ValueError(f"pixels of more than 8 bits, mode {image.mode}")
            plain = image.convert("L" if image.mode in ("1", "L") else "RGB")
            if side is not None and plain.size != (side, side):
                plain = plain.resize((side, side), Image.Resampling.BILINEAR)
            return np.asarray(plain)
    except Exception as error:  # each of Pillow's formats raises its own kinds
        raise ValueError(f"{file}: not readable as an image ({short_message(error)})") from error


def as_colour(image: ImageArray) -> ImageArray:
    """[H, W, 3] of a grey or coloured image."""
    return image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
