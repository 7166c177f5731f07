"""What all runs of a process share: captured before a run, compared and put back after it.

A method that sets torch's default dtype, registers a global hook or patches a function changes the
numbers of whatever runs next in its process, unless what it left is found.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np
import torch
import torch.nn.modules.module as torch_module
import torch.optim.optimizer as torch_optimizer
from torch.backends import cudnn

from pllbench.registry import method_entries


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a string, as os.chdir takes it
    except FileNotFoundError:
        return None


def _change_directory(path: str | None) -> None:
    if path is not None:
        os.chdir(path)


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


_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "the default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "the default device": (torch.get_default_device, _set_default_device),
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
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    "NumPy's answer to errors": (np.geterr, lambda answers: np.seterr(**answers)),
    "the working directory": (_working_directory, _change_directory),
}
"""Name, how to read it, how to set it."""

_OF_LIBRARIES = ("CUDA_MODULE_LOADING", "KMP_", "TORCHINDUCTOR_", "TRITON_", "_TORCHINDUCTOR_")
"""Begins of environment variables that torch and scikit-learn set when they are first used."""

_LIBRARIES: tuple[ModuleType, ...] = (
    *(torch, torch.nn, torch.nn.functional, torch.nn.init, torch.optim),
    *(torch_module, torch_optimizer, np),
)

_TORCH = str(Path(torch.__file__).parent)
_COMPILER = str(Path(torch.__file__).parent / "_dynamo")

_OF_COMPILER = ("___needs_generation_tag_patch",)
"""Attributes without code that torch's compiler gives to classes."""

_Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProcessState:
    """Process-wide state at one moment.

    Attributes:
        settings: values by the names of `_SETTINGS`.
        tables: the environment, and torch's global hooks: each by its name, with its entries.
        attributes: what modules and classes of torch, NumPy, the suite and the methods hold: each
            by its name, with its attributes.
    """

    settings: dict[str, Any]
    tables: dict[str, tuple[MutableMapping[Any, Any], dict[Any, Any]]]
    attributes: dict[str, tuple[object, _Attributes]]

    @classmethod
    def capture(cls) -> Self:
        """The state of now."""
        return cls(
            {name: read() for name, (read, _) in _SETTINGS.items()},
            {name: (table, dict(table)) for name, table in _tables()},
            {name: (owner, dict(vars(owner))) for name, owner in _owners()},
        )

    def restore(self) -> list[str]:
        """Put back what has changed since; gives its names. What is new in a module stays."""
        return [*self._restore_settings(), *self._restore_tables(), *self._restore_attributes()]

    def _restore_settings(self) -> Iterator[str]:
        for name, before in self.settings.items():
            read, write = _SETTINGS[name]
            if read() != before:
                with suppress(OSError):  # a working directory that was removed
                    write(before)
                yield name

    def _restore_tables(self) -> Iterator[str]:
        for name, (table, before) in self.tables.items():
            now = dict(table)
            for key in [key for key in now if key not in before]:
                if not str(key).startswith(_OF_LIBRARIES):
                    del table[key]
                    yield f"{name}: {key}"
            for key, value in before.items():
                if key not in now or now[key] != value:
                    table[key] = value
                    yield f"{name}: {key}"

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
            for name in now.keys() - before.keys():  # it may hide that of a base class
                # Python stores annotations when they are asked for.
                if not name.startswith("__annot") and not _by_torch(name, now[name]):
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


def _tables() -> Iterator[tuple[str, MutableMapping[Any, Any]]]:
    yield "the environment", os.environ
    for module in (torch_module, torch_optimizer):
        for name, value in vars(module).items():
            if name.startswith("_global_") and isinstance(value, MutableMapping):
                yield f"hooks of torch ({name.removeprefix('_global_')})", value


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
