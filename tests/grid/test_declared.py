"""What methods declare, asked of their classes or read from the file of an unchanged suite."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pllbench.grid import declared as module
from pllbench.grid.declared import (
    COARSE,
    DeclarationFile,
    Memory,
    declared,
    digest_of,
    keep,
    source_state,
)
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import default_protocol
from pllbench.registry import given_classes, load_method, method_entries


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where this process keeps what is asked for, from nothing on."""
    monkeypatch.setattr(module, "_memory", Memory(started=time.time()))
    monkeypatch.setattr(module, "cache_from_source", lambda _: str(tmp_path / "cache" / "d.pyc"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "cache" / "d.json"


def start_again() -> None:
    """As a new process of the command line does."""
    module._memory = Memory(started=time.time())


def state() -> str:
    """What the file has to be made of."""
    return source_state(time.time())


def test_what_a_class_declares() -> None:
    found = declared("cc", {"num_strong": 1}, "here")
    assert found.version == load_method("cc").version
    assert (found.labels, found.gradient) == ("candidates", True)
    assert found.hparams == {"num_strong": 1, "view_reduction": "mean"}
    assert found.changed == ("num_strong",)
    assert declared("supervised", {}, "").labels == "true"
    assert not declared("pl_knn", {}, "").gradient


def test_wrong_hyperparameters_say_where() -> None:
    with pytest.raises(ValueError, match=r"^here: hparams: unknown .*'num_stronk'"):
        declared("cc", {"num_stronk": 1}, "here")
    with pytest.raises(ValueError, match=r"^here: .*num_strong"):
        declared("cc", {"num_strong": -1}, "here")


def test_runs_are_the_same_from_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All methods and variants, on data sets for which the protocol has settings."""
    names = (*method_entries(), *default_protocol().variants)
    selection = Selection(methods=names, datasets=("digits", "cnae9", "cifar10"), q=(0.3,))
    asked = plan(selection)
    kept = DeclarationFile.model_validate_json(file.read_bytes())
    assert len(kept.methods) > len(method_entries())
    start_again()

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is imported")

    monkeypatch.setattr(module, "find_method", refuse)
    assert plan(selection) == asked


def test_a_file_of_other_source_does_not_count(file: Path) -> None:
    declared("cc", {}, "")
    keep()
    kept = DeclarationFile.model_validate_json(file.read_bytes())
    other = kept.methods | {
        key: entry.model_copy(update={"version": 99}) for key, entry in kept.methods.items()
    }
    file.write_text(DeclarationFile(made_of=state(), methods=other).model_dump_json())
    start_again()
    assert declared("cc", {}, "").version == 99  # so it is read where it counts
    file.write_text(DeclarationFile(made_of="another", methods=other).model_dump_json())
    start_again()
    assert declared("cc", {}, "").version == load_method("cc").version
    keep()
    assert DeclarationFile.model_validate_json(file.read_bytes()) == kept


@pytest.mark.parametrize("content", ["", "{", '{"made_of": 3}'])
def test_a_damaged_file_does_not_count(content: str, file: Path) -> None:
    file.parent.mkdir()
    file.write_text(content)
    assert declared("cc", {}, "").version == load_method("cc").version
    keep()
    assert DeclarationFile.model_validate_json(file.read_bytes()).made_of == state()


def make_package(folder: Path, leaf: str = "a = 1") -> Path:
    """A package of three files; gives the last."""
    (folder / "spring/inner").mkdir(parents=True)
    for name in ("__init__.py", "inner/__init__.py", "inner/leaf.py"):
        (folder / "spring" / name).write_text(leaf)
    return folder / "spring/inner/leaf.py"


def test_every_byte_of_source_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaf, later = make_package(tmp_path), time.time() + 60
    monkeypatch.syspath_prepend(tmp_path)
    digests = {digest_of(["spring"], text, later) for text in ("x", "y")}
    leaf.write_text("a = 2")
    digests.add(digest_of(["spring"], "x", later))
    leaf.rename(tmp_path / "spring/leaf.py")
    digests.add(digest_of(["spring"], "x", later))
    assert len(digests) == 4


def test_what_has_no_source_or_a_new_one_has_no_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor has a file whose time of change was set back, as copies have it."""
    leaf = make_package(tmp_path)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare/__init__.pyc").touch()
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("bare", "springs"):
        with pytest.raises(ValueError, match=f"^{name} has no source$"):
            digest_of([name], "", time.time() + 60)
    os.utime(leaf, (0, 0))
    enough = leaf.stat().st_ctime + COARSE
    assert digest_of(["spring"], "", enough)
    with pytest.raises(ValueError, match=r"spring/.* has just changed$"):
        digest_of(["spring"], "", enough - 1)


def test_source_that_changes_while_it_is_imported_is_not_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = iter(["before", "after"])
    monkeypatch.setattr(module, "source_state", lambda _: next(states))
    declared("cc", {}, "")
    keep()
    assert not file.exists()


def test_source_newer_than_the_process_is_not_kept(file: Path) -> None:
    module._memory = Memory(started=1.0)
    assert declared("cc", {}, "").version == load_method("cc").version
    keep()
    assert not file.exists()


def test_many_processes_write_at_once(file: Path) -> None:
    """A reader sees a whole file, of one of them."""

    def write(number: int) -> None:
        memory = Memory(time.time(), file, state())
        for strong in range(number):
            memory.known[f"{number} {strong}"] = known
        memory.write(file, time.time())
        assert len(DeclarationFile.model_validate_json(file.read_bytes()).methods) in range(1, 9)

    known = declared("cc", {}, "")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(1, 9)))
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_methods_of_others_and_long_searches_are_not_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "is_built_in", lambda name: name != "rc")
    for name in ("cc", "rc"):
        declared(name, {}, "")
    keep()
    cc = f"{method_entries()['cc'].value} {{}}"
    assert list(DeclarationFile.model_validate_json(file.read_bytes()).methods) == [cc]
    monkeypatch.setattr(module, "MOST", 1)
    declared("cc", {"num_strong": 1}, "")
    keep()
    assert list(DeclarationFile.model_validate_json(file.read_bytes()).methods) == [cc]


def test_where_nothing_can_be_written_nothing_is_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.parent.write_text("no folder")
    declared("cc", {}, "")
    keep()
    assert not file.exists()
    file.parent.unlink()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    declared("rc", {}, "")
    keep()
    assert not file.exists()


COMMAND = """
import sys
import time
from pllbench.__main__ import main
sys.argv = ["pllbench", "status", "--methods", "cc,asyco", "--datasets", "digits,cnae9"]
try:
    main()
finally:
    print("torch" in sys.modules)
"""


def test_the_second_command_needs_no_torch(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    told = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", COMMAND],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        told.append(done.stdout.splitlines())
    assert told[0][0] == told[1][0]
    assert told[0][0].endswith(" missing")
    assert [lines[1] for lines in told] == ["True", "False"]


def test_a_process_that_is_no_command_keeps_nothing() -> None:
    plan(Selection(methods=("cc",), datasets=("digits",)))
    assert module._memory == Memory()


def test_a_given_class_is_asked_whatever_is_kept(file: Path) -> None:
    class Other(load_method("cc")):  # type: ignore[misc]
        version = 99

    assert declared("cc", {}, "").version == load_method("cc").version
    with given_classes({"cc": Other}):
        assert declared("cc", {}, "").version == 99
    assert declared("cc", {}, "").version == load_method("cc").version
    keep()
    methods = DeclarationFile.model_validate_json(file.read_bytes()).methods
    assert [entry.version for entry in methods.values()] == [load_method("cc").version]
