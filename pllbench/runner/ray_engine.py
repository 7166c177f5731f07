"""Runs on a Ray cluster. What they train on goes out, and what they find comes back, through here.

Nodes need pllbench and the methods' packages, but neither the data files nor a shared disk.
"""

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pllbench.data.catalogue import DatasetInfo
from pllbench.data.content import files_digest
from pllbench.data.readers.base import Dataset
from pllbench.results.files import quarantine, write_atomic
from pllbench.runner.engine import (
    POLL_SECONDS,
    REPORT_SECONDS,
    Engine,
    EpochEnded,
    Event,
    RunFailed,
    Stopped,
    attempt,
)
from pllbench.runner.job import Job, job_dataset
from pllbench.runner.worker import prepare_worker
from pllbench.training.trainer import Progress
from pllbench.validation import FieldError

CONNECT_SECONDS = 10.0
"""A cluster answers within this time, or there is none."""

MAX_LOSSES = 3
"""A run that is lost this often, with its node or its worker, has failed."""


@dataclass(slots=True)
class _RemoteRun:
    """A run that was given to the cluster.

    Attributes:
        job: the run, with the paths of this machine.
        losses: how often its node or worker died.
        since: when it was last heard to begin; None while it waits for a place.
    """

    job: Job
    losses: int = 0
    since: float | None = None


