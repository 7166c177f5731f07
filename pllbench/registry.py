"""Methods by name, from the entry-point group `pllbench.methods`.

The built-in methods are registered exactly as a third party's are. Names come from package
metadata, so listing them imports no method and no torch. A class without an entry point has a name
while it is given: `given_classes`.
"""

import importlib
import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

from pllbench.surroundings import Surroundings
from pllbench.validation import did_you_mean, folded_name, folder_name_problem

if TYPE_CHECKING:
    from pllbench.method import Method

T = TypeVar("T")

GROUP = "pllbench.methods"

SLOW_IMPORT_SECONDS = 10.0
"""It is said which method is being imported when that has taken so long."""

IMPORT_SECONDS = 120.0
"""A module that is still being imported after this time is taken to loop."""

MethodClass: TypeAlias = "type[Method[Any]]"
MethodClasses: TypeAlias = Mapping[str, MethodClass]
"""Classes of methods by name."""

_given: ContextVar[MethodClasses] = ContextVar("classes without an entry point")
"""Not shared between threads: each may give another class of one name."""

NO_METHOD = "is not a subclass of pllbench.method.Method"
"""What is wrong with an object that is no method."""


def describe_entry(entry: EntryPoint) -> str:
    """Distribution and target of an entry point, for messages: `dist 1.0 (module:Class)`."""
    dist = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown distribution"
    return f"{dist} ({entry.value})"


def method_entries() -> Mapping[str, EntryPoint]:
    """All registered methods by name, sorted; nothing is imported.

    Raises:
        ValueError: two entry points claim one name, or names that differ in case alone, or a name
            that a folder of records cannot have; the distributions are named.
    """
    return _scan(tuple(sys.path))


@cache
def _scan(path: tuple[str, ...]) -> Mapping[str, EntryPoint]:  # noqa: ARG001 - what it depends on
    """Kept, since reading the metadata of all distributions is slow, and every run needs it."""
    found: dict[str, EntryPoint] = {}
    first: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        if problem := folder_name_problem(entry.name):
            where = f"method {entry.name!r} of {describe_entry(entry)}"
            raise ValueError(f"{where}: {problem}: rename its entry point or uninstall it")
        rival = first.setdefault(folded_name(entry.name), entry)
        if rival.name != entry.name:
            raise ValueError(
                f"methods {rival.name!r} of {describe_entry(rival)} and {entry.name!r} of "
                f"{describe_entry(entry)} differ in case alone, and so would their folders: "
                f"uninstall one of them or rename its entry point"
            )
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value or describe_entry(other) != describe_entry(entry):
            raise ValueError(
                f"method {entry.name!r} is registered twice, by {describe_entry(other)} and by "
                f"{describe_entry(entry)}: uninstall one of them or rename its entry point"
            )
    return found


@contextmanager
def given_classes(classes: MethodClasses) -> Iterator[None]:
    """Let classes without an entry point be known by these names, here and in what is called."""
    token = _given.set({**_given.get({}), **classes})
    try:
        yield
    finally:
        _given.reset(token)


def is_given(name: str) -> bool:
    """Whether `name` is that of a class without an entry point."""
    return name in _given.get({})


def method_names() -> frozenset[str]:
    """Names of all methods: registered ones, and given classes."""
    return frozenset((*method_entries(), *_given.get({})))


def registered_name(cls: type) -> str | None:
    """The name that an entry point gives to a class; None where none does."""
    target = f"{cls.__module__}:{cls.__qualname__}"
    return next((name for name, entry in method_entries().items() if entry.value == target), None)


def is_built_in(name: str) -> bool:
    """Whether `name` is that of a method that comes with the suite."""
    entry = method_entries().get(name)
    return entry is not None and entry.dist is not None and entry.dist.name == "pllbench"


def unknown_method(name: str, known: Iterable[str]) -> str:
    """What is wrong with a name that is none of the `known` ones, with its nearest match."""
    return f"unknown method {name!r}: {did_you_mean(name, known)}"


