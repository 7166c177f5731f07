"""What planning needs to know of a method, and of built-in ones without importing them.

A method's module imports torch, which takes longer than all else that `status` or `table` do. So
the command line keeps what built-in methods declare in a file beside Python's bytecode. The file
counts as long as the source of the whole suite is, byte for byte, the one that it was made of.
Methods of others are asked anew by every command.
"""

import hashlib
import json
import secrets
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Literal

import pydantic
from pydantic import ValidationError

from pllbench.registry import find_method, is_built_in, is_given, method_entries
from pllbench.spec import RunSpec
from pllbench.validation import JsonOptions, StrictModel, one_line, require_keys

MOST = 1000
"""Entries of the file: a search over hyperparameters is not kept."""


COARSE = 2.0
"""Seconds: the finest times that some file systems tell apart."""


class Declared(StrictModel):
    """A method's part of a run.

    Attributes:
        version: of its numbers.
        labels: what it learns from.
        gradient: whether it is trained in steps.
        hparams: all hyperparameters.
        changed: names of those that differ from their declared defaults, sorted.
    """

    version: int
    labels: Literal["candidates", "true"]
    gradient: bool
    hparams: JsonOptions
    changed: tuple[str, ...]


class DeclarationFile(StrictModel):
    """Content of the file.

    Attributes:
        made_of: digest of what it was made of.
        methods: by target of the entry point, and hyperparameters.
    """

    made_of: str
    methods: dict[str, Declared]


@dataclass(slots=True)
class Memory:
    """What one process of the command line knows of built-in methods.

    Attributes:
        started: when the process was, in seconds since 1970; None: nothing is read or kept.
        path: of the file; None where there can be none.
        made_of: as in the file; empty before it has been looked for.
        known: as in the file, and what was asked since it was read.
        num_kept: how many of them are in the file.
    """

    started: float | None = None
    path: Path | None = None
    made_of: str = ""
    known: dict[str, Declared] = field(default_factory=dict)
    num_kept: int = 0

    def read(self, started: float) -> None:
        """Take what is kept, if that counts."""
        self.made_of = "nothing"
        with suppress(OSError, ValueError, NotImplementedError):
            self.made_of = source_state(started)
            self.path = Path(cache_from_source(__file__)).with_suffix(".json")
            kept = DeclarationFile.model_validate_json(self.path.read_bytes())
            if kept.made_of == self.made_of:
                self.known.update(kept.methods)
                self.num_kept = len(kept.methods)

    def write(self, path: Path, started: float) -> None:
        """Keep what is known, if the source is still the one that it was asked of.

        Raises:
            OSError: the file cannot be written.
            ValueError: as `source_state`.
        """
        if source_state(started) != self.made_of:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{secrets.token_hex(8)}")
        try:
            content = DeclarationFile(made_of=self.made_of, methods=self.known).model_dump_json()
            temporary.write_text(content, "utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        self.num_kept = len(self.known)


_memory = Memory()


def keep_since(started: float) -> None:
    """Read and keep declarations in this process, which was started at that time.

    Only the command line does: in another process something may have changed a class after its
    source was read.
    """
    _memory.started = started


def keep() -> None:
    """Write what was asked of classes to the file, if that can be written."""
    path, started, num = _memory.path, _memory.started, len(_memory.known)
    if path and started and _memory.num_kept < num <= MOST and not sys.dont_write_bytecode:
        with suppress(OSError, ValueError):
            _memory.write(path, started)


def declared(name: str, overrides: JsonOptions, where: str) -> Declared:
    """What the method registered, or given, as `name` declares, with some hyperparameters replaced.

    Raises:
        ValueError: as `find_method`; or a hyperparameter is unknown or does not fit: the message
            begins with `where`.
    """
    entry = method_entries().get(name)
    if entry is None or is_given(name) or _memory.started is None:
        return ask(name, overrides, where)
    if not _memory.made_of:
        _memory.read(_memory.started)
    key = f"{entry.value} {json.dumps(overrides, sort_keys=True)}"
    if key in _memory.known:
        return _memory.known[key]
    found = ask(name, overrides, where)
    if is_built_in(name):
        _memory.known[key] = found
    return found


def ask(name: str, overrides: JsonOptions, where: str) -> Declared:
    """As `declared`, of the class itself."""
    cls = find_method(name)
    require_keys(overrides, cls.hparams_type, f"{where}: hparams")
    try:
        hparams = cls.hparams_type.parse(overrides)
    except ValidationError as error:
        raise ValueError(one_line(error, where, RunSpec)) from error
    return Declared(
        version=cls.version,
        labels=cls.labels,
        gradient=cls.gradient,
        hparams=hparams.model_dump(mode="json"),
        changed=tuple(sorted(hparams.model_dump(exclude_defaults=True))),
    )


def source_state(before: float) -> str:
    """Digest of all source of the suite and its methods, and of what else has a say.

    Raises:
        ValueError: as `digest_of`.
    """
    methods = [e.module for name, e in method_entries().items() if is_built_in(name)]
    packages = {name.partition(".")[0] for name in (__name__, *methods)}
    return digest_of(sorted(packages), f"{sys.version} {pydantic.VERSION}", before)


def digest_of(packages: Iterable[str], text: str, before: float) -> str:
    """SHA-256 of the source of packages, and of a text.

    Raises:
        ValueError: a package has no source, or some of it has changed since `before` (in seconds
            since 1970): a process that began then may have imported either.
    """
    digest = hashlib.sha256(text.encode())
    for package in packages:
        spec = find_spec(package)
        folders = map(Path, (spec and spec.submodule_search_locations) or ())
        files = [(folder, path) for folder in folders for path in sorted(folder.rglob("*.py"))]
        if not files:
            raise ValueError(f"{package} has no source")
        for folder, path in files:
            if path.stat().st_ctime > before - COARSE:
                raise ValueError(f"{path} has just changed")
            digest.update(f"\n{package} {path.relative_to(folder)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
