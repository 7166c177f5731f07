"""Devices by name, broken ones, and memory that is given back; stubs stand for a GPU."""

import sys
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path

import pytest
import torch

from pllbench.runner import worker
from pllbench.runner.device import (
    current_device,
    free_memory,
    is_broken,
    peak_memory_mib,
    reset_peak_memory,
    resolve_device,
)
from pllbench.runner.engine import Finished, RunFailed, attempt
from pllbench.runner.job import Job, RunOptions
from tests.factories import plan_lost


def stub(monkeypatch: pytest.MonkeyPatch, synchronize: Callable[[], None]) -> list[str]:
    """A process that has used a GPU; gives the list of what is done with it."""
    done: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: done.append("emptied"))
    return done


def broken() -> None:
    raise RuntimeError("CUDA error: device-side assert triggered")


def whole() -> None:
    pass


def test_auto_is_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for available, name in ((False, "cpu"), (True, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda available=available: available)
        assert resolve_device("auto") == torch.device(name)
    assert resolve_device("cuda:1") == torch.device("cuda", 1)


def test_a_gpu_that_was_not_used_is_not_asked() -> None:
    if torch.cuda.is_initialized():
        pytest.skip("an earlier test has used a GPU")
    assert not is_broken()
    free_memory()
    assert not torch.cuda.is_initialized()


def test_a_gpu_is_broken_if_it_cannot_be_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    emptied = stub(monkeypatch, broken)
    assert is_broken()
    free_memory()
    assert emptied == []
    monkeypatch.setattr(torch.cuda, "synchronize", whole)
    assert not is_broken()
    free_memory()
    assert emptied == ["emptied"]


@pytest.mark.parametrize(("synchronize", "expected"), [(broken, True), (whole, False)])
def test_a_run_that_fails_says_whether_its_process_can_go_on(
    plugin_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    synchronize: Callable[[], None],
    expected: bool,
) -> None:
    [run] = plan_lost("leaves_grad_mode")
    stub(monkeypatch, synchronize)
    job = Job(run.spec, run.data, RunOptions(plugin_folder, plugin_folder, "cpu"))
    event = attempt(job, lambda _: True)
    torch.set_grad_enabled(True)
    assert isinstance(event, RunFailed)
    assert event.broken is expected


def test_the_gpu_that_is_asked_for_is_the_one_that_is_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered: list[torch.device] = []

    class Entering:
        def __init__(self, device: torch.device) -> None:
            self.device = device

        def __enter__(self) -> None:
            entered.append(self.device)

        def __exit__(self, *error: object) -> None:
            pass

    monkeypatch.setattr(torch.cuda, "device", Entering)
    with current_device(torch.device("cuda", 1)), current_device(torch.device("cpu")):
        assert entered == [torch.device("cuda", 1)]


def test_a_worker_gives_memory_back_after_each_run(
    plugin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied = stub(monkeypatch, whole)
    [run] = plan_lost("steady")
    job = Job(run.spec, run.data, RunOptions(plugin_folder, plugin_folder, "cpu"))
    ours, theirs = Pipe()
    with ours, theirs:
        assert isinstance(worker._execute(job, theirs), Finished)
    assert emptied == ["emptied"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a peak anew")
def test_the_peak_of_a_run_is_not_that_of_an_earlier_one() -> None:
    cpu = torch.device("cpu")
    reset_peak_memory(cpu)
    large = torch.ones(100 * 2**20)  # 400 MiB
    before = peak_memory_mib(cpu)
    del large
    reset_peak_memory(cpu)
    after = peak_memory_mib(cpu)
    assert before is not None
    assert after is not None
    assert before - after > 300


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_run_on_a_gpu_by_its_number(plugin_folder: Path) -> None:
    [run] = plan_lost("steady", epochs=2)
    job = Job(run.spec, run.data, RunOptions(plugin_folder, plugin_folder, "cuda:0"))
    event = attempt(job, lambda _: True)
    assert isinstance(event, Finished)
    assert event.changed == ()
    assert event.record.provenance.device == torch.cuda.get_device_name(0)
