"""What all runs of a process share: captured before a run, compared and put back after it.

A method that sets torch's default dtype, registers a global hook or patches a function changes the
numbers of whatever runs next in its process, unless what it left is found.
"""

import inspect
import math
import os
import sys
from collections.abc import Container, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, Self

import numpy as np
import torch
import torch.nn.modules.module as torch_module
import torch.optim.optimizer as torch_optimizer

from pllbench.registry import method_entries
from pllbench.surroundings import Surroundings
from pllbench.training.process_settings import SETTINGS

_LIBRARIES: tuple[ModuleType, ...] = (
    *(torch, torch.nn, torch.nn.functional, torch.nn.init, torch.optim),
    *(torch_module, torch_optimizer, torch.autograd, torch.linalg, torch.special),
    *(np, np.linalg, np.random, math),
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
        settings: values by the names of `SETTINGS`.
        surroundings: working directory and environment.
        tables: torch's global hooks, and dictionaries of modules of the suite and the methods: each
            by its name, with its entries.
        attributes: what modules and classes of torch, NumPy, the suite and the methods hold: each
            by its name, with its attributes.
    """

    settings: dict[str, Any]
    surroundings: Surroundings
    tables: dict[str, tuple[MutableMapping[Any, Any], dict[Any, Any]]]
    attributes: dict[str, tuple[object, _Attributes]]

    @classmethod
    def capture(cls) -> Self:
        """The state of now."""
        return cls(
            {name: read() for name, (read, _) in SETTINGS.items()},
            Surroundings.capture(),
            {name: (table, dict(table)) for name, table in _tables()},
            {name: (owner, dict(vars(owner))) for name, owner in _owners()},
        )

    def restore(self) -> list[str]:
        """Put back what has changed since; gives its names. What is new in a module stays."""
        return [
            *self._restore_settings(),
            *self.surroundings.restore(),
            *self._restore_tables(),
            *self._restore_attributes(),
        ]

    def _restore_settings(self) -> Iterator[str]:
        for name, before in self.settings.items():
            read, write = SETTINGS[name]
            if read() != before:
                write(before)
                yield name

    def _restore_tables(self) -> Iterator[str]:
        for name, (table, before) in self.tables.items():
            keys = dict.fromkeys((*before, *table))
            changed = [key for key in keys if table.get(key) is not before.get(key)]
            if changed:
                table.clear()
                table.update(before)
            yield from (f"{name}: {key}" for key in changed)

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


def _tables() -> Iterator[tuple[str, MutableMapping[Any, Any]]]:
    """Dictionaries whose entries are compared."""
    for module in (torch_module, torch_optimizer):
        for name, value in vars(module).items():
            if name.startswith("_global_") and isinstance(value, MutableMapping):
                yield f"hooks of torch ({name.removeprefix('_global_')})", value
    for module in _own_modules(_packages()):
        for name, value in vars(module).items():
            if isinstance(value, dict) and not name.startswith("__"):
                yield f"{module.__name__}.{name}", value


def _packages() -> set[str]:
    """Names of the suite's package, and of those of the methods."""
    entries = method_entries().values()
    return {__name__.partition(".")[0], *(entry.module.partition(".")[0] for entry in entries)}


def _own_modules(packages: Container[str]) -> list[ModuleType]:
    """Imported modules of these packages."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in packages and isinstance(module, ModuleType)
    ]


def _owners() -> Iterator[tuple[str, object]]:
    """Modules and classes whose attributes are compared."""
    packages = _packages()
    yield "torch.Tensor", torch.Tensor
    for module in (*_LIBRARIES, *_own_modules(packages)):
        yield module.__name__, module
        for value in list(vars(module).values()):
            if inspect.isclass(value) and (
                value.__module__.startswith(("torch.nn", "torch.optim"))
                or value.__module__.partition(".")[0] in packages
            ):
                yield f"{value.__module__}.{value.__qualname__}", value
