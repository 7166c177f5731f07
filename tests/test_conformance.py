"""Every registered method passes the conformance suite, and the registry is up to date."""

import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from pllbench.registry import GROUP, load_method, method_entries
from pllbench.testing import Check, method_checks

CASES = [
    pytest.param(check, id=f"{name}-{check}")
    for name in method_entries()
    for check in method_checks(load_method(name))
]


@pytest.mark.parametrize("check", CASES)
def test_registered_method_conforms(check: Check) -> None:
    check.run()


def test_installed_entry_points_are_those_of_pyproject() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"][GROUP]
    entries = distribution(project["name"]).entry_points.select(group=GROUP)
    assert {entry.name: entry.value for entry in entries} == declared, (
        'a new entry point needs pip install -e ".[dev]" again'
    )
