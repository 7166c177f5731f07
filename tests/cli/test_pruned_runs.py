"""Runs on pruned candidate sets: what the record says, features from a file, what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllbench.results.records import Record, read_records
from tests.commands import pllbench, refused

NUM_ROWS = 60

GRID = ("--methods", "cc", "--seeds", "1", "--epochs", "2", "--jobs", "1")

PRUNE = "tau=0.6,k=5"


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    """Three distant clusters of rows; every row has its class and one of the two others."""
    rng, y = np.random.default_rng(0), np.arange(NUM_ROWS) % 3
    x = 10 * np.eye(3)[y] + rng.normal(size=(NUM_ROWS, 3))
    other = (y + 1 + np.arange(NUM_ROWS) // 3 % 2) % 3
    np.savez(tmp_path / "clusters.npz", x=x, y=y, candidates=np.eye(3)[y] + np.eye(3)[other])
    return tmp_path / "clusters.npz"


def save_features(folder: Path, features: Any) -> Path:
    np.savez(folder / "features.npz", features=features)
    return folder / "features.npz"


def run(path: Path, *flags: object) -> Record:
    results = path.parent / "results"
    known = {record.run_id for record in read_records(results)[0]}
    answer = pllbench("run", *GRID, "--datasets", path, *flags, "--results", results)
    assert answer.code == 0, answer.err
    (record,) = (one for one in read_records(results)[0] if one.run_id not in known)
    return record


def test_a_record_says_what_pruning_did(clusters: Path) -> None:
    plain, pruned = run(clusters), run(clusters, "--prune", PRUNE)
    assert plain.provenance.pruning is None
    assert pruned.run_id != plain.run_id
    facts = pruned.provenance.pruning
    assert facts is not None
    assert facts.before == plain.provenance.audit
    assert facts.before.mean == 2
    assert facts.lost == 0
    assert facts.removed > 0.4
    after = pruned.provenance.audit
    assert after.mean == pytest.approx(2 - facts.removed)
    assert after.without_true == 0


def test_the_audit_of_the_data_says_the_same(clusters: Path) -> None:
    record = run(clusters, "--prune", PRUNE)
    facts = json.loads(pllbench("data", clusters, "--prune", PRUNE, "--json").out)
    assert record.provenance.pruning is not None
    assert facts["pruning"] == "prune tau=0.6 k=5"
    assert facts["mean_before"] == record.provenance.pruning.before.mean
    assert facts["pruned_surplus"] == record.provenance.pruning.removed
    assert facts["pruned_true"] == 0
    assert facts["candidate_digest"] == record.provenance.audit.digest


def test_pruning_may_lose_true_labels_without_permission(clusters: Path) -> None:
    features = save_features(clusters.parent, np.random.default_rng(1).normal(size=(NUM_ROWS, 4)))
    record = run(clusters, "--prune", f"tau=1.0,k=5,features={features}")
    assert record.provenance.pruning is not None
    assert record.provenance.pruning.lost is not None
    assert record.provenance.pruning.lost > 0.1
    assert record.provenance.audit.without_true == record.provenance.pruning.lost
    assert record.provenance.pruning.before.without_true == 0


def test_features_of_a_file_are_known_by_their_content(clusters: Path, tmp_path: Path) -> None:
    with np.load(clusters) as stored:
        x = stored["x"]
    file = save_features(tmp_path, x)
    one = run(clusters, "--prune", f"{PRUNE},features={file}")
    moved = file.rename(tmp_path / "moved.npz")
    again = ("--datasets", clusters, "--prune", f"{PRUNE},features={moved}")
    answer = pllbench("run", *GRID, *again, "--results", tmp_path / "results")
    assert "0 done, 1 were done before" in answer.err
    save_features(tmp_path, x + 1)
    other = run(clusters, "--prune", f"{PRUNE},features={file}")
    assert one.spec.pruning is not None
    assert other.spec.pruning is not None
    assert one.spec.pruning.features != other.spec.pruning.features
    assert run(clusters, "--prune", PRUNE).spec.pruning.features is None  # type: ignore[union-attr]


def test_features_of_training_rows_alone_serve_a_fixed_split(clusters: Path) -> None:
    with np.load(clusters) as stored:
        arrays = dict(stored) | {"num_train": 45}
    np.savez(clusters, **arrays)
    file = save_features(clusters.parent, arrays["x"][:45])
    assert run(clusters, "--prune", f"{PRUNE},features={file}").provenance.pruning is not None


def test_generated_sets_and_hold_outs_are_pruned_alike(tmp_path: Path) -> None:
    flags = ("--datasets", "digits", "--q", "0.3", "--prune", "tau=0.6,k=20")
    for holdout in ("0", "0.2"):
        results = tmp_path / holdout
        answer = pllbench("run", *GRID, *flags, "--holdout", holdout, "--results", results)
        assert answer.code == 0, answer.err
    plain, held = (read_records(tmp_path / name)[0][0].provenance for name in ("0", "0.2"))
    assert plain.audit == held.audit
    assert plain.pruning == held.pruning
    assert plain.pruning is not None
    assert plain.pruning.removed > 0.5
    assert plain.pruning.lost is not None
    assert plain.pruning.lost < 0.05


def test_a_supervised_run_is_not_pruned(clusters: Path) -> None:
    grid = ("--methods", "supervised,cc", *GRID[2:], "--datasets", clusters, "--prune", PRUNE)
    assert pllbench("run", *grid, "--results", clusters.parent / "results").code == 0
    cc, supervised = read_records(clusters.parent / "results")[0]
    assert (cc.spec.labels, supervised.spec.labels) == ("candidates", "true")
    assert cc.spec.pruning is not None
    assert (supervised.spec.pruning, supervised.provenance.pruning) == (None, None)


@pytest.mark.parametrize(
    ("prune", "problem"),
    [
        ("tau=0.6", "k: Field required"),
        ("k=5", "tau: Field required"),
        ("tau=2,k=5", "tau: Input should be less than or equal to 1, got 2"),
        ("tau=0.6,k=0", "k: Input should be greater than or equal to 1, got 0"),
        ("tau=0.6,k=1.5", "k: "),
        ("tau=0.6,k=5,radius=1", "unknown key 'radius'"),
        ("tau,k", "must be KEY=VALUE"),
        ("", "an entry is empty"),
    ],
)
def test_impossible_settings_are_refused(prune: str, problem: str) -> None:
    message = refused("run", "--methods", "cc", "--prune", prune, "--dry-run")
    assert message.startswith("--prune ")
    assert problem in message


def test_pruning_of_nothing_is_refused() -> None:
    message = refused("run", "--methods", "supervised", "--prune", PRUNE, "--dry-run")
    assert message == f"--prune {PRUNE}: no method here learns from candidate sets"


def test_too_few_rows_are_refused_before_a_run(clusters: Path) -> None:
    flags = ("--datasets", clusters, "--prune", "tau=0.6,k=48")
    message = refused("run", *GRID, *flags, "--results", clusters.parent / "results")
    assert message.endswith("prune: k = 48 neighbours, a row has 47 among the training rows")
    assert not (clusters.parent / "results").exists()


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        (np.zeros((50, 3)), "`features` has 50 rows, clusters has 60"),
        (np.full((NUM_ROWS, 3), np.nan), "row 0 (counted from 0) has a feature that is NaN"),
        (np.zeros(NUM_ROWS), "`features` is no matrix of numbers"),
        (np.array(["a"] * NUM_ROWS), "`features` is no matrix of numbers"),
        (np.array([None] * NUM_ROWS), "not a .npz file, or cut off"),
    ],
)
def test_malformed_features_are_refused(clusters: Path, features: object, problem: str) -> None:
    file = save_features(clusters.parent, features)
    flags = ("--datasets", clusters, "--prune", f"{PRUNE},features={file}")
    message = refused("run", *GRID, *flags, "--results", clusters.parent / "results")
    assert message.startswith(str(file))
    assert problem in message


def test_missing_features_are_refused(clusters: Path) -> None:
    flags = ("--datasets", clusters, "--prune", f"{PRUNE},features=./none.npz")
    assert refused("run", *GRID, *flags).endswith("features none.npz: no such file")
    np.savez(clusters.parent / "other.npz", x=np.zeros((NUM_ROWS, 2)))
    flags = ("--datasets", clusters, "--prune", f"{PRUNE},features={clusters.parent}/other.npz")
    assert refused("run", *GRID, *flags).endswith("other.npz: no array `features` in it")
