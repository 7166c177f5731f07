"""Runs on sets of annotators' labels: the rule in identity, record and plan; what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from pllbench.results.records import Record, read_records
from tests.commands import pllbench, refused

NUM_ROWS = 60

TRUE = np.arange(NUM_ROWS) % 3


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """Rows with the true label from two annotators, and the next class from a third one."""
    rng, rows = np.random.default_rng(0), np.arange(NUM_ROWS)
    labels = (TRUE, TRUE, (TRUE + 1) % 3)
    annotations = [np.stack([rows, rows * 0 + who, y], 1) for who, y in enumerate(labels)]
    x = np.eye(3)[TRUE] + 0.1 * rng.normal(size=(NUM_ROWS, 3))
    np.savez(tmp_path / "crowd.npz", x=x, y=TRUE, annotations=np.concatenate(annotations))
    return tmp_path / "crowd.npz"


def run(path: Path, *flags: object) -> Record:
    results = path.parent / "results"
    known = {record.run_id for record in read_records(results)[0]}
    grid = ("--methods", "cc", "--datasets", path, "--seeds", "1", "--epochs", "2", "--jobs", "1")
    answer = pllbench("run", *grid, *flags, "--results", results)
    assert answer.code == 0, answer.err
    (record,) = (one for one in read_records(results)[0] if one.run_id not in known)
    return record


def test_the_rule_makes_the_sets_and_is_in_the_record(crowd: Path) -> None:
    union, agreed = run(crowd), run(crowd, "--annotations", "votes=2")
    assert (union.spec.annotations, agreed.spec.annotations) == ("union", "votes=2")
    assert union.spec.candidates is agreed.spec.candidates is None
    assert (union.provenance.audit.mean, agreed.provenance.audit.mean) == (2, 1)
    assert union.run_id != agreed.run_id
    assert union.spec.digest == agreed.spec.digest


def test_draws_may_miss_the_truth_and_say_so(crowd: Path) -> None:
    drawn = run(crowd, "--annotations", "draws=1").provenance.audit
    assert drawn.mean == 1
    assert drawn.without_true == pytest.approx(1 / 3, abs=0.2)
    facts = json.loads(pllbench("data", crowd, "--annotations", "draws=1", "--json").out)
    assert facts["candidates"] == "annotations, draws=1"
    assert facts["candidates_without_true"] == drawn.without_true
    assert facts["candidate_digest"] == drawn.digest


def test_the_audit_takes_the_union_unless_told_otherwise(crowd: Path) -> None:
    facts = json.loads(pllbench("data", crowd, "--json").out)
    assert (facts["candidates"], facts["candidates_mean"]) == ("annotations, union", 2)


def test_labels_that_miss_the_truth_need_permission(crowd: Path) -> None:
    with np.load(crowd) as stored:
        arrays = dict(stored)
    arrays["annotations"] = arrays["annotations"][arrays["annotations"][:, 1] == 2]
    np.savez(crowd, **arrays)
    grid = ("--methods", "cc", "--datasets", crowd, "--seeds", "1", "--epochs", "2")
    message = refused("run", *grid, "--results", crowd.parent / "results")
    assert "crowd: row 0 (counted from 0) does not have its true label 0 among" in message
    assert run(crowd, "--noisy-candidates").provenance.audit.without_true == 1


def test_a_supervised_run_has_no_rule(crowd: Path) -> None:
    grid = ("--methods", "supervised", "--datasets", crowd, "--seeds", "1", "--epochs", "2")
    assert pllbench("run", *grid, "--results", crowd.parent / "results").code == 0
    (record,), _ = read_records(crowd.parent / "results")
    assert record.spec.annotations is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--annotations", "most"), "--annotations most: annotations: rule 'most': must be union"),
        (("--annotations", "votes=1"), "--annotations votes=1: annotations: rule 'votes=1': must"),
        (
            ("--annotations", "top=2"),
            "--annotations top=2: no data set here comes with annotators' labels",
        ),
    ],
)
def test_rules_that_are_wrong_or_apply_to_nothing(flags: tuple[str, ...], message: str) -> None:
    assert refused("run", "--methods", "cc", *flags, "--dry-run").startswith(message)


def test_the_audit_refuses_a_rule_where_there_are_no_annotators(tmp_path: Path) -> None:
    message = refused("data", "digits", "--annotations", "union")
    assert message == "--annotations union: digits does not come with annotators' labels"


def test_the_plan_names_the_rule(crowd: Path) -> None:
    answer = pllbench("run", "--methods", "cc", "--datasets", crowd, "--seeds", "1", "--dry-run")
    assert "  annotations: rule=union\n" in answer.out
