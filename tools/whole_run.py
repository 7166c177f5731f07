"""Processor and elapsed time of a whole `pllbench` command, here and in another commit.

    python -m tools.whole_run [--against REVISION] [--turns N] [--json] -- run --methods cc ...

Every process starts from nothing: an empty results folder, imports included. The time is that of
all processes that the command starts, workers too. With --against, the packages of that commit are
unpacked into a folder of their own, and the two take turns; ratios are paired within a turn, and
medians over the turns are printed.
"""

import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.steps import unpack

PR_SET_CHILD_SUBREAPER = 36  # of Linux


def spent() -> float:
    """Seconds of the processor that all children which have ended took, and theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wait_for_orphans() -> None:
    """Let the processes end that outlived the one which started them."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return


def time_command(root: Path, arguments: list[str]) -> dict[str, float]:
    """Seconds of a command of the packages below `root`."""
    with tempfile.TemporaryDirectory() as folder:
        # -P: else the packages of the current folder would come first
        command = [sys.executable, "-P", "-m", "pllbench", *arguments, "--results", folder]
        packages = f"{root}:{root / 'methods'}"
        before, clock = spent(), time.perf_counter()
        subprocess.run(
            command,
            check=True,
            env=os.environ | {"PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": ""},
            capture_output=True,
        )
        elapsed = time.perf_counter() - clock
        wait_for_orphans()
        return {"cpu_s": spent() - before, "elapsed_s": elapsed}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", metavar="REVISION")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("arguments", nargs="+", help="after --: what follows pllbench")
    options = parser.parse_args()
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):  # else no orphan comes here
        parser.error("needs Linux, where a process can become the parent of orphans")
    trees = {"now": Path(__file__).parents[1]}
    with tempfile.TemporaryDirectory() as folder:
        if options.against:
            unpack(options.against, Path(folder))
            trees = {"before": Path(folder), **trees}
        turns = []
        for _ in range(options.turns):
            turns.append(
                {name: time_command(root, options.arguments) for name, root in trees.items()}
            )
            print(turns[-1], file=sys.stderr)
    found: dict[str, float] = {}
    for kind in ("cpu_s", "elapsed_s"):
        for name in trees:
            found[f"{name}_{kind}"] = statistics.median(turn[name][kind] for turn in turns)
        if options.against:
            ratios = [turn["now"][kind] / turn["before"][kind] for turn in turns]
            found[f"{kind}_ratio"] = statistics.median(ratios)
    print(json.dumps(found, indent=None if options.json else 1))


if __name__ == "__main__":
    main()
