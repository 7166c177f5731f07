"""The navigation: an order for the pages that it knows, and every other page after them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pllbench.data.catalogue import DATASETS
from tools.site.commands import commands
from tools.site.methods import by_family, method_pages
from tools.site.places import DOCS

Entry = tuple[str, str]
"""Title and path of a page; the path of a heading is empty."""

_START = (
    *("partial_labels", "quickstart", "five_minutes", "python", "own_data", "without_labels"),
    *("add_a_method", "glossary"),
)
_PYTHON = (
    *("python", "method", "testing", "registry", "api", "estimator", "grid", "spec", "data"),
    *("candidates", "networks"),
)
_CONCEPTS = ("protocol", "runs", "tuning", "results", "speed", "SCALING", "architecture")
_RESULTS = (
    ("Reproduction of published tables", "results/REPRODUCTION.md"),
    ("Tabular data", "results/tables/tabular.md"),
    ("Every method, one budget", "results/tables/tabular_all.md"),
    ("Ablations on tabular data", "results/tables/tabular_ablations.md"),
    ("Tuned with equal chances", "results/tables/tuned_tabular_chosen.md"),
    ("How well the criteria choose", "results/tables/criteria.md"),
    ("Noisy candidate sets", "results/tables/noisy_tabular.md"),
    ("Long-tailed digits", "results/tables/long_tailed_digits.md"),
    ("Speed and memory", "results/speed.md"),
    ("Killed and resumed", "results/kills.md"),
    ("Searches killed and resumed", "results/kills_tuning.md"),
)


def navigation(pages: Path) -> str:
    """The navigation as nested Markdown lists, four spaces a level."""
    lines = ["* [Home](README.md)"]
    lines += _section("Start", [_titled(pages, f"docs/{name}.md") for name in _START])
    concepts = [f"docs/{name}.md" for name in _CONCEPTS]
    known = {*concepts, *(f"docs/{name}.md" for name in _START)}
    concepts += [path for path in _paths(pages, "docs") if path not in known]
    lines += _section("How it works", [_titled(pages, path) for path in concepts])
    lines += _methods(pages)
    datasets = [(info.title, f"docs/datasets/{name}.md") for name, info in DATASETS.items()]
    lines += _section("Data sets", [("All data sets", "docs/datasets/index.md"), *datasets])
    lines += _section("Results", [*_RESULTS, *_further_results(pages)])
    lines += ["* Reference"]
    entries = [("All commands", "docs/commands/index.md")]
    entries += [(f"pllbench {name}", f"docs/commands/{name}.md") for name in commands()]
    lines += _section("Commands", entries, 1)
    python = [f"docs/api/{name}.md" for name in _PYTHON]
    further = [path for path in _paths(pages, "docs/api") if path not in python]
    lines += _section("Python", [_titled(pages, path) for path in (*python, *further)], 1)
    lines += _section(
        "Project", [("Contributing", "CONTRIBUTING.md"), ("Changelog", "CHANGELOG.md")]
    )
    return "\n".join(lines) + "\n"


def _methods(pages: Path) -> Iterator[str]:
    methods = {page.name for page in method_pages(DOCS / "methods")}
    common = [
        _titled(pages, path)
        for path in _paths(pages, "docs/methods")
        if Path(path).stem not in {*methods, "index"}
    ]
    yield from _section("Methods", [("All methods", "docs/methods/index.md"), *common])
    for heading, found in by_family(DOCS / "methods").items():
        yield from _section(heading, [(m.label, f"docs/methods/{m.name}.md") for m in found], 1)


def _further_results(pages: Path) -> Sequence[Entry]:
    known = {path for _, path in _RESULTS}
    paths = [*_paths(pages, "results"), *_paths(pages, "results/tables")]
    return [(Path(path).stem.replace("_", " "), path) for path in paths if path not in known]


def _paths(pages: Path, folder: str) -> Sequence[str]:
    return sorted(path.relative_to(pages).as_posix() for path in (pages / folder).glob("*.md"))


def _titled(pages: Path, path: str) -> Entry:
    heading = (pages / path).read_text("utf-8").partition("\n")[0]
    return heading.removeprefix("# "), path


def _section(heading: str, entries: Sequence[Entry], level: int = 0) -> Iterator[str]:
    indent = " " * 4 * level
    yield f"{indent}* {heading}"
    for title, path in entries:
        yield f"{indent}    * [{title}]({path})"
