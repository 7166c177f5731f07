"""The console: standard output and error that are cut off, closed, or of a small encoding."""

import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pllbench.cli.console import prepare_streams, show_columns
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


def test_question_marks_take_the_columns_of_the_letters_that_they_stand_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two for a wide letter, none for an accent of its own: columns stay below one another."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    prepare_streams()
    labels = ("CC", "鸟类", "\N{GREEK CAPITAL LETTER DELTA}e\N{COMBINING ACUTE ACCENT}")
    show_columns([{"label": label, "n": 3} for label in labels])
    sys.stdout.flush()
    lines = [line.rstrip() for line in written.getvalue().decode("ascii").splitlines()]
    assert lines == ["label  n", "CC     3", "????   3", "?e     3"]


def test_control_characters_of_a_name_reach_no_terminal() -> None:
    message = refused("data", "./no\x1b[31m\x07such\r.npz")
    assert message.startswith("no [31m such .npz: its name must be letters")
