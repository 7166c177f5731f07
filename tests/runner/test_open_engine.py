"""The engine that options describe, and options that no engine has."""

import os
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pllbench.runner import local_engine
from pllbench.runner.local_engine import LocalEngine
from pllbench.runner.open_engine import EngineOptions, open_engine, require_engine_options
from pllbench.validation import FieldError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EngineOptions(name="rya"), "engine rya: did you mean ray?"),
        (EngineOptions(device="gpu"), "device gpu: did you mean cpu?"),
        (EngineOptions(address="10.0.0.1:6379"), "address: only with engine ray"),
        (EngineOptions(gpus_per_run=0.5), "gpus_per_run: only with engine ray"),
        (EngineOptions(device="cuda:"), "device cuda:: did you mean cuda?"),
        (
            EngineOptions(name="ray", device="cuda:1"),
            "device cuda:1: with engine ray, the cluster chooses the GPU",
        ),
        (EngineOptions(timeout=0), "timeout 0: must be a number of seconds, more than 0"),
    ],
)
def test_impossible_options_of_an_engine_are_refused(options: EngineOptions, message: str) -> None:
    for function in (require_engine_options, open_engine):
        with pytest.raises(FieldError, match=f"^{re.escape(message)}$"):
            function(options)


def test_the_local_engine_has_the_options_that_were_asked_for() -> None:
    with open_engine(EngineOptions(device="cpu", jobs=3, timeout=5)) as engine:
        assert isinstance(engine, LocalEngine)
        assert (engine.places, engine.timeout) == (3, 5)


@pytest.mark.parametrize(
    ("share", "places"), [("", 2), ("1", 1), ("2", 2), ("64", 2), ("0", 2), ("2(x3)", 2)]
)
def test_a_run_at_a_time_on_each_core_that_is_ours(
    monkeypatch: pytest.MonkeyPatch, share: str, places: int
) -> None:
    monkeypatch.setattr(local_engine, "cpu_count", lambda: 2)
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", share)
    with open_engine(EngineOptions(device="cpu")) as engine:
        assert isinstance(engine, LocalEngine)
        assert engine.places == places


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_cores_that_are_another_process_s_are_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert local_engine.num_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("device", ["auto", "cuda", "cuda:0", "cuda:1"])
def test_one_run_at_a_time_on_a_gpu(device: str) -> None:
    with open_engine(EngineOptions(device=device)) as engine:
        assert isinstance(engine, LocalEngine)
        assert engine.places == 1


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(FieldError, match=r"^device cuda:2: the last one here is cuda:1$"):
        open_engine(EngineOptions(device="cuda:2"))


@pytest.fixture
def file_limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets what the system is asked for."""

    def set_limit(number: int) -> None:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (number, number))

    return set_limit


@pytest.mark.parametrize(
    ("limit", "jobs", "message"),
    [
        (51, 8, "jobs 8: the limit of open files, 51, is too low: fewer, or first `ulimit -n 52`"),
        (23, 1, "jobs 1: the limit of open files, 23, is too low: first `ulimit -n 24`"),
        (23, None, "jobs 1: the limit of open files, 23, is too low: first `ulimit -n 24`"),
    ],
)
def test_more_jobs_than_the_limit_of_open_files_allows_are_refused(
    file_limit: Callable[[int], None], limit: int, jobs: int | None, message: str
) -> None:
    file_limit(limit)
    with pytest.raises(FieldError, match=f"^{re.escape(message)}$"):
        open_engine(EngineOptions(device="cpu", jobs=jobs))


@pytest.mark.parametrize(("limit", "places"), [(24, 1), (31, 2), (1024, 8)])
def test_jobs_by_default_are_what_the_limit_of_open_files_allows(
    monkeypatch: pytest.MonkeyPatch, file_limit: Callable[[int], None], limit: int, places: int
) -> None:
    monkeypatch.setattr(local_engine, "cpu_count", lambda: 8)
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    file_limit(limit)
    with open_engine(EngineOptions(device="cpu")) as engine:
        assert isinstance(engine, LocalEngine)
        assert engine.places == places


@pytest.mark.parametrize(("limit", "code"), [(27, 2), (28, 0)])
def test_two_runs_at_a_time_work_from_the_lowest_limit_of_open_files_on(
    tmp_path: Path, limit: int, code: int
) -> None:
    program = f"{shlex.quote(sys.executable)} -m pllbench run --results {tmp_path} --jobs 2"
    selection = "--methods cc --datasets digits --q 0.3 --seeds 2 --epochs 1"
    line = f"ulimit -n {limit}; {program} {selection}"
    answer = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert answer.returncode == code, answer.stderr
    if code:
        assert answer.stderr.startswith("pllbench: --jobs 2: the limit of open files, 27, is too")
        assert answer.stderr.count("\n") == 1


ORDER = """
import sys
from pllbench.runner import fork_server
from pllbench.runner.open_engine import EngineOptions, open_engine

fork_server.start = lambda: print("torch" in sys.modules)
open_engine(EngineOptions(device="cpu"))
print("torch" in sys.modules)
"""


def test_the_fork_server_imports_torch_while_this_process_does() -> None:
    told = subprocess.check_output([sys.executable, "-c", ORDER], text=True)
    assert told.split() == ["False", "True"]
