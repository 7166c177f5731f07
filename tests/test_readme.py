"""What the docs show of plug-ins is true: they are complete, and conform."""

import importlib.util
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

import pytest

from pllbench.method import Method
from pllbench.testing import Check, method_checks

ROOT = Path(__file__).parent.parent
PLUG_IN = (ROOT / "docs" / "add_a_method.md").read_text("utf-8")


def code(language: str, start: str) -> str:
    """The code block in `language` that begins with `start`."""
    for block in re.findall(rf"```{language}\n(.*?)```", PLUG_IN, re.S):
        if block.startswith(start):
            return str(block)
    raise AssertionError(f"no {language} block begins with {start!r}")


@cache
def plug_in() -> ModuleType:
    """The module of the page, from a file: docstrings of fields are read from its source."""
    path = Path(mkdtemp()) / "pll_average.py"
    path.write_text(code("python", '"""Average'), "utf-8")
    spec = importlib.util.spec_from_file_location("pll_average", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["pll_average"] = module
    spec.loader.exec_module(module)
    return module


def test_the_plug_in_is_a_complete_package_in_under_40_lines() -> None:
    pyproject, source = code("toml", "[project]"), code("python", '"""Average')
    lines = [line for line in (pyproject + source).splitlines() if line.strip()]
    assert len(lines) < 40
    entries = tomllib.loads(pyproject)["project"]["entry-points"]["pllbench.methods"]
    module, _, name = entries["average"].partition(":")
    assert module == "pll_average"
    assert hasattr(plug_in(), name)


@pytest.mark.parametrize("check", method_checks(plug_in().Average), ids=str)
def test_the_plug_in_conforms(check: Check) -> None:
    check.run()


def fitted_method() -> type[Method[Any]]:
    """The method without gradient of the page on the contract."""
    page = (ROOT / "docs" / "contract.md").read_text("utf-8")
    [source] = re.findall(r"```python\n(.*?)```", page, re.S)
    names: dict[str, Any] = {"__name__": "contract"}
    exec(source, names)
    cls: type[Method[Any]] = names["Centroids"]
    return cls


@pytest.mark.parametrize("check", method_checks(fitted_method()), ids=str)
def test_the_fitted_method_of_the_contracts_page_conforms(check: Check) -> None:
    check.run()
