"""Kill a search for settings at random moments; no trial may be lost, doubled or another one.

    python tools/kill_study.py [--kills 20] [--seed 0] > results/kills_tuning.md

`pllbench tune` is killed with SIGKILL, workers included, at a random moment after one of its runs
has come a step further, and started again, until the study ends; then the next study, until there
have been as many kills as asked for. Each study is compared with one that nobody disturbed: its
journal, records, columns and chosen settings. Exit code 1 if anything differs.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pllbench.results.curves import read_curves
from pllbench.results.records import read_records, record_path

METHODS = ("cc", "proden", "dpll", "asyco")
TRIALS = 6
LONGEST_WAIT = 1.0
"""Seconds from the last step of a run to the kill."""
STUCK_SECONDS = 600
"""A search that has come no step further after this time is stuck."""


@dataclass(frozen=True, slots=True)
class Round:
    """One study, killed and resumed; `differences` from the one that nobody disturbed."""

    kills: int
    trials: int
    records: int
    differences: list[str]


def main() -> None:
    """Search, kill, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    arguments = parser.parse_args()
    chance, clock = random.Random(arguments.seed), time.monotonic()
    rounds: list[Round] = []
    while (missing := arguments.kills - sum(one.kills for one in rounds)) > 0:
        rounds.append(one_round(100 + len(rounds), missing, chance))
    show(rounds, time.monotonic() - clock)
    sys.exit(1 if any(one.differences for one in rounds) else 0)


def one_round(seed: int, kills_wanted: int, chance: random.Random) -> Round:
    """A study at one seed: undisturbed, and with kills until they are enough or it has ended."""
    with tempfile.TemporaryDirectory() as folder:
        straight, killed = Path(folder, "straight"), Path(folder, "killed")
        assert start(straight, seed).wait() == 0
        kills = 0
        while kills < kills_wanted:
            process, before = start(killed, seed), steps(killed)
            deadline = time.monotonic() + STUCK_SECONDS
            while process.poll() is None and steps(killed) == before:
                assert time.monotonic() < deadline, "the search is stuck"
                time.sleep(0.02)
            time.sleep(chance.uniform(0, LONGEST_WAIT))
            if process.poll() is not None:
                break
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
        assert start(killed, seed).wait() == 0
        found, _ = read_records(killed / "tuning" / "kills")
        trials = sum("intermediate_values" in line for line in journal(killed))
        return Round(kills, trials, len(found), differences(straight, killed))


def start(results: Path, seed: int) -> "subprocess.Popen[bytes]":
    """`pllbench tune`, in a process group of its own."""
    command = [sys.executable, "-m", "pllbench", "tune", "--methods", ",".join(METHODS)]
    command += ["--datasets", "digits", "--q", "0.5", "--network", "linear", "--epochs", "18"]
    command += ["--seeds", f"{seed},", "--trials", str(TRIALS), "--study", "kills"]
    command += ["--jobs", "2", "--device", "cpu", "--checkpoint-every", "1"]
    return subprocess.Popen(
        [*command, "--results", str(results)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def steps(results: Path) -> int:
    """Grows whenever a run pauses, ends, or writes a checkpoint."""
    folder = results / "tuning" / "kills"
    paths = [*folder.glob("work/*/checkpoint.pt"), *folder.glob("paused/*.npz")]
    paths += folder.glob("records/*/*/*.json")
    times = []
    for path in paths:
        try:
            times.append(path.stat().st_mtime_ns)
        except FileNotFoundError:  # its run has ended just now
            continue
    return max(times, default=0)


def journal(results: Path) -> list[dict[str, object]]:
    """The lines of a study's journal, without times and processes."""
    text = (results / "tuning" / "kills" / "journal.log").read_text()
    return [
        {k: v for k, v in json.loads(line).items() if "datetime" not in k and k != "worker_id"}
        for line in text.splitlines()
    ]


def differences(straight: Path, killed: Path) -> list[str]:
    """What of a study is not as in the one that nobody disturbed."""
    one, other = (root / "tuning" / "kills" for root in (straight, killed))
    found = []
    if journal(straight) != journal(killed):
        found.append("journal")
    if (one / "chosen.toml").read_bytes() != (other / "chosen.toml").read_bytes():
        found.append("chosen settings")
    records = [{r.run_id: r for r in read_records(folder)[0]} for folder in (one, other)]
    if {k: r.result for k, r in records[0].items()} != {k: r.result for k, r in records[1].items()}:
        found.append("records")
    paths = [{p.name: p for p in folder.glob("paused/*.npz")} for folder in (one, other)]
    for there, record in zip(paths, records, strict=True):
        folder = one if there is paths[0] else other
        there |= {run_id: record_path(folder, r.spec) for run_id, r in record.items()}
    if paths[0].keys() != paths[1].keys():
        found.append("trials")
    elif not all(same_columns(path, paths[1][name]) for name, path in paths[0].items()):
        found.append("columns")
    if list(other.glob("work/*/*")):
        found.append("left-overs")
    return found


def same_columns(one: Path, other: Path) -> bool:
    """Whether two runs have equal columns, bit for bit."""
    first, second = read_curves(one), read_curves(other)
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name], equal_nan=True) for name in first
    )


def show(rounds: list[Round], seconds: float) -> None:
    """Print the outcome, in Markdown."""
    print("# Searches killed at random moments and resumed\n")
    expected, kills = len(METHODS) * TRIALS, sum(one.kills for one in rounds)
    equal = sum(not one.differences for one in rounds)
    studies = f"{len(rounds)} {'study' if len(rounds) == 1 else 'studies'}"
    text = f"""`python tools/kill_study.py`: `pllbench tune` of {", ".join(METHODS)} on digits,
    q = 0.5, 18 epochs, {TRIALS} trials each, was killed {kills} times and started again, in
    {studies} of {expected} trials. Journal, records, columns and chosen settings of {equal} of
    {studies} are equal to those of a study that nobody disturbed."""
    print(textwrap.fill(" ".join(text.split()), 100, break_on_hyphens=False), end="\n\n")
    print("| trials' seed | kills | trials | records | other than undisturbed |")
    print("| --: | --: | --: | --: | :-- |")
    for i, one in enumerate(rounds):
        other = ", ".join(one.differences) or "nothing"
        print(f"| {100 + i} | {one.kills} | {one.trials} | {one.records} | {other} |")
    print(f"\n{seconds:.0f} seconds on {os.cpu_count()} CPU cores, beside other work.")


if __name__ == "__main__":
    main()
