"""Scaling of rows and pixels, with statistics of the training rows alone."""

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from pllbench.spec import Kind, ViewSpec

Pixels = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and standard deviation of each channel, of pixels from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scaling and token views need to know of the training rows; each [features].

    Of images it holds mean and std of the channels, each [channels, 1, 1] in units of 0..255; the
    others are empty.

    Attributes:
        mean: mean of each column.
        std: population standard deviation of each column; 1 for a constant column.
        idf: smoothed inverse document frequency ln((1 + N) / (1 + df)) + 1.
        unigram: share of each token among all tokens of the corpus.
    """

    mean: Tensor
    std: Tensor
    idf: Tensor
    unigram: Tensor

    def to(self, device: torch.device) -> "Statistics":
        """The same statistics on `device`."""
        return Statistics(*(getattr(self, field.name).to(device) for field in fields(self)))


def statistics(x: Tensor) -> Statistics:
    """Statistics of the training rows x [N, features]; test and hold-out rows must not be in it."""
    wide = x.double()  # columns of BirdSong span seven orders of magnitude
    std = wide.std(0, correction=0)
    frequency = (wide != 0).sum(0)
    counts = wide.clamp(min=0).sum(0)
    return Statistics(
        mean=wide.mean(0).float(),
        std=torch.where(std > 0, std, 1.0).float(),
        idf=(torch.log((1 + len(x)) / (1 + frequency.double())) + 1).float(),
        unigram=(counts / counts.sum().clamp(min=1)).float(),
    )


def image_statistics(x: Tensor, published: Pixels | None, spec: ViewSpec) -> Statistics:
    """Statistics of training images x [N, channels, height, width] uint8, as `spec` asks for them.

    Where no code has `published` any for the data set, they are those of the training images.
    """
    if spec.normalisation == "published" and published is not None:
        mean, std = (255 * torch.tensor(values).view(-1, 1, 1) for values in published)
    else:
        mean, std = pixel_statistics(x)
    return Statistics(mean, std, idf=torch.empty(0), unigram=torch.empty(0))


def scale(x: Tensor, spec: ViewSpec, stats: Statistics) -> Tensor:
    """Images normalised by channel; rows after the scaling that `spec` names.

    An all-zero TF-IDF row stays zero.
    """
    if x.dtype == torch.uint8 or spec.scaling == "zscore":
        return x.sub(stats.mean).div_(stats.std)
    if spec.scaling == "tfidf":
        weighted = x * stats.idf
        norm = torch.linalg.vector_norm(weighted, dim=1, keepdim=True)
        return weighted * (spec.tfidf_norm / torch.where(norm > 0, norm, 1.0))
    return x


def require_scaling(kind: Kind, spec: ViewSpec) -> None:
    """Raise ValueError if the scaling that `spec` names does not exist for this kind of data."""
    if kind in ("image", "digits") and spec.scaling != "none":
        raise ValueError(
            f"scaling {spec.scaling} is for rows of features: images are normalised by "
            f"channel, as the view setting 'normalisation' says"
        )


def pixel_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each channel, each [K, 1, 1] in units of 0..255."""
    counts = torch.stack(
        [x[:, k].flatten().bincount(minlength=256) for k in range(x.shape[1])]
    ).double()  # [K, 256]
    level = torch.arange(256, dtype=torch.float64, device=x.device)
    total = counts.sum(1)
    mean = counts @ level / total
    std = (counts @ level**2 / total - mean**2).clamp(min=0).sqrt()
    std = torch.where(std > 0, std, 1.0)
    return mean.float().view(-1, 1, 1), std.float().view(-1, 1, 1)
