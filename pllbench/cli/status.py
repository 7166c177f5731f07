"""`pllbench status`."""

import json
from pathlib import Path

from pllbench.cli.selection import Json, ResultsDirs, SelectionFlags


def status(
    flags: SelectionFlags, results: ResultsDirs = [Path("results")], as_json: Json = False
) -> None:
    """Count the runs of a selection, or of the results folder, by their state."""
    from pllbench.cli import console

    found = flags.status(results)
    counts: dict[str, int | None] = {"done": found.done, "failed": found.failed}
    counts |= {"running": found.running, "missing": found.missing}
    if as_json:
        console.write(json.dumps(counts) + "\n")
    else:
        known = {state: count for state, count in counts.items() if count is not None}
        console.write(", ".join(f"{count} {state}" for state, count in known.items()) + "\n")
        for name, reason in found.failures:
            console.write(f"failed: {name}: {reason}\n")
    console.warn_uncounted(found.unreadable)
