"""One run from spec to record, wherever it happens: in a worker process, or on a cluster."""

import pickle
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Self, get_args

import torch

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.content import files_digest
from pllbench.data.dataset import load_dataset
from pllbench.data.readers.base import Dataset
from pllbench.registry import given_classes, is_given, load_method, method_entries
from pllbench.results.curves import Curves, rounded
from pllbench.results.kept import Kept
from pllbench.results.records import SCHEMA, Provenance, Record
from pllbench.runner.annotator import Annotation, annotate
from pllbench.runner.device import (
    current_device,
    peak_memory_mib,
    reset_peak_memory,
    resolve_device,
)
from pllbench.runner.kept_files import TrainedRun, files_to_keep
from pllbench.runner.origin import origin_id
from pllbench.source import has_changed, source_digest
from pllbench.spec import RunSpec
from pllbench.training.checkpoints import Checkpoints
from pllbench.training.task import make_task
from pllbench.training.trainer import Progress, train
from pllbench.validation import FieldError, did_you_mean, is_number

StalePolicy = Literal["refuse", "rerun", "keep"]
"""What becomes of records that were made under other circumstances than their runs would be now."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How runs are executed; nothing here changes a number.

    Attributes:
        results: the results folder.
        data_dir: folder of the data sets.
        device: auto (a GPU where there is one), cpu, cuda, or one of several GPUs as cuda:1.
        noisy: candidate sets may lack the true label.
        checkpoint_every: epochs between two checkpoints of a run.
        stale: stop at a stale record, do its run again, or count it as done.
        keep: what is stored beside records.
        again: do runs that are done again, and say whether their numbers are the same.
        classes: methods without an entry point, by name, pickled by value for other processes.
    """

    results: Path
    data_dir: Path
    device: str = "auto"
    noisy: bool = False
    checkpoint_every: int = 10
    stale: StalePolicy = "refuse"
    keep: tuple[Kept, ...] = ()
    again: bool = False
    classes: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.stale not in get_args(StalePolicy):
            raise FieldError("stale", did_you_mean(self.stale, get_args(StalePolicy)), self.stale)
        every = self.checkpoint_every
        if not (is_number(every, int) and every >= 1):
            raise FieldError("checkpoint_every", "must be a whole number, 1 or more", every)

    @property
    def annotators(self) -> Path:
        """Folder of the scores of annotators."""
        return self.results / "work" / "annotators"


@dataclass(frozen=True, slots=True)
class Job:
    """A run and what is needed to execute it; nothing here but the spec changes a number.

    Attributes:
        spec: the run.
        data: its data set.
        options: how it is executed.
        checkpoint: file that keeps the state between epochs; None keeps none.
        annotators: folder that keeps the scores of annotators; None: they are trained each time.
        until: number of epochs after which it pauses; None: it goes on to its end.
    """

    spec: RunSpec
    data: DatasetInfo
    options: RunOptions
    checkpoint: Path | None = None
    annotators: Path | None = None
    until: int | None = None

    def with_absolute_paths(self) -> Self:
        """The same job; its files are found when a method has changed the working directory."""
        options = replace(
            self.options,
            results=self.options.results.absolute(),
            data_dir=self.options.data_dir.absolute(),
        )
        return replace(
            self,
            data=replace(self.data, path=self.data.path and self.data.path.absolute()),
            options=options,
            checkpoint=self.checkpoint and self.checkpoint.absolute(),
            annotators=self.annotators and self.annotators.absolute(),
        )


def execute(
    job: Job,
    on_epoch: Callable[[Progress], bool] = lambda _: True,
    dataset: Dataset | None = None,
    kept: dict[Kept, bytes] | None = None,
) -> tuple[Record, Curves]:
    """Train the run of `job`; gives its record and its per-epoch columns.

    Without `dataset` it is loaded from the job's `data_dir`. The files that the run is asked to
    keep are put into `kept`.

    Raises whatever data, method or trainer raise; `Interrupted` if `on_epoch` asked to stop, or
    the job pauses.
    """
    name = job.spec.method
    sent = job.options.classes
    here = {} if is_given(name) or name not in sent else {name: pickle.loads(sent[name])}
    with given_classes(here):
        return _execute(job, on_epoch, dataset, kept)


