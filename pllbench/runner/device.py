"""The device of a run: which one it is, what it has used, and whether it can be used again."""

import gc
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

import torch

from pllbench.validation import FieldError


def resolve_device(name: str) -> torch.device:
    """The device that an option names: auto is a GPU where there is one.

    Raises:
        FieldError: it names none, or a GPU where there is none.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise FieldError("device", "must be auto, cpu, cuda or cuda:1", name) from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise FieldError("device", "no CUDA device here; use cpu", name)
    return device


def current_device(device: torch.device) -> AbstractContextManager[object]:
    """Within it, `device` is the GPU that is meant where none is named."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def is_broken() -> bool:
    """Whether this process can use its GPU no more, as after an assertion in a kernel.

    Kernels fail some time after they were started, so this waits for them.
    """
    if not torch.cuda.is_initialized():
        return False
    try:
        torch.cuda.synchronize()
    except Exception:  # noqa: BLE001 - torch has a kind of its own, and older ones RuntimeError
        return True
    return False


def free_memory() -> None:
    """Give the GPU's memory that this process holds unused to others on the same GPU."""
    if torch.cuda.is_initialized() and not is_broken():
        gc.collect()
        torch.cuda.empty_cache()


def reset_peak_memory(device: torch.device) -> None:
    """Count the peak anew: of a GPU, and, where the system can, of this process."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    elif sys.platform == "linux":
        with suppress(OSError):  # a container may forbid it
            Path("/proc/self/clear_refs").write_text("5", "ascii")


def peak_memory_mib(device: torch.device) -> float | None:
    """The peak since `reset_peak_memory`, of the GPU or of this process.

    None where it is not counted; where it cannot be reset, that of the process since its start.
    """
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
    if sys.platform == "win32":
        return None
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 1)
