"""What became of the runs of a grid that has just been executed."""

from dataclasses import dataclass, field

from pllbench.grid.plan import PlannedRun


@dataclass(slots=True)
class GridSummary:
    """What became of a grid.

    Attributes:
        skipped: runs that were done before.
        done: runs done now, here or by another process meanwhile.
        failed: failed runs, each with its reason.
        left: the others.
        interrupted: whether it was stopped before its end.
        repeated: runs that were done again, each with what differs from before; None for nothing.
        warnings: what is wrong, or special, that stopped no run; a line each.
    """

    skipped: int = 0
    done: int = 0
    failed: list[tuple[PlannedRun, str]] = field(default_factory=list)
    left: int = 0
    interrupted: bool = False
    repeated: list[tuple[PlannedRun, str | None]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
