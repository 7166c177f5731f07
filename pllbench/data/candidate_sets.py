"""The candidate sets of training rows: given, made of annotators' labels or generated; pruned.

Letters in shape comments: n training rows, C classes, D features.
"""

import numpy as np
import torch
from torch import Tensor

from pllbench.candidates.annotations import sets_of_votes
from pllbench.candidates.processes import Candidates, Logits, TrueLabels, generate
from pllbench.candidates.pruning import Features, nearest_neighbours, prune, standardised
from pllbench.candidates.sets_spec import SetsSpec
from pllbench.data.readers.base import Dataset
from pllbench.spec import PruningSpec


def unpruned_sets(
    dataset: Dataset, rows: Tensor, sets: SetsSpec, seed: int, logits: Logits | None = None
) -> Candidates:
    """Candidate sets [n, C] of some rows [n] as they come, or as they are drawn by the seed.

    Args:
        dataset: the data set.
        rows: its training rows; where sets come with it, any of its rows.
        sets: how their sets come about.
        seed: of what is drawn.
        logits: scores [n, C] of an annotator, for instance-dependent sets.
    """
    if dataset.candidates is not None:
        given: Candidates = dataset.candidates[rows].numpy()
        return given
    if dataset.votes is not None:
        assert sets.annotations is not None, "the grid gives annotators' labels a rule"
        return sets_of_votes(dataset.votes[rows].numpy(), sets.annotations, seed)
    assert sets.process is not None, "the grid gives generated sets a process"
    y = dataset.y[rows].numpy()
    truth = TrueLabels(y, dataset.num_classes, dataset.info.superclasses, logits)
    return generate(truth, sets.process, seed)


def given_sets(dataset: Dataset, rule: str | None, seed: int) -> tuple[Tensor, Candidates]:
    """Rows [N, ...] to train on, and the candidate sets [N, C] that they come with.

    They are all rows, or the training rows of a fixed split.

    Args:
        dataset: the data set.
        rule: how annotators' labels become sets; None where there are none.
        seed: of what the rule draws.

    Raises:
        ValueError: it comes without candidate sets.
    """
    if not dataset.info.real_candidates:
        where = dataset.info.path or dataset.info.name
        raise ValueError(f"{where}: comes without candidate sets, which only `run` generates")
    rows = torch.arange(len(dataset.x))[: dataset.num_train]
    return dataset.x[rows], unpruned_sets(dataset, rows, SetsSpec(annotations=rule), seed)


def pruned_sets(
    dataset: Dataset, train: Tensor, candidates: Candidates, pruning: PruningSpec
) -> Candidates:
    """The candidate sets [n, C] of the rows `train` [n] after pruning among these rows."""
    require_neighbours(train, pruning)
    neighbours = nearest_neighbours(_features(dataset, train), pruning.k)
    return prune(candidates, neighbours, pruning.tau)


def require_neighbours(train: Tensor, pruning: PruningSpec) -> None:
    """Raise ValueError if there are too few training rows [n] for the neighbours of each."""
    if pruning.k >= len(train):
        raise ValueError(
            f"prune: k = {pruning.k} neighbours, a row has {len(train) - 1} among the training rows"
        )


def _features(dataset: Dataset, train: Tensor) -> Features:
    """[n, D]: of the features' file, or of the rows themselves; no view of a method plays in."""
    if dataset.features is not None:
        found: Features = dataset.features[train].numpy()
        return found
    return standardised(dataset.x[train].flatten(1).numpy().astype(np.float32))
