"""The console: standard output and error that are cut off, closed, or of a small encoding."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from pllbench.results.records import read_records
from tests.commands import refused

RUN = "run --methods cc --datasets digits --q 0.3 --seeds 2 --epochs 1 --jobs 1 --results"


def shell(command: str, results: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A shell's command in which PLL stands for `python -m pllbench`."""
    program = f"{shlex.quote(sys.executable)} -m pllbench"
    line = command.replace("PLL", program).replace("RESULTS", shlex.quote(str(results)))
    variables = os.environ | environment
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=variables, check=False
    )


def test_a_grid_goes_on_when_its_reader_has_gone(tmp_path: Path) -> None:
    answer = shell(f"PLL {RUN} RESULTS 2>&1 | head -1; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert answer.returncode == 0
    assert len(read_records(tmp_path)[0]) == 2


def test_a_failed_grid_says_so_although_its_reader_has_gone(tmp_path: Path) -> None:
    failing = f"{RUN} RESULTS --timeout 0.01"
    answer = shell(f"PLL {failing} 2>&1 | true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert answer.returncode == 1


def test_closed_streams_are_no_error(grid_results: Path) -> None:
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        answer = shell(f"PLL table --results RESULTS {closed}", grid_results)
        assert (answer.returncode, answer.stderr) == (0, ""), closed


def test_an_ascii_terminal_gets_its_table_and_files_are_utf8(
    grid_results: Path, tmp_path: Path
) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    answer = shell("PLL table --results RESULTS", grid_results, **ascii_only)
    assert answer.returncode == 0
    assert "+-" in answer.stdout
    assert answer.stdout.isascii()
    file = tmp_path / "table.md"
    command = f"PLL table --results RESULTS --format markdown --output {shlex.quote(str(file))}"
    assert shell(command, grid_results, **ascii_only).returncode == 0
    assert "±" in file.read_text("utf-8")


def test_control_characters_of_a_name_reach_no_terminal() -> None:
    message = refused("data", "./no\x1b[31m\x07such\r.npz")
    assert message.startswith("no [31m such .npz: its name must be letters")
