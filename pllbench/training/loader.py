"""From the training set on the device to batches: index arithmetic, no worker processes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench.seeds import stream_seed
from pllbench.views.roles import Views

CHUNK = 4096
"""Views are drawn for about this many instances at once: few, large kernels. A fixed number,
because the draw of an instance depends on its place in the chunk."""


@dataclass(frozen=True, slots=True)
class Loader:
    """Seeded batches of a training set that lies on the device.

    Order depends on (seed, epoch) alone, and the draw of a view on (seed, epoch, slot, chunk): all
    methods see the same batches, however many views they ask for.

    Attributes:
        x: [N, ...] rows.
        candidates: [N, C] bool.
        views: the data set's views.
        roles: one role per view of a batch.
        batch_size: the last batch of an epoch may be smaller; nothing is dropped.
        seed: run seed.
    """

    x: Tensor
    candidates: Tensor
    views: Views
    roles: tuple[str, ...]
    batch_size: int
    seed: int

    def __len__(self) -> int:
        """Batches in an epoch."""
        return math.ceil(len(self.x) / self.batch_size)

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """The batches of one epoch, shuffled and augmented."""
        order_stream = torch.Generator().manual_seed(stream_seed(self.seed, "order", epoch))
        order = torch.randperm(len(self.x), generator=order_stream).to(self.x.device)
        for number, index in enumerate(order.split(self._chunk_size)):
            yield from self._batches(self._draw_all(index, epoch, number), index)

    def batches(self) -> Iterator[Batch]:
        """Plain instances in order, one view each: `pllbench.method.TrainView`."""
        everything = torch.arange(len(self.x), device=self.x.device)
        for index in everything.split(self._chunk_size):
            yield from self._batches([self.views.plain(self.x[index])], index)

    @property
    def _chunk_size(self) -> int:
        """A whole number of batches, so that only an epoch's last batch is short."""
        return max(1, CHUNK // self.batch_size) * self.batch_size

    def _draw_all(self, index: Tensor, epoch: int, chunk: int) -> list[Tensor]:
        rows = self.x[index]
        return [self._draw(rows, epoch, slot, chunk) for slot in range(len(self.roles))]

    def _draw(self, rows: Tensor, epoch: int, slot: int, chunk: int) -> Tensor:
        seed = stream_seed(self.seed, "views", epoch, slot, chunk)
        return self.views.draw(self.roles[slot], rows, seed)

    def _batches(self, drawn: list[Tensor], index: Tensor) -> Iterator[Batch]:
        candidates = self.candidates[index].split(self.batch_size)
        indices = index.split(self.batch_size)
        views = zip(*(view.split(self.batch_size) for view in drawn), strict=True)
        for x, i, sets in zip(views, indices, candidates, strict=True):
            if i is indices[-1]:
                # Who holds on to it while the next chunk is drawn must not hold this whole chunk.
                x = tuple(view.clone() for view in x)  # noqa: PLW2901
            yield Batch(x=x, index=i, candidates=sets)
