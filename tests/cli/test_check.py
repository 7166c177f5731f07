"""`pllbench check`."""

import os
import re
import sys
from pathlib import Path

import pytest
import torch

from tests.commands import pllbench


def test_check_tells_what_a_method_does_not_satisfy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = pllbench("check", "cc")
    assert good.code == 0
    assert good.out.endswith("cc: conforms\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    Path("unlucky.py").write_text(
        "from pllbench_methods.cc import CC\n"
        "class Unlucky(CC):\n"
        "    def predict(self, x):\n        raise RuntimeError('no\\nluck')\n"
    )
    bad = pllbench("check", "unlucky:Unlucky")
    assert bad.code == 1
    assert re.search(r"^FAILED  .*: it raises RuntimeError: no luck$", bad.out, re.MULTILINE)
    assert re.search(r"^unlucky:Unlucky: \d+ checks failed\n$", bad.out.splitlines(True)[-1])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())


@pytest.mark.usefixtures("here")
def test_a_method_that_exits_fails_the_checks() -> None:
    Path("leaver.py").write_text(
        "import sys\n"
        "from pllbench_methods.cc import CC\n"
        "class Leaver(CC):\n"
        "    def predict(self, x):\n        sys.exit(0)\n"
    )
    answer = pllbench("check", "leaver:Leaver")
    assert answer.code == 1
    assert "FAILED  learns a toy problem: it raises SystemExit: 0\n" in answer.out


@pytest.mark.usefixtures("here")
def test_what_a_module_changes_when_it_is_imported_is_named() -> None:
    Path("meddler.py").write_text(
        "import os, torch\n"
        "from pllbench_methods.cc import CC as Meddler\n"
        "torch.set_default_dtype(torch.float64)\n"
        "os.environ['MEDDLED'] = 'yes'\n"
    )
    answer = pllbench("check", "meddler:Meddler")
    assert answer.code == 1
    assert (
        "FAILED  changes nothing when it is imported: it changes what all runs of its process "
        "share: the default dtype, the environment: MEDDLED\n" in answer.out
    )
    assert "MEDDLED" not in os.environ
    assert torch.get_default_dtype() == torch.float32
