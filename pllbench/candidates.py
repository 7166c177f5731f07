"""Candidate sets: generating processes, and the audit of what they made."""

from pllbench.spec import Frozen


class Audit(Frozen):
    """What the candidate sets of the training rows look like."""

    num_rows: int
    num_classes: int
    mean: float
    """Mean number of candidates a row."""
    min: int
    max: int
    singletons: float
    """Share of rows with one candidate."""
    full: float
    """Share of rows in which every class is a candidate."""
    without_true: float
    """Share of rows whose true label is no candidate."""
    digest: str
    """SHA-256 (16 hex digits) of the candidate matrix."""