def _execute(
    job: Job,
    on_epoch: Callable[[Progress], bool],
    dataset: Dataset | None,
    kept: dict[Kept, bytes] | None,
) -> tuple[Record, Curves]:
    started, clock = datetime.now(UTC), time.perf_counter()
    spec, options = job.spec, job.options
    device = resolve_device(options.device)
    reset_peak_memory(device)
    if dataset is None:
        dataset = job_dataset(job)
    checkpoints = None
    if job.checkpoint:
        made_by = origin_id(spec, dataset.digest)
        checkpoints = Checkpoints(job.checkpoint, made_by, options.checkpoint_every)
    with current_device(device):
        annotation = _annotation(job, dataset, device, on_epoch)
        logits = annotation.logits if annotation else None
        task = make_task(spec, dataset, device, noisy=options.noisy, logits=logits)
        method = load_method(spec.method)
        source = source_digest(method)
        if spec.source and has_changed(method, spec.source):
            raise ValueError(f"the source of {spec.method} is not what was planned: import it anew")
        outcome = train(
            spec, method, task, checkpoints=checkpoints, on_epoch=on_epoch, until=job.until
        )
        if kept is not None:
            kept |= files_to_keep(options.keep, TrainedRun(spec, outcome.method, task, dataset))
    provenance = Provenance(
        commit=source_commit(),
        versions=_versions(spec.method),
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        host=f"{platform.system()} {platform.machine()}",
        started=started.isoformat(timespec="seconds"),
        seconds=round(outcome.seconds_before + time.perf_counter() - clock, 3),
        peak_memory_mib=peak_memory_mib(device),
        data_digest=dataset.digest,
        method_source=spec.source or source,
        audit=task.audit,
        pruning=task.pruning,
        annotator=annotation.facts if annotation else None,
        resumed_from=outcome.resumed_from,
    )
    record = Record(schema=SCHEMA, spec=spec, result=outcome.result, provenance=provenance)
    return record, rounded(outcome.curves)


def _annotation(
    job: Job, dataset: Dataset, device: torch.device, on_epoch: Callable[[Progress], bool]
) -> Annotation | None:
    """The annotator's scores where the run's candidate sets depend on the instance."""
    if job.spec.candidates is None or job.spec.candidates.process != "instance":
        return None
    if job.annotators is not None:
        return annotate(job.spec, dataset, device, job.annotators, on_epoch)
    with TemporaryDirectory() as folder:
        return annotate(job.spec, dataset, device, Path(folder), on_epoch)


def job_dataset(job: Job) -> Dataset:
    """The data set of `job`."""
    digest = files_digest(job.data, job.options.data_dir)
    return _load(job.data, job.options.data_dir, job.options.noisy, digest)


@lru_cache(maxsize=1)
def _load(info: DatasetInfo, data_dir: Path, noisy: bool, digest: str | None) -> Dataset:  # noqa: ARG001 - other files are other data
    """The last data set stays in memory: a worker's next run is mostly on the same one."""
    return load_dataset(info, data_dir, noisy=noisy)


@cache
def source_commit() -> str | None:
    """Commit of the source tree that this package is run from, `+dirty` if its code has changes.

    None where it is installed from a wheel, or git is not there.
    """
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changes = git("status", "--porcelain", "--", "pllbench", "methods", "pyproject.toml")
        return git("rev-parse", "HEAD") + ("+dirty" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def _versions(method: str) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("pllbench", "torch", "torchvision", "numpy", "scipy", "scikit-learn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    entry = method_entries().get(method)  # none of a class that was given
    if entry and entry.dist:
        found[entry.dist.name] = entry.dist.version
    return found
