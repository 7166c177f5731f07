"""The pages of methods: every built-in method has one, and it says what the code says."""

import re
from pathlib import Path
from typing import Any

import pytest

from pllbench.registry import load_method, method_entries

ROOT = Path(__file__).parent.parent
BUILTIN = [
    name for name, entry in method_entries().items() if entry.value.startswith("pllbench_methods.")
]
every_method = pytest.mark.parametrize("name", BUILTIN)


def page(name: str) -> str:
    return (ROOT / "docs" / "methods" / f"{name}.md").read_text("utf-8")


def says(text: str, default: Any) -> bool:
    """Whether a word of a page is this default: numbers by value, all else by its letters."""
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        try:
            return float(text) == default
        except ValueError:
            return False
    return text.strip("\"' ").lower() == str(default).lower()


def states(text: str, option: str, default: Any) -> bool:
    """Whether a page gives an option this default: in its table, else in a sentence.

    In a table as | `option` | default |, else as `option = default`, `option` (default) and alike.
    """
    rows = re.findall(rf"^\| *`{option}` *\| *`?([^|`]+?)`? *\|", text, re.M)
    if rows:
        return all(says(cell, default) for cell in rows)
    words = re.findall(rf"`{option}\b[\s`=:(]+([^\s`,;)]+)", text)
    return any(says(word, default) for word in words)


def test_defaults_are_found_in_tables_and_in_sentences() -> None:
    table = "With `rho = 0.3` it is faster.\n\n| `rho` | 0.02 | rise |\n| `net` | `none` | |\n"
    assert states(table, "rho", 0.02)
    assert not states(table, "rho", 0.3)
    assert states(table, "net", None)
    sentence = "`start = true`, `rho` (1e-3; `rho_max = 5` bounds it), `rule`: 'max'"
    assert states(sentence, "rho", 0.001)
    assert not states(sentence, "rho", 5)
    assert states(sentence, "start", True)
    assert not states(sentence, "start", 1)
    assert states(sentence, "rule", "max")


@every_method
def test_every_method_has_a_page_with_title_and_year_of_its_source(name: str) -> None:
    title, _, rest = page(name).partition("\n")
    assert re.fullmatch(r"# \S.*", title)
    assert re.search(r"\b(19|20)\d\d\b", rest[:1000]), "the citation comes first"


@every_method
def test_a_page_states_every_option_with_its_default(name: str) -> None:
    text = page(name)
    for option, field in load_method(name).hparams_type.model_fields.items():
        default = field.get_default(call_default_factory=True)
        assert states(text, option, default), f"{option} = {default}"


def test_pages_that_tests_cite_exist_and_so_do_tests_that_pages_cite() -> None:
    tests = {p: p.read_text("utf-8") for p in (ROOT / "tests").rglob("*.py")}
    pages = {p: p.read_text("utf-8") for p in (ROOT / "docs").rglob("*.md")}
    cited = [
        (source.relative_to(ROOT), target)
        for pattern, texts in ((r"\bdocs/[\w/]+\.md\b", tests), (r"\btests/[\w/]+\.py\b", pages))
        for source, text in texts.items()
        for target in re.findall(pattern, text)
    ]
    assert len(cited) > len(BUILTIN)
    assert [(s, t) for s, t in cited if not (ROOT / t).is_file()] == []
