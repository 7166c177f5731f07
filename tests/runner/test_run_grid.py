"""What becomes of planned runs: stored, skipped, failed, or done again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pllbench.results import records
from pllbench.results.workspace import Workspace
from pllbench.runner.engine import Event, RunFailed
from pllbench.runner.job import RunOptions
from tests.factories import plan_lost
from tests.inline_engine import InlineEngine, counts, run_inline


def test_finished_runs_are_stored_and_skipped(options: RunOptions) -> None:
    engine = InlineEngine()
    summary, lines = run_inline(plan_lost("cc", seeds=(0, 1)), engine, options)
    assert counts(summary) == (2, 0, 0, 0)
    assert [line.split(":")[0] for line in lines] == [
        "[1/2] CC (epochs=1) · lost · seed 0",
        "[2/2] CC (epochs=1) · lost · seed 1",
    ]
    summary, lines = run_inline(plan_lost("rc", "cc", seeds=(0, 1)), engine, options)
    assert counts(summary) == (2, 2, 0, 0)
    assert engine.executed == [("cc", 0), ("cc", 1), ("rc", 0), ("rc", 1)]
    assert len(records.read_records(options.results)[0]) == 4
    assert not list((options.results / "work").iterdir())


def test_a_run_that_two_rows_share_is_executed_once(options: RunOptions) -> None:
    engine = InlineEngine()
    summary, _ = run_inline(
        plan_lost("cc", seeds=(0, 1)) + plan_lost("cc", seeds=(0, 1)), engine, options
    )
    assert counts(summary) == (2, 0, 0, 0)


def test_a_failed_run_leaves_its_reason_and_no_record_and_is_tried_again(
    options: RunOptions,
) -> None:
    runs = plan_lost("cc", "rc")
    summary, lines = run_inline(runs, InlineEngine("cc"), options)
    assert counts(summary) == (1, 0, 1, 0)
    [(failed, reason)] = summary.failed
    assert (failed.name, reason) == ("cc", "ValueError: wrong in two lines")
    assert "[1/2] CC (epochs=1) · lost · seed 0: FAILED: ValueError: wrong in two lines" in lines
    space = Workspace.for_run(options.results, failed.spec.run_id)
    assert space.error.read_text() == "ValueError: wrong in two lines\n\nthe traceback"
    summary, _ = run_inline(runs, InlineEngine(), options)
    assert counts(summary) == (1, 1, 0, 0)
    assert not space.folder.exists()


class Wordy(InlineEngine):
    """Its runs fail for the reason that it is made with."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason

    def _events(self) -> Iterator[Event]:
        yield RunFailed(self._given.pop(), self.reason, "the whole story")


def test_a_long_reason_is_cut_on_the_screen(options: RunOptions) -> None:
    summary, _ = run_inline(plan_lost("cc"), Wordy("x" * 5000), options)
    [(failed, reason)] = summary.failed
    assert len(reason) == 300
    assert (
        "the whole story"
        in Workspace.for_run(options.results, failed.spec.run_id).error.read_text()
    )


def test_control_characters_of_a_reason_reach_no_terminal(options: RunOptions) -> None:
    summary, _ = run_inline(
        plan_lost("cc"), Wordy("\x1b[31mred\x1b[0m,\r\x07 no \u2028 é"), options
    )
    [(_, reason)] = summary.failed
    assert reason == "[31mred [0m, no é"


def test_a_record_that_cannot_be_written_fails_its_run_alone(options: RunOptions) -> None:
    runs = plan_lost("cc", "rc")
    place = records.record_path(options.results, runs[0].spec).parent
    place.parent.mkdir(parents=True)
    place.touch()  # a file where the folder of the records should be
    summary, _ = run_inline(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 1, 0)
    assert "its record could not be written" in summary.failed[0][1]


def test_a_workspace_that_cannot_be_written_fails_its_run_alone(options: RunOptions) -> None:
    runs = plan_lost("cc", "rc")
    folder = Workspace.for_run(options.results, runs[0].spec.run_id).folder
    folder.parent.mkdir(parents=True)
    folder.touch()
    summary, _ = run_inline(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 1, 0)
    assert "its workspace could not be written" in summary.failed[0][1]


def test_nothing_is_asked_of_a_finished_grid(options: RunOptions, tmp_path: Path) -> None:
    run_inline(plan_lost("cc", seeds=(0, 1)), InlineEngine(), options)
    gone = RunOptions(options.results, tmp_path / "gone", "cpu")
    summary, lines = run_inline(plan_lost("cc", seeds=(0, 1)), InlineEngine(), gone)
    assert counts(summary) == (0, 2, 0, 0)
    assert lines == []


def test_a_damaged_record_is_named_and_kept_when_its_run_is_done_again(options: RunOptions) -> None:
    runs = plan_lost("cc")
    run_inline(runs, InlineEngine(), options)
    path = records.record_path(options.results, runs[0].spec)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    summary, lines = run_inline(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 0, 0)
    assert lines[0].startswith(f"{path}: not readable as JSON")
    curves = path.with_suffix(".npz").name
    assert lines[0].endswith(f"; moved to {path.name}.unreadable and {curves}.unreadable")
    assert path.with_name(f"{path.name}.unreadable").read_bytes() == whole[:100]
    [record], unreadable = records.read_records(options.results)
    assert (record.run_id, unreadable) == (runs[0].spec.run_id, [])
    assert path.with_suffix(".npz").exists()


@pytest.mark.parametrize("damage", ["missing", "a bit"])
def test_a_run_with_damaged_curves_is_done_again(options: RunOptions, damage: str) -> None:
    runs = plan_lost("cc", seeds=(0, 1))
    run_inline(runs, InlineEngine(), options)
    path = records.record_path(options.results, runs[0].spec)
    file = path.with_suffix(".npz")
    whole = file.read_bytes()
    file.unlink()
    moved = [f"{path.name}.unreadable"]
    if damage == "a bit":
        at = len(whole) // 2
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        moved.append(f"{file.name}.unreadable")
    summary, lines = run_inline(runs, InlineEngine(), options)
    assert counts(summary) == (1, 1, 0, 0)
    assert lines[0].startswith(f"{file}: not readable (")
    assert lines[0].endswith(f"; moved to {' and '.join(moved)}")
    assert {found.name for found in path.parent.glob("*.unreadable")} == set(moved)
    assert file.read_bytes() == whole
    assert run_inline(runs, InlineEngine(), options)[0].skipped == 2


def test_a_damaged_checkpoint_is_named_and_kept_and_its_run_starts_again(
    options: RunOptions,
) -> None:
    runs = plan_lost("cc")
    space = Workspace.for_run(options.results, runs[0].spec.run_id)
    space.folder.mkdir(parents=True)
    space.checkpoint.write_bytes(b"PK\3\4 cut")
    summary, lines = run_inline(runs, InlineEngine(), options)
    assert counts(summary) == (1, 0, 0, 0)
    assert lines[0].startswith(f"{space.checkpoint}: not a checkpoint of this run (")
    assert lines[0].endswith("; moved to checkpoint.pt.unreadable, the run starts again")
    kept = space.folder / "checkpoint.pt.unreadable"
    assert kept.read_bytes() == b"PK\3\4 cut"
