"""Schedules of hyperparameters, as functions of the reference epoch."""


def ramp(epoch: float, length: float) -> float:
    """Linear rise from 0 at epoch 0 to 1 at `length`, constant thereafter."""
    return min(epoch / length, 1.0)
