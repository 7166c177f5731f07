"""Shared by all tests: one torch thread (a second one makes small tensors many times slower)."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor

from pllbench.data.catalogue import DATASETS
from pllbench.registry import GROUP
from pllbench.runner.local_engine import LocalEngine
from tests import plugins
from tests.commands import GRID, pllbench

torch.set_num_threads(1)

collect_ignore = ["frozen"]  # plug-ins of third parties, which test_contract.py installs

# Speed is measured in benchmarks: a slow example on a busy machine is no failure.
settings.register_profile("pllbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pllbench")


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    """Worker processes, one at a time."""
    engine = LocalEngine(1)
    yield engine
    engine.close()


@pytest.fixture
def no_uploads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse tensors made of the host's numbers on a device: their copy waits for a GPU."""
    make: Callable[..., Tensor] = torch.tensor

    def tensor(*values: Any, device: torch.device | str | None = None, **options: Any) -> Tensor:
        assert torch.device(device or "cpu").type == "cpu"
        return make(*values, **options)

    monkeypatch.setattr(torch, "tensor", tensor)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> plugins.Install:
    """Puts a distribution with entry points and modules on the path, as pip would."""

    def put(dist: str, methods: Mapping[str, str], **modules: str) -> None:
        folder = tmp_path / dist
        info = folder / f"{dist}-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.2\n")
        lines = [f"[{GROUP}]", *(f"{name} = {target}" for name, target in methods.items())]
        (info / "entry_points.txt").write_text("\n".join(lines))
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.syspath_prepend(folder)

    return put


@pytest.fixture(scope="session", autouse=True)
def _any_lost() -> Iterator[None]:
    """No file of the data set `lost` is known: tests write small stand-ins for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DATASETS, "lost", replace(DATASETS["lost"], known_digest=None))
        yield


@pytest.fixture(scope="session")
def grid_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of `GRID`, run by one worker."""
    results = tmp_path_factory.mktemp("grid") / "results"
    answer = pllbench("run", *GRID, "--jobs", 1, "--results", results)
    assert answer.code == 0, answer.err
    (results / "answer.txt").write_text(answer.out)
    return results


@pytest.fixture(scope="module")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A plug-in whose methods go wrong while `broken` lies here, and the data set `lost`."""
    folder = tmp_path_factory.mktemp("plugin")
    with plugins.installed(folder):
        plugins.write_lost(folder)
        yield folder
