"""How a damaged file is named and moved aside before a run that would need it begins."""

from collections.abc import Sequence
from pathlib import Path

from pllbench.grid.plan import PlannedRun
from pllbench.runner.job import RunOptions
from tests.commands import contents
from tests.inline_engine import InlineEngine, run_inline


def is_quarantined(results: Path, path: Path, runs: Sequence[PlannedRun], problem: str) -> None:
    """A run of `cc` that would need the file begins without it; it is named, and moved aside."""
    content, others = path.read_bytes(), contents(results / "records")
    summary, [line, *_] = run_inline(runs, InlineEngine("cc"), RunOptions(results, results, "cpu"))
    assert line.startswith(f"{path}: ")
    assert problem in line
    assert len(summary.failed) == 1, "the engine fails what it begins"
    assert not path.exists()
    assert path.with_name(f"{path.name}.unreadable").read_bytes() == content
    assert contents(results / "records") == others
