"""What all runs of a process share: captured before a run, compared and put back after it.

A method that sets torch's default dtype, registers a global hook or patches a function changes the
numbers of whatever runs next in its process, unless what it left is found.
"""

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, Self

import numpy as np
import torch
import torch.nn.modules.module as torch_module
import torch.optim.optimizer as torch_optimizer
from torch.backends import cudnn

from pllbench.registry import method_entries
from pllbench.surroundings import Surroundings


def _default_device() -> torch.device:
    return torch.empty(0).device  # torch 2.9's own getter fails after a reset to none


def _set_default_device(device: torch.device) -> None:
    torch.set_default_device(None if device.type == "cpu" else device)


def _gpu() -> int:
    return torch.cuda.current_device() if torch.cuda.is_initialized() else 0


def _autocast() -> tuple[bool, bool]:
    return torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")


def _set_autocast(enabled: tuple[bool, bool]) -> None:
    for device, value in zip(("cpu", "cuda"), enabled, strict=True):
        torch.set_autocast_enabled(device, value)


def _cudnn() -> dict[str, bool]:
    return {name: getattr(cudnn, name) for name in ("enabled", "benchmark", "deterministic")}


def _set_cudnn(flags: dict[str, bool]) -> None:
    for name, value in flags.items():
        setattr(cudnn, name, value)


def _matmul_precision() -> str:
    with warnings.catch_warnings():  # torch 2.9 deprecates the setting that this function reads
        warnings.simplefilter("ignore", UserWarning)
        return torch.get_float32_matmul_precision()


_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "the default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "the default device": (_default_device, _set_default_device),
    "the current GPU": (_gpu, torch.cuda.set_device),
    "the grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "anomaly detection": (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    "autocast": (_autocast, _set_autocast),
    "the number of threads": (torch.get_num_threads, torch.set_num_threads),
    "deterministic algorithms": (
        torch.get_deterministic_debug_mode,
        torch.set_deterministic_debug_mode,
    ),
    "the flags of cudnn": (_cudnn, _set_cudnn),
    "the precision of matrix products": (
        _matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    "NumPy's answer to errors": (np.geterr, lambda answers: np.seterr(**answers)),
}
"""Name, how to read it, how to set it."""

_LIBRARIES: tuple[ModuleType, ...] = (
    *(torch, torch.nn, torch.nn.functional, torch.nn.init, torch.optim),
    *(torch_module, torch_optimizer, np),
)

_TORCH = str(Path(torch.__file__).parent)
_COMPILER = str(Path(torch.__file__).parent / "_dynamo")


@contextmanager
def forks_refused() -> Iterator[None]:
    """Within it, `os.fork` raises: a copy of a process that trains would go on and train, too.

    Other programs can be started: `subprocess` does not use it.
    """

    def refuse() -> NoReturn:
        raise RuntimeError("a method must not fork its process: the copy would train as well")

    fork, os.fork = os.fork, refuse
    try:
        yield
    finally:
        os.fork = fork


_OF_COMPILER = ("___needs_generation_tag_patch",)
"""Attributes without code that torch's compiler gives to classes."""

_OF_PYTHON = ("__annot", "__slotnames__")
"""Begins of names that Python gives to classes whose annotations or instances' states are read."""

_Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProcessState:
    """Process-wide state at one moment.

    Attributes:
        settings: values by the names of `_SETTINGS`.
        surroundings: working directory and environment.
        hooks: torch's global ones: each table by its name, with its entries.
        attributes: what modules and classes of torch, NumPy, the suite and the methods hold: each
            by its name, with its attributes.
    """

    settings: dict[str, Any]
    surroundings: Surroundings
    hooks: dict[str, tuple[MutableMapping[int, Any], dict[int, Any]]]
    attributes: dict[str, tuple[object, _Attributes]]

    @classmethod
    def capture(cls) -> Self:
        """The state of now."""
        return cls(
            {name: read() for name, (read, _) in _SETTINGS.items()},
            Surroundings.capture(),
            {name: (table, dict(table)) for name, table in _hooks()},
            {name: (owner, dict(vars(owner))) for name, owner in _owners()},
        )

    def restore(self) -> list[str]:
        """Put back what has changed since; gives its names. What is new in a module stays."""
        return [
            *self._restore_settings(),
            *self.surroundings.restore(),
            *self._restore_hooks(),
            *self._restore_attributes(),
        ]

    def _restore_settings(self) -> Iterator[str]:
        for name, before in self.settings.items():
            read, write = _SETTINGS[name]
            if read() != before:
                write(before)
                yield name

    def _restore_hooks(self) -> Iterator[str]:
        for name, (table, before) in self.hooks.items():
            changed = sorted(key for key in {*table, *before} if table.get(key) != before.get(key))
            if changed:
                table.clear()
                table.update(before)
            yield from (f"hooks of torch ({name}): {key}" for key in changed)

    def _restore_attributes(self) -> Iterator[str]:
        for owner_name, (owner, before) in self.attributes.items():
            now = dict(vars(owner))
            for name, value in before.items():
                kept = name in now and (now[name] is value or _by_torch(name, now[name], value))
                if not kept:
                    setattr(owner, name, value)
                    yield f"{owner_name}.{name}"
            if not isinstance(owner, type):
                continue
            for name in sorted(now.keys() - before.keys()):  # it may hide that of a base class
                if not name.startswith(_OF_PYTHON) and not _by_torch(name, now[name]):
                    delattr(owner, name)
                    yield f"{owner_name}.{name}"


def _by_torch(name: str, value: Any, original: Any = None) -> bool:
    """Whether torch itself has put `value` in the place of `original`, if there was one.

    It wraps `SGD.step` when an SGD is made, and its compiler wraps several when it is imported.
    """
    code = getattr(value, "__code__", None)
    if code is None:
        return name in _OF_COMPILER
    wrapped = getattr(value, "__wrapped__", None)
    in_torch: bool = code.co_filename.startswith(_COMPILER if wrapped is None else _TORCH)
    return in_torch and (original is None or wrapped in (None, original))


def _hooks() -> Iterator[tuple[str, MutableMapping[int, Any]]]:
    for module in (torch_module, torch_optimizer):
        for name, value in vars(module).items():
            if name.startswith("_global_") and isinstance(value, MutableMapping):
                yield name.removeprefix("_global_"), value


def _owners() -> Iterator[tuple[str, object]]:
    """Modules and classes whose attributes are compared."""
    entries = method_entries().values()
    packages = {__name__.partition(".")[0], *(entry.module.partition(".")[0] for entry in entries)}
    ours = [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in packages and isinstance(module, ModuleType)
    ]
    yield "torch.Tensor", torch.Tensor
    for module in (*_LIBRARIES, *ours):
        yield module.__name__, module
        for value in list(vars(module).values()):
            if inspect.isclass(value) and (
                value.__module__.startswith(("torch.nn", "torch.optim"))
                or value.__module__.partition(".")[0] in packages
            ):
                yield f"{value.__module__}.{value.__qualname__}", value
