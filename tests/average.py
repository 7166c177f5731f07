"""The plug-in of docs/add_a_method.md, installed for a test, whose source and defaults change."""

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pllbench.registry import GROUP

PAGE = Path(__file__).parents[1] / "docs" / "add_a_method.md"

SOURCE = next(
    text
    for text in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    if "class Average(" in text
)
"""Its module, `pll_average.py`."""

Write = Callable[..., None]


def install_average(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Install it below `folder`; gives what writes its source anew, with parts replaced."""
    info = folder / "pll_average-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pll-average\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\naverage = pll_average:Average\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two sources of one second and length

    def write(*changes: tuple[str, str]) -> None:
        text = SOURCE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (folder / "pll_average.py").write_text(text)
        monkeypatch.delitem(sys.modules, "pll_average", raising=False)
        importlib.invalidate_caches()

    write()
    return write


SHARPER = ("sharpness: float = 1.0", "sharpness: float = 5.0")
"""Another default."""

REWRITTEN = ("-(weights * log_probs).sum(1).mean()", "(-weights * log_probs).sum(1).mean()")
"""Another source, and the same numbers."""

WEAKER = ("return Step(-(weights", "return Step(-0.1 * (weights")
"""Another source, and other numbers."""

REDESCRIBED = ("Factor on the logits.", "What logits are multiplied by.")
"""Another docstring."""

RAISED = ("    version = 1\n", "    version = 2\n")
"""Another version."""
