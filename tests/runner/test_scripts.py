"""Scripts that execute runs: with a main guard they do, without one they are told to have it."""

import subprocess
import sys
from pathlib import Path

import pytest

from pllbench.results.records import read_records

ROOT = Path(__file__).parents[2]

BODY = """
planned = plan(
    Selection(methods=("cc",), datasets=("digits",), q=(0.3,), seeds=(0, 1), flags=(SHORT,))
)
with LocalEngine(1) as engine:
    summary = api.run(planned, engine, RunOptions(Path("results"), Path("data"), "cpu"))
print(summary.done, "done")
"""

HEAD = """
from pathlib import Path
from pllbench import api
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.runner.job import RunOptions
from pllbench.runner.local_engine import LocalEngine
SHORT = Setting(reason="short", train={"epochs": 1})
"""

GUARD = "if __name__ == '__main__':"


def execute(folder: Path, script: str) -> "subprocess.CompletedProcess[str]":
    (folder / "script.py").write_text(script)
    return subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_a_script_with_a_main_guard(tmp_path: Path) -> None:
    done = execute(tmp_path, HEAD + GUARD + BODY.replace("\n", "\n    "))
    assert done.stdout == "2 done\n", done.stderr
    assert len(read_records(tmp_path / "results")[0]) == 2


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    done = execute(tmp_path, HEAD + BODY)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.splitlines()[-1] == (
        "ValueError: the script that executes runs is imported by each worker, and would execute "
        f"them there again: put what it does under `{GUARD}`"
    )
    assert read_records(tmp_path / "results") == ([], [])
