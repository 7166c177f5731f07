"""`pllbench remove`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pllbench.cli.selection import Json, ResultsDir, SelectionFlags


def remove(
    flags: SelectionFlags,
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Run ids, or their beginnings."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete them; without it they are only named.")
    ] = False,
    results: ResultsDir = Path("results"),
    as_json: Json = False,
) -> None:
    """Delete runs from a results folder; first only say which."""
    from pllbench import api
    from pllbench.cli import console
    from pllbench.grid.labels import row_label, run_title

    if yes and not runs and not flags.given:
        raise ValueError(f"--yes: name runs or a selection; for all, delete the folder {results}")
    found = flags.load([results])
    if runs:
        found = found.pick(*runs)
    planned = api.remove(found, dry_run=not yes)
    titles = [
        run_title(row_label(run.record.spec, found.protocol).label, run.record.spec)
        for run in planned
    ]
    num_files = sum(len(run.files) for run in planned)
    num_bytes = sum(run.num_bytes for run in planned)
    if as_json:
        listed = [
            {
                "run_id": run.record.run_id,
                "title": title,
                "files": [str(file) for file in run.files],
            }
            for run, title in zip(planned, titles, strict=True)
        ]
        facts = {"removed": yes, "files": num_files, "bytes": num_bytes, "runs": listed}
        console.write(json.dumps(facts, indent=1) + "\n")
        return
    for run, title in zip(planned, titles, strict=True):
        console.write(f"{run.record.run_id}  {title}\n")
    counts = f"{len(planned)} runs, {num_files} files, {num_bytes / 1e6:.1f} MB"
    ending = "removed" if yes else "nothing is removed yet: --yes does"
    console.write(f"{counts}: {ending}\n")
