"""Runs on a Ray cluster of two nodes on this machine; started by `test_ray_engine.py`.

    python -m tests.ray_cluster FOLDER

A process of its own, for Ray keeps to this machine if told so before it is imported. FOLDER/results
gets the records of `planned`, although a node is killed half-way; FOLDER/facts.json says what else
was seen.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import ray
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.runner.engine import EpochEnded, Event, RunFailed, Started
from pllbench.runner.job import Job, RunOptions, execute
from pllbench.runner.progress import Observer
from pllbench.runner.ray_engine import RayEngine, _RemoteRun
from pllbench.runner.run_grid import run_grid
from pllbench.tuning.tune import run_tuning
from tests.factories import make_jobs, plan_lost
from tests.inline_engine import InlineEngine
from tests.tuning.helpers import on_lost

NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
QUICK_TO_NOTICE = {"health_check_period_ms": 300, "health_check_failure_threshold": 5}

HALF = 20
"""Half of the planned runs."""

CUSTOM = Path("custom.npz")
"""A custom data set in FOLDER, where the runner is and no node."""


def planned(custom: Path) -> list[PlannedRun]:
    """40 runs of two epochs each, half of them on the custom data set."""
    flags = (Setting(reason="--epochs 2", train={"epochs": 2}),)
    return plan(
        Selection(
            methods=("cc", "rc"),
            datasets=("digits", str(custom)),
            q=(0.3,),
            seeds=tuple(range(10)),
            flags=flags,
        )
    )


class LosingEngine(RayEngine):
    """Its second node stands still when half of the runs have been begun, and dies a little later.

    So at least one run is certain to be lost.
    """

    def __init__(self, address: str, freeze: Callable[[], object], lose: Callable[[], object]):
        super().__init__(address=address)
        self.num_tasks = 0
        self.at = {HALF: freeze, HALF + 10: lose}

    def run(self, jobs: Iterator[Job]) -> Iterator[Event]:
        """As its base class."""
        num_begun = 0
        for event in super().run(jobs):
            yield event
            if isinstance(event, Started):
                num_begun += 1
                self.at.pop(num_begun, lambda: None)()

    def _send(self, remote: _RemoteRun) -> None:
        self.num_tasks += 1
        super()._send(remote)


def custom_is_on(node: str) -> bool:
    """Whether a node has the custom data set as a file; the node has a worker from then on."""
    there = NodeAffinitySchedulingStrategy(node, soft=False)
    found: bool = ray.get(ray.remote(scheduling_strategy=there)(_custom_is_here).remote())
    return found


def _custom_is_here() -> bool:
    return CUSTOM.exists()


def lose_a_node(folder: Path, cluster: Cluster) -> dict[str, object]:
    """The planned runs, one node being killed half-way."""
    [second] = cluster.worker_nodes
    [raylet] = second.all_processes["raylet"]
    children = Path(f"/proc/{raylet.process.pid}/task/{raylet.process.pid}/children")
    frozen: list[int] = []

    def freeze() -> None:
        frozen.extend(map(int, children.read_text().split()))
        for process in frozen:
            os.kill(process, signal.SIGSTOP)

    def lose() -> None:
        cluster.remove_node(second, allow_graceful=False)
        for process in frozen:
            os.kill(process, signal.SIGKILL)

    engine = LosingEngine(cluster.address, freeze, lose)
    options = RunOptions(folder / "results", folder / "nowhere", "cpu")
    try:
        there = [custom_is_on(node["NodeID"]) for node in ray.nodes()]
        summary = run_grid(planned(CUSTOM), engine, options, Observer())
    finally:
        engine.close()
    return {
        "custom_is_on_nodes": there,
        "done": summary.done,
        "failed": [reason for _, reason in summary.failed],
        "tasks": engine.num_tasks,
    }


def refuse(address: str) -> str:
    """The answer to a request for what no node has."""
    try:
        RayEngine(address=address, gpus_per_run=0.5)
    except ValueError as error:
        return str(error)
    return "not refused"


def fail(folder: Path, address: str) -> dict[str, object]:
    """Methods that go wrong, and one that does not."""
    outcomes: dict[str, object] = {}
    engine = RayEngine(address=address)
    try:
        for methods, timeout in ((("raising", "killed", "steady"), None), (("hanging",), 5.0)):
            engine.timeout = timeout
            for event in engine.run(iter(make_jobs(folder, plan_lost(*methods, epochs=4)))):
                outcome = event.reason if isinstance(event, RunFailed) else type(event).__name__
                outcomes[event.job.spec.method] = outcome
    finally:
        engine.close()
    return outcomes


def searches_alike(folder: Path, engine: RayEngine) -> bool:
    """Whether trials that pause on a cluster and go on there end as those that do so here."""
    wanted = on_lost("cc", "rc", trials=6)
    options = RunOptions(folder / "searched", folder, "cpu")
    there = run_tuning(wanted, engine, options)
    here = run_tuning(wanted, InlineEngine(), replace(options, results=folder / "searched here"))
    return [len(trials) for trials in there.trials.values()] == [6, 6] and (
        there.trials == here.trials
    )


def stop(folder: Path) -> dict[str, object]:
    """A run that is stopped and goes on here; without an address, Ray is started for it."""
    [job] = make_jobs(folder, plan_lost("slow", epochs=300))
    job = replace(job, checkpoint=folder / "work" / "checkpoint.pt")
    engine = RayEngine(device="cpu", jobs=1)
    try:
        searched = searches_alike(folder, engine)
        for event in engine.run(iter([job])):
            if isinstance(event, EpochEnded):
                engine.stop()
    finally:
        engine.close()
    with patch("time.sleep"):  # it need not be slow here
        resumed, _ = execute(job)
        straight, _ = execute(replace(job, checkpoint=None))
    return {
        "searched": searched,
        "last_event": type(event).__name__,
        "resumed_from": resumed.provenance.resumed_from,
        "equal": resumed.result == straight.result,
    }


def main(folder: Path) -> None:
    """Do all of it and write what was seen."""
    # Whoever reaches Ray may execute code. Where its address is this one, so are all its ports.
    assert ray.util.get_node_ip_address() == "127.0.0.1", "Ray would listen to the network"
    head = NODE | {"include_dashboard": False, "_system_config": QUICK_TO_NOTICE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(**NODE)
        os.chdir(folder)  # the nodes stay where they are
        facts: dict[str, object] = {
            "refuse": refuse(cluster.address),
            "fail": fail(folder, cluster.address),
            "lose_a_node": lose_a_node(folder, cluster),
        }
    finally:
        cluster.shutdown()
    facts["stop"] = stop(folder)
    (folder / "facts.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
