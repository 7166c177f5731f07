"""Runs on a Ray cluster. What they train on goes out, and what they find comes back, through here.

Nodes need pllbench and the methods' packages, but neither the data files nor a shared disk.
"""

import os
import signal
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

from pllbench.data.custom import OwnData
from pllbench.data.dataset import Dataset
from pllbench.results.records import move_aside, write_atomic
from pllbench.runner.engine import (
    POLL_SECONDS,
    REPORT_SECONDS,
    Engine,
    EpochEnded,
    Event,
    Failed,
    Stopped,
    attempt,
)
from pllbench.runner.job import Job, load_dataset
from pllbench.training.trainer import Progress

CONNECT_SECONDS = 10.0
"""A cluster answers within this time, or there is none."""

MAX_LOSSES = 3
"""A run that is lost this often, with its node or its worker, has failed."""


@dataclass(slots=True)
class _Flight:
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
            raise ValueError(f"--gpus-per-run {gpus_per_run:g}: not with --device cpu")
        if device == "cuda" and gpus_per_run == 0:
            raise ValueError("--gpus-per-run 0: not with --device cuda")
        # Left to itself, Ray would join whatever cluster was last started on this machine.
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        try:
            _knock(address)
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (OSError, ValueError, RuntimeError) as error:
            raise ValueError(f"--address {address}: no Ray cluster there ({error})") from error
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Ray's handler aborts with a stack dump
        if gpus_per_run is None:
            on_gpu = device == "cuda" or (device == "auto" and "GPU" in ray.cluster_resources())
            gpus_per_run = float(on_gpu)
        self._jobs = jobs
        self._device = "cuda" if gpus_per_run else "cpu"
        self._needs = {"CPU": 1.0} | ({"GPU": gpus_per_run} if gpus_per_run else {})
        self._flights: dict[Any, _Flight] = {}
        self._data: tuple[tuple[str | OwnData, bool], Any] | None = None
        if not self._held():
            ray.shutdown()
            needs = " and ".join(f"{share:g} {name}" for name, share in self._needs.items())
            raise ValueError(f"--engine ray: no node of this cluster has {needs} for a run")
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._board = ray.remote(num_cpus=0, scheduling_strategy=here)(_Board).remote()
        self._task = ray.remote(
            num_cpus=1,
            num_gpus=gpus_per_run,
            max_retries=0,  # retried here, where the checkpoint is
        )(_work)

    def close(self) -> None:
        """End all runs and leave the cluster."""
        for reference in self._flights:
            ray.cancel(reference, force=True)
        self._flights.clear()
        ray.shutdown()

    def _has_place(self) -> bool:
        # A cluster may grow and shrink, and one that has lost its nodes may get new ones.
        return len(self._flights) < (self._jobs or max(1, self._held()))

    def _held(self) -> int:
        """How many runs the cluster holds at a time."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return sum(
            min(int(node.get(name, 0) / share + 1e-9) for name, share in self._needs.items())
            for node in nodes
        )

    def _begin(self, job: Job) -> None:
        self._send(_Flight(job))

    def _send(self, flight: _Flight) -> None:
        job = flight.job
        state = None
        if job.checkpoint and job.checkpoint.exists():
            state = job.checkpoint.read_bytes()
        # In a list, or Ray would hand over the data set itself, once more for every run.
        there = replace(job, device=self._device)
        reference = self._task.remote(there, [self._data_of(job)], state, self._board)
        self._flights[reference] = replace(flight, since=None)

    def _data_of(self, job: Job) -> Any:
        """Reference to a run's data set in the cluster's memory; the last one stays there."""
        key = (job.own or job.spec.dataset, job.noisy)
        if self._data is None or self._data[0] != key:
            self._data = key, ray.put(load_dataset(job))
        return self._data[1]

    def _running(self) -> list[tuple[Job, float | None]]:
        return [(flight.job, flight.since) for flight in self._flights.values()]

    def _ask_to_stop(self) -> None:
        self._board.stop.remote()

    def _events(self) -> Iterator[Event]:
        landed, _ = ray.wait(list(self._flights), timeout=POLL_SECONDS)
        yield from self._told()
        for reference in landed:
            yield from self._receive(reference)

    def _told(self) -> Iterator[Event]:
        """What runs have told the board since the last time."""
        flights = {flight.job.spec.run_id: flight for flight in self._flights.values()}
        for run_id, progress in ray.get(self._board.collect.remote()):
            flight = flights.get(run_id)
            if flight is None:  # it has ended meanwhile
                continue
            if progress is None:
                flight.since = time.monotonic()
            else:
                yield EpochEnded(flight.job, progress)

    def _receive(self, reference: Any) -> Iterator[Event]:
        flight = self._flights.pop(reference)
        job = flight.job
        try:
            event, state = ray.get(reference)
        except RayTaskError as error:  # not of the method: the node lacks pllbench, for example
            reason = f"it could not be started: {error.cause}"
            yield Failed(job, reason, str(error))
            return
        except RayError as error:
            flight.losses += 1
            if flight.losses == MAX_LOSSES:
                reason = f"lost {MAX_LOSSES} times with its node or worker (out of memory?)"
                yield Failed(job, reason, str(error))
            elif self._stopping:
                yield Stopped(job)
            else:
                self._send(flight)
            return
        if state is not None and job.checkpoint:
            if state:
                job.checkpoint.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(job.checkpoint, state)
            else:
                move_aside(job.checkpoint)
        yield replace(event, job=job)

    def _end(self, job: Job) -> None:
        [reference] = [found for found, flight in self._flights.items() if flight.job is job]
        ray.cancel(reference, force=True)
        del self._flights[reference]


def _knock(address: str) -> None:
    """Connect to HOST:PORT once: where nobody answers, Ray tries again for a quarter of an hour.

    Raises:
        OSError: nobody answers.
    """
    place = urlsplit(f"//{address}")
    if place.port:  # `local` has none
        socket.create_connection((place.hostname, place.port), CONNECT_SECONDS).close()


class _Board:
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


def _work(job: Job, data: list[Any], state: bytes | None, board: Any) -> tuple[Event, bytes | None]:
    """Execute a run on a node of the cluster.

    Gives its event, and its checkpoint if it was stopped; an empty one says that it does not fit.
    """
    import torch

    torch.set_num_threads(1)
    run_id = job.spec.run_id
    if not ray.get(board.report.remote(run_id, None)):
        return Stopped(job), None
    answer: Any = None
    told_at = 0.0

    def on_epoch(progress: Progress) -> bool:
        nonlocal answer, told_at
        if answer is not None and not ray.wait([answer], timeout=0)[0]:
            return True  # nobody waits for the network
        go_on = answer is None or ray.get(answer)
        answer = None
        if time.monotonic() - told_at > REPORT_SECONDS:
            answer = board.report.remote(run_id, progress)
            told_at = time.monotonic()
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
        misfit = isinstance(event, Failed) and state is not None and not checkpoint.exists()
        return event, b"" if misfit else None


@lru_cache(maxsize=1)
def _fetch(reference: Any) -> Dataset:
    """The last data set stays in memory: a worker's next run is mostly on the same one."""
    dataset: Dataset = ray.get(reference)
    return dataset
