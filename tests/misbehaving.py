"""Methods of a throw-away plug-in: a plain one, and some that go wrong on purpose.

`plugins.installed` copies this file. A method goes wrong only while a file `broken` lies beside the
copy, so a test mends all of them by removing it.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook

from pllbench.method import Batch, Hparams, Method, Problem, Step
from pllbench.training import evaluation


class Steady(Method[Hparams]):
    """Maximises the probability of the candidate set."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()

    def loss(self, batch: Batch) -> Step:
        log_probs = self.network(batch.x[0])[0].log_softmax(1)  # [B, C]
        inside = log_probs.masked_fill(~batch.candidates, -torch.inf)
        return Step(-inside.logsumexp(1).mean(), pseudo=inside.argmax(1))

    def predict(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.network(x)[0]
        return scores


class Misbehaving(Steady):
    """Goes wrong in the first step of epoch 2."""

    def loss(self, batch: Batch) -> Step:
        if self.epoch == 2 and Path(__file__).with_name("broken").exists():
            self.go_wrong()
        return super().loss(batch)

    def go_wrong(self) -> None:
        raise NotImplementedError


class Raising(Misbehaving):
    def go_wrong(self) -> None:
        raise RuntimeError("a line,\nand [another] one")


class OutOfMemory(Misbehaving):
    def go_wrong(self) -> None:
        raise MemoryError


class Interrupting(Misbehaving):
    def go_wrong(self) -> None:
        raise KeyboardInterrupt


class EndOfFile(Misbehaving):
    def go_wrong(self) -> None:
        raise EOFError("a cache of the method was cut off")


class Exiting(Misbehaving):
    def go_wrong(self) -> None:
        sys.exit(3)


class Killed(Misbehaving):
    def go_wrong(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Hanging(Misbehaving):
    def go_wrong(self) -> None:
        time.sleep(60)


class BreakingGPU(Misbehaving):
    """Stands for an assertion in a kernel: from then on the process can use its GPU no more."""

    def go_wrong(self) -> None:
        def synchronize(device: object = None) -> None:
            raise RuntimeError("CUDA error: device-side assert triggered")

        torch.cuda.is_initialized = lambda: True
        torch.cuda.synchronize = synchronize
        synchronize()


class OutOfBounds(Misbehaving):
    """An index that is too large: on a GPU, an assertion in a kernel."""

    def go_wrong(self) -> None:
        weight = self.network.classifier.weight
        weight[torch.tensor([10**6], device=weight.device)].sum().item()


class Forking(Misbehaving):
    """Its child would train on beside it."""

    def go_wrong(self) -> None:
        os.fork()


class Starting(Misbehaving):
    """Starts a process, and ends or waits long after that."""

    def go_wrong(self) -> None:
        leave_pid(subprocess.Popen(["sleep", "600"]).pid)
        self.go_on()

    def go_on(self) -> None:
        time.sleep(60)


LEAVING = """
import subprocess
print(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL).pid)
"""
"""A process that starts another one, says which, and ends."""


class StartingApart(Starting):
    """What it starts leaves the worker's group, and its own parent ends."""

    def go_wrong(self) -> None:
        starter = [sys.executable, "-c", LEAVING]
        output = subprocess.run(starter, check=True, start_new_session=True, stdout=subprocess.PIPE)
        leave_pid(int(output.stdout))
        leave_pid(subprocess.Popen(["sleep", "600"], start_new_session=True).pid)
        self.go_on()


class StartingApartAndExiting(StartingApart):
    def go_on(self) -> None:
        sys.exit(3)


class StartingAndExiting(Starting):
    def go_on(self) -> None:
        sys.exit(3)


class StartingAndGoingOn(Starting):
    """Ends its epochs slowly from then on."""

    def go_on(self) -> None:
        self.slow = True

    def on_epoch_start(self, train: object) -> None:
        time.sleep(0.5 if hasattr(self, "slow") else 0.0)


def leave_pid(pid: int) -> None:
    """Note a child's process beside this file."""
    with Path(__file__).with_name("pids").open("a") as file:
        file.write(f"{pid}\n")


class Diverging(Steady):
    """Its loss is NaN in the second step of epoch 1."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        self.steps: Iterator[int] = count()

    def on_epoch_start(self, train: object) -> None:
        self.steps = count()

    def loss(self, batch: Batch) -> Step:
        step = super().loss(batch)
        wrong = self.epoch == 1 and Path(__file__).with_name("broken").exists()
        if next(self.steps) == 1 and wrong:
            return Step(step.loss * torch.nan)
        return step


class OneRow(Steady):
    """Predicts the first row only."""

    def predict(self, x: torch.Tensor) -> torch.Tensor:
        scores = super().predict(x)
        return scores[:1] if Path(__file__).with_name("broken").exists() else scores


class Slow(Steady):
    """Takes a tenth of a second an epoch."""

    def on_epoch_start(self, train: object) -> None:
        time.sleep(0.1)


class Leaving(Steady):
    """Changes its process when its last epoch is evaluated, and leaves it so."""

    def extra_predictions(self, x: torch.Tensor) -> Mapping[str, torch.Tensor]:
        if self.epoch == self.epochs - 1:
            self.leave()
        return {}

    def leave(self) -> None:
        raise NotImplementedError


class LeavesDtype(Leaving):
    def leave(self) -> None:
        torch.set_default_dtype(torch.float64)


class LeavesDevice(Leaving):
    def leave(self) -> None:
        torch.set_default_device("meta")


class LeavesGradMode(Steady):
    """Its own run fails: its loss has no gradient."""

    def __init__(self, problem: Problem, hparams: Hparams) -> None:
        super().__init__(problem, hparams)
        torch.set_grad_enabled(False)


class LeavesHook(Leaving):
    """Every network gives zeros."""

    def leave(self) -> None:
        def zeros(module: object, inputs: object, output: Any) -> Any:
            return torch.zeros_like(output) if isinstance(output, torch.Tensor) else None

        register_module_forward_hook(zeros)


class LeavesPatch(Leaving):
    """Every prediction is right."""

    def leave(self) -> None:
        evaluation.accuracy = lambda scores, y: 1.0


class LeavesDirectory(Leaving):
    def leave(self) -> None:
        os.chdir("/")


class Wandering(Steady):
    def on_epoch_start(self, train: object) -> None:
        os.chdir("/")


class LeavesEnvironment(Leaving):
    def leave(self) -> None:
        os.environ["MISBEHAVING"] = "yes"


class WritesToRows(Steady):
    """Predicts in place."""

    def predict(self, x: torch.Tensor) -> torch.Tensor:
        return super().predict(x.mul_(0))
