"""How the command line writes: text, warnings, tables and plans. As light as `cli` itself."""

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Literal, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from pllbench.validation import visible_line

if TYPE_CHECKING:
    from pllbench.reports.report import Report

OK, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all done; some run failed; the request was wrong; stopped by the user."""

COLUMN_GAP = 2
"""Spaces between columns."""

_ENOUGH = 30
"""Columns in which a longer, wrapped text is still readable."""

_ONE_LINE = 100
"""Columns of a terminal from which on a row may ask for a single line."""


_ASCII = {
    "±": "+-",
    "·": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "↑": "^",
    "↓": "v",
    "…": "...",
    "\N{EN DASH}": "-",
    "—": "-",
    **dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True)),
}
"""What stands for a character that a terminal's encoding lacks; for any other, a question mark
a column that it takes."""


def prepare_streams() -> None:
    """Make standard output and error usable whatever they are: closed, or of a small encoding."""
    codecs.register_error("pllbench", _replace)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell: `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="pllbench")


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(_ASCII.get(char, "?" * cell_len(char)) for char in text), error.end


def silence(stream: TextIO) -> None:
    """Let further writes to a stream go nowhere: its reader has seen enough."""
    with suppress(OSError, ValueError):  # not a real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class TolerantConsole(Console):
    """A console that goes on, silently, where the reader of its pipe has gone."""

    def on_broken_pipe(self) -> None:
        """Called by rich."""
        self.quiet = True
        silence(sys.stderr if self.stderr else sys.stdout)


def write(text: str | bytes, output: Path | None = None) -> None:
    """Write `text`, or what it is in UTF-8, to a file, or to standard output without `output`.

    Raises:
        ValueError: the file cannot be written.
    """
    if output is None:
        try:
            sys.stdout.write(text if isinstance(text, str) else text.decode())
            sys.stdout.flush()
        except BrokenPipeError:
            silence(sys.stdout)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(text.encode() if isinstance(text, str) else text)
    except OSError as error:
        raise ValueError(f"--output {output}: not writable ({error.strerror})") from error


def require_writable(output: Path) -> None:
    """Check, before something takes long to compute, that it can be written to a file.

    Raises:
        ValueError: it cannot.
    """
    try:
        if output.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        output.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=output.parent):
            pass
    except OSError as error:
        raise ValueError(f"--output {output}: not writable ({error.strerror})") from error


def print_error(message: str) -> None:
    """Write one line to standard error."""
    try:
        sys.stderr.write(f"pllbench: {visible_line(message)}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        silence(sys.stderr)


def warn_uncounted(reasons: Iterable[str]) -> None:
    """Name the files that are no readable records."""
    for reason in reasons:
        print_error(f"not counted: {reason}")


def show_columns(rows: Sequence[Mapping[str, object]], *, one_line: bool = False) -> None:
    """Rows of equal keys under a header; a last column that has too little room goes below each.

    With `one_line` a terminal of 100 columns has one line a row, and a longer text ends in an
    ellipsis.
    """
    if not rows:
        return
    headers = list(rows[0])
    lines = [["" if value is None else str(value) for value in row.values()] for row in rows]
    *widths, last = (max(map(len, column)) for column in zip(headers, *lines, strict=True))
    numbers = [not any(isinstance(row[header], str) for row in rows) for header in headers]
    console = TolerantConsole()
    wide = one_line and console.width >= _ONE_LINE
    longest = max(len(word) for line in lines for word in (*line[-1].split(), ""))
    room = console.width - sum(width + COLUMN_GAP for width in widths)
    if room >= max(min(last, _ENOUGH), 0 if wide else longest):
        view = RichTable(box=None, pad_edge=False, header_style="bold")
        for header, number, width in zip(headers, numbers, (*widths, 0), strict=True):
            justify: Literal["left", "right"] = "right" if number else "left"
            view.add_column(
                header,
                justify=justify,
                overflow="ellipsis" if wide else "fold",
                no_wrap=wide or header != headers[-1],
                min_width=width,
                max_width=room if wide and header == headers[-1] else None,
            )
        for line in lines:
            view.add_row(*map(Text, line))
        console.print(view)
        return
    for i, line in enumerate((headers, *lines)):
        cells = zip(line, widths, numbers, strict=False)  # all but the last
        padded = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        style = "" if i else "bold"
        console.print(Text((" " * COLUMN_GAP).join(padded).rstrip(), style))
        if line[-1]:
            console.print(Padding(Text(line[-1], style), (0, 0, 0, COLUMN_GAP)))


def show_facts(facts: Mapping[str, object]) -> None:
    """A line for each fact: its name and its value."""
    view = RichTable(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        view.add_row(name.replace("_", " "), Text(text, overflow="fold"))
    TolerantConsole().print(view)


def show_report(report: "Report") -> None:
    """Tables as wide as the terminal allows; a terminal shows marks as bold and underlined."""
    from pllbench.reports.formats.terminal import to_terminal

    console = TolerantConsole()
    console.print(to_terminal(report, console.width, styled=console.is_terminal))