class RayEngine(Engine):
    """One Ray task a run, as many at a time as the cluster has places.

    A run whose node or worker dies is begun again elsewhere. A run that is stopped sends its
    checkpoint back, and the next one starts from the checkpoint that lies here; while it runs,
    its checkpoints stay on its node.
    """

    elsewhere = True

    def __init__(
        self,
        *,
        address: str | None = None,
        device: str = "auto",
        jobs: int | None = None,
        timeout: float | None = None,
        gpus_per_run: float | None = None,
    ) -> None:
        """Connect to a cluster.

        Args:
            address: of the cluster; None: the one of RAY_ADDRESS, else one is started here.
            device: auto, cpu or cuda.
            jobs: runs at a time; None: as many as the cluster holds.
            timeout: seconds after which a run fails.
            gpus_per_run: share of a GPU; None: a whole one where there are any.

        Raises:
            ValueError: there is no cluster, or none of its nodes can hold a run.
        """
        super().__init__(timeout)
        if device == "cpu" and gpus_per_run:
            raise FieldError("gpus_per_run", "not with device cpu", f"{gpus_per_run:g}")
        if device == "cuda" and gpus_per_run == 0:
            raise FieldError("gpus_per_run", "not with device cuda", 0)
        # Left to itself, Ray would join whatever cluster was last started on this machine.
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        try:
            _require_reachable(address)
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (OSError, ValueError, RuntimeError) as error:
            raise FieldError("address", f"no Ray cluster there ({error})", address) from error
        if gpus_per_run is None:
            on_gpu = device == "cuda" or (device == "auto" and "GPU" in ray.cluster_resources())
            gpus_per_run = float(on_gpu)
        self._jobs = jobs
        self._device = "cuda" if gpus_per_run else "cpu"
        self._needs = {"CPU": 1.0} | ({"GPU": gpus_per_run} if gpus_per_run else {})
        self._remote_runs: dict[Any, _RemoteRun] = {}
        self._data: tuple[tuple[DatasetInfo, bool, str | None], Any] | None = None
        if not self._held():
            ray.shutdown()
            needs = " and ".join(f"{share:g} {name}" for name, share in self._needs.items())
            raise FieldError("engine", f"no node of this cluster has {needs} for a run", "ray")
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._progress = ray.remote(num_cpus=0, scheduling_strategy=here)(_ProgressActor).remote()
        self._task = ray.remote(
            num_cpus=1,
            num_gpus=gpus_per_run,
            max_retries=0,  # retried here, where the checkpoint is
        )(_work)

    def close(self) -> None:
        """End all runs and leave the cluster."""
        for reference in self._remote_runs:
            ray.cancel(reference, force=True)
        self._remote_runs.clear()
        ray.shutdown()

    def _has_place(self) -> bool:
        # A cluster may grow and shrink, and one that has lost its nodes may get new ones.
        return len(self._remote_runs) < (self._jobs or max(1, self._held()))

    def _held(self) -> int:
        """How many runs the cluster holds at a time."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return sum(
            min(int(node.get(name, 0) / share + 1e-9) for name, share in self._needs.items())
            for node in nodes
        )

    def _begin(self, job: Job) -> None:
        self._send(_RemoteRun(job))

    def _send(self, remote: _RemoteRun) -> None:
        job = remote.job
        state = None
        if job.checkpoint and job.checkpoint.exists():
            state = job.checkpoint.read_bytes()
        # In a list, or Ray would hand over the data set itself, once more for every run.
        there = replace(job, options=replace(job.options, device=self._device))
        reference = self._task.remote(there, [self._shared_data(job)], state, self._progress)
        self._remote_runs[reference] = replace(remote, since=None)

    def _shared_data(self, job: Job) -> Any:
        """Reference to a run's data set in the cluster's memory; the last one stays there."""
        key = (job.data, job.options.noisy, files_digest(job.data, job.options.data_dir))
        if self._data is None or self._data[0] != key:
            self._data = key, ray.put(job_dataset(job))
        return self._data[1]

    def _running(self) -> list[tuple[Job, float | None]]:
        return [(remote.job, remote.since) for remote in self._remote_runs.values()]

    def _ask_to_stop(self) -> None:
        self._progress.stop.remote()

    def _events(self) -> Iterator[Event]:
        ended, _ = ray.wait(list(self._remote_runs), timeout=POLL_SECONDS)
        yield from self._progress_events()
        for reference in ended:
            yield from self._receive(reference)

    def _progress_events(self) -> Iterator[Event]:
        """What runs have told the actor since the last time."""
        remote_runs = {remote.job.spec.run_id: remote for remote in self._remote_runs.values()}
        for run_id, progress in ray.get(self._progress.collect.remote()):
            remote = remote_runs.get(run_id)
            if remote is None:  # it has ended meanwhile
                continue
            if progress is None:
                remote.since = time.monotonic()
            else:
                yield EpochEnded(remote.job, progress)

    def _receive(self, reference: Any) -> Iterator[Event]:
        remote = self._remote_runs.pop(reference)
        job = remote.job
        try:
            event, state = ray.get(reference)
        except RayTaskError as error:  # not of the method: the node lacks pllbench, for example
            reason = f"it could not be started: {error.cause}"
            yield RunFailed(job, reason, str(error))
            return
        except RayError as error:
            remote.losses += 1
            if remote.losses == MAX_LOSSES:
                reason = f"lost {MAX_LOSSES} times with its node or worker (out of memory?)"
                yield RunFailed(job, reason, str(error))
            elif self.stopping:
                yield Stopped(job)
            else:
                self._send(remote)
            return
        if state is not None and job.checkpoint:
            if state:
                job.checkpoint.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(job.checkpoint, state)
            else:
                quarantine(job.checkpoint)
        yield replace(event, job=job)

    def _end(self, job: Job) -> None:
        [reference] = [found for found, remote in self._remote_runs.items() if remote.job is job]
        ray.cancel(reference, force=True)
        del self._remote_runs[reference]


def _require_reachable(address: str) -> None:
    """Connect to HOST:PORT once, since Ray tries for a quarter of an hour if no process answers.

    Raises:
        OSError: no process answers.
    """
    place = urlsplit(f"//{address}")
    if place.port:  # `local` has none
        socket.create_connection((place.hostname, place.port), CONNECT_SECONDS).close()


class _ProgressActor:
    """An actor beside the driver: runs leave their progress and learn whether they shall stop."""

    def __init__(self) -> None:
        self.reports: list[tuple[str, Progress | None]] = []
        self.stopping = False

    def report(self, run_id: str, progress: Progress | None) -> bool:
        """Take a report, None at the begin of a run; whether the run shall go on."""
        self.reports.append((run_id, progress))
        return not self.stopping

    def collect(self) -> list[tuple[str, Progress | None]]:
        """All reports since the last time."""
        reports, self.reports = self.reports, []
        return reports

    def stop(self) -> None:
        """Have all runs stop."""
        self.stopping = True


def _work(job: Job, data: list[Any], state: bytes | None, actor: Any) -> tuple[Event, bytes | None]:
    """Execute a run on a node of the cluster.

    Gives its event, and its checkpoint if it was stopped; an empty one says that it does not fit.
    """
    prepare_worker()
    run_id = job.spec.run_id
    if not ray.get(actor.report.remote(run_id, None)):
        return Stopped(job), None
    answer: Any = None
    reported_at = 0.0

    def on_epoch(progress: Progress) -> bool:
        nonlocal answer, reported_at
        if answer is not None and not ray.wait([answer], timeout=0)[0]:
            return True  # training does not wait for the network
        go_on = answer is None or ray.get(answer)
        answer = None
        if time.monotonic() - reported_at > REPORT_SECONDS:
            answer = actor.report.remote(run_id, progress)
            reported_at = time.monotonic()
        return bool(go_on)

    with tempfile.TemporaryDirectory(prefix="pllbench-") as folder:
        checkpoint = Path(folder) / "checkpoint.pt"
        if state is not None:
            checkpoint.write_bytes(state)
        annotators = Path(tempfile.gettempdir()) / f"pllbench-{os.getuid()}" / "annotators"
        job = replace(job, checkpoint=checkpoint if job.checkpoint else None, annotators=annotators)
        event = attempt(job, on_epoch, _fetch(data[0]))
        if isinstance(event, Stopped) and checkpoint.exists():
            return event, checkpoint.read_bytes()
        misfit = isinstance(event, RunFailed) and state is not None and not checkpoint.exists()
        return event, b"" if misfit else None


@lru_cache(maxsize=1)
def _fetch(reference: Any) -> Dataset:
    """The last data set stays in memory: a worker's next run is mostly on the same one."""
    dataset: Dataset = ray.get(reference)
    return dataset
