"""Runs that pause between epochs: what they have shown, to decide whether they go on."""

from pathlib import Path

from pllbench.results.curves import Curves, read_curves, write_curves
from pllbench.results.files import quarantine


def paused_path(root: Path, origin: str) -> Path:
    """`root/paused/<origin>.npz`, of the run and the circumstances that `origin` names."""
    return root / "paused" / f"{origin}.npz"


def write_paused(root: Path, origin: str, curves: Curves) -> None:
    """Store the columns of a run up to where it pauses."""
    write_curves(paused_path(root, origin), curves)


def read_paused(root: Path, origin: str) -> Curves | None:
    """The columns of a paused run; None where there are none, or they are damaged.

    Damaged ones are moved aside, so that the run shows them again.
    """
    path = paused_path(root, origin)
    if not path.exists():
        return None
    try:
        return read_curves(path)
    except ValueError:
        quarantine(path)
        return None
