"""The optimizer of a run, SGD over the parameter groups of a method, and its schedule."""

import math
from typing import Any

from pllbench.method import Method
from pllbench.spec import TrainSpec
from pllbench.training.sgd import SGD


def learning_rate(spec: TrainSpec, epoch: int) -> float:
    """Learning rate of an epoch (0-based) under the schedule of `spec`."""
    share = epoch / spec.epochs
    if spec.schedule == "cosine":
        lowest = spec.lr * 1e-3
        return lowest + (spec.lr - lowest) * (1 + math.cos(math.pi * share)) / 2
    # A milestone is met at the exact epoch although 0.605 * 200 is no exact float.
    passed = sum(share >= milestone - 1e-9 for milestone in spec.milestones)
    return float(spec.lr / 10**passed)


def make_optimizer(method: Method[Any], spec: TrainSpec) -> SGD:
    """The optimizer of a method's parameter groups, without any momentum yet.

    Raises:
        ValueError: a parameter that needs a gradient is in no group, or one is in two.
    """
    groups = method.param_groups()
    grouped = {id(parameter) for group in groups for parameter in group.params}
    for name, parameter in method.named_parameters():
        if parameter.requires_grad and id(parameter) not in grouped:
            raise ValueError(f"param_groups leaves out {name}, which would never be trained")
    if len(grouped) < sum(len(group.params) for group in groups):
        raise ValueError("a parameter is in more than one parameter group")
    return SGD(groups, spec.lr, spec.momentum, spec.weight_decay)
