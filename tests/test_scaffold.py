"""The package of a new method."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pllbench.testing import method_checks
from pllbench_methods.cc import CC
from tests.commands import contents, pllbench, refused


def test_a_new_method_conforms_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = pllbench("new", "method", "cold_start")
    assert (answer.code, answer.out) == (0, "pll-cold-start\n")
    assert answer.err == (
        "pllbench: now: pip install -e pll-cold-start && pllbench check cold_start\n"
    )
    assert {str(path) for path in contents(Path("pll-cold-start"))} == {
        "pll-cold-start/pyproject.toml",
        "pll-cold-start/README.md",
        "pll-cold-start/pll_cold_start.py",
        "pll-cold-start/tests/test_cold_start.py",
    }
    monkeypatch.chdir("pll-cold-start")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    answer = pllbench("check", "pll_cold_start:ColdStart")
    assert answer.code == 0, answer.out
    assert answer.out.endswith("pll_cold_start:ColdStart: conforms\n")


@pytest.mark.slow
def test_it_installs_and_its_own_test_passes(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="builds the package")
    assert pllbench("new", "method", "mine", "--directory", tmp_path / "a" / "b").code == 0
    folder, target = tmp_path / "a" / "b" / "pll-mine", tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    pip += ["--no-build-isolation", "--target", str(target), str(folder)]
    subprocess.run(pip, check=True)
    env = os.environ | {"PYTHONPATH": str(target)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", *arguments]
        done = subprocess.run(
            command, check=False, env=env, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("pllbench", "check", "mine").endswith("mine: conforms\n")
    said = run("pytest", "-q", "-p", "no:cacheprovider", str(folder / "tests"))
    assert f"{len(method_checks(CC))} passed" in said


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "its name must be small letters"),
        ("My", "its name must be small letters"),
        ("my-method", "its name must be small letters"),
        ("2nd", "its name must be small letters"),
        ("_a", "its name must be small letters"),
        ("a__b", "its name must be small letters"),
        ("a/b", "its name must be small letters"),
        ("ä", "its name must be small letters"),
        ("x" * 61, "its name must be small letters"),
        ("con", "its name is that of a device on some systems"),
        ("none", "its class would be called as a word of Python"),
        ("step", "its class would be called as one of pllbench's"),
        ("cc", "is there already: choose another name"),
        ("mine", "is there already: name another one"),
    ],
)
def test_names_that_no_new_method_can_have(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "pll-mine").mkdir()
    assert problem in refused("new", "method", name, "--directory", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["pll-mine"]


def test_other_things_cannot_be_made() -> None:
    assert "'dataset' is not one of 'method'" in refused("new", "dataset", "x")
