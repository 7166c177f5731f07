"""Digests of a method's source."""

import gc
import importlib
import linecache
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllbench.registry import load_method, method_entries
from pllbench.source import _packages_with, _parse, class_digest, has_changed, source_digest

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
        _packages_with.cache_clear()
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


USES_BESIDE = {
    "alone.py": "import beside\n\nclass Mine:\n    a = beside.A\n",
    "beside.py": "A = 1\n",
}


def test_a_module_beside_it_that_it_imports_counts(digest: Digest) -> None:
    before = digest(USES_BESIDE, module="alone")
    assert digest(USES_BESIDE | {"beside.py": "A = 2\n"}, module="alone") != before


def test_installed_packages_count_where_one_distribution_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    records = {"pll_mine-1.dist-info": "alone.py,,\nbeside.py,,\n", "other-1.dist-info": ""}
    for folder, record in records.items():
        (site / folder).mkdir(parents=True)
        name = folder.partition("-")[0]
        (site / folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n")
        (site / folder / "RECORD").write_text(record)
    monkeypatch.syspath_prepend(site)
    files = USES_BESIDE | {"alone.py": "import others\n" + USES_BESIDE["alone.py"]}

    def digest(others: str, beside: str) -> str | None:
        for name, text in (files | {"others.py": others, "beside.py": beside}).items():
            (site / name).write_text(text)
        for name in ("alone", "beside", "others"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        _packages_with.cache_clear()
        return source_digest(importlib.import_module("alone").Mine)

    before = digest("B = 1\n", "A = 1\n")
    assert digest("B = 2\n", "A = 1\n") == before
    assert digest("B = 2\n", "A = 2\n") != before


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


CELL = """
SCALE = 2.0
TABLE = {"a": [1, 2]}
WEIGHTS = np.ones(3)

class Base:
    '''A docstring.'''
    def shift(self):
        return 1

def helper(x):  # a comment
    return x * SCALE

def twice(function):
    def wrapper(*args):
        return function(*args) * 2
    return wrapper

class Mine(Base):
    rate = 0.5
    def loss(self, x, k=3):
        return [helper(x) for _ in TABLE["a"]] + [WEIGHTS]
    @twice
    def predict(self, x):
        return x
    @property
    def size(self):
        return 1
    @staticmethod
    def constant():
        return 7
"""
"""What a notebook may hold."""

SAME_CELLS = {
    "a comment": ("# a comment", "# another"),
    "a docstring": ("A docstring.", "Another one."),
    "layout": ("\n\nclass Mine", "\n\n\n\nclass Mine"),
    "another name of the notebook": ("SCALE = 2.0", "SCALE = 2.0\nk = x = 5"),
}

OTHER_CELLS = {
    "a method": ("return x\n", "return -x\n"),
    "a default": ("k=3", "k=4"),
    "an attribute": ("rate = 0.5", "rate = 0.6"),
    "a base": ("return 1\n\ndef", "return 2\n\ndef"),
    "a function that it calls": ("x * SCALE", "x + SCALE"),
    "a number that this reads": ("SCALE = 2.0", "SCALE = 2.5"),
    "a collection": ("[1, 2]", "[1, 3]"),
    "an array": ("np.ones(3)", "np.zeros(3)"),
    "a decorator": ("(*args) * 2", "(*args) * 3"),
    "a property": ("return 1\n    @static", "return 3\n    @static"),
    "a static method": ("return 7", "return 8"),
}


def cell_class(code: str) -> type:
    """The class `Mine` of a cell of a notebook, whose source IPython keeps as here."""
    name = f"<cell {len(linecache.cache)}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": "a_notebook", "np": np}
    exec(compile(code, name, "exec"), space)
    found: type = space["Mine"]
    return found


@pytest.mark.parametrize("change", SAME_CELLS)
def test_what_is_no_code_of_a_cell_leaves_the_digest(change: str) -> None:
    old, new = SAME_CELLS[change]
    assert CELL.count(old) == 1
    assert class_digest(cell_class(CELL.replace(old, new))) == class_digest(cell_class(CELL))


@pytest.mark.parametrize("change", OTHER_CELLS)
def test_what_a_class_of_a_notebook_names_is_in_its_digest(change: str) -> None:
    old, new = OTHER_CELLS[change]
    assert CELL.count(old) == 1
    assert class_digest(cell_class(CELL.replace(old, new))) != class_digest(cell_class(CELL))


def test_a_digest_of_a_cell_does_not_move_with_releases() -> None:
    assert class_digest(cell_class(CELL)) == "8fb86370e2a14b8d"


def test_declared_defaults_are_in_the_digest() -> None:
    cell = """
from pllbench.method import Hparams
class Settings(Hparams):
    tau: float = 1.0
class Mine:
    hparams_type = Settings
"""
    one, other = (cell_class(cell.replace("1.0", value)) for value in ("1.0", "2.0"))
    assert class_digest(one) != class_digest(other)


def test_modules_beside_a_notebook_are_in_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    cell = "import beside\nclass Mine:\n    def loss(self):\n        return beside.loss()\n"
    digests = []
    for number in (1, 2):
        (tmp_path / "beside.py").write_text(f"def loss():\n    return {number}\n")
        monkeypatch.delitem(sys.modules, "beside", raising=False)
        importlib.invalidate_caches()
        digests.append(class_digest(cell_class(cell)))
    assert digests[0] != digests[1]


def test_code_without_source_has_a_digest_of_what_it_does() -> None:
    def typed(code: str) -> type:
        space: dict[str, Any] = {"__name__": "a_prompt"}
        exec(code, space)
        found: type = space["Mine"]
        return found

    one = "class Mine:\n    def loss(self):\n        return 1\n"
    assert class_digest(typed(one)) == class_digest(typed(one))
    assert class_digest(typed(one)) != class_digest(typed(one.replace("1", "2")))


def test_what_a_function_closes_over_is_in_the_digest_of_its_class() -> None:
    def make(strength: float) -> type:
        class Mine:
            def loss(self) -> float:
                return strength

        return Mine

    assert class_digest(make(1.0)) == class_digest(make(1.0))
    assert class_digest(make(1.0)) != class_digest(make(2.0))


def test_a_module_that_has_changed_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "changing.py").write_text("class Mine:\n    a = 1\n")
    cls = importlib.import_module("changing").Mine
    digest = class_digest(cls)
    assert digest == source_digest(cls)
    assert not has_changed(cls, digest)
    (tmp_path / "changing.py").write_text("class Mine:\n    a = 2\n")
    source_digest.cache_clear()  # as in another process
    assert has_changed(cls, digest)
    assert not has_changed(cell_class(CELL), digest)


@pytest.fixture
def switching_threads() -> Iterator[None]:
    """Other threads go on whenever the garbage collector runs, which it does all the time."""

    def yield_to_others(*_: object) -> None:
        time.sleep(0)

    thresholds = gc.get_threshold()
    gc.callbacks.append(yield_to_others)
    gc.set_threshold(100)
    yield
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(yield_to_others)


@pytest.mark.usefixtures("switching_threads")
def test_threads_may_parse_at_once() -> None:
    text = f"x = [{'(((1,),),), ' * 300}]"
    with ThreadPoolExecutor(4) as threads:
        assert len(list(threads.map(_parse, [text] * 40))) == 40
