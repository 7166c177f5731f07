"""Evaluation: predictions in chunks, and metrics of scores, pseudo labels and hold-outs."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from pllbench.method import Method
from pllbench.training.task import Task

EXTRA = "accuracy_"
"""What the columns of a method's further heads begin with."""


def accuracy(scores: Tensor, y: Tensor) -> float:
    """Share of rows whose highest score [M, C] is at the true label [M]."""
    return (scores.argmax(1) == y).double().mean().item()


def noise_rates(pseudo: Tensor, y: Tensor, num_classes: int) -> tuple[float, float]:
    """Class and pairwise noise rate of pseudo labels [N] against true labels [N].

    Class: share of rows with pseudo != y. Pairwise: share of the pairs i != j for which "same
    pseudo label" and "same true label" disagree (AsyCo, Fig. 5), from the C x C confusion counts
    instead of N^2 pairs; NaN where there is no pair.
    """
    n = len(y)
    cells = torch.bincount(y * num_classes + pseudo, minlength=num_classes**2)
    counts = cells.view(num_classes, num_classes).double()  # [true, pseudo]
    same_true, same_pseudo = counts.sum(1).square().sum(), counts.sum(0).square().sum()
    disagreeing = same_true + same_pseudo - 2 * counts.square().sum()
    wrong = (pseudo != y).double().mean().item()
    return wrong, (disagreeing / (n * (n - 1))).item() if n > 1 else float("nan")


def covering_rate(scores: Tensor, candidates: Tensor) -> float:
    """Share of rows whose predicted label is one of their candidates [M, C]."""
    return candidates.gather(1, scores.argmax(1, keepdim=True)).double().mean().item()


def approximated_accuracy(scores: Tensor, candidates: Tensor) -> float:
    """Mean over rows of p_k / p(candidates), k the predicted label; 0 where k is no candidate.

    p is the softmax of the scores [M, C] (PLENCH's selection criterion).
    """
    log_p = scores.double().log_softmax(1)
    inside = log_p.masked_fill(~candidates, -torch.inf).logsumexp(1, keepdim=True)
    share = (log_p - inside).exp().masked_fill(~candidates, 0.0)
    return share.gather(1, log_p.argmax(1, keepdim=True)).mean().item()


EVALUATION_CHUNK = 4096
"""Rows predicted at once; in eval mode it changes no prediction."""


IMAGE_EVALUATION_CHUNK = 500
"""Images predicted at once: the activations of a chunk must fit into memory."""


@torch.no_grad()
def evaluate(method: Method[Any], task: Task) -> dict[str, float]:
    """The columns of an epoch that say how well the method predicts: test rows, hold-out.

    Raises:
        FloatingPointError: a score is NaN.
    """
    method.eval()
    found = _over_chunks(task, task.test_x, method.predictions)
    scores = found.pop("")
    if scores.isnan().any():  # the last step broke the weights; argmax would call it class 0
        raise FloatingPointError(f"a score is NaN after the last step of epoch {method.epoch}")
    row = {"accuracy": accuracy(scores, task.test_y)}
    for name, extra in found.items():
        row[f"{EXTRA}{name}"] = accuracy(extra, task.test_y)
    if len(task.holdout_x):
        held = predictions(method, task, task.holdout_x)
        sets = task.holdout_candidates
        row["covering_rate"] = covering_rate(held, sets)
        row["approximated_accuracy"] = approximated_accuracy(held, sets)
    return row


@torch.no_grad()
def predictions(method: Method[Any], task: Task, x: Tensor) -> Tensor:
    """Scores [M, C] of the rows x [M, ...] of a task, in eval mode."""
    method.eval()
    return _over_chunks(task, x, lambda rows: {"": method.predict(rows)})[""]


def _over_chunks(
    task: Task,
    x: Tensor,
    predictions: Callable[[Tensor], Mapping[str, Tensor]],
) -> dict[str, Tensor]:
    parts: defaultdict[str, list[Tensor]] = defaultdict(list)
    for rows in x.split(EVALUATION_CHUNK if x.ndim == 2 else IMAGE_EVALUATION_CHUNK):
        for name, scores in predictions(task.views.plain(rows)).items():
            parts[name].append(scores)
    return {name: torch.cat(chunks) for name, chunks in parts.items()}
