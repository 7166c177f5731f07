"""The optimizer of every run: SGD with momentum and weight decay.

torch has one, and a library's is to be preferred. But on small networks the bookkeeping around it
takes as long as the arithmetic of a step, and making one imports torch's compiler, over a second a
process. The numbers here are those of `torch.optim.SGD` at its defaults, bit for bit
(`tests/training/test_sgd.py`), and the state that it wrote into older checkpoints is read.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from pllbench.method import ParamGroup


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
        parameters: Iterable[nn.Parameter | ParamGroup],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        """Parameters may come in groups, each with its own factors on `lr` and `weight_decay`."""
        self.lr = lr
        self.momentum = momentum
        self.weight_decay = weight_decay
        given = list(parameters)
        plain = tuple(part for part in given if not isinstance(part, ParamGroup))
        self._groups = [part for part in given if isinstance(part, ParamGroup)]
        self._groups += [ParamGroup(plain)] if plain else []
        self._parameters: list[Tensor] = [p for group in self._groups for p in group.params]
        self._velocity: dict[int, Tensor] = {}  # by id: a tensor's own hash is slow

    def zero_grad(self) -> None:
        """Set all gradients to None, which frees their memory."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        for group in self._groups:
            moved: list[Tensor] = [p for p in group.params if p.grad is not None]
            if not moved:
                continue
            changes = [p.grad for p in moved if p.grad is not None]
            if decay := self.weight_decay * group.weight_decay_factor:
                changes = list(torch._foreach_add(changes, moved, alpha=decay))
            if self.momentum:
                changes = self._accelerate(moved, changes)
            torch._foreach_add_(moved, changes, alpha=-self.lr * group.lr_factor)

    def _accelerate(self, moved: list[Tensor], changes: list[Tensor]) -> list[Tensor]:
        """The v of the parameters `moved`, after their changes have gone into it."""
        velocity = [self._velocity.get(id(p)) for p in moved]
        old = [v for v in velocity if v is not None]
        if len(old) == len(moved):  # all steps but the first ones
            torch._foreach_mul_(old, self.momentum)
            torch._foreach_add_(old, changes)
            return old
        if old:
            torch._foreach_mul_(old, self.momentum)
            pairs = zip(velocity, changes, strict=True)
            torch._foreach_add_(old, [change for v, change in pairs if v is not None])
        new = [c.clone() if v is None else v for v, c in zip(velocity, changes, strict=True)]
        self._velocity.update(zip(map(id, moved), new, strict=True))
        return new

    def state_dict(self) -> dict[str, Any]:
        """The v of every parameter that has one, by place, laid out as torch's optimizers do.

        Learning rate, momentum and weight decay are settings of the run, so they are not in it.
        """
        places = range(len(self._parameters))
        state = {
            place: {"momentum_buffer": self._velocity[id(p)]}
            for place, p in enumerate(self._parameters)
            if id(p) in self._velocity
        }
        sizes = [len(group.params) for group in self._groups]
        ends = itertools.accumulate(sizes)
        groups = [
            {"params": list(places[end - size : end])}
            for end, size in zip(ends, sizes, strict=True)
        ]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take a copy of what `state_dict` gave, or that of `torch.optim.SGD` with these groups.

        Raises:
            ValueError: it is of another number of parameters.
        """
        stored = [len(group["params"]) for group in state["param_groups"]]
        if stored != [len(group.params) for group in self._groups]:
            raise ValueError(
                f"optimizer state of {sum(stored)} parameters, there are {len(self._parameters)}"
            )
        parameters = self._parameters
        self._velocity = {
            id(parameters[place]): entry["momentum_buffer"].to(parameters[place], copy=True)
            for place, entry in state["state"].items()
            if entry["momentum_buffer"] is not None
        }
