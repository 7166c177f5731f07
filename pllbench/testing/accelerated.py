"""The checks of what `train.compile = "step"` and `train.graph = true` ask of a method."""

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from pllbench.method import Batch
from pllbench.testing.support import (
    EPOCHS,
    AnyMethod,
    CheckFailed,
    require,
    toy_spec,
    toy_task,
    walk,
)
from pllbench.training.compiling import compiled_loss
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench.training.trainer import build_method


def compiled(cls: AnyMethod) -> None:
    """A compiled loss and its gradient train as the method itself does, up to rounding.

    Where the compiler cannot follow, it leaves the work to Python, and that is right as well. No
    machine code is made: that would take a minute.
    """
    losses, states = [], []
    for compiling in (False, True):
        torch.manual_seed(0)
        task = toy_task(48, cls.labels)
        method = build_method(toy_spec(cls), cls, task)
        loss = compiled_loss(method, machine_code=False) if compiling else method.loss
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compiler's, of what it leaves to Python
            steps = [
                s for epoch in (0, EPOCHS - 1) for _, s in walk(method, task, epoch, loss=loss)
            ]
        losses.append(torch.stack([step.loss.detach() for step in steps]))
        states.append({**dict(method.named_parameters()), **dict(method.named_buffers())})
    close = torch.allclose(losses[1], losses[0], 1e-4, 1e-4)
    require(close, "its losses differ when they are compiled")
    for name, value in states[0].items():
        close = torch.allclose(states[1][name].double(), value.double(), 1e-3, 1e-3)
        require(close, f"{name} differs when its loss is compiled")


class _Samplers(TorchDispatchMode):
    """Gives shapes for the samplers that torch has not written for the meta device."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Tensor:
        aten = torch.ops.aten
        if func in (aten._sample_dirichlet.default, aten._standard_gamma_grad.default):
            return torch.empty_like(args[0])
        result: Tensor = func(*args, **(kwargs or {}))
        return result


def asks_nothing_of_the_cpu(cls: AnyMethod) -> None:
    """A step asks for no value, and draws no number on the CPU.

    It is taken on the meta device, where nothing has a value, so that asking for one raises. On a
    GPU it would wait for all that the device has still to do, and no graph could capture it. A
    graph would also repeat what the CPU drew. Nothing is said of a step with an operation that
    torch does not have on the meta device.
    """
    task = toy_task(48, cls.labels)
    method = build_method(toy_spec(cls), cls, task).to("meta")
    optimizer = SGD(method.parameters(), 0.1)
    rows = [tensor[:16].to("meta") for tensor in (task.x, task.y, task.candidates)]
    batch = Batch((rows[0],) * len(method.views), rows[1], rows[2])
    for epoch in (0, EPOCHS - 1):
        method.epoch = epoch
        before = torch.get_rng_state()
        try:
            with _Samplers():  # type: ignore[no-untyped-call]
                take_step(method, batch, optimizer)
        except (RuntimeError, NotImplementedError) as error:
            if "Meta kernel" not in str(error):  # an operation that torch has not written for it
                reason = str(error).partition("\n")[0]
                raise CheckFailed(
                    f"where no tensor has a value, its step fails: {reason}"
                ) from error
        drawn = not torch.equal(torch.get_rng_state(), before)
        require(not drawn, "its step draws random numbers on the CPU, not on the device")
