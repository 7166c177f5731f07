"""Markdown from values."""

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]*`)")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """A table; columns under the heads `numbers` are set to the right."""
    rules = ["--:" if head in numbers else ":--" for head in heads]
    body = [map(_cell, row) for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rules, *body))


def code(value: object) -> str:
    """A value as code; nothing of an empty one."""
    return f"`{value}`" if str(value) else ""


def _cell(text: str) -> str:
    """One line; a bar outside of code would end the cell."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)
