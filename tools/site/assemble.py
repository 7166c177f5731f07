"""The Markdown of the site: copied from the repository, with what the code says in its place."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tools.site.commands import command_page, commands
from tools.site.inserts import expand
from tools.site.navigation import navigation
from tools.site.notebooks import notebook_page
from tools.site.places import ROOT

PAGES = ROOT / "build" / "pages"
"""Folder that the site is built from."""

_COPIED = (
    *("*.md", "LICENSE", "docs/**/*"),
    *("results/*.md", "results/*.html", "results/tables/*.md", "results/plots/*"),
)
_NOT_COPIED = ("AGENTS.md",)
_COMMENT = re.compile(r"^<!-- /?\w+ -->\n", re.M)
"""Marks around tables made from records, which would cut them in two here."""


_NOTEBOOK = re.compile(r"(?<=\w)\.ipynb\)")
"""End of a link to a notebook, which is a page here."""


def assemble(target: Path) -> None:
    """Write the pages of the site below `target`, whose former content is removed."""
    shutil.rmtree(target, ignore_errors=True)
    for source in _sources():
        page = target / source.relative_to(ROOT)
        page.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            text = _COMMENT.sub("\n", source.read_text("utf-8"))
            page.write_text(expand(_NOTEBOOK.sub(".md)", text)), "utf-8")
        elif source.suffix == ".html":
            page.write_text(_without_records(source.read_text("utf-8")), "utf-8")
        elif source.suffix == ".ipynb":
            page.with_suffix(".md").write_text(notebook_page(source), "utf-8")
        else:
            shutil.copyfile(source, page)
    for name in commands():
        page = target / "docs" / "commands" / f"{name}.md"
        if not page.exists():
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(expand(command_page(name)), "utf-8")
    (target / "SUMMARY.md").write_text(navigation(target), "utf-8")


def _without_records(page: str) -> str:
    """The text of a report's page without its links to records, which the site does not hold."""
    return re.sub(r'<a href="records/[^>]*>(.*?)</a>', r"\1", page)


def _sources() -> Iterator[Path]:
    for pattern in _COPIED:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path.name not in _NOT_COPIED:
                yield path
