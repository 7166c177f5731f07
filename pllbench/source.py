"""Digest of a method's source: what shows that its code has changed under one version.

It covers the syntax trees of the class's module and of the modules of its own package that this
imports, directly or through each other; docstrings, comments and layout do not count. Needs no
torch of its own.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path


@cache
def source_digest(cls: type) -> str | None:
    """First 16 hex digits of a SHA-256 of the class's source; None where there is no source."""
    package = cls.__module__.partition(".")[0]
    trees: dict[str, object] = {}
    names = [cls.__module__]
    while names:
        name = names.pop()
        spec = _spec(name)
        if name in trees or spec is None or spec.origin is None:
            continue
        tree = ast.parse(Path(spec.origin).read_bytes())
        trees[name] = _plain(tree)
        names += [found for found in _imported(tree, spec) if found.split(".")[0] == package]
    if cls.__module__ not in trees:
        return None
    return hashlib.sha256(repr(sorted(trees.items())).encode()).hexdigest()[:16]


def _spec(name: str) -> ModuleSpec | None:
    """Where a module's source is; None where `name` is no module, or one without source."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError, AttributeError):  # its parent is no package; or __main__
        return None
    return spec if spec and spec.origin and spec.origin.endswith(".py") else None


def _imported(tree: ast.AST, spec: ModuleSpec) -> Iterator[str]:
    """Names that may be those of imported modules, wherever in the source they are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), spec.parent)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _plain(value: object) -> object:
    """A syntax tree as nested tuples, without docstrings and other texts that nothing reads.

    Empty fields are left out: every release of Python adds some.
    """
    if isinstance(value, ast.AST):
        fields = (
            (name, child) for name, child in ast.iter_fields(value) if child not in (None, [])
        )
        return (type(value).__name__, *((name, _plain(child)) for name, child in fields))
    if isinstance(value, list):
        return [_plain(item) for item in value if not _is_text(item)]
    return value


def _is_text(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
