"""One training step, in two halves: the trainer, the checks of methods and the tools share it."""

from collections.abc import Callable
from typing import Any

import torch

from pllbench.method import Batch, Method, Step
from pllbench.training.sgd import SGD

Loss = Callable[[Batch], Step]
"""`Method.loss` of a method, or the same compiled."""


def take_gradient(loss: Loss, batch: Batch, optimizer: SGD) -> Step:
    """The loss of a batch, and its gradient in the parameters; no parameter changes.

    The last gradient goes before the forward pass, so that its memory serves this step.
    """
    optimizer.zero_grad()
    step = loss(batch)
    step.loss.backward()
    return step


def update(method: Method[Any], batch: Batch, optimizer: SGD) -> None:
    """Move the parameters along the gradient of a batch, and let the method see the new ones."""
    optimizer.step()
    if type(method).after_step is not Method.after_step:  # most methods have none
        with torch.no_grad():
            method.after_step(batch)


def take_step(method: Method[Any], batch: Batch, optimizer: SGD, loss: Loss | None = None) -> Step:
    """Both halves; gives what the loss gave, that of the method unless another is passed."""
    step = take_gradient(loss or method.loss, batch, optimizer)
    update(method, batch, optimizer)
    return step
