r"""Reports in LaTeX: fragments for \input, in the layout of the AsyCo paper.

The document needs booktabs, multirow, colortbl and xcolor. Output is ASCII, so it compiles under
any input encoding.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pllbench.reports.formats.narrow import narrow_tables
from pllbench.reports.report import Report, TextCell, TextRow, TextTable
from pllbench.reports.table import MISSING

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "`": r"\textasciigrave{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "ß": r"\ss{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "\N{LATIN SMALL LETTER DOTLESS I}": r"\i{}",
    "\N{EN DASH}": "--",
    "—": "---",
    "\N{LEFT SINGLE QUOTATION MARK}": "`",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\N{WORD JOINER}": "{}",
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}

GREY = "pllbenchgrey"
"""Name of the colour that each fragment defines for itself."""

_JOINER = "\N{WORD JOINER}"
_LIGATURE = re.compile(r"-(?=-)")
"""Two hyphens, as of a flag, which LaTeX would join to a dash."""

_NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")

_SYMBOL = re.compile(r"^[npq]\b")
"""A header that begins with the name of a quantity."""

_MARKS = {"best": r"\textbf", "second": r"\underline", "change": r"\textbf"}

_LONG = 44
"""Labels of more letters are wrapped."""

_COLUMNS = 5
"""Columns of numbers with their spread that fit on a page; wider tables are broken."""

_LINES, _LINE = 44, 36
"""Lines that fit on a page beside a caption, and letters that fit on a line of a wrapped label."""

_LETTERS, _CAPTION = 70, 9
"""Letters of a caption's line, and lines of a caption for which every page has room."""

_COLUMN = 55
"""Letters that fit in one column of a two-column page."""

_ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": r"\`",
    "\N{COMBINING ACUTE ACCENT}": r"\'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": r"\^",
    "\N{COMBINING TILDE}": r"\~",
    "\N{COMBINING MACRON}": r"\=",
    "\N{COMBINING BREVE}": r"\u",
    "\N{COMBINING DOT ABOVE}": r"\.",
    "\N{COMBINING DIAERESIS}": r"\"",
    "\N{COMBINING RING ABOVE}": r"\r",
    "\N{COMBINING DOUBLE ACUTE ACCENT}": r"\H",
    "\N{COMBINING CARON}": r"\v",
    "\N{COMBINING CEDILLA}": r"\c",
}

_SMALL = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau"
_GREEK = {
    unicodedata.lookup(f"GREEK {case} LETTER {'LAMDA' if name == 'lambda' else name.upper()}"): (
        rf"$\{name if case == 'SMALL' else name.capitalize()}$"
    )
    for case, names in (
        ("SMALL", f"{_SMALL} upsilon phi chi psi omega"),
        ("CAPITAL", "gamma delta theta lambda xi pi sigma upsilon phi psi omega"),
    )
    for name in names.split()
}


def escape_latex(text: str) -> str:
    """`text` as LaTeX that prints it: ASCII, no special character left.

    Accents and Greek become commands. A character that LaTeX's standard fonts lack becomes its
    nearest ASCII form, or its code point in brackets.
    """
    without_ligatures = _LIGATURE.sub(f"-{_JOINER}", unicodedata.normalize("NFC", text))
    return "".join(map(_escape, without_ligatures))


def _escape(char: str) -> str:
    if command := _SPECIAL.get(char) or _GREEK.get(char):
        return command
    if char.isascii():
        return char if char.isprintable() else " "
    parts = unicodedata.normalize("NFD", char)
    base, mark = parts[0], parts[1:]
    if mark in _ACCENTS and base.isascii():
        return f"{_ACCENTS[mark]}{{{base}}}"
    plain = unicodedata.normalize("NFKD", char).replace("\N{FRACTION SLASH}", "/")
    plain = plain.encode("ascii", "ignore").decode()
    return "".join(map(_escape, plain)) if plain.strip() else f"[U+{ord(char):04X}]"


def to_latex(report: Report, label: str = "tab:pllbench") -> str:
    """A table environment for each table, or a single one where they are joined.

    The caption of the first one says how to read them all. What does not fit in one column of a
    two-column page is set across both.

    Args:
        report: what to print.
        label: of the first environment; those of the others are numbered.
    """
    if report.joined:
        narrow = narrow_tables(report, _COLUMNS)
        caption = narrow.caption()
        pages = _pages(narrow.tables, _LINES - max(0, len(caption) // _LETTERS - _CAPTION))
        captions = [caption, *["Continued."] * (len(pages) - 1)]
        labels = [label, *(f"{label}-{i}" for i in range(2, len(pages) + 1))]
        return "\n".join(map(_joined, pages, captions, labels))
    first, *others = report.tables
    parts = [_separate(first, label, report.notes)]
    parts += [_separate(table, f"{label}-{i}") for i, table in enumerate(others, start=2)]
    return "\n".join(parts)


def _separate(table: TextTable, label: str, notes: Sequence[str] = ()) -> str:
    """A table in an environment of its own, captioned by its title, its notes and `notes`."""
    width = len(table.headers)
    return _environment(
        [
            rf"\begin{{tabular}}{{{'l' * table.num_labels}{'r' * (width - table.num_labels)}}}",
            r"\toprule",
            _line(map(_header, table.headers)),
            r"\midrule",
            *(_line(_row(row, table)) for row in table.rows),
        ],
        caption=" ".join((f"{table.title}.", *table.notes, *notes)),
        label=label,
        width=width,
        wide=width > 4,
    )


def _pages(tables: Sequence[TextTable], first: int) -> list[list[TextTable]]:
    """Joined tables in groups that fit on a page each; one that is longer is divided.

    The first page has room for `first` lines beside its caption.
    """
    pages: list[list[TextTable]] = []
    room = 0
    for table in tables:
        for part in _parts(table, _LINES if pages else first):
            height = _height(part)
            if height > room:
                room = _LINES if pages else first
                pages.append([])
            pages[-1].append(part)
            room -= height
    return pages


def _parts(table: TextTable, lines: int) -> Iterator[TextTable]:
    """A table in parts of at most so many lines each, under its headers."""
    part = replace(table, rows=())
    for row in table.rows:
        longer = replace(part, rows=(*part.rows, row))
        if part.rows and _height(longer) > lines:
            yield part
            longer = replace(table, rows=(row,))
        part = longer
    yield part


def _height(table: TextTable) -> int:
    """How many lines a joined table takes."""
    return 1 + max(map(len, table.headers)) + sum(map(_num_lines, table.rows))


def _num_lines(row: TextRow) -> int:
    """How many lines a row takes, whose label is wrapped if it is long."""
    letters = len(row.cells[0].text)
    return 1 if letters <= _LONG else -(-letters // _LINE)


def _joined(tables: Sequence[TextTable], caption: str, label: str) -> str:
    """Tables in one environment; a column before the labels has their first headers."""
    width = max(len(table.headers) - 1 for table in tables)
    lines = [line for table in tables for line in (r"\midrule", *_block(table))]
    longest = max(len(row.cells[0].text) for table in tables for row in table.rows)
    labels = "l" if longest <= _LONG else r">{\raggedright\arraybackslash}p{20em}"
    return _environment(
        [rf"\begin{{tabular}}{{l{labels}*{{{width}}}{{c}}}}", r"\toprule", *lines[1:]],
        caption=caption,
        label=label,
        width=width + 2,
        wide=min(longest, _LONG) + _letters(tables, width) > _COLUMN,
    )


def _block(table: TextTable) -> list[str]:
    (name,), *headers = table.headers
    return [
        _line(["Data set", "Method", *map(_header, map(_capitalised, headers))]),
        r"\midrule",
        rf"\multirow{{{len(table.rows)}}}{{*}}{{{escape_latex(name)}}}",
        *(_line(["", *_row(row, table)]) for row in table.rows),
    ]


def _letters(tables: Iterable[TextTable], width: int) -> int:
    """How many letters wide joined tables are without labels, a gap counted as two."""
    names, texts = [], []
    for table in tables:
        (name,), *headers = table.headers
        names += [name]
        texts += [part for parts in headers for part in parts]
        texts += [f"{cell.text} {cell.note}" for row in table.rows for cell in row.cells[1:]]
    return max(map(len, names)) + 2 + width * (max(map(len, texts)) + 2)


def _environment(
    tabular: Iterable[str], *, caption: str, label: str, width: int, wide: bool
) -> str:
    """A table environment around the lines of a tabular, whose end is added.

    Args:
        tabular: its lines.
        caption: not escaped yet.
        label: to refer to it.
        width: number of columns; many are set in a smaller font, closer together.
        wide: it spans both columns of a page.
    """
    environment = "table*" if wide else "table"
    lines = [
        r"% A fragment for \input; needs \usepackage{booktabs,multirow,colortbl,xcolor}",
        rf"\begin{{{environment}}}[t]",
        rf"\definecolor{{{GREY}}}{{gray}}{{0.9}}",
        r"\centering",
        r"\footnotesize" if width <= 6 else r"\scriptsize",
        rf"\setlength{{\tabcolsep}}{{{3 if width <= 8 else 2}pt}}",
        r"\setlength{\belowcaptionskip}{6pt}",
        r"\renewcommand{\arraystretch}{1.1}",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{{label}}}",
        *tabular,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def _header(parts: Sequence[str]) -> str:
    """The header of a column, its parts below one another."""
    lines = [_SYMBOL.sub(r"$\g<0>$", escape_latex(part)) for part in parts]
    below = r" \\ ".join(lines)
    return rf"\shortstack{{{below}}}" if len(lines) > 1 else below


def _capitalised(parts: Sequence[str]) -> list[str]:
    """The parts of a header, the first with a capital unless it is a symbol."""
    first, *others = parts
    return [first if _SYMBOL.match(first) else first[:1].upper() + first[1:], *others]


def _row(row: TextRow, table: TextTable) -> list[str]:
    texts = [
        escape_latex(cell.text) if i < table.num_labels else _number(cell)
        for i, cell in enumerate(row.cells)
    ]
    if row.grey:
        texts = [rf"\cellcolor{{{GREY}}}{text}" for text in texts]
    return [
        rf"\multicolumn{{{cell.span}}}{{c}}{{{text}}}" if cell.span > 1 else text
        for cell, text in zip(row.cells, texts, strict=True)
    ]


def _number(cell: TextCell) -> str:
    """The text of a cell; negative numbers have a minus, and missing ones a dash."""
    missing, rest = MISSING * cell.text.startswith(MISSING), cell.text.removeprefix(MISSING)
    text = missing + _NEGATIVE.sub("$-$", escape_latex(rest))
    emphasised = f"{_MARKS[cell.mark]}{{{text}}}" if cell.mark else text
    note = rf" {{\scriptsize({escape_latex(cell.note)})}}" if cell.note else ""
    return f"{emphasised}{note}"


def _line(parts: Iterable[str]) -> str:
    return " & ".join(parts).strip() + r" \\"
