"""Choosing and opening the engine that runs are executed by."""

import re
import resource
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pllbench.runner import fork_server
from pllbench.validation import FieldError, did_you_mean, is_number

if TYPE_CHECKING:
    from pllbench.runner.engine import Engine

ENGINES = ("local", "ray", "inline")
DEVICES = ("auto", "cpu", "cuda")

_FILES_OF_A_JOB, _OTHER_FILES = 4, 20
"""Open files of this process for a run at a time (its worker and its lock), and besides."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where runs are executed, and how many at a time.

    Attributes:
        name: `local`, worker processes on this machine; `ray`, a cluster; or `inline`, this
            process, one run at a time.
        device: auto, cpu, cuda, or one of several GPUs as cuda:1.
        jobs: runs at a time; None: one a core, one on a GPU, what a cluster holds.
        timeout: seconds after which a run fails; None for no limit.
        address: of the Ray cluster; None: RAY_ADDRESS, else one is started here.
        gpus_per_run: share of a GPU, on Ray; None: a whole one where there are any.
    """

    name: str = "local"
    device: str = "auto"
    jobs: int | None = None
    timeout: float | None = None
    address: str | None = None
    gpus_per_run: float | None = None


def require_engine_options(options: EngineOptions) -> None:
    """Check the options of an engine without opening it.

    Raises:
        FieldError: an option is unknown, or belongs to another engine.
    """
    gpu = re.fullmatch(r"cuda:\d+", str(options.device))
    for name, value, known in (
        ("engine", options.name, ENGINES),
        ("device", "cuda" if gpu else options.device, DEVICES),
    ):
        if value not in known:
            raise FieldError(name, did_you_mean(value, known), value)
    if gpu and options.name == "ray":
        raise FieldError("device", "with engine ray, the cluster chooses the GPU", options.device)
    for name in ("address", "gpus_per_run"):
        if options.name != "ray" and getattr(options, name) is not None:
            raise FieldError(name, "only with engine ray")
    if options.jobs is not None and not (is_number(options.jobs, int) and options.jobs >= 1):
        raise FieldError("jobs", "must be a whole number, 1 or more", options.jobs)
    for name in ("jobs", "timeout") if options.name == "inline" else ():
        if getattr(options, name) is not None:
            raise FieldError(name, "not with engine inline, which does one run at a time")
    if (limit := options.timeout) is not None and not (is_number(limit, int, float) and limit > 0):
        raise FieldError("timeout", "must be a number of seconds, more than 0", limit)
    if (share := options.gpus_per_run) is not None and not is_number(share, int, float):
        raise FieldError("gpus_per_run", "must be a number", share)


def open_engine(options: EngineOptions) -> "Engine":
    """The engine that `options` describe; a context manager, whose end closes it.

    Raises:
        FieldError: as `require_engine_options`; or there is no GPU, no Ray, no cluster.
    """
    require_engine_options(options)
    if options.name == "ray":
        return _ray_engine(options)
    if options.name == "local":
        most = _most_jobs(options.jobs or 1)
        fork_server.start()
    import torch  # which the fork server imports at the same time

    from pllbench.runner.inline_engine import InlineEngine
    from pllbench.runner.local_engine import LocalEngine, num_cores

    num_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    kind, _, index = options.device.partition(":")
    if kind == "cuda" and not num_gpus:
        raise FieldError("device", "no CUDA device here; use cpu", options.device)
    if index and int(index) >= num_gpus:
        raise FieldError("device", f"the last one here is cuda:{num_gpus - 1}", options.device)
    if options.name == "inline":
        return InlineEngine()
    on_gpu = kind != "cpu" and num_gpus > 0
    jobs = options.jobs or min(1 if on_gpu else num_cores(), most)
    return LocalEngine(jobs, options.timeout)


def _most_jobs(wanted: int) -> int:
    """Runs at a time that the limit of open files allows, at least those wanted.

    Raises:
        FieldError: the limit allows fewer.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = (limit - _OTHER_FILES) // _FILES_OF_A_JOB
    if wanted > most:
        needed = wanted * _FILES_OF_A_JOB + _OTHER_FILES
        mend = "fewer, or " * (most > 0) + f"first `ulimit -n {needed}`"
        raise FieldError("jobs", f"the limit of open files, {limit}, is too low: {mend}", wanted)
    return most


def _ray_engine(options: EngineOptions) -> "Engine":
    try:
        from pllbench.runner.ray_engine import RayEngine
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        message = "Ray is not installed; pip install 'pllbench[ray]'"
        raise FieldError("engine", message, "ray") from error
    return RayEngine(
        address=options.address,
        device=options.device,
        jobs=options.jobs,
        timeout=options.timeout,
        gpus_per_run=options.gpus_per_run,
    )
