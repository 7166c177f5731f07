"""Which checks a method must pass."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

import torch

from pllbench.testing import accelerated, checks, fitted, side_effects
from pllbench.testing.support import AnyMethod, CheckFailed
from pllbench.training.isolation import ProcessState, forks_refused

OF_TRAINED: dict[str, Callable[[AnyMethod], None]] = {
    "declares itself properly": checks.declarations,
    "returns a proper step": checks.steps,
    "learns a toy problem": checks.learning,
    "predicts each row by itself": checks.rowwise_predictions,
    "keeps all state in state_dict": checks.state,
    "resumes bit-exactly from a checkpoint": checks.resuming,
    "is finite at extreme logits": checks.extreme_logits,
    "takes singleton and full candidate sets": checks.set_sizes,
    "takes a last batch of one row": checks.last_batch_of_one,
    "takes a batch larger than the data set": checks.large_batch,
    "runs for a single epoch": checks.single_epoch,
    "trains alike when compiled": accelerated.compiled,
    "asks nothing of the CPU in a step": accelerated.asks_nothing_of_the_cpu,
    "writes to none of its inputs": side_effects.inputs,
    "leaves its process as it was": side_effects.process_state,
    "never sees true labels": checks.labels_unseen,
}
"""The checks of methods that are trained in steps, in the order in which failures are best read."""

OF_FITTED: dict[str, Callable[[AnyMethod], None]] = {
    "declares itself properly": checks.declarations,
    "returns proper pseudo labels": fitted.pseudo_labels,
    "learns a toy problem": checks.learning,
    "predicts each row by itself": fitted.fitted_predictions,
    "keeps all state in state_dict": fitted.fitted_state,
    "repeats a run bit for bit": fitted.repeating,
    "fits the same from batches of any size": fitted.batch_sizes,
    "takes singleton and full candidate sets": checks.set_sizes,
    "takes equal, constant and all-zero rows": fitted.odd_rows,
    "writes to none of its inputs": side_effects.inputs,
    "leaves its process as it was": side_effects.process_state,
    "never sees true labels": checks.labels_unseen,
}
"""The checks of methods without gradient, in the same order."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a method must satisfy.

    Attributes:
        name: completes the sentence "the method ...".
        verify: raises anything where that does not hold.
    """

    name: str
    verify: Callable[[], None]

    def run(self) -> None:
        """Raise AssertionError, with the reason in one sentence, if the check fails.

        torch's global generator, and what else all runs of a process share, are left as they were.
        """
        before = ProcessState.capture()
        try:
            with torch.random.fork_rng(devices=[]), _exits_raise(), forks_refused():
                torch.manual_seed(0)
                self.verify()
        # A method may raise anything, and whatever it is, it fails.
        except (Exception, SystemExit) as error:
            reason = f"{error}"
            if not isinstance(error, CheckFailed):
                reason = f"it raises {type(error).__name__}: {error}"
            raise AssertionError(" ".join(reason.split())) from error
        finally:
            before.restore()

    def __str__(self) -> str:
        return self.name


@contextmanager
def _exits_raise() -> Iterator[None]:
    """Within it, `os._exit` raises SystemExit: it would end this process as if all were well."""

    def raise_exit(status: int) -> NoReturn:
        raise SystemExit(status)

    leave, os._exit = os._exit, raise_exit
    try:
        yield
    finally:
        os._exit = leave


def method_checks(cls: AnyMethod) -> list[Check]:
    """The checks that apply to a method, in the order in which failures are best read."""
    applying = OF_TRAINED if cls.gradient else OF_FITTED
    return [
        Check(name, partial(check, cls))
        for name, check in applying.items()
        if cls.labels != "true" or check is not checks.labels_unseen
    ]
