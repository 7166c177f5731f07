"""Candidate sets from the labels that several annotators gave to each row.

L. Schmarje et al.: Is One Annotation Enough?, NeurIPS 2022 (every class with a vote). D. Saravanan
et al.: Pseudo-labelling Meets Label Smoothing for Noisy Partial Label Learning, CVPRW 2025 (draws
from the votes).

Letters in shape comments: N instances, C classes, M annotations.
"""

import numpy as np
import numpy.typing as npt

from pllbench.candidates.processes import Candidates
from pllbench.seeds import stream_seed

Votes = npt.NDArray[np.int64]
"""Number of annotators who gave a row a label, [N, C]."""


def count_votes(annotations: npt.NDArray[np.int64], num_rows: int, num_classes: int) -> Votes:
    """Votes [N, C] of annotations [M, 3]: row, annotator, label.

    An annotator who gives a row the same label again counts once.
    """
    votes = np.zeros((num_rows, num_classes), dtype=np.int64)
    rows, _, labels = np.unique(annotations, axis=0).T
    np.add.at(votes, (rows, labels), 1)
    return votes


def sets_of_votes(votes: Votes, rule: str, seed: int) -> Candidates:
    """Candidate sets [N, C] of votes [N, C]; each row has a vote.

    Args:
        votes: [N, C].
        rule: `union`, every label with a vote; `votes=n`, those with at least n, or the most voted
            ones of a row that has none; `top=k`, the k most voted, of equal ones the lower classes;
            `draws=n`, the distinct labels among n drawn with replacement by their share of votes.
        seed: of the draws.
    """
    name, _, number = rule.partition("=")
    num = int(number or 0)
    match name:
        case "votes":
            enough = votes >= num
            most: Candidates = votes == votes.max(axis=1, keepdims=True)
            return np.where(enough.any(axis=1, keepdims=True), enough, most)
        case "top":
            order = np.argsort(-votes, axis=1, kind="stable")[:, :num]
            chosen = np.zeros(votes.shape, dtype=np.bool_)
            np.put_along_axis(chosen, order, values=True, axis=1)
            return chosen & (votes > 0)
        case "draws":
            rng = np.random.default_rng(stream_seed(seed, "annotations"))
            drawn: Candidates = rng.multinomial(num, votes / votes.sum(axis=1, keepdims=True)) > 0
            return drawn
    assert name == "union", rule
    given: Candidates = votes > 0
    return given
