"""How the command line writes: text, warnings, tables and plans. As light as `cli` itself."""

import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from pllbench.spec import PROCESS_OPTIONS

if TYPE_CHECKING:
    from pllbench.cells import Table
    from pllbench.grid import PlannedRun
    from pllbench.sheets import Report

_GAP = 2
"""Spaces between columns."""

_ENOUGH = 30
"""Room in which a longer text is still readable, wrapped."""


def write(text: str, output: Path | None = None) -> None:
    """Write `text` to a file, or to standard output where `output` is None.

    Raises:
        ValueError: the file cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, "utf-8")
    except OSError as error:
        raise ValueError(f"--output {output}: not writable ({error.strerror})") from error


def complain(message: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(f"pllbench: {' '.join(message.split())}\n")


def warn_uncounted(reasons: Iterable[str]) -> None:
    """Name the files that are no readable records."""
    for reason in reasons:
        complain(f"not counted: {reason}")


def show_columns(rows: Sequence[Mapping[str, object]]) -> None:
    """Rows of equal keys under a header; a last column that has too little room goes below each."""
    if not rows:
        return
    heads = list(rows[0])
    lines = [["" if value is None else str(value) for value in row.values()] for row in rows]
    *widths, last = (max(map(len, column)) for column in zip(heads, *lines, strict=True))
    numbers = [not any(isinstance(row[head], str) for row in rows) for head in heads]
    console = Console()
    if console.width - sum(width + _GAP for width in widths) >= min(last, _ENOUGH):
        view = RichTable(box=None, pad_edge=False, header_style="bold")
        for head, number in zip(heads, numbers, strict=True):
            justify: Literal["left", "right"] = "right" if number else "left"
            view.add_column(head, justify=justify, overflow="fold", no_wrap=head != heads[-1])
        for line in lines:
            view.add_row(*map(Text, line))
        console.print(view)
        return
    for i, line in enumerate((heads, *lines)):
        cells = zip(line, widths, numbers, strict=False)  # all but the last
        padded = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        style = "" if i else "bold"
        console.print(Text((" " * _GAP).join(padded).rstrip(), style))
        if line[-1]:
            console.print(Padding(Text(line[-1], style), (0, 0, 0, _GAP)))


def show_facts(facts: Mapping[str, object]) -> None:
    """A line for each fact: its name and its value."""
    view = RichTable(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        view.add_row(name.replace("_", " "), Text(text, overflow="fold"))
    Console().print(view)


def show_table(content: "Table | Report") -> None:
    """A table as wide as the terminal allows, with bold and underlined marks on one."""
    from pllbench import printing

    console = Console()
    console.print(printing.to_terminal(content, console.width, styled=console.is_terminal))


def show_plan(planned: "Sequence[PlannedRun]", results: Path) -> None:
    """Every cell with its seeds, how many of its runs are done, and its resolved settings."""
    from pllbench import records

    done = {run.spec.run_id for run in planned if records.is_done(results, run.spec)}
    cells: dict[tuple[str, Hashable], list[PlannedRun]] = {}
    for run in planned:
        cells.setdefault((run.name, run.spec.cell), []).append(run)
    for runs in cells.values():
        spec = runs[0].spec
        q = "" if spec.q is None else f" q={spec.q:g}"
        seeds = ", ".join(str(run.spec.seed) for run in runs)
        finished = sum(run.spec.run_id in done for run in runs)
        where = f"{runs[0].label} on {spec.dataset}{q}"
        write(f"{where}, seeds {seeds}: {finished} of {len(runs)} done\n")
        parts = {"hparams": spec.hparams}
        if spec.gradient:
            parts["train"] = spec.train.model_dump(mode="json")
        parts["views"] = spec.views.model_dump(mode="json")
        if spec.candidates:
            read = {"process", "q", *PROCESS_OPTIONS[spec.candidates.process]}
            parts["candidates"] = spec.candidates.model_dump(mode="json", include=read)
        if spec.holdout:
            parts["holdout"] = {"share": spec.holdout}
        for owner, values in parts.items():
            write(f"  {owner}: {', '.join(f'{key}={value}' for key, value in values.items())}\n")
    unique = {run.spec.run_id for run in planned}
    write(f"{len(unique)} runs, {len(done)} done\n")
