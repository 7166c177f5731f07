"""From the training set on the device to batches: index arithmetic, no worker processes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from pllbench.method import Batch
from pllbench.seeds import stream_seed
from pllbench.views.roles import Drawn, Views

CHUNK = 4096
"""Views are drawn for about this many instances at once. A fixed number, because the draw of an
instance depends on its place in the chunk."""

BLOCK = 1024
"""On a CPU views are made of about this many instances at once: their memory is used again and
again, where a chunk's is given back and cleared by the system each time. GPUs like large kernels:
there it is the chunk."""


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
        for number, index in enumerate(order.split(self._whole_batches(CHUNK))):
            rows = self.x[index]
            drawn = [self._draw(rows, epoch, slot, number) for slot in range(len(self.roles))]
            yield from self._batches(drawn, index)

    def batches(self) -> Iterator[Batch]:
        """Plain instances in order, one view each: `pllbench.method.TrainView`."""
        index = torch.arange(len(self.x), device=self.x.device)
        yield from self._batches([lambda rows: self.views.plain(self.x[index[rows]])], index)

    def _whole_batches(self, size: int) -> int:
        """About `size` rows, but full batches, so that only an epoch's last one is short."""
        return max(1, size // self.batch_size) * self.batch_size

    def _draw(self, rows: Tensor, epoch: int, slot: int, chunk: int) -> Drawn:
        seed = stream_seed(self.seed, "views", epoch, slot, chunk)
        return self.views.draw(self.roles[slot], rows, seed)

    def _batches(self, drawn: list[Drawn], index: Tensor) -> Iterator[Batch]:
        """The instances `index` [M] in order; a view of `drawn` is one of their rows."""
        size = self._whole_batches(CHUNK if self.x.is_cuda else BLOCK)
        for start in range(0, len(index), size):
            block = slice(start, start + size)
            columns = [
                *(view(block) for view in drawn),
                index[block],
                self.candidates[index[block]],
            ]
            for *x, i, sets in zip(*(c.split(self.batch_size) for c in columns), strict=True):
                yield Batch(x=tuple(x), index=i, candidates=sets)
