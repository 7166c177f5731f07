"""Settings of torch, NumPy and Python that all runs of a process share: read and set."""

import signal
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.backends import cuda, cudnn


def _default_device() -> torch.device:
    return torch.empty(0).device  # torch 2.9's own getter fails after a reset to none


def _set_default_device(device: torch.device) -> None:
    torch.set_default_device(None if device.type == "cpu" else device)


def _gpu() -> int:
    return torch.cuda.current_device() if torch.cuda.is_initialized() else 0


def _autocast() -> tuple[bool, bool]:
    return torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")


def _set_autocast(enabled: tuple[bool, bool]) -> None:
    for device, value in zip(("cpu", "cuda"), enabled, strict=True):
        torch.set_autocast_enabled(device, value)


def _flags(backend: Any, *names: str) -> tuple[Callable[[], Any], Callable[[Any], object]]:
    """How flags of a backend are read, and set."""

    def write(values: Mapping[str, bool]) -> None:
        for name, value in values.items():
            setattr(backend, name, value)

    return lambda: {name: getattr(backend, name) for name in names}, write


def _matmul_precision() -> str:
    with warnings.catch_warnings():  # torch 2.9 deprecates the setting that this function reads
        warnings.simplefilter("ignore", UserWarning)
        return torch.get_float32_matmul_precision()


def _flushes_denormals() -> bool:
    # torch has no getter for it
    return not torch.tensor(2.0**-149, dtype=torch.float32, device="cpu").mul(1).item()


def _pop_to(depth: Callable[[], int], pop: Callable[[], object]) -> Callable[[int], None]:
    """How a stack is brought back to a depth. What was taken from below that cannot come back."""

    def write(before: int) -> None:
        while depth() > before:
            pop()

    return write


def _pushed_hooks() -> int:
    """1 where tensors that autograd saves are hooked, else 0: torch tells the uppermost pair."""
    return int(torch._C._autograd._top_saved_tensors_default_hooks(True) is not None)


def _alarm_is_set() -> bool:
    return signal.getitimer(signal.ITIMER_REAL)[0] > 0


def _stop_alarm(before: bool) -> None:
    if not before:  # one that has gone off, or was stopped, cannot come back
        signal.setitimer(signal.ITIMER_REAL, 0)


def _errors() -> Sequence[Any]:
    return [warning for warning in warnings.filters if warning[0] == "error"]


def _set_errors(before: Sequence[Any]) -> None:
    # in place: the interpreter knows the list itself
    warnings.filters[:] = [*before, *(w for w in warnings.filters if w[0] != "error")]  # type: ignore[index] # typed as a sequence


SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "the default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "the default device": (_default_device, _set_default_device),
    "the current GPU": (_gpu, torch.cuda.set_device),
    "the grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "anomaly detection": (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    "autocast": (_autocast, _set_autocast),
    "the number of threads": (torch.get_num_threads, torch.set_num_threads),
    "deterministic algorithms": (
        torch.get_deterministic_debug_mode,
        torch.set_deterministic_debug_mode,
    ),
    "the flags of cudnn": _flags(cudnn, "enabled", "benchmark", "deterministic", "allow_tf32"),
    "the flags of cuBLAS": _flags(
        cuda.matmul,
        "allow_fp16_reduced_precision_reduction",
        "allow_bf16_reduced_precision_reduction",
    ),
    "the use of oneDNN": (torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
    "the precision of matrix products": (
        _matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    "the flush of denormal numbers": (_flushes_denormals, torch.set_flush_denormal),
    # after the default device, which is such a mode
    "an open mode of functions": (
        torch._C._len_torch_function_stack,
        _pop_to(torch._C._len_torch_function_stack, torch._C._pop_torch_function_stack),
    ),
    "an open mode of dispatch": (
        torch._C._len_torch_dispatch_stack,
        _pop_to(
            torch._C._len_torch_dispatch_stack, partial(torch._C._pop_torch_dispatch_stack, None)
        ),
    ),
    "open hooks of saved tensors": (
        _pushed_hooks,
        _pop_to(_pushed_hooks, torch._C._autograd._pop_saved_tensors_default_hooks),
    ),
    "the alarm": (_alarm_is_set, _stop_alarm),
    "NumPy's answer to errors": (np.geterr, lambda answers: np.seterr(**answers)),
    "warnings that are errors": (_errors, _set_errors),
}
"""Name, how to read it, how to set it."""
