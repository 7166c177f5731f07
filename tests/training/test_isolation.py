"""Process-wide state: what a method changes is found and put back, and nothing else is named."""

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody knows it by
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import BaseTorchFunctionMode
from torch.utils._python_dispatch import BaseTorchDispatchMode

from pllbench.method import Network
from pllbench.spec import VIEW_OPTIONS
from pllbench.training import evaluation
from pllbench.training.isolation import ProcessState


def nothing(*arguments: Any) -> None:
    pass


SETTINGS: dict[str, Callable[[], object]] = {
    "the default dtype": lambda: torch.set_default_dtype(torch.float64),
    "the default device": lambda: torch.set_default_device("meta"),
    "the grad mode": lambda: torch.set_grad_enabled(False),
    "anomaly detection": lambda: torch.autograd.set_detect_anomaly(True),
    "autocast": lambda: torch.set_autocast_enabled("cpu", True),
    "the number of threads": lambda: torch.set_num_threads(2),
    "deterministic algorithms": lambda: torch.use_deterministic_algorithms(True, warn_only=True),
    "the flags of cudnn": lambda: setattr(torch.backends.cudnn, "allow_tf32", False),
    "the flags of cuBLAS": lambda: setattr(
        torch.backends.cuda.matmul, "allow_bf16_reduced_precision_reduction", False
    ),
    "the use of oneDNN": lambda: torch.backends.mkldnn.set_flags(_enabled=False),
    "the flush of denormal numbers": lambda: torch.set_flush_denormal(True),
    "an open mode of functions": lambda: BaseTorchFunctionMode().__enter__(),
    "an open mode of dispatch": lambda: BaseTorchDispatchMode().__enter__(),
    "open hooks of saved tensors": lambda: saved_tensors_hooks(
        torch.clone, torch.clone
    ).__enter__(),
    "warnings that are errors": lambda: warnings.simplefilter("error", UserWarning),
    "the precision of matrix products": lambda: torch.set_float32_matmul_precision("medium"),
    "the alarm": lambda: signal.alarm(1000),
    "NumPy's answer to errors": lambda: np.seterr(over="raise"),
    "the working directory": lambda: os.chdir("/"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_found_and_put_back(name: str) -> None:
    state = ProcessState.capture()
    SETTINGS[name]()
    assert state.restore() == [name]
    assert ProcessState.capture().settings == state.settings
    assert torch.ones(2).dtype == torch.float32
    assert torch.ones(2).device.type == "cpu"


@pytest.mark.parametrize(
    ("register", "name"),
    [
        (register_module_forward_hook, "forward_hooks"),
        (register_module_forward_pre_hook, "forward_pre_hooks"),
        (register_optimizer_step_pre_hook, "optimizer_pre_hooks"),
    ],
)
def test_a_global_hook_is_found_and_removed(register: Callable[[object], Any], name: str) -> None:
    state = ProcessState.capture()
    handle = register(nothing)
    assert state.restore() == [f"hooks of torch ({name}): {handle.id}"]
    assert state.restore() == []


def test_a_removed_hook_comes_back() -> None:
    handle = register_module_forward_hook(nothing)
    state = ProcessState.capture()
    handle.remove()
    assert len(state.restore()) == 1
    assert state.restore() == []
    handle.remove()


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOST", "CHANGED"):
        monkeypatch.setenv(name, "before")
    state = ProcessState.capture()
    del os.environ["LOST"]
    os.environ |= {"CHANGED": "after", "NEW": "after"}
    names = ["NEW", "CHANGED", "LOST"]
    assert sorted(state.restore()) == sorted(f"the environment: {name}" for name in names)
    assert (os.environ["LOST"], os.environ["CHANGED"]) == ("before", "before")
    assert "NEW" not in os.environ


@pytest.mark.parametrize(
    ("owner", "attribute", "name"),
    [
        (torch, "exp", "torch.exp"),
        (F, "log_softmax", "torch.nn.functional.log_softmax"),
        (nn.init, "kaiming_uniform_", "torch.nn.init.kaiming_uniform_"),
        (nn.Linear, "forward", "torch.nn.modules.linear.Linear.forward"),
        (nn.Linear, "__call__", "torch.nn.modules.linear.Linear.__call__"),  # inherited
        (torch.Tensor, "argmax", "torch.Tensor.argmax"),  # inherited
        (torch.optim.SGD, "step", "torch.optim.sgd.SGD.step"),
        (torch.linalg, "norm", "torch.linalg.norm"),
        (np, "argmax", "numpy.argmax"),
        (np.random, "default_rng", "numpy.random.default_rng"),
        (evaluation, "accuracy", "pllbench.training.evaluation.accuracy"),
        (Network, "forward", "pllbench.method.Network.forward"),
    ],
)
def test_a_patch_is_found_and_undone(owner: object, attribute: str, name: str) -> None:
    before = getattr(owner, attribute)
    state = ProcessState.capture()
    setattr(owner, attribute, nothing)
    assert state.restore() == [name]
    assert getattr(owner, attribute) == before
    assert state.restore() == []


def test_an_entry_of_a_table_of_the_suite_is_found_and_put_back() -> None:
    before, state = dict(VIEW_OPTIONS), ProcessState.capture()
    VIEW_OPTIONS["tabular"] = ()
    del VIEW_OPTIONS["text"]
    changed = [f"pllbench.spec.VIEW_OPTIONS: {kind}" for kind in ("text", "tabular")]
    assert state.restore() == changed
    assert before == VIEW_OPTIONS
    assert state.restore() == []


def test_another_function_of_torch_in_its_place_is_a_patch() -> None:
    state, before = ProcessState.capture(), F.relu
    F.relu = F.elu  # type: ignore[assignment]
    assert state.restore() == ["torch.nn.functional.relu"]
    assert F.relu is before


def test_what_torch_does_to_itself_is_no_change() -> None:
    """A process of its own: its first optimizer, the first use of the compiler, an import."""
    script = """
import copy
import torch
from pllbench.training.isolation import ProcessState
state = ProcessState.capture()
torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1).step()
import torch._dynamo
import sklearn.datasets, torchvision.transforms
model = torch.nn.Linear(2, 2)
model.compile(backend="eager")
model(torch.ones(3, 2))
copy.deepcopy(torch.ones(2)), torch.nn.Linear.__annotations__, torch.Tensor.__annotations__
changed = state.restore()
assert changed == [], changed
"""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script], cwd=root, check=True, timeout=300)
