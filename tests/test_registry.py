"""Methods from entry points of real distributions, and what is said of broken ones."""

import os
import sys
from pathlib import Path

import pytest

from pllbench import registry
from pllbench.registry import (
    MethodFacts,
    describe_entry,
    find_method,
    load_class,
    load_method,
    method_entries,
    method_facts,
)
from tests.commands import pllbench, refused
from tests.plugins import Install

GOOD = """
from torch import nn
from pllbench.method import Method, Step

class Good(Method):
    def loss(self, batch): return Step(batch.x[0].sum())
    def predict(self, x): return x
"""


def test_built_in_methods_are_registered_as_a_third_partys_are(install: Install) -> None:
    before = method_entries()
    install("theirs", {"good": "theirs_good:Good"}, theirs_good=GOOD)
    after = method_entries()
    assert set(after) - set(before) == {"good"}
    assert list(after) == sorted(after)
    assert load_method("good").__name__ == "Good"
    assert describe_entry(after["good"]) == "theirs 1.2 (theirs_good:Good)"
    assert describe_entry(after["cc"]).startswith("pllbench ")


def test_every_registered_method_loads() -> None:
    for name in method_entries():
        cls = load_method(name)
        assert cls.version >= 1
        assert cls.labels in ("candidates", "true")


def test_listing_names_imports_no_method(install: Install) -> None:
    install("theirs", {"bad": "theirs_bad:Bad"}, theirs_bad="raise SystemExit(3)")
    assert "bad" in method_entries()
    assert "theirs_bad" not in sys.modules


def test_two_distributions_with_one_name_are_an_error_that_names_both(install: Install) -> None:
    install("first", {"rival": "rival_one:A"})
    install("second", {"rival": "rival_two:B"})
    with pytest.raises(ValueError, match="method 'rival' is registered twice") as error:
        method_entries()
    assert "first 1.2 (rival_one:A)" in str(error.value)
    assert "second 1.2 (rival_two:B)" in str(error.value)
    with pytest.raises(ValueError, match="registered twice"):
        load_method("cc")


def test_a_name_of_a_built_in_method_cannot_be_taken(install: Install) -> None:
    install("taker", {"cc": "taker_cc:CC"})
    with pytest.raises(ValueError, match=r"'cc' is registered twice, by .*taker 1\.2 \(taker_cc"):
        method_entries()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../x", "its name must be letters, digits"),
        ("a/b", "its name must be letters, digits"),
        ("a b", "its name must be letters, digits"),
        ("..", "its name must be letters, digits"),
        ("best.", "'.', the last not at its end"),
        ("nul", "its name is that of a device on some systems"),
        ("Com1.best", "its name is that of a device on some systems"),
        ("x" * 201, "its name is longer than 200 bytes"),
        ("é" * 101, "its name is longer than 200 bytes"),
    ],
)
def test_a_name_that_no_folder_can_have_is_refused(
    install: Install, name: str, problem: str
) -> None:
    install("theirs", {name: "theirs_good:Good"}, theirs_good=GOOD)
    with pytest.raises(
        ValueError, match=r"^method '.*' of theirs 1\.2 \(theirs_good:Good\)"
    ) as error:
        method_entries()
    assert problem in str(error.value)
    assert "theirs_good" not in sys.modules


@pytest.mark.parametrize("name", ["CC", "Asyco"])
def test_names_that_differ_in_case_alone_are_refused(install: Install, name: str) -> None:
    install("theirs", {name: "theirs_good:Good"}, theirs_good=GOOD)
    with pytest.raises(ValueError, match="differ in case alone") as error:
        method_entries()
    assert f"methods '{name}' of theirs 1.2 (theirs_good:Good) and '{name.lower()}' of pllb" in str(
        error.value
    )


@pytest.mark.parametrize("name", ["nullify", "com10", "aux-loss", "a.b", "_x", "1"])
def test_names_that_folders_can_have_are_taken(install: Install, name: str) -> None:
    install("theirs", {name: "theirs_good:Good"}, theirs_good=GOOD)
    assert name in method_entries()


def test_the_same_distribution_found_twice_is_no_duplicate(install: Install) -> None:
    install("same", {"good": "same_good:Good"}, same_good=GOOD)
    sys.path.insert(0, sys.path[0])  # monkeypatch restores the whole path
    assert method_entries()["good"].value == "same_good:Good"


@pytest.mark.parametrize(
    ("text", "target", "problem"),
    [
        ("import no_such_package", "broken:A", "ModuleNotFoundError: No module named 'no_such"),
        ("1 / 0", "broken:A", "ZeroDivisionError: division by zero"),
        ("def", "broken:A", "SyntaxError: invalid syntax"),
        ("B = 1", "broken:A", "AttributeError: module 'broken' has no attribute 'A'"),
    ],
)
def test_what_does_not_import_is_an_error_that_names_the_distribution(
    install: Install, text: str, target: str, problem: str
) -> None:
    install("theirs", {"bad": target}, broken=text)
    with pytest.raises(ValueError, match="cannot be imported") as error:
        load_method("bad")
    expected = f"method 'bad' of theirs 1.2 ({target}) cannot be imported: {problem}"
    assert str(error.value).startswith(expected)
    assert load_method("cc").__name__ == "CC"  # the others still work
    with pytest.raises(ValueError, match="'broken:A' cannot be imported") as error:
        load_class(target)
    assert problem in str(error.value)


