"""`train.graph = true`: the steps of an epoch replayed from one CUDA graph.

A graph launches all kernels of a step at once, where Python launches them one by one and a small
network leaves a GPU waiting. It repeats what it has seen: same shapes, same numbers of the host. So
it is captured anew every epoch, in which learning rate, schedules and switches are constant, and a
short last batch is taken without it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pllbench.method import Batch, Step

Take = Callable[[Batch], Step]
"""Takes a step: gradient and update."""


def require_cuda(device: torch.device) -> None:
    """Raise ValueError if a device knows no CUDA graphs."""
    if device.type != "cuda":
        raise ValueError(f"graph = true needs a CUDA device, this run is on {device.type}")


def warm_up(take: Take, batch: Batch) -> Step:
    """Take a step beside the current stream: before a capture, libraries make their buffers."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step = take(batch)
    torch.cuda.current_stream().wait_stream(stream)
    return step


def capture(take: Take, batch: Batch) -> tuple[Callable[[], None], Step]:
    """Record a step without taking it; gives what takes it, and the step that this fills."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step = take(batch)
    return graph.replay, step


@dataclass(slots=True)
class GraphedSteps:
    """Takes the steps of one epoch: the first as it is, the others of its size from a graph.

    A step that draws random numbers on the CPU raises ValueError: a graph would repeat them.

    Attributes:
        take: takes a step without a graph.
    """

    take: Take
    _size: int = 0
    _batch: Batch | None = None
    _replay: Callable[[], None] = field(default=lambda: None)
    _step: Step | None = None

    def __call__(self, batch: Batch) -> Step:
        """One step; gives what the loss gave."""
        if not self._size:
            self._size = len(batch.index)
            return warm_up(self.take, batch)
        if len(batch.index) != self._size:
            return self.take(batch)
        if self._batch is None or self._step is None:
            self._batch = _copy(batch)
            before = torch.get_rng_state()
            self._replay, self._step = capture(self.take, self._batch)
            if not torch.equal(torch.get_rng_state(), before):
                raise ValueError(
                    "graph = true: a step of this method draws random numbers on the CPU, which a "
                    "graph would repeat: draw them on the device, or leave graph out"
                )
        else:
            for place, tensor in zip(_tensors(self._batch), _tensors(batch), strict=True):
                place.copy_(tensor)
        self._replay()
        step = self._step
        return Step(
            step.loss.detach().clone(),
            None if step.pseudo is None else step.pseudo.clone(),
            {name: value.clone() for name, value in step.logs.items()},
        )


def _tensors(batch: Batch) -> list[Tensor]:
    return [*batch.x, batch.index, batch.candidates]


def _copy(batch: Batch) -> Batch:
    x = tuple(view.clone() for view in batch.x)
    return Batch(x, batch.index.clone(), batch.candidates.clone())
