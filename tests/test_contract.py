"""The contract of methods has a version, and what was written for one runs under it for ever.

`tests/frozen/contract_1` is a plug-in as a third party wrote it for version 1. Never edit it: it is
what plug-ins out there look like.
"""

import hashlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pllbench import method
from pllbench.method import CONTRACT
from tests.commands import pllbench

FROZEN = Path(__file__).parent / "frozen"

DIGESTS = {
    "contract_1/pll_frozen.py": "f9a7dfd72abf798d",
    "contract_1/pyproject.toml": "25e213eeb104d3f6",
    "contract_1/test_pll_frozen.py": "ee4250e22908f9bc",
}
"""First 16 hex digits of the SHA-256 of each frozen file."""

METHODS = ("frozen_fit", "frozen_reference", "frozen_steps")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The frozen plug-in, installed as pip would do it."""
    folder = tmp_path_factory.mktemp("frozen")
    source = FROZEN / "contract_1"
    for path in source.glob("*.py"):
        shutil.copy(path, folder)
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    info = folder / "pll_frozen-1.0.dist-info"
    info.mkdir()
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(about)
    ((group, entries),) = project["entry-points"].items()
    assert sorted(entries) == list(METHODS)
    lines = [f"{name} = {target}" for name, target in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder
        sys.modules.pop("pll_frozen", None)


def test_frozen_files_are_as_they_were() -> None:
    found = {
        path.relative_to(FROZEN).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in FROZEN.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert found == DIGESTS


def test_there_is_a_frozen_plug_in_for_every_version() -> None:
    folders = {path.name for path in FROZEN.iterdir()}
    assert folders == {f"contract_{version + 1}" for version in range(CONTRACT)}


@pytest.mark.parametrize("name", METHODS)
def test_it_conforms(name: str, installed: Path) -> None:
    answer = pllbench("check", name)
    assert (answer.code, answer.err) == (0, ""), answer.out
    assert answer.out.endswith(f"{name}: conforms\n")


def test_it_runs(installed: Path, tmp_path: Path) -> None:
    words = ["--methods", ",".join(METHODS), "--datasets", "digits", "--q", 0.3, "--seeds", 1]
    where = ["--results", tmp_path / "results"]
    answer = pllbench("run", *words, "--epochs", 3, *where, "--jobs", 1)
    assert answer.code == 0, answer.err
    assert "3 done, 0 were done before, 0 failed" in answer.err


def test_its_own_tests_pass(installed: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(Path(method.__file__).parents[1])}
    done = subprocess.run(
        [*command, f"--rootdir={installed}", str(installed)],
        cwd=installed,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) >= 33  # checks may be added


MEMBERS = {
    "Batch": "x, index, candidates",
    "Step": "loss, pseudo?, logs?",
    "ParamGroup": "params, lr_factor?, weight_decay_factor?",
    "Problem": "candidates, epochs, make_network, shape?",
    "Problem.num_classes": None,
    "Network.views": "self, xs",
    "Network.forward": "self, x",
    "TrainView.batches": "self",
    "Hparams": "",
    "Method": "problem, hparams",
    "Method.loss": "self, batch",
    "Method.predict": "self, x",
    "Method.views": None,
    "Method.param_groups": "self",
    "Method.on_epoch_start": "self, train",
    "Method.restarts": "self",
    "Method.after_step": "self, batch",
    "Method.extra_predictions": "self, x",
    "Method.fit": "self, train",
    "Method.hparams_type": None,
    "Method.version": None,
    "Method.reference_epochs": None,
    "Method.labels": None,
    "Method.family": None,
    "Method.year": None,
    "Method.venue": None,
    "Method.gradient": None,
    "Method.noisy_candidates": None,
    "FittedMethod": "problem, hparams",
    "FittedMethod.fit": "self, train",
}
"""The members of version 1 and the parameters that they had, those with a default marked by `?`."""


@pytest.mark.parametrize("place", MEMBERS)
def test_members_of_the_first_version_are_there(place: str) -> None:
    found: object = method
    for name in place.split("."):
        found = getattr(found, name)
    parameters = MEMBERS[place]
    if parameters is None:
        return
    assert callable(found)
    now = list(inspect.signature(found).parameters.values())
    had = [name for name in parameters.split(", ") if name]
    for parameter, name in zip(now, had, strict=False):
        assert parameter.name == name.removesuffix("?")
        assert name[-1] != "?" or parameter.default is not parameter.empty
    assert len(now) >= len(had)
    for parameter in now[len(had) :]:  # what has been added since
        assert parameter.default is not parameter.empty, parameter


def test_two_members_are_required_and_no_more() -> None:
    assert set(method.Method.__abstractmethods__) == {"loss", "predict"}
    assert set(method.FittedMethod.__abstractmethods__) == {"fit", "predict"}
