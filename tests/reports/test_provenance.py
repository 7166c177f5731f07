"""Where runs come from, and what is missing."""

from pathlib import Path

from pllbench.reports.aggregate import build_table
from pllbench.reports.provenance import (
    record_addresses,
    tabulate_audits,
    tabulate_machines,
    tabulate_missing,
)
from pllbench.results.records import AnnotatorFacts, Provenance, Record
from tests.factories import AUDIT, PROTOCOL, RELATIVE, make_plan, make_records, make_spec
from tests.reports.examples import texts


def with_provenance(run: Record, **fields: object) -> Record:
    return run.model_copy(update={"provenance": Provenance(**({"audit": AUDIT} | fields))})  # type: ignore[arg-type]


def test_audits_are_means_over_draws_and_extremes_over_all() -> None:
    other = AUDIT.model_copy(
        update={"digest": "1" * 16, "mean": 4.0, "min": 1, "max": 8, "singletons": 0.5}
    )
    first, second = make_records([90, 91])
    runs = [first, with_provenance(second, audit=other)]
    runs += [with_provenance(run, audit=AUDIT) for run in make_records([90], method="rc")]
    runs += make_records([99], method="supervised")
    table = tabulate_audits(build_table(runs, PROTOCOL), runs)
    assert list(map(texts, table.rows)) == [
        *[("Digits", "uniform", "0.3", "2", "80", "10", "3.50", "1", "8", "25.0", "0.0", "0.0")]
    ]


def test_audits_name_the_annotator_of_instance_dependent_sets() -> None:
    facts = AnnotatorFacts(run_id="a" * 16, train_accuracy=0.975, test_accuracy=0.9)
    runs = [with_provenance(r, annotator=facts) for r in make_records([90], candidates=RELATIVE)]
    table = tabulate_audits(build_table(runs, PROTOCOL), runs)
    assert table.headers[-1] == ("Annotator right (%)",)
    assert texts(table.rows[0])[:3] == ("Digits", "instance:rule=max", "")
    assert texts(table.rows[0])[-1] == "97.5"


def test_machines_are_told_apart_by_device_system_and_versions() -> None:
    a, b, c = make_records([1, 2, 3])
    linux = {"host": "Linux", "versions": {"torch": "2.9"}}
    runs = [
        with_provenance(a, commit="a" * 40, seconds=1800.0, **linux),
        with_provenance(b, commit="b" * 40 + "+dirty", seconds=5400.0, **linux),
        with_provenance(c, device="cuda"),
    ]
    commits = f"{'a' * 12} (1), {'b' * 12}+dirty (1)"
    assert list(map(texts, tabulate_machines(runs).rows)) == [
        ("cpu", "Linux", "torch 2.9", commits, "2", "2.0"),
        ("cuda", "unknown", "unknown", "unknown (1)", "1", "0.0"),
    ]


def test_missing_runs_are_named_by_cell_with_their_state() -> None:
    done = make_records([90])
    wanted = [make_spec(seed=seed) for seed in range(4)] + [make_spec("rc", "lost", None)]
    planned = make_plan(wanted)
    failures = {planned[3].spec.run_id: (planned[3].title, "ValueError: no")}
    failed, missing = tabulate_missing(planned, done, failures, [])
    assert list(map(texts, failed.rows)) == [(planned[3].title, "ValueError: no")]
    assert list(map(texts, missing.rows)) == [
        ("CC", "Digits", "uniform", "0.3", "1, 2", "not run"),
        ("CC", "Digits", "uniform", "0.3", "3", "failed"),
        ("RC", "Lost", "real", "", "0", "not run"),
    ]


def test_addresses_lead_from_the_page_to_the_folders_of_records(tmp_path: Path) -> None:
    cc, lost = make_spec(), make_spec("rc", "lost", None)
    stored = [(cc, tmp_path / "pages" / "results"), (lost, tmp_path / "50 % & more")]
    assert record_addresses(stored, tmp_path / "pages") == {
        cc.run_id: "results/records/digits/cc",
        lost.run_id: "../50%20%25%20%26%20more/records/lost/rc",
    }


def test_files_that_are_not_counted_are_named() -> None:
    [table] = tabulate_missing(None, [], {}, ["a.json: not readable"])
    assert table.title == "Files that are not counted"
    assert list(map(texts, table.rows)) == [("a.json: not readable",)]


def test_nothing_is_missing() -> None:
    done = make_records([90])
    assert tabulate_missing(make_plan([done[0].spec]), done, {}, []) == []
