"""How torch.compile divides a step for `train.compile = "step"`.

A module of its own, since it imports the compiler, and of the module's level, since the compiler's
cache on disk takes the name of the class for a part of its key.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch._functorch.partitioners import default_partition
from torch._inductor.custom_graph_pass import CustomPartitionerFn


class SaveAll(CustomPartitionerFn):
    """Divides a graph into loss and gradient so that nothing of the loss is computed twice.

    The compiler's own partitioner saves memory by computing again for the gradient what the loss
    has computed. It takes no notice that the loss may have written to a buffer which that was read
    from: PRODEN's gradient then comes from the new confidence instead of the old one (torch 2.14;
    see pytorch/pytorch pull request 197039).
    """

    def __call__(
        self, gm: torch.fx.GraphModule, joint_inputs: Sequence[object], **settings: Any
    ) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
        """The two halves of `gm`."""
        settings.pop("compiler", None)
        return default_partition(gm, joint_inputs, **settings)

    def uuid(self) -> str:
        """What the compiler's cache knows it by."""
        return "pllbench: save all"
