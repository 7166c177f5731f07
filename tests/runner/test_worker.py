"""How worker processes are set up."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import torch
from pllbench.runner.worker import prepare_worker

if sys.argv[1] == "prepared":
    prepare_worker()
    assert torch.get_num_threads() == 1
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def step():
    torch.ones(40, 2**18)  # 40 MiB, more than glibc keeps by itself
for _ in range(20):
    step()
before = faults()
for _ in range(10):
    step()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_freed_memory_is_used_again() -> None:
    """A page of 4 KiB that the system has to clear is a fault: 10,240 of them are 40 MiB."""
    found = {
        how: int(subprocess.check_output([sys.executable, "-c", FAULTS, how]))
        for how in ("prepared", "as it is")
    }
    assert found["prepared"] < 1_000
    assert found["as it is"] > 100_000


LOCK = """
import multiprocessing.synchronize
from pllbench.runner.worker import prepare_worker
from tqdm import tqdm

def refuse(*arguments, **settings):
    raise AssertionError("a semaphore of the system")

multiprocessing.synchronize.SemLock.__init__ = refuse
prepare_worker()
tqdm(disable=True)
"""


def test_the_progress_bars_of_a_compiler_leave_no_semaphore_behind() -> None:
    pytest.importorskip("tqdm")
    assert subprocess.run([sys.executable, "-c", LOCK], check=False).returncode == 0
    unprepared = LOCK.replace("\nprepare_worker()", "")
    found = subprocess.run([sys.executable, "-c", unprepared], check=False, capture_output=True)
    assert b"a semaphore of the system" in found.stderr
