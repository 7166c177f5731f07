"""Views: batched, on the device, with randomness of their own for each instance.

A method asks for roles, a data set declares its kind; `VIEWS` maps (kind, role) to a function of
rows [M, ...] and a generator. Scaling comes after the view, so that added noise and tokens are in
the units the data came in, except for z-scored rows, whose noise is stated in scaled units. Images
stay uint8 until then: `scale` is the one place that normalises them.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Generator, Tensor

from pllbench.data.catalogue import DatasetInfo, Kind
from pllbench.registry import did_you_mean
from pllbench.spec import ViewSpec


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


def image_statistics(x: Tensor, info: DatasetInfo, spec: ViewSpec) -> Statistics:
    """Statistics of training images x [N, channels, height, width] uint8, as `spec` asks for them.

    Where no code has published any for the data set, they are those of the training images.
    """
    from pllbench.views.images import pixel_statistics  # torchvision: no business of tables' rows

    if spec.normalisation == "published" and info.pixels is not None:
        mean, std = (255 * torch.tensor(values).view(-1, 1, 1) for values in info.pixels)
    else:
        mean, std = pixel_statistics(x)
    return Statistics(mean, std, idf=torch.empty(0), unigram=torch.empty(0))


def scale(x: Tensor, spec: ViewSpec, stats: Statistics) -> Tensor:
    """Images normalised by channel; rows after the scaling that `spec` names.

    An all-zero TF-IDF row stays zero.
    """
    if x.dtype == torch.uint8:
        return x.sub(stats.mean).div_(stats.std)
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
    """Rows of counts with m random tokens added, m = max(1, round(token_rate * length)).

    The one view that waits for a GPU, once a chunk: how many tokens to draw depends on the rows.
    """
    extra = (x.sum(1) * spec.token_rate).round().clamp(min=1).long()  # [M]
    row = torch.repeat_interleave(torch.arange(len(x), device=x.device), extra)
    if spec.token_law == "unigram":
        column = torch.multinomial(stats.unigram, len(row), replacement=True, generator=generator)
    else:
        column = torch.randint(x.shape[1], row.shape, generator=generator, device=x.device)
    one = torch.ones((), dtype=x.dtype, device=x.device)
    return x.index_put((row, column), one, accumulate=True)


def image_view(role: str, *, digits: bool) -> View:
    """The view of images in a role; torchvision is imported where one is drawn."""

    def view(x: Tensor, generator: Generator, spec: ViewSpec, stats: Statistics) -> Tensor:  # noqa: ARG001 - one signature for all views
        from pllbench.views import images as image_views

        # The decisions of a view are drawn on the CPU, from the same seed on every device.
        if generator.device.type != "cpu":
            generator = Generator().manual_seed(generator.initial_seed())
        if role == "weak":
            return image_views.weak(x, generator)
        if role == "strong":
            return image_views.strong(x, generator, spec, digits=digits)
        draw = image_views.query if role == "query" else image_views.key
        return draw(x, generator, digits=digits)

    return view


VIEWS: dict[tuple[Kind, str], View] = {
    ("image", "weak"): image_view("weak", digits=False),
    ("image", "strong"): image_view("strong", digits=False),
    ("image", "query"): image_view("query", digits=False),
    ("image", "key"): image_view("key", digits=False),
    ("digits", "weak"): identity,
    ("digits", "strong"): image_view("strong", digits=True),
    ("digits", "query"): image_view("query", digits=True),
    ("digits", "key"): image_view("key", digits=True),
    ("tabular", "weak"): identity,
    ("tabular", "strong"): noise,
    ("tabular", "query"): noise,
    ("tabular", "key"): noise,
    ("text", "weak"): identity,
    ("text", "strong"): tokens,
    ("text", "query"): tokens,
    ("text", "key"): tokens,
}


def require_scaling(kind: Kind, spec: ViewSpec) -> None:
    """Raise ValueError if the scaling that `spec` names does not exist for this kind of data."""
    if kind in ("image", "digits") and spec.scaling != "none":
        raise ValueError(
            f"scaling {spec.scaling} is for rows of features: images are normalised by "
            f"channel, as the view setting 'normalisation' says"
        )


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
        """Raise ValueError if a role or the scaling does not exist for this kind of data."""
        require_scaling(self.kind, self.spec)
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