def load_method(name: str) -> "type[Method[Any]]":
    """The class that is registered, or given, as `name`.

    Raises:
        ValueError: no such name (with the nearest match), its module does not import, or the
            object is no `Method`; the message names the distribution.
    """
    if (given := _given.get({}).get(name)) is not None:
        return given
    entries = method_entries()
    if name not in entries:
        raise ValueError(unknown_method(name, method_names()))
    entry = entries[name]
    try:
        cls = entry.load()
    except (Exception, SystemExit) as error:  # a plug-in's module may raise anything
        raise ValueError(
            f"method {name!r} of {describe_entry(entry)} cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not is_method(cls):  # `describe_entry` reads files, so it waits for an error
        raise ValueError(f"method {name!r} of {describe_entry(entry)} {NO_METHOD}")
    return cls


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """What a method's class says of it."""

    family: str = "other"
    year: int | None = None
    venue: str = ""


def method_facts(names: Iterable[str]) -> dict[str, MethodFacts]:
    """What the classes of methods say, by registered name; absent where one does not import."""
    found = {}
    for name in sorted(set(names) & method_entries().keys()):
        with suppress(ValueError):  # a plug-in that does not import is missing elsewhere
            method = load_method(name)
            found[name] = MethodFacts(method.family, method.year, method.venue)
    return found


def find_method(name: str) -> "type[Method[Any]]":
    """As `load_method`, for who plans runs but executes none.

    Working directory and environment stay as they were: workers would inherit what one plug-in's
    module does to them.

    Raises:
        ValueError: as `load_method`; or the import takes longer than `IMPORT_SECONDS`.
    """
    entry = method_entries().get(name)
    if (
        entry is None
        or is_given(name)
        or (entry.module in sys.modules and entry.module not in _importing)
    ):
        return load_method(name)

    def load() -> "type[Method[Any]]":
        try:
            return load_method(name)
        finally:
            _importing.discard(entry.module)

    _importing.add(entry.module)
    surroundings = Surroundings.capture()
    try:
        return load_in_time(load, f"method {name!r} of {describe_entry(entry)}")
    finally:
        surroundings.restore()


_importing: set[str] = set()
"""Modules that other threads are still importing; they stand in `sys.modules` already."""


def load_in_time(load: Callable[[], T], where: str) -> T:
    """What `load` gives, which imports the module of a method.

    Another thread imports it, so that one that never ends is left behind.

    Args:
        load: raises what it likes; that is raised here.
        where: the method, for messages.

    Raises:
        ValueError: it takes longer than `IMPORT_SECONDS`.
    """
    import pllbench.method  # noqa: F401 - and with it torch, whose time is not the plug-in's

    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(load())
        except Exception as error:  # noqa: BLE001 - raised below
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    slow = min(SLOW_IMPORT_SECONDS, IMPORT_SECONDS)
    if wait([found], slow).not_done:
        logging.getLogger(__name__).warning("%s is being imported", where)
    if wait([found], IMPORT_SECONDS - slow).not_done:
        raise ValueError(f"{where} is still being imported after {IMPORT_SECONDS:g} s")
    return found.result()


def load_class(target: str) -> "type[Method[Any]]":
    """The method at `MODULE:CLASS`, registered or not.

    Raises:
        ValueError: the module does not import, has no such class, or the class is no `Method`.
    """
    module_name, _, class_name = target.partition(":")
    try:
        cls = getattr(importlib.import_module(module_name), class_name)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        raise ValueError(
            f"{target!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not is_method(cls):
        raise ValueError(f"{target} {NO_METHOD}")
    return cls


def is_method(cls: object) -> "TypeGuard[type[Method[Any]]]":
    """Whether an object is the class of a method."""
    from pllbench.method import Method

    return isinstance(cls, type) and issubclass(cls, Method)
