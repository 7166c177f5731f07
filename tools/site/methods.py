"""The methods, grouped by family: a table for their index, and their part of the navigation."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pllbench.grid.protocol import default_protocol
from pllbench.registry import load_method, method_entries
from tools.site.markdown import code, table

FAMILIES = {
    "reference": "References",
    "loss": "Losses without state",
    "confidence": "Confidence",
    "contrastive": "Contrastive",
    "peers": "Several networks",
    "graph": "Graphs",
    "classical": "Classical",
    "other": "Methods",
}
"""Headings by the `family` that a method's class declares, in order; `other` where it does not."""


@dataclass(frozen=True, slots=True)
class MethodPage:
    """A method and its page.

    Attributes:
        name: as --methods takes it.
        label: printed.
        summary: the second half of its page's title, else what its class says first.
        family: a key of `FAMILIES`.
        year: of the publication that its page cites first.
    """

    name: str
    label: str
    summary: str
    family: str
    year: str


def method_pages(folder: Path) -> Sequence[MethodPage]:
    """The registered methods that have a page in `folder`, by family, then by year.

    Raises:
        KeyError: a class declares a family that is not among `FAMILIES`.
    """
    labels = default_protocol().labels
    found = []
    for name in method_entries():
        path = folder / f"{name}.md"
        if not path.is_file():  # a method that somebody has installed
            continue
        heading, _, rest = path.read_text("utf-8").partition("\n")
        cls = load_method(name)
        family = getattr(cls, "family", "other")
        year = re.search(r"\b(?:19|20)\d\d\b", rest)
        summary = (cls.__doc__ or "").partition("\n")[0]
        found.append(
            MethodPage(
                name=name,
                label=labels.get(name, name),
                summary=heading.partition(": ")[2] or summary,
                family=FAMILIES[family] and family,
                year=year[0] if year else "",
            )
        )
    order = list(FAMILIES)
    return sorted(found, key=lambda page: (order.index(page.family), page.year, page.name))


def by_family(folder: Path) -> Mapping[str, Sequence[MethodPage]]:
    """The pages by the heading of their family; a family without pages is left out."""
    found: dict[str, list[MethodPage]] = defaultdict(list)
    for page in method_pages(folder):
        found[FAMILIES[page.family]].append(page)
    return found


def method_table(folder: Path) -> str:
    """A table for each family."""
    parts = []
    for heading, pages in by_family(folder).items():
        rows = [
            (f"[{page.label}]({page.name}.md)", page.summary, page.year, code(page.name))
            for page in pages
        ]
        parts += [f"## {heading}", table(("method", "what it is", "year", "name"), rows)]
    return "\n\n".join(parts)
