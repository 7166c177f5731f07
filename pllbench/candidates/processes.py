"""Processes that generate candidate sets from true labels.

L. Feng et al.: Provably Consistent Partial-Label Learning, NeurIPS 2020 (uniform sets).
J. Lv et al.: Progressive Identification of True Labels for Partial-Label Learning, ICML 2020
(uniform flipping, neighbouring pairs). H. Wang et al.: PiCO, ICLR 2022 (superclasses).
N. Xu et al.: Instance-Dependent Partial Label Learning, NeurIPS 2021. H. Wang et al.: PiCO+, TPAMI
2024 (noisy flips). M. Xu et al.: ALIM, NeurIPS 2023 (noisy swaps).

Letters in shape comments: N instances, C classes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pllbench.candidates.requirements import require_possible
from pllbench.seeds import stream_seed
from pllbench.spec import CandidateSpec, Policy, Process

Labels = npt.NDArray[np.int64]
"""True labels, [N], 0..C-1."""

Candidates = npt.NDArray[np.bool_]
"""Candidate sets, [N, C]."""

Logits = npt.NDArray[np.float32]
"""Scores of an annotator, [N, C]."""


@dataclass(frozen=True, slots=True)
class TrueLabels:
    """What a process may know.

    Attributes:
        y: true labels [N], 0..C-1.
        num_classes: C.
        superclasses: superclass of each class [C]; empty where classes have none.
        logits: scores [N, C] of an annotator that was trained on true labels.
    """

    y: Labels
    num_classes: int
    superclasses: tuple[int, ...] = ()
    logits: Logits | None = None


def uniform(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """Every wrong label is a candidate with probability q, independently; then the policy.

    Drawn as the number of wrong labels (the inverse of the size law at one uniform number a row)
    and a random order of the wrong labels, whose first entries are taken. That is equal in law to
    a coin a label, and unlike it nested in q under every policy: a larger q only adds candidates.

    Expected number of candidates, with n = C - 1:
        free: 1 + nq; force: 1 + nq + (1 - q)^n; resample: 1 + nq / (1 - (1 - q)^n).
    """
    weights = size_weights(truth.num_classes - 1, rate(spec), spec.policy)
    return with_sizes(truth, draw_sizes(weights, len(truth.y), rng), rng)


def size_weights(num_wrong: int, q: float, policy: Policy) -> npt.NDArray[np.float64]:
    """Weights [num_wrong + 1] of 0, 1, ... wrong candidates in a row: probabilities up to scale.

    `free` is the binomial law (PiCO); `force` gives a row without a wrong candidate one of them
    (PRODEN, DPLL, AsyCo); `resample` draws such a row again (VALEN).

    Raises:
        ValueError: `resample` with q = 0, which would never end.
    """
    weights = binomial(np.arange(num_wrong + 1), num_wrong, q)
    if policy == "force":
        weights[1] += weights[0]
    if policy != "free":
        weights[0] = 0.0
    if not weights.any():
        raise ValueError(f"q = {q:g} never gives a wrong candidate: policy 'resample' needs q > 0")
    return weights


def binomial(counts: npt.NDArray[np.int64], num: int, p: float) -> npt.NDArray[np.float64]:
    """Probabilities of the `counts` from 0 to `num` under a binomial law.

    Those of `scipy.stats`, bit for bit. That takes a second to import, which every worker would
    pay; what it computes them with is at hand earlier.
    """
    try:
        from scipy.special._ufuncs import _binom_pmf as pmf
    except ImportError:  # another SciPy
        from scipy.stats import binom

        pmf = binom.pmf
    probabilities: npt.NDArray[np.float64] = pmf(counts, num, p)
    return probabilities


def draw_sizes(
    weights: npt.NDArray[np.float64], num_rows: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Numbers of wrong candidates [num_rows], by their weights from 0 on."""
    cdf = np.cumsum(weights)
    cdf /= cdf[-1]  # exactly 1 at its end, so that every draw below 1 finds a size
    return np.searchsorted(cdf, rng.random(num_rows), side="right")


