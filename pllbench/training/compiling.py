"""`train.compile = "step"`: the loss of a method and its gradient, compiled as one."""

from typing import Any

import torch

from pllbench.method import Method
from pllbench.training.step import Loss


def compiled_loss(method: Method[Any], *, machine_code: bool = True) -> Loss:
    """The loss of a method, compiled by torch.compile together with its gradient.

    Every size of batch is compiled by itself, since an epoch has two at most. What earlier runs of
    this process have compiled is forgotten: the compiler keeps a limited number.

    Args:
        method: complete, on its device.
        machine_code: False stops at the graphs of loss and gradient, which Python then works
            through: what a check needs to know, in a hundredth of the time.
    """
    torch.compiler.reset()
    loss: Loss
    if machine_code:
        from pllbench.training.partitioner import SaveAll

        options: dict[str, Any] = {"custom_partitioner_fn": SaveAll()}
        loss = torch.compile(method.loss, dynamic=False, options=options)
    else:
        loss = torch.compile(method.loss, dynamic=False, backend="aot_eager_default_partitioner")
    return loss
