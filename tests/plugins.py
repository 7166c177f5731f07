"""A plug-in package that is installed for a test, and a small data set that it trains on."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from pllbench.registry import GROUP

MODULE = "misbehaving_plugin"

METHODS = {
    "steady": "Steady",
    "raising": "Raising",
    "out_of_memory": "OutOfMemory",
    "end_of_file": "EndOfFile",
    "exiting": "Exiting",
    "killed": "Killed",
    "hanging": "Hanging",
    "breaking_gpu": "BreakingGPU",
    "out_of_bounds": "OutOfBounds",
    "forking": "Forking",
    "starting": "Starting",
    "starting_and_exiting": "StartingAndExiting",
    "starting_apart": "StartingApart",
    "starting_apart_and_exiting": "StartingApartAndExiting",
    "interrupting": "Interrupting",
    "starting_and_going_on": "StartingAndGoingOn",
    "diverging": "Diverging",
    "one_row": "OneRow",
    "slow": "Slow",
    "leaves_dtype": "LeavesDtype",
    "leaves_device": "LeavesDevice",
    "leaves_grad_mode": "LeavesGradMode",
    "leaves_hook": "LeavesHook",
    "leaves_patch": "LeavesPatch",
    "leaves_directory": "LeavesDirectory",
    "leaves_environment": "LeavesEnvironment",
    "wandering": "Wandering",
    "writes_to_rows": "WritesToRows",
}
"""Registered names of the classes in `misbehaving.py`."""


Install = Callable[..., None]
"""What the fixture `install` gives."""


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """The methods of `misbehaving.py`, as the distribution misbehaving 1.0 below `folder`.

    A module and its metadata, as pip would put them there. The folder is on the path of this
    process, of its workers and of the processes that it starts.
    """
    info = folder / "misbehaving-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n")
    lines = [f"{name} = {MODULE}:{cls}" for name, cls in METHODS.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
    shutil.copy(Path(__file__).with_name("misbehaving.py"), folder / f"{MODULE}.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        patch.delitem(sys.modules, MODULE, raising=False)
        yield
        sys.modules.pop(MODULE, None)


def write_lost(data_dir: Path, rows: int = 100, **replaced: Any) -> Path:
    """A small stand-in for the real-world set `lost`: three classes, candidates of two labels.

    `replaced` are variables of the file that take the place of the well-formed ones.
    """
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 3
    target = np.eye(3)[y]  # [N, C]
    other = np.eye(3)[(y + rng.integers(1, 3, rows)) % 3]
    content: Mapping[str, Any] = {
        "data": np.eye(3)[y] @ rng.normal(size=(3, 5)) + rng.normal(size=(rows, 5)),
        "target": target.T,
        "partial_target": np.maximum(target, other).T,
    }
    path = data_dir / "pll_realworld" / "lost.mat"
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {**content, **replaced})
    return path
