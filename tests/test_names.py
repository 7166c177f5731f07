"""A public name means one thing, and every method is a registered module of its own."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import pllbench
import pllbench_methods
from pllbench.registry import method_entries

FRAMEWORK = Path(pllbench.__file__).parent
METHODS = Path(pllbench_methods.__file__).parent

PERMITTED = {
    "main": "entry point of `python -m pllbench`, which turns Ctrl-C during imports into a code",
    "run": "the function of the Python interface, and the command that calls it",
    **dict.fromkeys(("status", "merge", "show", "rerun", "remove", "export", "tune"), "likewise"),
    "choose": "the command, and the selection rules of a run",
    "fit": "the command, and how a check fits a method",
    "predict": "the command, and how a check predicts",
    "load": "of records, and of Python's users, whom it warns of files that do not count",
}
"""Names that two modules of the framework share, and why."""


def public_names(source: str) -> set[str]:
    """Classes, functions and assigned names at module level, without a leading underscore."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                found.add(name)
            case ast.Assign(targets=targets):
                inner = (part for target in targets for part in ast.walk(target))
                found |= {
                    part.id
                    for part in inner
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
                }
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return {name for name in found if not name.startswith("_")}


def shared_names(package: Path) -> Mapping[str, list[str]]:
    """Names that several modules of a package define, with these modules."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for name in public_names(path.read_text("utf-8")):
            places[name].append(str(path.relative_to(package)))
    return {name: found for name, found in places.items() if len(found) > 1}


def imported_modules(source: str) -> Iterator[str]:
    """Modules that are imported anywhere in a source; relative ones begin with a dot."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = "." * level + (module or "")
                yield from (f"{base}.{alias.name}" for alias in names)


def other_methods(path: Path) -> list[str]:
    """What a method's module imports of its package that is not shared by methods."""
    package = METHODS.name
    return [
        name
        for name in imported_modules(path.read_text("utf-8"))
        if name.startswith(".")
        or name == package
        or (name.startswith(f"{package}.") and not name.startswith(f"{package}.shared."))
    ]


def method_modules() -> list[Path]:
    return [path for path in sorted(METHODS.glob("*.py")) if path.name != "__init__.py"]


def test_no_public_name_is_defined_in_two_modules() -> None:
    shared = shared_names(FRAMEWORK)
    assert {name: places for name, places in shared.items() if name not in PERMITTED} == {}
    assert shared.keys() >= PERMITTED.keys(), "a name that is not shared needs no permission"


def test_no_public_name_is_defined_in_two_modules_of_methods() -> None:
    assert shared_names(METHODS) == {}


def test_names_that_count_as_public(tmp_path: Path) -> None:
    source = """
import os
from math import pi as circle
A, (B, _c) = 1, (2, 3)
D: int = 4
E = TypeVar("E")
F = dict[str, int]
G["key"] = H.attribute = 5
class I:
    j = 1
    def k(self): l = 2
def m(): n = 3
def _o(): pass
_p: int = 6
"""
    assert public_names(source) == set("ABDEFIm")
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(source if name == "one" else "def m(): pass\nD = 3\n")
    places = ["one.py", "two.py"]
    assert shared_names(tmp_path) == {"D": places, "m": places}


def test_every_module_of_a_method_is_registered() -> None:
    modules = {entry.module for entry in method_entries().values()}
    names = {f"{METHODS.name}.{path.stem}" for path in method_modules()}
    assert names
    assert names == {module for module in modules if module.startswith(f"{METHODS.name}.")}


@pytest.mark.parametrize("path", method_modules(), ids=lambda path: path.stem)
def test_a_method_imports_no_other_method(path: Path) -> None:
    assert other_methods(path) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from pllbench_methods.rc import RC", ["pllbench_methods.rc.RC"]),
        ("from pllbench_methods import rc", ["pllbench_methods.rc"]),
        ("import pllbench_methods.rc", ["pllbench_methods.rc"]),
        ("from . import rc", ["..rc"]),
        ("def f():\n    from .rc import RC", [".rc.RC"]),
        ("from pllbench_methods.shared.losses import kl_divergence", []),
        ("from pllbench.method import Method\nimport torch", []),
    ],
)
def test_imports_of_another_method_are_seen(tmp_path: Path, line: str, found: list[str]) -> None:
    path = tmp_path / "method.py"
    path.write_text(line)
    assert other_methods(path) == found
