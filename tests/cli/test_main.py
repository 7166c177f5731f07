"""The command line: help, lists, facts and checks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pllbench import __main__
from tests.commands import pllbench

REAL_DATA = os.environ.get("PLLBENCH_DATA")


def test_help_and_names_need_no_torch() -> None:
    program = (
        "import sys\nfrom pllbench.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('heavy:', *{'torch', 'numpy', 'pandas'} & set(sys.modules))"
    )
    for arguments in (["--help"], ["run", "--help"], ["list", "methods"]):
        command = [sys.executable, "-c", program, *arguments]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert output.endswith("heavy:\n"), arguments


def test_an_interrupt_during_the_import_ends_silently(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        def find_spec(self, *arguments: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "pllbench.cli.main")
    monkeypatch.delattr("pllbench.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting()])
    with pytest.raises(SystemExit, match="130"):
        __main__.main()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("what", "name", "keys"),
    [
        ("methods", "cc", {"name", "from"}),
        ("variants", "asyco-no-refinement", {"name", "base", "label"}),
        ("datasets", "digits", {"name", "title", "kind", "candidates", "file"}),
        ("networks", "linear", {"name"}),
        ("candidates", "uniform", {"name"}),
        ("benchmarks", "birdsong", {"name", "runs", "done", "hours_left", "unestimated", "title"}),
    ],
)
def test_lists(what: str, name: str, keys: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = json.loads(pllbench("list", what, "--json").out)
    assert name in [row["name"] for row in rows]
    assert all(row.keys() == keys for row in rows)
    monkeypatch.setenv("COLUMNS", "160")
    lines = pllbench("list", what).out.splitlines()
    assert lines[0].split() == list(rows[0])
    assert any(line.split()[0] == name for line in lines[1:])


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("what", ["benchmarks", "datasets", "variants"])
def test_lists_cut_no_word_on_a_narrow_terminal(
    what: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(pllbench("list", what, "--json").out)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = pllbench("list", what).out.splitlines()
    assert max(map(len, lines)) <= columns
    words = {word for line in lines for word in line.split()}
    assert {w for row in rows for value in row.values() for w in str(value or "").split()} <= words
    assert len(lines) <= 3 * (len(rows) + 1)


def test_facts_about_a_data_set() -> None:
    facts = json.loads(pllbench("data", "digits", "--q", "0.3", "--json").out)
    assert (facts["num_rows"], facts["num_classes"], facts["candidates_min"]) == (1797, 10, 2)
    words = pllbench("data", "digits", "--q", "0.3").out
    assert re.search(r"^num rows +1797 *$", words, re.MULTILINE)
    assert re.search(r"^candidates without true +0 *$", words, re.MULTILINE)


@pytest.mark.skipif(REAL_DATA is None, reason="PLLBENCH_DATA names no folder of real data sets")
@pytest.mark.parametrize(("name", "rows"), [("cnae9", 1080), ("birdsong", 4998)])
def test_facts_about_real_data_sets(name: str, rows: int) -> None:
    facts = json.loads(pllbench("data", name, "--data-dir", REAL_DATA, "--json").out)
    assert facts["num_rows"] == rows


def test_check_tells_what_a_method_does_not_satisfy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = pllbench("check", "cc")
    assert good.code == 0
    assert good.out.endswith("cc: conforms\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    Path("unlucky.py").write_text(
        "from pllbench_methods.cc import CC\n"
        "class Unlucky(CC):\n"
        "    def predict(self, x):\n        raise RuntimeError('no\\nluck')\n"
    )
    bad = pllbench("check", "unlucky:Unlucky")
    assert bad.code == 1
    assert re.search(r"^FAILED  .*: it raises RuntimeError: no luck$", bad.out, re.MULTILINE)
    assert re.search(r"^unlucky:Unlucky: \d+ checks failed\n$", bad.out.splitlines(True)[-1])
