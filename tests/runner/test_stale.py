"""Records of other defaults, another source or other data: refused, done again, or kept."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pllbench.data.catalogue import DATASETS
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, default_protocol
from pllbench.registry import load_method
from pllbench.reports.aggregate import build_table
from pllbench.results import records
from pllbench.results.records import changed_settings, read_records, record_path
from pllbench.results.sources import join_sources
from pllbench.results.summary import GridSummary
from pllbench.results.workspace import Workspace
from pllbench.runner import stale
from pllbench.runner.annotator import scores_path
from pllbench.runner.job import Job, RunOptions, execute
from pllbench.source import source_digest
from pllbench.training.trainer import Interrupted
from pllbench.validation import FieldError
from tests.average import (
    RAISED,
    REDESCRIBED,
    REWRITTEN,
    SHARPER,
    WEAKER,
    Write,
    install_average,
)
from tests.commands import contents
from tests.factories import make_spec, plan_lost
from tests.inline_engine import InlineEngine, counts, run_inline
from tests.plugins import write_lost


@pytest.fixture
def average(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    return install_average(tmp_path / "plugin", monkeypatch)


def planned(num_seeds: int, method: str = "average") -> list[PlannedRun]:
    flags = (Setting(reason="--epochs", train={"epochs": 1}),)
    return plan(Selection(methods=(method,), q=(0.3,), seeds=tuple(range(num_seeds)), flags=flags))


def run(runs: Sequence[PlannedRun], options: RunOptions) -> tuple[GridSummary, list[str]]:
    return run_inline(runs, InlineEngine(), options)


def refusal(runs: Sequence[PlannedRun], options: RunOptions) -> str:
    """The line in which a grid is refused; nothing is executed or written."""
    before, engine = contents(options.results), InlineEngine()
    with pytest.raises(FieldError) as caught:
        run_inline(runs, engine, options)
    assert caught.value.field == "stale"
    assert (engine.executed, contents(options.results)) == ([], before)
    return caught.value.reason


def test_a_changed_default_is_refused_and_names_run_key_both_values_and_version(
    average: Write, options: RunOptions
) -> None:
    run(planned(2), options)
    average(SHARPER)
    assert refusal(planned(4), options) == (
        "average (epochs=1) · digits q=0.3 · seed 0: its record has sharpness = 1.0, now it is "
        "5.0, both under version 1 of average: raise that, or choose rerun or keep"
    )
    assert not records.is_done(options.results, planned(1)[0].spec)


def test_a_raised_version_makes_new_runs(average: Write, options: RunOptions) -> None:
    run(planned(2), options)
    average(SHARPER, RAISED)
    summary, lines = run(planned(4), options)
    assert counts(summary) == (4, 0, 0, 0)
    assert len(lines) == 4
    assert len(read_records(options.results)[0]) == 6


def test_stale_records_are_kept_if_the_user_says_so(average: Write, options: RunOptions) -> None:
    run(planned(2), options)
    average(SHARPER)
    before = contents(options.results)
    summary, _ = run(planned(4), replace(options, stale="keep"))
    assert counts(summary) == (2, 2, 0, 0)
    assert before.items() <= contents(options.results).items()


def test_stale_records_are_moved_aside_and_never_overwritten(
    average: Write, options: RunOptions
) -> None:
    runs = planned(2)
    run(runs, options)
    path = record_path(options.results, runs[0].spec)
    first = [path.read_bytes(), path.with_suffix(".npz").read_bytes()]
    average(SHARPER)
    summary, lines = run(planned(2), replace(options, stale="rerun"))
    assert counts(summary) == (2, 0, 0, 0)
    names = [f"{path.stem}.json.stale", f"{path.stem}.npz.stale"]
    assert lines[0] == f"{path}: done again, the old one is {' and '.join(names)}"
    assert [path.with_name(name).read_bytes() for name in names] == first
    found, unreadable = read_records(options.results)
    assert [record.spec.hparams["sharpness"] for record in found] == [5.0, 5.0]
    assert unreadable == []
    assert counts(run(planned(2), options)[0]) == (0, 2, 0, 0)
    average()
    run(planned(2), replace(options, stale="rerun"))
    assert path.with_name(f"{path.stem}.json.stale-2").exists()
    assert [path.with_name(name).read_bytes() for name in names] == first


def test_another_source_of_a_plug_in_is_refused_until_its_numbers_are_shown_to_be_the_same(
    average: Write, options: RunOptions
) -> None:
    run(planned(2), options)
    [recorded] = {r.provenance.method_source for r in read_records(options.results)[0]}
    average(WEAKER)
    assert refusal(planned(4), options) == (
        "average (epochs=1) · digits q=0.3 · seed 0: its record is of another source, both under "
        "version 1 of average: raise that, or have `check` show that the numbers are the same, or "
        "choose rerun or keep"
    )
    source = source_digest(load_method("average"))
    assert recorded is not None
    assert source is not None
    join_sources(options.results, "average", 1, recorded, source)
    assert counts(run(planned(4), options)[0]) == (2, 2, 0, 0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            SHARPER,
            "has sharpness = 1.0, now it is 5.0, both under version 1 of average: raise that",
        ),
        (REWRITTEN, "is of another source, both under version 1 of average: raise that"),
    ],
)
def test_records_of_another_default_or_source_of_their_annotator_are_refused(
    average: Write, options: RunOptions, change: tuple[str, str], reason: str
) -> None:
    fully = (
        "    version = 1\n",
        '    version = 1\n    labels = "true"\n',
    )  # fit to be an annotator
    average(fully)
    candidates = {"process": "instance", "annotator": "average", "annotator_epochs": 1}

    def annotated(num_seeds: int = 1) -> list[PlannedRun]:
        flags = (
            Setting(reason="--epochs", train={"epochs": 1}),
            Setting.parse({"reason": "--candidates", "candidates": candidates}),
        )
        seeds = tuple(range(num_seeds))
        return plan(Selection(methods=("cc",), q=(0.3,), seeds=seeds, flags=flags))

    run(annotated(), options)
    assert counts(run(annotated(), options)[0]) == (0, 1, 0, 0)
    average(fully, change)
    assert f"its annotator {reason}" in refusal(annotated(), options)
    run(annotated(2), replace(options, stale="keep"))
    found = read_records(options.results)[0]
    rows = build_table(found, default_protocol()).blocks[0].rows
    assert len(rows) == 2
    assert all(", annotator: " in row.label for row in rows)
    summary, _ = run(annotated(), replace(options, stale="rerun"))
    assert counts(summary) == (1, 0, 0, 0)
    assert counts(run(annotated(2), options)[0]) == (0, 2, 0, 0)


@pytest.mark.parametrize("change", [REDESCRIBED, None])
def test_another_docstring_or_no_change_is_nothing(
    average: Write, options: RunOptions, change: tuple[str, str] | None
) -> None:
    run(planned(2), options)
    average(*([change] if change else []))
    assert counts(run(planned(2), options)[0]) == (0, 2, 0, 0)


def test_a_record_without_a_source_is_of_any(average: Write, options: RunOptions) -> None:
    [first] = planned(1)
    run([first], options)
    path = record_path(options.results, first.spec)
    content = json.loads(path.read_text())
    assert content["provenance"].pop("method_source")
    path.write_text(json.dumps(content))
    average(REWRITTEN)
    assert counts(run(planned(1), options)[0]) == (0, 1, 0, 0)


def test_another_source_of_a_built_in_method_is_a_warning(
    options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(planned(2, "cc"), options)
    monkeypatch.setattr(stale, "source_digest", lambda cls: "0" * 16)
    for num_seeds, done in ((2, 0), (3, 1)):
        summary, lines = run(planned(num_seeds, "cc"), options)
        assert counts(summary) == (done, 2, 0, 0)
        assert lines[0] == "2 records of cc are of another source of its version 1"


def test_records_of_another_file_are_refused_or_done_again(
    tmp_path: Path, options: RunOptions
) -> None:
    options = replace(options, data_dir=tmp_path)
    path = write_lost(tmp_path)
    whole = path.read_bytes()
    run(plan_lost("cc", seeds=(0, 1)), options)
    [digest] = {r.provenance.data_digest for r in read_records(options.results)[0]}
    write_lost(tmp_path, rows=60)
    line = refusal(plan_lost("cc", seeds=(0, 1, 2)), options)
    assert line.startswith(
        "CC (epochs=1) · lost · seed 0: its record was made on files of lost with the digest "
        f"{digest}, these have "
    )
    assert line.endswith(": put the former back, or choose rerun or keep")
    summary, _ = run(plan_lost("cc", seeds=(0,)), replace(options, stale="rerun"))
    assert counts(summary) == (1, 0, 0, 0)
    sizes = [record.provenance.audit.num_rows for record in read_records(options.results)[0]]
    assert sorted(sizes) == [48, 80]
    path.write_bytes(whole)
    assert counts(run(plan_lost("cc", seeds=(1,)), options)[0]) == (0, 1, 0, 0)


def test_a_finished_grid_needs_no_data(tmp_path: Path, options: RunOptions) -> None:
    options = replace(options, data_dir=tmp_path)
    path = write_lost(tmp_path)
    run(plan_lost("cc"), options)
    path.unlink()
    assert counts(run(plan_lost("cc"), options)[0]) == (0, 1, 0, 0)
    path.write_bytes(b"cut off")
    assert "these have" in refusal(plan_lost("cc"), options)


def test_a_record_without_a_digest_was_made_on_the_file_that_the_catalogue_knows(
    tmp_path: Path, options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(options, data_dir=tmp_path)
    write_lost(tmp_path)
    [first] = plan_lost("cc")
    run([first], options)
    path = record_path(options.results, first.spec)
    content = json.loads(path.read_text())
    digest = content["provenance"].pop("data_digest")
    path.write_text(json.dumps(content))
    for known in (None, digest):
        monkeypatch.setitem(DATASETS, "lost", replace(DATASETS["lost"], known_digest=known))
        assert counts(run(plan_lost("cc"), options)[0]) == (0, 1, 0, 0)
    monkeypatch.setitem(DATASETS, "lost", replace(DATASETS["lost"], known_digest="0" * 16))
    assert f"the digest {'0' * 16}, these have {digest}" in refusal(plan_lost("cc"), options)


@pytest.mark.parametrize(("change", "resumed"), [(None, (1,)), (SHARPER, ()), (REWRITTEN, ())])
def test_unfinished_work_does_not_go_on_under_another_origin(
    average: Write, options: RunOptions, change: tuple[str, str] | None, resumed: tuple[int, ...]
) -> None:
    flags = (Setting(reason="--epochs", train={"epochs": 3}),)

    def one() -> PlannedRun:
        [found] = plan(Selection(methods=("average",), q=(0.3,), seeds=(0,), flags=flags))
        return found

    checkpoint = Workspace.for_run(options.results, one().spec.run_id).checkpoint
    checkpoint.parent.mkdir(parents=True)
    with pytest.raises(Interrupted):
        execute(Job(one().spec, one().data, options, checkpoint), lambda _: False)
    assert checkpoint.exists()
    average(*([change] if change else []))
    _, lines = run([one()], options)
    [record], _ = read_records(options.results)
    assert record.provenance.resumed_from == resumed
    if change:
        assert lines[0].startswith(
            f"{checkpoint}: not a checkpoint of this run (of another run, or"
        )


def test_scores_of_an_annotator_belong_to_the_files_that_they_were_made_on(tmp_path: Path) -> None:
    spec = make_spec("supervised")
    paths = {scores_path(tmp_path, spec, digest) for digest in (None, "a", "b")}
    assert len(paths) == 3
    assert scores_path(tmp_path, make_spec("supervised", hparams={"a": 1}), None) not in paths


def test_what_counts_as_another_setting() -> None:
    old = make_spec(hparams={"a": 1.0, "b": "x"})
    assert changed_settings(old, make_spec(hparams={"a": 1, "b": "x", "new": 3})) == {}
    assert changed_settings(old, make_spec(hparams={"a": 2.0, "b": "x"})) == {"a": (1.0, 2.0)}
    assert changed_settings(old, make_spec(hparams={"b": "y"})) == {
        "a": (1.0, None),
        "b": ("x", "y"),
    }
