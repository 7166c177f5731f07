"""The tensors of one run: split, candidate sets and hold-out of a data set, on the device."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pllbench.candidates.audit import Audit, audit_candidates, check_candidates
from pllbench.candidates.processes import Candidates, Logits, TrueLabels, generate, require_possible
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

    True labels of training rows (`y`) are for metrics alone, and the hold-out has none: its rows
    are known by their candidate sets only.

    Attributes:
        x: [N, ...] training rows.
        candidates: [N, C] bool.
        y: [N] int64 true labels.
        test_x: [M, ...] test rows.
        test_y: [M] int64.
        holdout_x: [H, ...] rows kept aside; H may be 0.
        holdout_candidates: [H, C] bool.
        views: made from the training rows.
        audit: candidate sets of training rows and hold-out together.
    """

    x: Tensor
    candidates: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor
    holdout_x: Tensor
    holdout_candidates: Tensor
    views: Views
    audit: Audit


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
    train, test = split(dataset, seed)
    y = dataset.y[train].numpy()
    sets = _candidate_sets(spec, dataset, train, logits)
    process = spec.candidates.process if spec.candidates else None
    check_candidates(sets, y, noisy=noisy or info.noisy or process == "noisy", where=spec.dataset)
    kept, held = hold_out(torch.arange(len(train)), spec.holdout, seed)
    x = _rows(dataset.x, train[kept])
    stats = image_statistics(x, info.pixels, spec.views) if _images(x) else statistics(x)
    candidates = torch.from_numpy(sets)
    return Task(
        x=x.to(device),
        candidates=candidates[kept].to(device),
        y=dataset.y[train[kept]].to(device),
        test_x=_rows(dataset.x, test).to(device),
        test_y=dataset.y[test].to(device),
        holdout_x=dataset.x[train[held]].to(device),
        holdout_candidates=candidates[held].to(device),
        views=Views(info.kind, spec.views, stats.to(device)),
        audit=audit_candidates(sets, y),
    )


def _candidate_sets(
    spec: RunSpec, dataset: Dataset, train: Tensor, logits: Logits | None
) -> Candidates:
    """Sets [training rows, C]: the true labels, those of the data, or generated ones."""
    y = dataset.y[train].numpy()
    if spec.labels == "true":
        one_hot: Candidates = np.eye(dataset.num_classes, dtype=np.bool_)[y]
        return one_hot
    if dataset.candidates is not None:
        given: Candidates = dataset.candidates[train].numpy()
        return given
    assert spec.candidates is not None, "the grid gives generated sets a process"
    truth = TrueLabels(y, dataset.num_classes, dataset.info.superclasses, logits)
    return generate(truth, spec.candidates, spec.split_seed)


def require_fit(spec: RunSpec, dataset: Dataset) -> None:
    """Check that `spec` asks for nothing that its data set cannot give, before anything is made.

    Raises:
        ValueError: a network does not take its rows, or a batch of one of them, or the candidate
            process its classes; images are scaled, or too small for views; or the hold-out takes no
            row, or all.
    """
    shape, seed = tuple(dataset.x.shape[1:]), spec.split_seed
    train, _ = split(dataset, seed)
    kept, _ = hold_out(train, spec.holdout, seed)
    runs = [(spec.train, len(kept))]
    if spec.candidates:
        require_possible(spec.candidates, dataset.num_classes, dataset.info.superclasses)
        if spec.candidates.process == "instance":
            runs += [(annotator_run(spec, dataset.info).train, len(train))]
    for settings, num_rows in runs:
        require_network(settings, shape, num_rows)
    require_scaling(dataset.info.kind, spec.views)
    if _images(dataset.x):
        from pllbench.views.images import require_size  # seconds, which rows of features do not pay

        require_size(dataset.info.kind, shape)


def _images(x: Tensor) -> bool:
    return x.dtype == torch.uint8


def _rows(x: Tensor, index: Tensor) -> Tensor:
    """The rows `index`, ascending; a view where they are consecutive: images are not copied."""
    first, last = int(index[0]), int(index[-1])
    return x[first : last + 1] if last - first + 1 == len(index) else x[index]
