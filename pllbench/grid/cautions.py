"""What to know of planned runs before they start."""

from collections.abc import Sequence

from pllbench.grid.labels import stored_cell
from pllbench.grid.plan import PlannedRun
from pllbench.grid.protocol import Protocol


def cautions(planned: Sequence[PlannedRun], protocol: Protocol) -> list[str]:
    """The protocol's cautions that these runs need: a line each, with the rows that it is about."""
    lines = []
    for caution in protocol.caution:
        fitting = (r for r in planned if caution.fits(stored_cell(r.spec, r.name), r.spec))
        if rows := dict.fromkeys(run.label for run in fitting):
            lines.append(f"{', '.join(rows)}: {caution.text}")
    return lines
