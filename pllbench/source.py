"""Digests of the source of a method: what shows that its code has changed.

They cover syntax trees; docstrings, comments and layout do not count. Needs no torch of its own.
"""

import ast
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import packages_distributions
from importlib.util import find_spec, resolve_name
from pathlib import Path
from pkgutil import iter_modules
from threading import Lock
from types import CodeType, FunctionType, ModuleType

_SUITE = __name__.partition(".")[0]

_parsing = Lock()

_INSTALLED = ("site-packages", "dist-packages")
"""Folders that hold the packages of many distributions."""


@cache
def source_digest(cls: type) -> str | None:
    """First 16 hex digits of a SHA-256 of the class's source; None where no module has it.

    That is its module, and the modules of its own distribution that this imports, directly or
    through each other: those of its package, and of packages that lie or are installed with it.
    """
    trees = _module_trees(cls.__module__)
    return _digest(repr(sorted(trees.items()))) if cls.__module__ in trees else None


def class_digest(cls: type) -> str:
    """The digest of a class wherever it was made: in a module, a script or a cell of a notebook.

    In a module, as `source_digest`. Elsewhere it covers the class and what its code names, directly
    or through each other: classes and functions of the same script or notebook, numbers, texts,
    arrays, and modules of the user's below the current folder. Other objects do not count.
    """
    found = source_digest(cls) if _is_in_module(cls) else None
    return found or _digest(repr(sorted(_Facts(cls).found)))


def can_be_imported(module: str) -> bool:
    """Whether another process finds a module by its name, and its source."""
    return _spec(module) is not None


def has_changed(cls: type, digest: str) -> bool:
    """Whether the module of a class has by now another source than that of the `digest`.

    False where no module has the class: it is sent to other processes as it is.
    """
    return _is_in_module(cls) and source_digest(cls) not in (None, digest)


def _is_in_module(cls: type) -> bool:
    """Whether its module has the class under its name: no function has made it, and no reload."""
    found: object = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls


def _parse(source: str | bytes) -> ast.Module:
    # Threads that parse at once break the count of nested nodes that CPython 3.11 keeps.
    with _parsing:
        return ast.parse(source)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _module_trees(start: str) -> dict[str, object]:
    """Syntax trees of a module and of those of its distribution that it imports, by name."""
    packages = _packages_with(start.partition(".")[0])
    trees: dict[str, object] = {}
    names = [start]
    while names:
        name = names.pop()
        spec = _spec(name)
        if name in trees or spec is None or spec.origin is None:
            continue
        tree = _parse(Path(spec.origin).read_bytes())
        trees[name] = _plain(tree)
        names += [found for found in _imported(tree, spec) if found.split(".")[0] in packages]
    return trees


@cache
def _packages_with(package: str) -> frozenset[str]:
    """Names of the top-level packages and modules that come with one, itself included.

    Where it is installed they are those of its distributions, else those in the same folder. The
    suite is never among them: its own version speaks for it.
    """
    spec = _spec(package)
    if spec is None or spec.origin is None:
        return frozenset({package})
    path = Path(spec.origin)
    folder = path.parents[1] if spec.submodule_search_locations else path.parent
    if folder.name in _INSTALLED:
        owners = packages_distributions()
        names = {n for n, dists in owners.items() if {*dists} & {*owners.get(package, ())}}
    else:
        names = {module.name for module in iter_modules([str(folder)])}
    return frozenset(names - {_SUITE} | {package})


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


class _Facts:
    """What the code of a class without a module file consists of.

    Attributes:
        found: source and values as text, each with the place where it was found.
    """

    def __init__(self, cls: type) -> None:
        self.found: set[tuple[str, str]] = set()
        self._seen: set[int] = set()
        self._module = cls.__module__
        self._add_class(cls)

    def _add(self, place: str, value: object) -> None:
        """Note a value that the code names."""
        value = getattr(value, "__func__", value)  # of a class method or static method
        if isinstance(value, type) and value.__module__ == self._module:
            self._add_class(value)
        elif isinstance(value, FunctionType) and value.__module__ == self._module:
            self._add_function(inspect.unwrap(value))
        elif isinstance(value, property):
            for accessor in filter(None, (value.fget, value.fset)):
                self._add(place, accessor)
        elif (text := _value_text(value)) is not None:
            self.found.add((place, text))
        elif isinstance(value, ModuleType | type | FunctionType):
            name = value.__name__ if isinstance(value, ModuleType) else value.__module__
            if _is_users(name):
                self.found |= {(part, repr(tree)) for part, tree in _module_trees(name).items()}

    def _add_class(self, cls: type) -> None:
        if id(cls) in self._seen:
            return
        self._seen.add(id(cls))
        self.found.add((cls.__qualname__, repr([base.__qualname__ for base in cls.__bases__])))
        for base in cls.__bases__:
            self._add(cls.__qualname__, base)
        for name, value in vars(cls).items():
            generated = name == "model_config" or name.startswith("__")
            written = isinstance(value, FunctionType) and not name.startswith("__annotate")
            if written or not generated:
                self._add(f"{cls.__qualname__}.{name}", value)
        for name, field in getattr(cls, "model_fields", {}).items():  # of hyperparameters
            self._add(f"{cls.__qualname__}.{name}", f"{field.annotation} {field.default!r}")

    def _add_function(self, function: FunctionType) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        code = function.__code__
        names = {name for part in _codes(code) for name in part.co_names}  # and of attributes
        try:
            tree = _parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, SyntaxError):  # typed at a prompt, generated, or a part of a line
            source: object = [(part.co_code, repr(_constants(part))) for part in _codes(code)]
        else:
            names = (names & _names(tree)) | _decorators(tree)
            source = _plain(tree)
        self.found.add((function.__qualname__, repr(source)))
        for name in sorted(names & function.__globals__.keys()):
            self._add(name, function.__globals__[name])
        self._add(f"{function.__qualname__}()", function.__defaults__)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._add(f"{function.__qualname__}.{name}", cell.cell_contents)


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _decorators(tree: ast.Module) -> set[str]:
    """Names in the decorators of a function."""
    lists = (node.decorator_list for node in tree.body if isinstance(node, ast.FunctionDef))
    return {name for nodes in lists for node in nodes for name in _names(node)}


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _constants(code: CodeType) -> list[object]:
    return [constant for constant in code.co_consts if not isinstance(constant, CodeType)]


def _value_text(value: object) -> str | None:
    """A number, a text, an array, or a collection of such, as text; None for other objects."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, list | tuple | set | frozenset | dict):
        parts = value.items() if isinstance(value, dict) else value
        texts = [_value_text(part) for part in parts]
        ordered = sorted(filter(None, texts)) if isinstance(value, set | frozenset) else texts
        return f"{type(value).__name__}{ordered}"
    if hasattr(value, "__array__") and not isinstance(value, type):
        import numpy as np

        array = np.asarray(value)
        content = hashlib.sha256(array.tobytes()).hexdigest()
        return f"{array.dtype}{array.shape}{content}"
    return None


def _is_users(module: str) -> bool:
    """Whether a module lies below the current folder, and not in an environment there."""
    spec = _spec(module)
    if spec is None or spec.origin is None or module.startswith("pllbench."):
        return False
    path = Path(spec.origin).resolve()
    return path.is_relative_to(Path.cwd()) and "site-packages" not in path.parts
