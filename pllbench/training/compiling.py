"""`train.compile = "step"`: the loss of a method and its gradient, compiled as one."""

from collections.abc import Sequence
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
        options = {"custom_partitioner_fn": _partitioner()}
        loss = torch.compile(method.loss, dynamic=False, options=options)
    else:
        loss = torch.compile(method.loss, dynamic=False, backend="aot_eager_default_partitioner")
    return loss


def _partitioner() -> Any:
    """Divides a graph into loss and gradient so that nothing of the loss is computed twice.

    The compiler's own partitioner saves memory by computing again for the gradient what the loss
    has computed. It takes no notice that the loss may have written to a buffer which that was read
    from: PRODEN's gradient then comes from the new confidence instead of the old one (torch 2.14;
    see pytorch/pytorch pull request 197039).
    """
    from torch._functorch.partitioners import default_partition
    from torch._inductor.custom_graph_pass import CustomPartitionerFn

    class SaveAll(CustomPartitionerFn):
        def __call__(
            self, gm: torch.fx.GraphModule, joint_inputs: Sequence[object], **settings: Any
        ) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
            settings.pop("compiler", None)
            return default_partition(gm, joint_inputs, **settings)

        def uuid(self) -> str:
            return "pllbench: save all"

    return SaveAll()
