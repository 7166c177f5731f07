"""Random rows and images for the tests of views."""

import torch
from torch import Generator, Tensor

from pllbench.data.catalogue import DATASETS
from pllbench.spec import Kind, ViewSpec
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics

ROLES = ("weak", "strong", "query", "key")


def generator(seed: int = 0) -> Generator:
    return torch.Generator().manual_seed(seed)


def images(num: int = 64, channels: int = 3, size: int = 32) -> Tensor:
    """Random images [num, channels, size, size] uint8 without black pixels."""
    shape = (num, channels, size, size)
    return torch.randint(1, 256, shape, generator=generator(), dtype=torch.uint8)


def make_image_views(kind: Kind = "image", dataset: str = "cifar10", **settings: object) -> Views:
    """Views of images with the published statistics of a data set."""
    spec = ViewSpec.parse(settings)
    return Views(kind, spec, image_statistics(images(), DATASETS[dataset].pixels, spec))


def draw(views: Views, role: str, x: Tensor, seed: int = 0) -> Tensor:
    """The whole view of the rows x, scaled."""
    return views.draw(role, x, seed)(slice(None))
