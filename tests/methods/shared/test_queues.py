"""Places in a queue: in turn, over the oldest, and the last ones where there are too many."""

import pytest
import torch

from pllbench_methods.shared.queues import queue_places


@pytest.mark.parametrize(
    ("pointer", "count", "places"),
    [
        (0, 2, [0, 1]),
        (3, 4, [3, 4, 0, 1]),
        (2, 5, [2, 3, 4, 0, 1]),
        (2, 7, [4, 0, 1, 2, 3]),  # the first two of seven are overwritten at once
    ],
)
def test_places_in_a_queue_of_five(pointer: int, count: int, places: list[int]) -> None:
    assert queue_places(torch.tensor(pointer), count, 5).tolist() == places
