"""`tools/gpu.py` on a CPU: what it writes, what fails, and what time does not suffice for."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

from tools import gpu


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def smoke(folder: Path, minutes: float, *parts: str) -> list[dict[str, Any]]:
    """Lines of a small measurement."""
    output = folder / "gpu.jsonl"
    arguments = Namespace(parts=parts, minutes=minutes, output=output, data_dir=folder, smoke=True)
    gpu.measure(arguments, torch.device("cpu"), gpu.SMOKE)
    return lines(output)


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="graphs work where there is a GPU")
def test_what_fails_says_so_and_the_rest_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = (gpu.FLOAT32, gpu.QUICK, "graph")
    monkeypatch.setattr(gpu, "MODES", {name: gpu.MODES[name] for name in modes})
    device, views, plain, quick, graph, last = smoke(tmp_path, 10, "views", "modes")
    assert device == {"device": "cpu", "torch": torch.__version__, "cuda": torch.version.cuda}
    assert (views["part"], views["name"]) == ("views", "cpu")
    assert all(views[f"{role}_us"] > 0 for role in ("weak", "strong", "query", "key"))
    assert [line["name"] for line in (plain, quick)] == ["cc, float32", "cc, bf16, channels_last"]
    assert min(line["images_per_s"] for line in (plain, quick)) > 0
    assert (graph["name"], "images_per_s" in graph) == ("cc, graph", False)
    assert graph["failed"].startswith(("AcceleratorError: ", "RuntimeError: "))
    assert last == {"left": []}


def test_what_time_does_not_suffice_for_is_named(tmp_path: Path) -> None:
    device, last = smoke(tmp_path, 0, "tests", "views", "together")
    assert device["device"] == "cpu"
    assert last == {"left": ["tests: gpu", "views: cpu", "together: 1", "together: 3"]}


def test_what_is_compiled_comes_last() -> None:
    order = list(gpu.modes(["cc", "rc"]))
    assert len(order) == 2 * len(gpu.MODES)
    assert order[:2] == [("cc", "float32"), ("cc", "bf16, channels_last")]
    assert {mode.partition("=")[0] for _, mode in order[-6:]} == {"compile"}
    assert not any("compile" in mode for _, mode in order[:-6])