@pytest.mark.parametrize("text", ["A = 3", "class A: pass", "def A(problem, hparams): pass"])
def test_what_is_no_method_is_an_error_that_names_the_distribution(
    install: Install, text: str
) -> None:
    install("theirs", {"bad": "nomethod:A"}, nomethod=text)
    message = r"^method 'bad' of theirs 1\.2 \(nomethod:A\) is not a subclass of pllbench\.method"
    with pytest.raises(ValueError, match=message):
        load_method("bad")
    with pytest.raises(ValueError, match=r"^nomethod:A is not a subclass of pllbench\.method"):
        load_class("nomethod:A")


def test_facts_are_those_of_classes_and_absent_where_there_is_none(install: Install) -> None:
    install("theirs", {"bad": "broken:A"}, broken="1 / 0")
    assert method_facts(["rc", "bad", "no-such-method"]) == {
        "rc": MethodFacts(family="confidence", year=2020, venue="NeurIPS")
    }


def test_an_unknown_name_gets_its_nearest_match(install: Install) -> None:
    install("theirs", {"wonderful": "theirs_good:Good"})
    with pytest.raises(ValueError, match=r"^unknown method 'Wonderfull': did you mean wonderful\?"):
        load_method("Wonderfull")
    with pytest.raises(ValueError, match=r"^unknown method 'xyzzy': known: .*cc.*wonderful"):
        load_method("xyzzy")


def test_an_unregistered_class_is_found_by_module_and_name(install: Install) -> None:
    install("theirs", {}, unregistered=GOOD)
    assert load_class("unregistered:Good").__name__ == "Good"
    for target in ("unregistered:", "unregistered:Godo", "unregisterd:Good", ":Good"):
        with pytest.raises(ValueError, match=f"^'{target}' cannot be imported"):
            load_class(target)


ENDLESS = """
import time
from pathlib import Path
while Path(__file__).exists():
    time.sleep(0.01)
"""


def test_a_module_whose_import_does_not_end_is_named(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "IMPORT_SECONDS", 0.3)
    install("endless", {"loop": "endless_loop:Loop"}, endless_loop=ENDLESS)
    try:
        for _ in range(2):  # the second time, its module is among the imported ones
            message = refused("run", "--methods", "loop", "--timeout", 5, "--results", tmp_path)
            assert message == (
                "method 'loop' of endless 1.2 (endless_loop:Loop) is still being imported after "
                "0.3 s"
            )
    finally:
        (tmp_path / "endless" / "endless_loop.py").unlink()


def test_a_module_that_is_listed_or_checked_and_whose_import_does_not_end_is_named(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "IMPORT_SECONDS", 0.3)
    install("spinning", {"spin": "spinning_one:Spin"}, spinning_one=ENDLESS, spinning_two=ENDLESS)
    try:
        answer = pllbench("list", "methods")
        assert answer.code == 0
        assert answer.err == (
            "pllbench: spin: method 'spin' of spinning 1.2 (spinning_one:Spin) is still being "
            "imported after 0.3 s\n"
        )
        message = refused("check", "spinning_two:Spin")
        assert message == "method 'spinning_two:Spin' is still being imported after 0.3 s"
    finally:
        for name in ("spinning_one", "spinning_two"):
            (tmp_path / "spinning" / f"{name}.py").unlink()


def test_it_is_said_what_is_imported_for_long(
    install: Install, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(registry, "SLOW_IMPORT_SECONDS", 0.1)
    install("slow", {"late": "slow_late:Good"}, slow_late="import time\ntime.sleep(1)\n" + GOOD)
    assert find_method("late").__name__ == "Good"
    assert caplog.messages == ["method 'late' of slow 1.2 (slow_late:Good) is being imported"]


def test_planning_leaves_working_directory_and_environment_as_they_were(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BEFORE", "kept")
    meddling = "import os\nos.chdir('/')\nos.environ |= {'BEFORE': 'lost', 'AFTER': 'new'}\n"
    install("meddler", {"meddling": "meddler_it:Good"}, meddler_it=meddling + GOOD)
    assert find_method("meddling").__name__ == "Good"
    assert Path.cwd() == tmp_path
    assert os.environ["BEFORE"] == "kept"
    assert "AFTER" not in os.environ


def test_what_an_import_raises_is_raised(install: Install) -> None:
    install("theirs", {"bad": "theirs_bad:Bad"}, theirs_bad="raise SystemExit(3)")
    with pytest.raises(ValueError, match=r"'bad' of .* cannot be imported: SystemExit: 3"):
        find_method("bad")
