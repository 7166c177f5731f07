"""Evaluation: predictions in chunks, and metrics of scores, pseudo labels and hold-outs."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from pllbench.data.imbalance import class_groups
from pllbench.method import Method
from pllbench.results.metrics import ClassMetric, column_of
from pllbench.training.task import Task

EXTRA = "accuracy_"
"""What the columns of a method's further heads begin with."""


def accuracy(scores: Tensor, y: Tensor) -> float:
    """Share of rows whose highest score [M, C] is at the true label [M]."""
    return (scores.argmax(1) == y).double().mean().item()


def class_accuracies(scores: Tensor, y: Tensor) -> dict[ClassMetric, float]:
    """Means over classes of the share of a class's rows whose highest score [M, C] is right.

    Over all classes that the true labels [M] hold, and over each group of `class_groups`; a group
    of which the labels hold no class is left out.
    """
    num_classes = scores.shape[1]
    predicted = scores.argmax(1)
    counts = torch.bincount(y, minlength=num_classes)
    right = torch.bincount(y[predicted == y], minlength=num_classes)
    shares, occurs = right.double() / counts, counts > 0
    everything: ClassMetric = "balanced"
    groups = [(everything, slice(None)), *class_groups(num_classes).items()]
    return {
        name: shares[group][occurs[group]].mean().item()
        for name, group in groups
        if occurs[group].any()
    }


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

_IMPROPER: dict[str, Callable[[Tensor], Tensor]] = {"NaN": torch.isnan, "inf": torch.isposinf}


@torch.no_grad()
def evaluate(method: Method[Any], task: Task) -> dict[str, float]:
    """The columns of an epoch that say how well the method predicts: test rows, hold-out.

    Those of which there are no rows are left out.

    Raises:
        ValueError: scores are not of the contract's shape or dtype.
        FloatingPointError: a score is NaN or +inf, or all scores of a row are -inf.
    """
    row = _test(method, task) if len(task.test_x) else {}
    if len(task.holdout_x):
        held = predictions(method, task, task.holdout_x)
        sets = task.holdout_candidates
        row["covering_rate"] = covering_rate(held, sets)
        row["approximated_accuracy"] = approximated_accuracy(held, sets)
    return row


def _test(method: Method[Any], task: Task) -> dict[str, float]:
    """Accuracies of the method and its further heads on the test rows."""
    method.eval()
    found = _over_chunks(method, task, task.test_x, method.predictions)
    scores = found.pop("")
    row = {"accuracy": accuracy(scores, task.test_y)}
    if task.long_tailed:
        values = class_accuracies(scores, task.test_y)
        row |= {column_of(metric): value for metric, value in values.items()}
    for name, extra in found.items():
        row[f"{EXTRA}{name}"] = accuracy(extra, task.test_y)
    return row


@torch.no_grad()
def predictions(method: Method[Any], task: Task, x: Tensor) -> Tensor:
    """Scores [M, C] of the rows x [M, ...] of a task, in eval mode; raises as `evaluate`."""
    method.eval()
    return _over_chunks(method, task, x, lambda rows: {"": method.predict(rows)})[""]


def _over_chunks(
    method: Method[Any], task: Task, x: Tensor, ask: Callable[[Tensor], Mapping[str, Tensor]]
) -> dict[str, Tensor]:
    """What `ask` gives for the rows x: scores [M, C] by head; the method's own have no name."""
    parts: defaultdict[str, list[Tensor]] = defaultdict(list)
    for rows in x.split(EVALUATION_CHUNK if x.ndim == 2 else IMAGE_EVALUATION_CHUNK):
        for name, scores in ask(task.views.plain(rows)).items():
            _require_shape(scores, (len(rows), task.candidates.shape[1]), _where(name))
            parts[name].append(scores)
    found = {name: torch.cat(chunks) for name, chunks in parts.items()}
    for name, scores in found.items():
        if len(scores) != len(x):
            raise ValueError(f"{_where(name)} gives scores of {len(scores)} of {len(x)} rows")
        after = f"the last step of epoch {method.epoch}" if method.gradient else "fitting"
        _require_probabilities(scores, after, _where(name))
    return found


def _where(name: str) -> str:
    return f"extra_predictions ({name})" if name else "predict"


def _require_shape(scores: object, shape: tuple[int, int], where: str) -> None:
    """Raise ValueError unless `scores` are floating-point numbers of this shape."""
    if not isinstance(scores, Tensor):
        raise ValueError(f"{where} gives a {type(scores).__name__}, not a tensor of scores")
    if scores.shape != shape or not scores.is_floating_point():
        dtype = str(scores.dtype).removeprefix("torch.")
        raise ValueError(
            f"{where} gives {dtype} scores of shape {list(scores.shape)} for {shape[0]} rows of "
            f"{shape[1]} classes, must be floating-point numbers [{shape[0]}, {shape[1]}]"
        )


def _require_probabilities(scores: Tensor, after: str, where: str) -> None:
    """Raise FloatingPointError unless every row's softmax is one: -inf is a probability of 0."""
    proper = (scores < torch.inf).all(1) & (scores > -torch.inf).any(1)  # NaN is neither
    if proper.all():
        return
    row = int(proper.int().argmin())
    wrong = [name for name, kind in _IMPROPER.items() if kind(scores[row]).any()]
    what = f"a score is {wrong[0]}" if wrong else "all scores of a row are -inf"
    raise FloatingPointError(f"{what} after {after}: {where}, row {row} of {len(scores)}")
