"""A report as the text of a file, in every format of the command line."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console

from pllbench.reports.formats.latex import to_latex
from pllbench.reports.formats.markdown import to_markdown
from pllbench.reports.formats.terminal import to_terminal
from pllbench.reports.report import Entry, Report
from pllbench.validation import FieldError, did_you_mean

FILE_WIDTH = 120
"""Width of a terminal table that is written to a file."""


def to_text(report: Report, form: str) -> str:
    """`report` in one of the `FORMATS`.

    Raises:
        FieldError: there is no such format.
    """
    if form not in FORMATS:
        raise FieldError("format", did_you_mean(form, FORMATS), form)
    return FORMATS[form](report)


def to_json(entries: Sequence[Entry]) -> str:
    """A list of objects."""
    return json.dumps([entry.values() for entry in entries], indent=1) + "\n"


def to_csv(entries: Sequence[Entry]) -> str:
    """A line for each entry under a header; run ids are separated by spaces, None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, entries[0].header.split(","), lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        writer.writerow(entry.values() | {"run_ids": " ".join(entry.run_ids)})
    return text.getvalue()


def _to_plain_text(report: Report) -> str:
    # In a notebook, rich would else show it there and then.
    console = Console(file=io.StringIO(), width=FILE_WIDTH, record=True, force_jupyter=False)
    console.print(to_terminal(report, FILE_WIDTH, styled=False))
    return console.export_text()


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "rich": _to_plain_text,
    "latex": to_latex,
    "markdown": to_markdown,
    "csv": lambda report: to_csv(report.entries),
    "json": lambda report: to_json(report.entries),
}
"""Writers by the name of their format."""
