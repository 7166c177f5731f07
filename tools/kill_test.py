"""Kill every method's run at random moments and resume it; the record must be the straight run's.

    python tools/kill_test.py [--kills 50] [--epochs 100] [--seed 0] > results/kills.md

The runs of all methods go on side by side in one `pllbench run`, which is killed with SIGKILL,
workers included, at a random moment after each of them has gone on from its checkpoint; and again,
until all have ended. The same at the next seed, until as many runs as asked for have been killed.
Prints a table; exit code 1 if a record differs from that of the run that nobody disturbed.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.registry import method_entries
from pllbench.results import records
from pllbench.results.curves import read_curves
from pllbench.results.records import Record
from pllbench.results.workspace import Workspace

STUCK_SECONDS = 900
"""Runs that have written no checkpoint after this time are stuck."""

LONGEST_WAIT = 0.25
"""Seconds from the last first checkpoint to the kill, as a share of the shortest straight run."""


@dataclass(frozen=True, slots=True)
class Round:
    """All methods' runs at one seed, killed and resumed.

    Attributes:
        signals: SIGKILLs, each of which ended all runs that were going on.
        kills: killed runs, by method.
        found: records of the killed runs, by method.
        equal: whether a method's record and curves are those of its straight run.
    """

    signals: int
    kills: Counter[str]
    found: dict[str, Record]
    equal: dict[str, bool]


def main() -> None:
    """Run, kill, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    arguments = parser.parse_args()
    chance, clock = random.Random(arguments.seed), time.monotonic()
    rounds: list[Round] = []
    while (missing := arguments.kills - sum(one.kills.total() for one in rounds)) > 0:
        rounds.append(one_round(len(rounds), arguments.epochs, missing, chance))
    show(arguments.epochs, rounds)
    seconds, versions = time.monotonic() - clock, rounds[0].found["cc"].provenance.versions
    print(f"\n{seconds:.0f} seconds on {os.cpu_count()} CPU cores, beside other work;")
    print(f"Python {versions['python']}, torch {versions['torch']}.")
    sys.exit(0 if all(all(one.equal.values()) for one in rounds) else 1)


def one_round(seed: int, epochs: int, kills_wanted: int, chance: random.Random) -> Round:
    """All methods at one seed: undisturbed, and with kills until they are enough or all is done."""
    runs = planned(seed, epochs)
    with tempfile.TemporaryDirectory() as folder:
        straight, killed = Path(folder, "straight"), Path(folder, "killed")
        start(runs, straight).wait()
        expected = {run.name: read(straight, run) for run in runs}
        longest = LONGEST_WAIT * min(r.provenance.seconds for r in expected.values())
        signals, kills = 0, Counter[str]()
        while kills.total() < kills_wanted and (left := unfinished(killed, runs)):
            process = start(runs, killed)
            wait_for_checkpoints(killed, left)
            time.sleep(chance.uniform(0, longest))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            signals += 1
            kills.update(run.name for run in unfinished(killed, runs))
        start(runs, killed).wait()
        assert not list((killed / "work").iterdir()), "something is left of a run"
        found = {run.name: read(killed, run) for run in runs}
        equal = {
            run.name: expected[run.name].spec == found[run.name].spec
            and expected[run.name].result == found[run.name].result
            and same_curves(straight, killed, run)
            for run in runs
        }
    return Round(signals, kills, found, equal)


def planned(seed: int, epochs: int) -> list[PlannedRun]:
    """A run of each method that comes with the suite."""
    methods = tuple(n for n, e in method_entries().items() if e.module.startswith("pllbench_"))
    flags = (Setting(reason="--epochs", train={"epochs": epochs}),)
    return plan(
        Selection(methods=methods, datasets=("digits",), q=(0.3,), seeds=(seed,), flags=flags)
    )


def start(runs: Sequence[PlannedRun], results: Path) -> "subprocess.Popen[bytes]":
    """`pllbench run` with all runs at a time, in a process group of its own."""
    spec = runs[0].spec
    command = [sys.executable, "-m", "pllbench", "run", "--datasets", "digits", "--q", "0.3"]
    command += ["--methods", ",".join(run.name for run in runs), "--seeds", f"{spec.seed},"]
    command += ["--epochs", str(spec.train.epochs), "--jobs", str(len(runs)), "--device", "cpu"]
    command += ["--checkpoint-every", "1", "--results", str(results)]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def unfinished(results: Path, runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """Runs without a record."""
    return [run for run in runs if not records.is_done(results, run.spec)]


def wait_for_checkpoints(results: Path, runs: Sequence[PlannedRun]) -> None:
    """Return when each run has written a checkpoint, or ended, since the call."""
    before = [written_at(results, run) for run in runs]
    deadline = time.monotonic() + STUCK_SECONDS
    waiting = list(zip(runs, before, strict=True))
    while waiting:
        assert time.monotonic() < deadline, f"{waiting[0][0].name} writes no checkpoint"
        time.sleep(0.02)
        waiting = [
            (run, time_then)
            for run, time_then in waiting
            if written_at(results, run) == time_then and unfinished(results, [run])
        ]


def written_at(results: Path, run: PlannedRun) -> int:
    """When a run's checkpoint was written; 0 where there is none."""
    try:
        return Workspace.for_run(results, run.spec.run_id).checkpoint.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def read(results: Path, run: PlannedRun) -> Record:
    """A run's record."""
    return records.read_record(records.record_path(results, run.spec))


def same_curves(one: Path, other: Path, run: PlannedRun) -> bool:
    """Whether the per-epoch columns of a run are equal in two results folders, bit for bit."""
    first, second = (read_curves(records.record_path(root, run.spec)) for root in (one, other))
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name], equal_nan=True) for name in first
    )


def show(epochs: int, rounds: Sequence[Round]) -> None:
    """Print the table, in Markdown."""
    equal = [same for one in rounds for same in one.equal.values()]
    resumed = [r.provenance.resumed_from for one in rounds for r in one.found.values()]
    print("# Runs killed at random moments and resumed\n")
    text = f"""`python tools/kill_test.py`: one run of each method on digits, q = 0.3, {epochs}
    epochs, `--checkpoint-every 1`, at {len(rounds)} seeds. SIGKILL ended all runs that were going
    on, and their `pllbench run`, {sum(one.signals for one in rounds)} times:
    {sum(one.kills.total() for one in rounds)} killed runs, which went on from a checkpoint
    {sum(map(len, resumed))} times. Spec, result and curves of {sum(equal)} of {len(equal)} runs are
    equal, bit for bit, to those of a run that nobody disturbed."""
    print(textwrap.fill(" ".join(text.split()), 100, break_on_hyphens=False), end="\n\n")
    print("| method | kills | went on at epoch (seeds apart) | equal |")
    print("| :-- | --: | :-- | :-- |")
    for name in rounds[0].found:
        places = (one.found[name].provenance.resumed_from for one in rounds)
        at = "; ".join(", ".join(map(str, place)) or "--" for place in places)
        same = "yes" if all(one.equal[name] for one in rounds) else "NO"
        print(f"| {name} | {sum(one.kills[name] for one in rounds)} | {at} | {same} |")


if __name__ == "__main__":
    main()
