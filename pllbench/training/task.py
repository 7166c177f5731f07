"""The tensors of one run: split, candidate sets and hold-out of a data set, on the device."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from pllbench.candidates.audit import Audit, audit_candidates, check_candidates
from pllbench.candidates.processes import Candidates, Logits
from pllbench.candidates.pruning import PruningAudit, audit_pruning
from pllbench.candidates.requirements import require_possible
from pllbench.candidates.sets_spec import SetsSpec
from pllbench.data.candidate_sets import pruned_sets, require_neighbours, unpruned_sets
from pllbench.data.dataset import hold_out, split
from pllbench.data.readers.base import Dataset
from pllbench.grid.resolve import annotator_run
from pllbench.networks import require_network
from pllbench.spec import RunSpec
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics, require_scaling, statistics


@dataclass(frozen=True, slots=True)
class Task:
    """What a run trains and is evaluated on.

    True labels of training rows are for metrics alone, and the hold-out has none: its rows
    are known by their candidate sets only. Where true labels are not known there is no test: the
    rows that would be test rows belong to the hold-out.

    Attributes:
        x: [N, ...] training rows.
        candidates: [N, C] bool.
        true_labels: [N] int64; None where they are not known.
        test_x: [M, ...] test rows; M is 0 without true labels.
        test_y: [M] int64.
        holdout_x: [H, ...] rows kept aside; H may be 0.
        holdout_candidates: [H, C] bool.
        views: made from the training rows.
        audit: candidate sets of training rows and hold-out together.
        pruning: what pruning has done to these candidate sets; None where there was none.
        long_tailed: the training rows are a long-tailed part of the data set's.
        test_rows: [M] int64, places of the test rows in the data set; empty where it has none.
    """

    x: Tensor
    candidates: Tensor
    true_labels: Tensor | None
    test_x: Tensor
    test_y: Tensor
    holdout_x: Tensor
    holdout_candidates: Tensor
    views: Views
    audit: Audit
    pruning: PruningAudit | None = None
    long_tailed: bool = False
    test_rows: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))

    @property
    def y(self) -> Tensor:
        """The true labels, [N] int64, where they are known."""
        assert self.true_labels is not None
        return self.true_labels


def make_task(
    spec: RunSpec,
    dataset: Dataset,
    device: torch.device,
    *,
    noisy: bool = False,
    logits: Logits | None = None,
) -> Task:
    """Split `dataset`, make or take its candidate sets, and move everything to `device`.

    Candidate sets are drawn for all training rows before the hold-out is taken, so a hold-out
    changes no set.

    Args:
        spec: the run.
        dataset: its data set.
        device: where the tensors go.
        noisy: permit rows whose true label is no candidate; data sets and processes that are noisy
            by nature imply it.
        logits: scores [training rows, C] of an annotator, for instance-dependent sets.

    Raises:
        ValueError: a row has no candidate, or its true label is none (unless `noisy`).
    """
    info, seed = dataset.info, spec.split_seed
    train, test = split(dataset, seed, spec.imbalance, spec.folds)
    y = dataset.labels_of(train)
    sets = unpruned = _unpruned_sets(spec, dataset, train, logits)
    _check_sets(spec, dataset, train, sets, noisy=noisy)
    if spec.pruning:
        sets = pruned_sets(dataset, train, unpruned, spec.pruning)
    kept, held = hold_out(torch.arange(len(train)), spec.holdout, seed)
    x = _rows(dataset.x, train[kept])
    stats = image_statistics(x, info.pixels, spec.views) if _images(x) else statistics(x)
    candidates = torch.from_numpy(sets)
    holdout_x, holdout_sets = dataset.x[train[held]], candidates[held]
    labels = dataset.true_labels
    if labels is None:
        sets_of_test = torch.from_numpy(_unpruned_sets(spec, dataset, test, None))
        holdout_x = torch.cat([holdout_x, dataset.x[test]])
        holdout_sets = torch.cat([holdout_sets, sets_of_test])
        test = test[:0]
    return Task(
        x=x.to(device),
        candidates=candidates[kept].to(device),
        true_labels=None if labels is None else labels[train[kept]].to(device),
        test_x=_rows(dataset.x, test).to(device),
        test_y=(test if labels is None else labels[test]).to(device),
        holdout_x=holdout_x.to(device),
        holdout_candidates=holdout_sets.to(device),
        views=Views(info.kind, spec.views, stats.to(device)),
        audit=audit_candidates(sets, y),
        pruning=audit_pruning(unpruned, sets, y) if spec.pruning else None,
        long_tailed=spec.imbalance != 1,
        test_rows=test,
    )


def _unpruned_sets(
    spec: RunSpec, dataset: Dataset, rows: Tensor, logits: Logits | None
) -> Candidates:
    """Sets [n, C] of rows [n]: the true labels, or the candidate sets before pruning."""
    if spec.labels == "true":
        one_hot: Candidates = np.eye(dataset.num_classes, dtype=np.bool_)[dataset.y[rows].numpy()]
        return one_hot
    return unpruned_sets(dataset, rows, SetsSpec.of(spec), spec.split_seed, logits)


def _check_sets(
    spec: RunSpec, dataset: Dataset, train: Tensor, candidates: Candidates, *, noisy: bool
) -> None:
    """Refuse sets [training rows, C] without a candidate, or, unless permitted, the true label."""
    permitted = noisy or dataset.info.noisy or SetsSpec.of(spec).noisy
    y = dataset.labels_of(train)
    check_candidates(candidates, y, noisy=permitted, where=spec.dataset)


def require_fit(spec: RunSpec, dataset: Dataset, *, noisy: bool = False) -> None:
    """Check that `spec` asks for nothing that its data set cannot give, before anything is made.

    Args:
        spec: the run.
        dataset: its data set.
        noisy: permit rows whose true label is no candidate.

    Raises:
        ValueError: a network does not take its rows, or a batch of one of them, or the candidate
            process its classes; images are scaled, or too small for views; a class has too few rows
            for the imbalance, or all rows for pruning; sets of annotators' labels lack a true label
            (unless `noisy`); or the hold-out takes no row, or all.
    """
    shape, seed = tuple(dataset.x.shape[1:]), spec.split_seed
    train, _ = split(dataset, seed, spec.imbalance, spec.folds)
    kept, _ = hold_out(train, spec.holdout, seed)
    runs = [(spec.train, len(kept))] if spec.gradient else []
    if spec.candidates:
        require_possible(spec.candidates, dataset.num_classes, dataset.info.superclasses)
        if spec.candidates.process == "instance":
            runs += [(annotator_run(spec, dataset.info).train, len(train))]
    for settings, num_rows in runs:
        require_network(settings, shape, num_rows)
    require_scaling(dataset.info.kind, spec.views)
    if spec.gradient and _images(dataset.x):
        from pllbench.views.images import require_size  # seconds, which rows of features do not pay

        require_size(dataset.info.kind, shape)
    if spec.pruning:
        require_neighbours(train, spec.pruning)
    if spec.annotations:
        sets = _unpruned_sets(spec, dataset, train, None)
        _check_sets(spec, dataset, train, sets, noisy=noisy)


def _images(x: Tensor) -> bool:
    return x.dtype == torch.uint8


def _rows(x: Tensor, index: Tensor) -> Tensor:
    """The rows `index`, ascending; a view where they are consecutive: images are not copied."""
    if not len(index):
        return x[:0]
    first, last = int(index[0]), int(index[-1])
    return x[first : last + 1] if last - first + 1 == len(index) else x[index]
