"""Facts about a data set and the candidate sets that a run would train on."""

import hashlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pllbench.candidates.audit import audit_candidates
from pllbench.candidates.pruning import audit_pruning
from pllbench.candidates.sets_spec import SetsSpec
from pllbench.data.candidate_sets import pruned_sets, unpruned_sets
from pllbench.data.catalogue import DatasetInfo
from pllbench.data.dataset import load_dataset, split
from pllbench.data.readers.base import Dataset
from pllbench.validation import StrictModel


class DataAudit(StrictModel):
    """What a data set looks like; rows whose features are equal are duplicates."""

    name: str
    num_rows: int
    num_features: int
    num_classes: int
    absent_classes: tuple[int, ...]
    """Classes that no row has as its true label; without true labels, as a candidate."""
    constant_columns: int
    zero_rows: int
    """Rows whose features are all zero."""
    duplicate_rows: int
    """Rows that repeat an earlier row."""
    num_train: int
    num_test: int
    untrained_classes: tuple[int, ...]
    """Classes that have test rows but no training row, at the given seed; without true labels,
    candidates of rows of the hold-out but of no training row."""
    untested_classes: tuple[int, ...]
    """Classes that have training rows but no test row, at the given seed; likewise."""
    leaked_rows: int
    """Test rows whose features also stand in a training row, at the given seed."""
    digest: str
    """SHA-256 (16 hex digits) of features, true labels and candidate sets, where there are any."""


def describe(dataset: Dataset, seed: int, imbalance: float = 1.0) -> DataAudit:
    """Facts about a data set, and about its split at `seed`, with the imbalance of `split`."""
    x = dataset.x.flatten(1).numpy()
    if dataset.x.is_floating_point():
        x = x + 0.0  # -0.0 and 0.0 are one value and two byte patterns
    rows = [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in x]
    train, test = split(dataset, seed, imbalance)
    train_rows = {rows[i] for i in train.tolist()}
    trained, tested = (_occurring(dataset, part) for part in (train, test))
    occurs = _occurring(dataset, torch.arange(len(x)))
    return DataAudit(
        name=dataset.info.name,
        num_rows=len(x),
        num_features=x.shape[1],
        num_classes=dataset.num_classes,
        absent_classes=tuple(k for k in range(dataset.num_classes) if k not in occurs),
        constant_columns=int((x == x[0]).all(axis=0).sum()),
        zero_rows=int((x == 0).all(axis=1).sum()),
        duplicate_rows=len(rows) - len(set(rows)),
        num_train=len(train),
        num_test=len(test),
        untrained_classes=tuple(sorted(tested - trained)),
        untested_classes=tuple(sorted(trained - tested)),
        leaked_rows=sum(rows[i] in train_rows for i in test.tolist()),
        digest=_digest(dataset),
    )


def _occurring(dataset: Dataset, rows: Tensor) -> set[int]:
    """Classes that one of the rows has as its true label; where unknown, as a candidate."""
    sets = dataset.votes if dataset.candidates is None else dataset.candidates
    if sets is None or dataset.labelled:
        return set(dataset.y[rows].tolist())
    return set((sets[rows] > 0).any(0).nonzero().flatten().tolist())


def _digest(dataset: Dataset) -> str:
    content = hashlib.sha256(f"{tuple(dataset.x.shape)}:{dataset.num_classes}:".encode())
    x = dataset.x.numpy()
    content.update(x.tobytes() if x.dtype == np.uint8 else x.astype("<f4").tobytes())
    if dataset.labelled:
        content.update(dataset.y.numpy().astype("<i8").tobytes())
    if dataset.candidates is not None:
        content.update(np.packbits(dataset.candidates.numpy()).tobytes())
    return content.hexdigest()[:16]


def audit_dataset(
    info: DatasetInfo, data_dir: Path, sets: SetsSpec, seed: int
) -> dict[str, object]:
    """Facts by name: of the data set, its split at `seed`, and the training rows' candidate sets.

    Args:
        info: the data set.
        data_dir: folder of the data sets.
        sets: how training rows and their candidate sets come about.
        seed: of split and candidate sets.

    Raises:
        ValueError: a missing or malformed file, a process that needs an annotator, or too few rows
            for imbalance or pruning.
    """
    if sets.process and sets.process.process == "instance":
        raise ValueError(
            "process instance needs an annotator, which a run trains: the audit of its sets "
            "stands in the records"
        )
    dataset = load_dataset(info, data_dir, noisy=True)
    facts: dict[str, object] = {"kind": info.kind}
    if not dataset.labelled:
        facts["true_labels"] = "none: what would be the test rows is a hold-out"
    facts |= describe(dataset, seed, sets.imbalance).model_dump(mode="json")
    if dataset.classes and dataset.columns:
        facts |= {"classes": list(dataset.classes), "columns": list(dataset.columns)}
    if not dataset.labelled:
        facts["num_holdout"] = facts.pop("num_test")
    if info.digest:
        facts["digest"] = info.digest
    if dataset.digest:
        facts["file_digest"] = dataset.digest
    if dataset.digest and info.known_digest:
        facts["known_file"] = dataset.digest == info.known_digest
    return facts | _candidate_facts(dataset, sets, seed)


def _candidate_facts(dataset: Dataset, sets: SetsSpec, seed: int) -> dict[str, object]:
    train, _ = split(dataset, seed, sets.imbalance)
    y = dataset.labels_of(train)
    facts: dict[str, object] = {"candidates": "real"}
    if sets.annotations:
        facts["candidates"] = f"annotations, {sets.annotations}"
    if sets.process:
        fields = sets.process.read.items()
        facts["candidates"] = ", ".join(f"{key}={value}" for key, value in fields)
    if sets.imbalance != 1:
        counts = np.bincount(dataset.y[train], minlength=dataset.num_classes)
        facts["class_counts"] = ", ".join(map(str, counts))
    found = unpruned_sets(dataset, train, sets, seed)
    if sets.pruning:
        pruned = pruned_sets(dataset, train, found, sets.pruning)
        pruning = audit_pruning(found, pruned, y)
        facts |= {
            "pruning": sets.pruning.text,
            "mean_before": pruning.before.mean,
            "without_true_before": pruning.before.without_true,
            "pruned_surplus": pruning.removed,
            "pruned_true": pruning.lost,
        }
        found = pruned
    facts["never_candidates"] = np.flatnonzero(~found.any(axis=0)).tolist()
    audit = audit_candidates(found, y).model_dump(mode="json")
    renamed = {"num_rows": "candidate_rows", "digest": "candidate_digest"}
    audit.pop("num_classes")
    facts |= {renamed.get(k, f"candidates_{k}"): v for k, v in audit.items()}
    return {key: value for key, value in facts.items() if value is not None}
