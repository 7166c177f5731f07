"""`pllbench check`."""

import re
import sys
from pathlib import Path

import pytest

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