def with_sizes(
    truth: TrueLabels, sizes: npt.NDArray[np.int64], rng: np.random.Generator
) -> Candidates:
    """The true label and `sizes` [N] distinct wrong labels in each row, all equally likely."""
    y, num_wrong = truth.y, truth.num_classes - 1
    order = rng.random((len(y), num_wrong)).argsort(axis=1)  # [N, C-1], a permutation a row
    wrong = (y[:, None] + 1 + order) % truth.num_classes
    candidates = np.zeros((len(y), truth.num_classes), dtype=np.bool_)
    np.put_along_axis(candidates, wrong, np.arange(num_wrong) < sizes[:, None], axis=1)
    return with_true(candidates, y)


def with_true(candidates: Candidates, y: Labels) -> Candidates:
    """The same sets, with the true labels in them."""
    np.put_along_axis(candidates, y[:, None], values=True, axis=1)
    return candidates


def uniform_set(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """Every set that holds the true label, but the full one, is equally likely.

    `sizes = "code"` follows the code of the process's authors instead: sizes are those of a random
    proper subset whether or not it holds the true label, so small sets are too likely.
    """
    num_rows, num_wrong = len(truth.y), truth.num_classes - 1
    if spec.sizes == "code":
        weights = binomial(np.arange(1, truth.num_classes), truth.num_classes, 0.5)
        return with_sizes(truth, draw_sizes(weights, num_rows, rng), rng)
    wrong = rng.random((num_rows, num_wrong)) < 0.5
    while (full := np.flatnonzero(wrong.all(axis=1))).size:
        wrong[full] = rng.random((len(full), num_wrong)) < 0.5
    places = (truth.y[:, None] + 1 + np.arange(num_wrong)) % truth.num_classes
    candidates = np.zeros((num_rows, truth.num_classes), dtype=np.bool_)
    np.put_along_axis(candidates, places, wrong, axis=1)
    return with_true(candidates, truth.y)


def pair(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """The next class is a candidate with probability q; after the last comes the first."""
    candidates = np.zeros((len(truth.y), truth.num_classes), dtype=np.bool_)
    neighbour = (truth.y + 1) % truth.num_classes
    candidates[np.arange(len(truth.y)), neighbour] = rng.random(len(truth.y)) < rate(spec)
    return with_true(candidates, truth.y)


def hierarchical(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """Every other class of the true label's superclass is a candidate with probability q.

    With `eta` the true label is left out as in `noisy_flip`.
    """
    groups = np.asarray(truth.superclasses)
    related = groups[truth.y][:, None] == groups  # [N, C]
    return flips(np.where(related, rate(spec), 0.0), truth.y, spec.eta, rng)


def controlled(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """With probability q exactly `num_wrong` wrong labels, else none: (p, r) of the literature."""
    happens = rng.random(len(truth.y)) < rate(spec)
    return with_sizes(truth, np.where(happens, spec.num_wrong, 0), rng)


def noisy(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """Uniform flipping, then the true label is left out with probability `eta`."""
    candidates = uniform(truth, spec, rng)
    out = np.flatnonzero(rng.random(len(truth.y)) < spec.eta)
    candidates[out, truth.y[out]] = False
    return candidates


def noisy_flip(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """Wrong labels are candidates with probability q, the true one with 1 - eta (PiCO+).

    With n = C - 1 and the share e = eta (1 - q)^n of rows that are drawn again, the true label is a
    candidate with probability (1 - eta) / (1 - e), and the expected number of candidates is
    (1 - eta + nq) / (1 - e).
    """
    probability = np.full((len(truth.y), truth.num_classes), rate(spec))
    return flips(probability, truth.y, spec.eta, rng)


def flips(
    probability: npt.NDArray[np.float64], y: Labels, eta: float, rng: np.random.Generator
) -> Candidates:
    """Independent candidates; a row that gets none is drawn again.

    Args:
        probability: [N, C], of wrong labels.
        y: true labels [N]; each is a candidate with probability 1 - eta.
        eta: from 0 to 1.
        rng: drawn from.
    """
    np.put_along_axis(probability, y[:, None], 1 - eta, axis=1)
    candidates = rng.random(probability.shape) < probability
    while (empty := np.flatnonzero(~candidates.any(axis=1))).size:
        candidates[empty] = rng.random((len(empty), probability.shape[1])) < probability[empty]
    return candidates


def noisy_swap(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """Uniform flipping (policy `free`), then the true label leaves with probability eta (ALIM).

    A label that was no candidate takes its place, all equally likely; a row of all labels stays.
    So sets keep their sizes, and the true label is missing with probability eta (1 - q^(C - 1)).
    """
    sizes = draw_sizes(size_weights(truth.num_classes - 1, rate(spec), "free"), len(truth.y), rng)
    candidates = with_sizes(truth, sizes, rng)
    swapped = (rng.random(len(truth.y)) < spec.eta) & ~candidates.all(axis=1)
    order = np.where(candidates, -1.0, rng.random(candidates.shape))  # [N, C]
    entering = order.argmax(axis=1)
    rows = np.flatnonzero(swapped)
    candidates[rows, truth.y[rows]] = False
    candidates[rows, entering[rows]] = True
    return candidates


def instance(truth: TrueLabels, spec: CandidateSpec, rng: np.random.Generator) -> Candidates:
    """Wrong labels that an annotator finds likely for this very instance are more often candidates.

    Raises:
        ValueError: there is no annotator's logits.
    """
    if truth.logits is None:
        raise ValueError("process instance needs the logits of an annotator")
    probability = flip_probabilities(truth.logits, truth.y, spec)
    return with_true(rng.random(probability.shape) < probability, truth.y)


def flip_probabilities(logits: Logits, y: Labels, spec: CandidateSpec) -> npt.NDArray[np.float64]:
    """Probability [N, C] of each wrong label to be a candidate; 0 for the true one.

    With r the softmax over the wrong labels alone: `mean_rate` is min(1, q C r), as in all
    published codes (VALEN, DPLL, AsyCo); `max` is r / max r, as in the papers, so that the
    likeliest wrong label always is a candidate.
    """
    scores = logits.astype(np.float64)  # [N, C]
    np.put_along_axis(scores, y[:, None], -np.inf, axis=1)
    relative: npt.NDArray[np.float64] = np.exp(scores - scores.max(axis=1, keepdims=True))
    if spec.rule == "max":
        return relative
    share = relative / relative.sum(axis=1, keepdims=True)
    capped: npt.NDArray[np.float64] = np.minimum(1.0, rate(spec) * logits.shape[1] * share)
    return capped


def rate(spec: CandidateSpec) -> float:
    """q, which the spec has checked to be there."""
    assert spec.q is not None
    return spec.q


PROCESSES: Mapping[
    Process, Callable[[TrueLabels, CandidateSpec, np.random.Generator], Candidates]
] = {
    "uniform": uniform,
    "uniform-set": uniform_set,
    "pair": pair,
    "hierarchical": hierarchical,
    "controlled": controlled,
    "noisy": noisy,
    "noisy_flip": noisy_flip,
    "noisy_swap": noisy_swap,
    "instance": instance,
}
"""Generating processes by the name that a candidate setting gives."""


def generate(truth: TrueLabels, spec: CandidateSpec, seed: int) -> Candidates:
    """Candidate sets [N, C] of true labels, by the process that `spec` names.

    The random stream depends on the seed and the process alone. So at one seed the sets of a
    process are nested in its rate where the process can give that, and torch's generators are
    neither read nor moved.

    Raises:
        ValueError: fewer than two classes, a label outside 0..C-1, or something that the process
            needs is not there.
    """
    y, num_classes = truth.y, truth.num_classes
    require_possible(spec, num_classes, truth.superclasses)
    if len(y) and not 0 <= y.min() <= y.max() < num_classes:
        raise ValueError(
            f"true labels must be 0..{num_classes - 1}, they run from {y.min()} to {y.max()}"
        )
    rng = np.random.default_rng(stream_seed(seed, "candidates", spec.process))
    return PROCESSES[spec.process](truth, spec, rng)
