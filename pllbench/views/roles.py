"""Views: batched, on the device, with randomness of their own for each instance.

A method asks for roles, a data set declares its kind; `VIEWS` maps (kind, role) to a function of
rows [M, ...] and a generator. It draws for all rows, and gives a function that then makes the view
of any slice of them: the pixels of a few images at a time stay in the processor's cache. Scaling
comes after the view, so that added noise and tokens are in the units the data came in, except for
z-scored rows, whose noise is stated in scaled units. Images stay uint8 until then: `scale` is the
one place that normalises them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from pllbench.spec import Kind, ViewSpec
from pllbench.validation import did_you_mean
from pllbench.views.scaling import Statistics, require_scaling, scale

Drawn = Callable[[slice], Tensor]
"""A view of rows whose random part is drawn: gives that of a slice of the rows."""

View = Callable[[Tensor, Generator, ViewSpec, Statistics], Drawn]


def identity(x: Tensor, generator: Generator, spec: ViewSpec, stats: Statistics) -> Drawn:  # noqa: ARG001 - one signature for all views
    """The rows themselves."""
    return lambda rows: x[rows]


def noise(x: Tensor, generator: Generator, spec: ViewSpec, stats: Statistics) -> Drawn:
    """Rows plus Gaussian noise; sigma is `noise_std` in units of the scaled features."""
    sigma = stats.std * spec.noise_std if spec.scaling == "zscore" else spec.noise_std
    drawn = torch.randn(x.shape, generator=generator, device=x.device)
    return lambda rows: (drawn[rows] * sigma).add_(x[rows])


def tokens(x: Tensor, generator: Generator, spec: ViewSpec, stats: Statistics) -> Drawn:
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
    longer = x.index_put((row, column), one, accumulate=True)
    return lambda rows: longer[rows]


def image_view(role: str, *, digits: bool) -> View:
    """The view of images in a role; torchvision is imported where one is drawn."""

    def view(x: Tensor, generator: Generator, spec: ViewSpec, stats: Statistics) -> Drawn:  # noqa: ARG001 - one signature for all views
        from pllbench.views import images

        if role == "weak":
            work = images.weak(x.shape, generator)
        elif role == "strong":
            work = images.strong(x.shape, generator, spec, digits=digits)
        else:
            draw = images.query if role == "query" else images.key
            work = draw(x.shape, generator, digits=digits)
        return lambda rows: work(x[rows], rows)

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

    def draw(self, role: str, x: Tensor, seed: int) -> Drawn:
        """One view of the rows x [M, ...], scaled; its randomness comes from `seed` alone.

        The view of a row is the same in whatever slices they are asked for. A view shares no
        memory with `x`, nor with another view: methods may write into it.
        """
        # What images draw is a few numbers each: on the CPU, a seed means the same on all devices.
        device = x.device if x.dtype != torch.uint8 else "cpu"
        generator = Generator(device).manual_seed(seed)
        view = VIEWS[self.kind, role](x, generator, self.spec, self.stats)
        return lambda rows: _apart(scale(view(rows), self.spec, self.stats), x)

    def plain(self, x: Tensor) -> Tensor:
        """The rows x [M, ...] as evaluation sees them: no augmentation, scaled; in own memory."""
        return _apart(scale(x, self.spec, self.stats), x)


def _apart(view: Tensor, x: Tensor) -> Tensor:
    """`view`, copied where it lies in the memory of `x`."""
    shared = view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    return view.clone() if shared else view
