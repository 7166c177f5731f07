"""Markdown from values."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar in a cell is written as code that no table is cut at."""
    lines = [heads, [":--"] * len(heads), *rows]
    cells = ([" ".join(cell.split()).replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def code(value: object) -> str:
    """A value as code; nothing of an empty one."""
    return f"`{value}`" if str(value) else ""
