"""`pllbench status`."""

import json
from pathlib import Path

from pllbench.cli.selection import Json, ResultsDir, SelectionFlags


def status(
    flags: SelectionFlags, results: ResultsDir = Path("results"), as_json: Json = False
) -> None:
    """Count the runs of a selection, or of the results folder, by their state."""
    from pllbench.cli import console
    from pllbench.results.status import folder_status, selection_status

    planned = flags.planned() if flags.given else None
    found = folder_status(results) if planned is None else selection_status(planned, results)
    counts = {"done": found.done, "failed": found.failed}
    counts |= {"running": found.running, "missing": found.missing}
    if as_json:
        console.write(json.dumps(counts) + "\n")
    else:
        console.write(", ".join(f"{count} {state}" for state, count in counts.items()) + "\n")
        for name, reason in found.failures:
            console.write(f"failed: {name}: {reason}\n")
    console.warn_uncounted(found.unreadable)
