"""`pllbench export`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pllbench.cli.selection import Output, ResultsDirs, SelectionFlags
from pllbench.validation import FieldError

ExportFormat = Literal["csv", "parquet", "json"]


def export(
    flags: SelectionFlags,
    results: ResultsDirs = [Path("results")],
    form: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="By the suffix of --output if none, else csv."),
    ] = None,
    output: Output = None,
) -> None:
    """Write one row a run: its settings, summaries and provenance."""
    from pllbench import api
    from pllbench.cli import console

    by_suffix: dict[str, ExportFormat] = {".json": "json", ".parquet": "parquet"}
    form = form or by_suffix.get(output.suffix.lower() if output else "", "csv")
    if form == "parquet" and output is None:
        raise FieldError("format", "no text: name a file with --output", form)
    loaded = flags.load(results)
    if not loaded.finished:
        raise FieldError("results", "no runs to export there", ", ".join(map(str, results)))
    console.write(api.export(loaded, form), output)
