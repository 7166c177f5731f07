"""Digests of a method's source."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pllbench.registry import load_method, method_entries
from pllbench.source import source_digest

METHOD = '''
"""A method."""
from plugin.inner.losses import loss

class Mine:
    """Doc."""

    rate: float = 1.0
    """What it is."""

    def f(self, x):
        """Doc."""
        return loss(x) * self.rate
'''

FILES = {
    "plugin/__init__.py": "from plugin.other import unused\n",
    "plugin/mine.py": METHOD,
    "plugin/other.py": "def unused(): return 1\n",
    "plugin/inner/__init__.py": "",
    "plugin/inner/losses.py": "from . import helpers\n\ndef loss(x): return helpers.twice(x)\n",
    "plugin/inner/helpers.py": "import os, torch\n\ndef twice(x): return 2 * x\n",
    "plugin/late.py": "Z = 1\n",
    "alone.py": "class Mine:\n    a = 1\n",
}

Digest = Callable[..., str | None]


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Digest:
    """Digest of the class `Mine` of a module, after some files are written over."""
    monkeypatch.syspath_prepend(tmp_path)

    def write_and_digest(
        changes: dict[str, str] | None = None, module: str = "plugin.mine"
    ) -> str | None:
        for name, text in (FILES | (changes or {})).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in list(sys.modules):
            if name.partition(".")[0] in ("plugin", "alone"):
                monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        return source_digest(importlib.import_module(module).Mine)

    return write_and_digest


SAME = {
    "another docstring": ("plugin/mine.py", METHOD.replace("Doc.", "Other.")),
    "no docstring": ("plugin/mine.py", METHOD.replace('        """Doc."""\n', "")),
    "another description of a setting": ("plugin/mine.py", METHOD.replace("What it", "Who he")),
    "a comment": ("plugin/mine.py", METHOD.replace("self.rate", "self.rate  # why")),
    "blank lines": ("plugin/mine.py", METHOD.replace("\n", "\n\n")),
    "a module that it does not import": ("plugin/other.py", "def unused(): return 2\n"),
}

OTHER = {
    "a default": ("plugin/mine.py", METHOD.replace("1.0", "5.0")),
    "a formula": ("plugin/mine.py", METHOD.replace("loss(x) *", "loss(x) +")),
    "a name": ("plugin/mine.py", METHOD.replace("rate", "factor")),
    "a text that is read": ("plugin/mine.py", METHOD.replace("loss(x) *", "len('a') *")),
    "a module that it imports": (
        "plugin/inner/losses.py",
        FILES["plugin/inner/losses.py"] + "A = 1\n",
    ),
    "a module that this imports": ("plugin/inner/helpers.py", "def twice(x): return 3 * x\n"),
    "an import in a function": (
        "plugin/mine.py",
        METHOD.replace("return", "import plugin.late; return"),
    ),
}


@pytest.mark.parametrize("change", SAME)
def test_what_does_not_change_the_code_does_not_change_the_digest(
    digest: Digest, change: str
) -> None:
    before = digest()
    assert before is not None
    assert len(before) == 16
    name, text = SAME[change]
    assert text != FILES[name]
    assert digest({name: text}) == before


@pytest.mark.parametrize("change", OTHER)
def test_what_changes_the_code_changes_the_digest(digest: Digest, change: str) -> None:
    before = digest()
    name, text = OTHER[change]
    assert text != FILES[name]
    assert digest({name: text}) != before


def test_a_late_import_counts_with_its_module(digest: Digest) -> None:
    late = METHOD.replace("return", "import plugin.late; return")
    before = digest({"plugin/mine.py": late})
    assert digest({"plugin/mine.py": late, "plugin/late.py": "Z = 2\n"}) != before


def test_a_module_by_itself_has_a_digest(digest: Digest) -> None:
    before = digest(module="alone")
    assert digest(module="alone") == before
    assert digest({"alone.py": "class Mine:\n    a = 2\n"}, module="alone") != before


def test_a_class_without_source_has_no_digest() -> None:
    class Mine: ...

    Mine.__module__ = "typed_at_a_prompt"
    assert source_digest(Mine) is None
    assert source_digest(int) is None


def test_built_in_methods_have_digests_of_their_own_that_cover_what_they_share() -> None:
    digests = {name: source_digest(load_method(name)) for name in method_entries()}
    assert None not in digests.values()
    assert len(set(digests.values())) == len(digests)


def test_a_digest_does_not_move_with_releases_of_python_or_of_the_suite(digest: Digest) -> None:
    assert digest(module="alone") == "360f33694ee56917"
