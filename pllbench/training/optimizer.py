"""The optimizer of a run: SGD with the train settings, over all parameters of a method."""

from typing import Any

import torch

from pllbench.method import Method
from pllbench.spec import TrainSpec


def make_optimizer(method: Method[Any], spec: TrainSpec) -> torch.optim.SGD:
    """The optimizer of all of a method's parameters, without any momentum yet."""
    return torch.optim.SGD(
        method.parameters(), lr=spec.lr, momentum=spec.momentum, weight_decay=spec.weight_decay
    )


def set_learning_rate(optimizer: torch.optim.SGD, lr: float) -> None:
    """Set the learning rate of the next steps."""
    for group in optimizer.param_groups:
        group["lr"] = lr
