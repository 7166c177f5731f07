"""Runs on a Ray cluster of two nodes on this machine; started by `test_ray_engine.py`.

    python -m tests.ray_cluster FOLDER

A process of its own, for it may need a network of its own. FOLDER/results gets the records of
`planned()`, although a node is killed half-way; FOLDER/facts.json says what else was seen.
"""

import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import ray
from ray.cluster_utils import Cluster
from rich.console import Console

from pllbench.engines import EpochEnded, Event, Failed, Started
from pllbench.execution import Job, execute
from pllbench.grid import PlannedRun, Selection, plan
from pllbench.protocol import Setting
from pllbench.ray_engine import RayEngine, _Flight
from pllbench.runner import Options, run_grid

NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
QUICK_TO_NOTICE = {"health_check_period_ms": 300, "health_check_failure_threshold": 5}

HALF = 20
"""Half of the planned runs."""


def planned() -> list[PlannedRun]:
    """40 runs of two epochs each."""
    seeds = tuple(range(10))
    flags = (Setting(reason="--epochs 2", train={"epochs": 2}),)
    return plan(
        Selection(
            methods=("cc", "rc"), datasets=("digits",), q=(0.1, 0.3), seeds=seeds, flags=flags
        )
    )


def plugin_jobs(folder: Path, *methods: str, epochs: int = 4) -> list[Job]:
    """One run for each method of `misbehaving.py`."""
    flags = (Setting(reason="--epochs", train={"epochs": epochs}),)
    selection = Selection(methods=methods, datasets=("lost",), seeds=(0,), flags=flags)
    return [Job(run.spec, folder, "cpu") for run in plan(selection)]


class LosingEngine(RayEngine):
    """Its second node stands still when half of the runs have been begun, and dies a little later.

    So at least one run is certain to be lost.
    """

    def __init__(self, address: str, freeze: Callable[[], object], lose: Callable[[], object]):
        super().__init__(address=address)
        self.num_tasks = 0
        self.at = {HALF: freeze, HALF + 10: lose}
        warm_up = ray.remote(num_cpus=1)(_warm_up)  # so that both nodes have a worker
        ray.get([warm_up.remote() for _ in range(2)])

    def run(self, jobs: Iterator[Job]) -> Iterator[Event]:
        """As its base class."""
        num_begun = 0
        for event in super().run(jobs):
            yield event
            if isinstance(event, Started):
                num_begun += 1
                self.at.pop(num_begun, lambda: None)()

    def _send(self, flight: _Flight) -> None:
        self.num_tasks += 1
        super()._send(flight)


def _warm_up() -> None:
    time.sleep(3)


def lose_a_node(folder: Path, cluster: Cluster) -> dict[str, object]:
    """The planned runs, one node being killed half-way."""
    second = cluster.add_node(**NODE)
    [raylet] = second.all_processes["raylet"]

    def freeze() -> None:
        children = Path(f"/proc/{raylet.process.pid}/task/{raylet.process.pid}/children")
        for worker in children.read_text().split():
            os.kill(int(worker), signal.SIGSTOP)

    engine = LosingEngine(
        cluster.address, freeze, lambda: cluster.remove_node(second, allow_graceful=False)
    )
    # Workers have no data folder: what they train on comes through Ray.
    options = Options(folder / "results", folder / "nowhere", "cpu")
    try:
        summary = run_grid(planned(), engine, options, Console(file=io.StringIO()))
    finally:
        engine.close()
    return {
        "done": summary.done,
        "failed": [reason for _, reason in summary.failed],
        "tasks": engine.num_tasks,
    }


def fail(folder: Path, address: str) -> dict[str, object]:
    """Methods that go wrong, and one that does not."""
    outcomes: dict[str, object] = {}
    engine = RayEngine(address=address, timeout=30)
    try:
        batch = plugin_jobs(folder, "raising", "killed", "hanging", "steady")
        for event in engine.run(iter(batch)):
            outcome = event.reason if isinstance(event, Failed) else type(event).__name__
            outcomes[event.job.spec.method] = outcome
    finally:
        engine.close()
    return outcomes


def stop(folder: Path, address: str) -> dict[str, object]:
    """A run that is stopped and goes on here."""
    [job] = plugin_jobs(folder, "slow", epochs=40)
    job = replace(job, checkpoint=folder / "work" / "checkpoint.pt")
    engine = RayEngine(address=address)
    try:
        for event in engine.run(iter([job])):
            if isinstance(event, EpochEnded):
                engine.stop()
    finally:
        engine.close()
    resumed, _ = execute(job)
    straight, _ = execute(replace(job, checkpoint=None))
    return {
        "last_event": type(event).__name__,
        "resumed_from": resumed.provenance.resumed_from,
        "equal": resumed.result == straight.result,
    }


def main(folder: Path) -> None:
    """Do all of it and write what was seen."""
    head = NODE | {"include_dashboard": False, "_system_config": QUICK_TO_NOTICE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        facts = {
            "lose_a_node": lose_a_node(folder, cluster),
            "fail": fail(folder, cluster.address),
            "stop": stop(folder, cluster.address),
        }
    finally:
        cluster.shutdown()
    (folder / "facts.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
