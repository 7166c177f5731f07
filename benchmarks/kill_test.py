"""Kill every method's run at random moments and resume it; the record must be the straight run's.

    python benchmarks/kill_test.py [--kills 50] [--epochs 40] [--seed 0]

Every kill is a SIGKILL of the whole `pllbench run`, workers included. Prints JSON; exit code 1 if a
record differs from that of the run that nobody disturbed.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pllbench import records
from pllbench.records import Record
from pllbench.registry import method_entries

STARTUP_SECONDS = 120
"""A run that has no checkpoint after this time is stuck."""


def main() -> None:
    """Run, kill, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    methods = [name for name, e in method_entries().items() if e.module.startswith("pllbench_")]
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        straight, killed = Path(folder, "straight"), Path(folder, "killed")
        run(methods, arguments.epochs, straight).wait()
        num_kills = 0
        for number, method in enumerate(methods):
            share = (arguments.kills - num_kills) // (len(methods) - number)
            length = seconds(straight, method)
            for _ in range(share):
                num_kills += kill(method, arguments.epochs, killed, chance, length / (share + 1))
            run([method], arguments.epochs, killed).wait()
        expected = {record.spec.method: record for record in records.query(straight)[0]}
        found = {record.spec.method: record for record in records.query(killed)[0]}
        assert expected.keys() == set(methods), "a straight run failed"
        different = [
            method
            for method in methods
            if method not in found or not same(expected[method], straight, found[method], killed)
        ]
        resumed = {m: record.provenance.resumed_from for m, record in found.items()}
        left = sorted(path.name for path in (killed / "work").iterdir())
    facts = {
        "runs": len(methods),
        "kills": num_kills,
        "resumes": sum(map(len, resumed.values())),
        "different": different,
        "left_in_work": left,
        "resumed_from": resumed,
    }
    print(json.dumps(facts, indent=1))
    sys.exit(1 if different or left or not all(resumed.values()) else 0)


def run(methods: list[str], epochs: int, results: Path) -> subprocess.Popen[bytes]:
    """Start the runs of `methods` in a process group of their own."""
    flags = ["--datasets", "digits", "--q", "0.3", "--seeds", "0,", "--epochs", str(epochs)]
    command = [sys.executable, "-m", "pllbench.cli", "run", "--methods", ",".join(methods), *flags]
    command += ["--jobs", "1", "--checkpoint-every", "1", "--results", str(results)]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def kill(method: str, epochs: int, results: Path, chance: random.Random, longest: float) -> bool:
    """Go on with a run and kill it, at most `longest` seconds after it has begun to train.

    False if it ended before.
    """
    process = run([method], epochs, results)
    before = checkpoint_times(results)
    deadline = time.monotonic() + STARTUP_SECONDS
    while checkpoint_times(results) == before and process.poll() is None:
        assert time.monotonic() < deadline, f"{method} writes no checkpoint"
        time.sleep(0.002)
    time.sleep(chance.uniform(0, longest))
    alive = process.poll() is None
    if alive:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return alive


def checkpoint_times(results: Path) -> list[int]:
    """When the checkpoints of unfinished runs were written."""
    found = []
    for path in results.glob("work/*/checkpoint.pt"):
        try:
            found.append(path.stat().st_mtime_ns)
        except FileNotFoundError:  # its run has just ended
            continue
    return found


def seconds(results: Path, method: str) -> float:
    """How long the run of a method took."""
    [path] = (results / "records" / "digits" / method).glob("*.json")
    return records.read(path).provenance.seconds


def same(one: Record, one_root: Path, other: Record, other_root: Path) -> bool:
    """Whether spec, result and curves of two records are equal, bit for bit."""
    first = records.read_curves(records.record_path(one_root, one.spec))
    second = records.read_curves(records.record_path(other_root, other.spec))
    return (
        (one.spec, one.result) == (other.spec, other.result)
        and first.keys() == second.keys()
        and all(np.array_equal(first[n], second[n], equal_nan=True) for n in first)
    )


if __name__ == "__main__":
    main()
