"""Views: batched, on the device, with randomness of their own for each instance.

A method asks for roles, a data set declares its kind; `VIEWS` maps (kind, role) to a function of
rows [M, ...] and a generator. Scaling comes after the view, so that added noise and tokens are in
the units the data came in, except for z-scored rows, whose noise is stated in scaled units.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Generator, Tensor

from pllbench.catalogue import Kind
from pllbench.registry import did_you_mean
from pllbench.spec import ViewSpec


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scaling and token views need to know of the training rows; each [features].

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


def scale(x: Tensor, spec: ViewSpec, stats: Statistics) -> Tensor:
    """Rows after the scaling that `spec` names. An all-zero TF-IDF row stays zero."""
    if spec.scaling == "zscore":
        return (x - stats.mean) / stats.std
    if spec.scaling == "tfidf":
        weighted = x * stats.idf
        norm = torch.linalg.vector_norm(weighted, dim=1, keepdim=True)
        return weighted * (spec.tfidf_norm / torch.where(norm > 0, norm, 1.0))
    return x


View = Callable[[Tensor, Generator, ViewSpec, Statistics], Tensor]


def identity(x: Tensor, generator: Generator, spec: ViewSpec, stats: Statistics) -> Tensor:  # noqa: ARG001 - one signature for all views
    """The rows themselves."""
    return x


def noise(x: Tensor, generator: Generator, spec: ViewSpec, stats: Statistics) -> Tensor:
    """Rows plus Gaussian noise; sigma is `noise_std` in units of the scaled features."""
    sigma = stats.std * spec.noise_std if spec.scaling == "zscore" else spec.noise_std
    return x + torch.randn(x.shape, generator=generator, device=x.device) * sigma


def tokens(x: Tensor, generator: Generator, spec: ViewSpec, stats: Statistics) -> Tensor:
    """Rows of counts with m random tokens added, m = max(1, round(token_rate * length))."""
    extra = (x.sum(1) * spec.token_rate).round().clamp(min=1).long()  # [M]
    row = torch.repeat_interleave(torch.arange(len(x), device=x.device), extra)
    if spec.token_law == "unigram":
        column = torch.multinomial(stats.unigram, len(row), replacement=True, generator=generator)
    else:
        column = torch.randint(x.shape[1], row.shape, generator=generator, device=x.device)
    one = torch.ones((), dtype=x.dtype, device=x.device)
    return x.index_put((row, column), one, accumulate=True)


VIEWS: dict[tuple[Kind, str], View] = {
    ("tabular", "weak"): identity,
    ("tabular", "strong"): noise,
    ("tabular", "query"): noise,
    ("tabular", "key"): noise,
    ("text", "weak"): identity,
    ("text", "strong"): tokens,
    ("text", "query"): tokens,
    ("text", "key"): tokens,
}


@dataclass(frozen=True, slots=True)
class Views:
    """Views of one data set under one `ViewSpec`.

    Attributes:
        kind: of the data set.
        spec: view settings.
        stats: statistics of the training rows.
    """

    kind: Kind
    spec: ViewSpec
    stats: Statistics

    def require(self, roles: tuple[str, ...]) -> None:
        """Raise ValueError if a role does not exist for this kind of data."""
        known = [role for kind, role in VIEWS if kind == self.kind]
        for role in roles:
            if role not in known:
                hint = did_you_mean(role, known)
                raise ValueError(f"{self.kind} data has no view {role!r}: {hint}")

    def draw(self, role: str, x: Tensor, generator: Generator) -> Tensor:
        """One view of the rows x [M, ...], scaled."""
        return scale(
            VIEWS[self.kind, role](x, generator, self.spec, self.stats), self.spec, self.stats
        )

    def plain(self, x: Tensor) -> Tensor:
        """The rows x [M, ...] as evaluation sees them: no augmentation, scaled."""
        return scale(x, self.spec, self.stats)
