"""What a candidate process asks of the classes that it is drawn for."""

from pllbench.spec import CandidateSpec

MAX_EMPTY = 0.999
"""Largest share of rows that a process may draw again since they have no candidate."""


def require_possible(
    spec: CandidateSpec, num_classes: int, superclasses: tuple[int, ...] = ()
) -> None:
    """Raise ValueError if the process that `spec` names asks for what the classes do not have.

    Args:
        spec: the process.
        num_classes: C.
        superclasses: superclass of each class [C]; empty where classes have none.
    """
    if num_classes < 2:
        raise ValueError(f"candidate sets need at least 2 classes, got {num_classes}")
    if spec.process == "hierarchical" and not superclasses:
        raise ValueError("process hierarchical needs classes with superclasses, as of cifar100")
    if spec.num_wrong >= num_classes:
        raise ValueError(
            f"num_wrong = {spec.num_wrong}: must be less than the number of classes, {num_classes}"
        )
    if spec.process == "noisy_flip":
        _require_candidates(spec, num_classes - 1)
    elif spec.process == "hierarchical":
        _require_candidates(spec, min(map(superclasses.count, superclasses)) - 1)


def _require_candidates(spec: CandidateSpec, num_wrong: int) -> None:
    """Raise ValueError if nearly every row would be drawn again."""
    assert spec.q is not None
    empty = spec.eta * (1 - spec.q) ** num_wrong
    if empty > MAX_EMPTY:
        raise ValueError(
            f"eta = {spec.eta:g}, q = {spec.q:g}: {empty:.2%} of the rows would have no candidate: "
            f"choose a smaller eta or a larger q"
        )
