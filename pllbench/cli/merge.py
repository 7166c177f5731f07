"""`pllbench merge`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pllbench.cli.console import FAILED
from pllbench.cli.selection import Json


def merge(
    folders: Annotated[list[Path], typer.Argument(help="Folders of records.")],
    output: Annotated[
        Path, typer.Option("--output", help="Folder of their union; may hold records.")
    ],
    as_json: Json = False,
) -> None:
    """Write the union of results folders.

    Runs that two folders disagree on are named, and neither outcome is lost: exit code 1.
    """
    from pllbench import api
    from pllbench.cli import console

    merged = api.merge(*folders, output=output)
    if as_json:
        conflicts = [
            {
                "run_id": one.run_id,
                "difference": one.difference,
                **{name: str(getattr(one, name)) for name in ("kept", "other", "beside")},
            }
            for one in merged.conflicts
        ]
        facts = {"runs": merged.runs, "new": merged.new, "conflicts": conflicts}
        console.write(json.dumps(facts | {"uncounted": merged.uncounted}, indent=1) + "\n")
    else:
        console.write(f"{output}: {merged.runs} runs, {merged.new} of them new\n")
        for one in merged.conflicts:
            console.write(
                f"disagree: {one.kept} counts; {one.other} ({one.difference}) is {one.beside}\n"
            )
    console.warn_uncounted(merged.uncounted)
    if merged.conflicts or merged.uncounted:
        raise typer.Exit(FAILED)
