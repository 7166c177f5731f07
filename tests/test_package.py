"""What `import pllbench` hands out, and what it does not import."""

import subprocess
import sys

import pytest

import pllbench

HEAVY = ("torch", "pandas", "matplotlib", "numpy", "scipy", "sklearn", "rich", "typer", "pydantic")


def test_the_import_is_light() -> None:
    command = [sys.executable, "-X", "importtime", "-c", "import pllbench"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    imported = {line.rpartition("|")[2].strip() for line in said.splitlines()}
    assert "pllbench" in imported
    assert imported.isdisjoint(HEAVY)
    assert [name for name in imported if name.startswith("pllbench.")] == []


def test_reading_records_imports_no_torch_and_no_pandas() -> None:
    program = "import sys, pllbench; pllbench.load; print({'torch', 'pandas'} & set(sys.modules))"
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set()\n"


def test_every_name_that_is_handed_out_is_there() -> None:
    assert set(pllbench.__all__) <= set(dir(pllbench))
    for name in pllbench.__all__:
        assert getattr(pllbench, name).__name__ == name


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'pllbench' has no attribute 'rnu'$"):
        pllbench.rnu  # noqa: B018 - the access is what is tested
