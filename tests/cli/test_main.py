"""The command line as a whole: what starts it, and what it imports."""

import subprocess
import sys

import pytest

from pllbench import __main__
from tests.commands import pllbench


def test_help_and_names_need_no_torch() -> None:
    program = (
        "import sys\nfrom pllbench.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('heavy:', *{'torch', 'numpy', 'pandas'} & set(sys.modules))"
    )
    for arguments in (["--help"], ["run", "--help"], ["list", "variants"]):
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


WITHOUT_TORCH = [
    "registry",
    "spec",
    "grid.protocol",
    "grid.plan",
    "cli.selection",
    "candidates.audit",
    "results.records",
    "results.workspace",
    "results.status",
    "reports.aggregate",
    "cli.main",
]
"""What answers --help, list, status and table."""


def test_listing_and_reading_records_import_no_torch() -> None:
    lines = [
        "import importlib, sys",
        f"for name in {WITHOUT_TORCH}:",
        "    importlib.import_module(f'pllbench.{name}')",
        "    assert 'torch' not in sys.modules, name",
        "from pllbench.registry import describe_entry, method_entries",
        "assert all(map(describe_entry, method_entries().values()))",
        "from pllbench.grid.protocol import default_protocol",
        "assert default_protocol().labels",
        "assert 'torch' not in sys.modules",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_version() -> None:
    answer = pllbench("--version")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("pllbench ")
