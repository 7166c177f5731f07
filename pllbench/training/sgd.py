"""The optimizer of every run: SGD with momentum and weight decay.

torch has one, and a library's is to be preferred. But on small networks the bookkeeping around it
takes as long as the arithmetic of a step, and making one imports torch's compiler, over a second a
process. The numbers here are those of `torch.optim.SGD` at its defaults, bit for bit
(`tests/training/test_sgd.py`), and the state that it wrote into older checkpoints is read.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn


class SGD:
    """v = momentum * v + gradient + weight_decay * p, then p = p - lr * v, for every parameter p.

    A parameter without a gradient is passed over, and so is its v. The first v is the first
    gradient.

    Attributes:
        lr: learning rate; may be set before any step.
        momentum: share of v that a step keeps; at 0 there is no v.
        weight_decay: share of a parameter that is added to its gradient.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        self.lr = lr
        self.momentum = momentum
        self.weight_decay = weight_decay
        self._parameters: list[Tensor] = list(parameters)
        self._velocity: dict[Tensor, Tensor] = {}

    def zero_grad(self) -> None:
        """Set all gradients to None, which frees their memory."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        moved = [p for p in self._parameters if p.grad is not None]
        if not moved:
            return
        changes = [p.grad for p in moved if p.grad is not None]
        if self.weight_decay:
            changes = list(torch._foreach_add(changes, moved, alpha=self.weight_decay))
        if self.momentum:
            changes = self._accelerate(moved, changes)
        torch._foreach_add_(moved, changes, alpha=-self.lr)

    def _accelerate(self, moved: list[Tensor], changes: list[Tensor]) -> list[Tensor]:
        """The v of the parameters `moved`, after their changes have gone into it."""
        velocity = self._velocity
        pairs = list(zip(moved, changes, strict=True))
        if old := [p for p in moved if p in velocity]:
            torch._foreach_mul_([velocity[p] for p in old], self.momentum)
            torch._foreach_add_(
                [velocity[p] for p in old], [change for p, change in pairs if p in velocity]
            )
        for p, change in pairs:
            if p not in velocity:
                velocity[p] = change.clone()
        return [velocity[p] for p in moved]

    def state_dict(self) -> dict[str, Any]:
        """The v of every parameter that has one, by place, laid out as torch's optimizers do.

        Learning rate, momentum and weight decay are settings of the run, so they are not in it.
        """
        places = range(len(self._parameters))
        state = {
            place: {"momentum_buffer": self._velocity[p]}
            for place, p in enumerate(self._parameters)
            if p in self._velocity
        }
        return {"state": state, "param_groups": [{"params": list(places)}]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take a copy of what `state_dict` gave, or that of `torch.optim.SGD` with one group.

        Raises:
            ValueError: it is of another number of parameters.
        """
        [group] = state["param_groups"]
        if len(group["params"]) != len(self._parameters):
            raise ValueError(
                f"optimizer state of {len(group['params'])} parameters, "
                f"there are {len(self._parameters)}"
            )
        self._velocity = {
            self._parameters[place]: entry["momentum_buffer"].to(self._parameters[place], copy=True)
            for place, entry in state["state"].items()
            if entry["momentum_buffer"] is not None
        }
