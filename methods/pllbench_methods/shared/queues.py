"""Queues of a fixed length in buffers."""

import torch
from torch import Tensor


def queue_places(pointer: Tensor, count: int, size: int) -> Tensor:
    """Where the last min(count, size) of `count` new entries of a queue go, int64.

    Args:
        pointer: 0-dimensional, where the first of them would go.
        count: new entries.
        size: length of the queue, whose oldest entries are overwritten.
    """
    return (pointer + torch.arange(count, device=pointer.device))[-size:] % size
