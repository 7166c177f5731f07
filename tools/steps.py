"""Time of one training step of each method on BirdSong, beside CC's, and where it goes.

    python -m tools.steps --data-dir DIR [--turns N] [--json]
    python -m tools.steps --data-dir DIR --against REVISION [--only a,b] [--turns N] [--json]

Methods take turns, an epoch each, in the second half of their schedules, where all their networks
and terms are on. Ratios are paired within a turn; medians over the turns are printed. Phases: views
(the loader's share), loss (forward passes and terms), backward, optimizer, after_step.

With --against, each method's step here is set beside its step in another commit. The packages of
that commit are unpacked into a folder of their own, and two processes, one a tree, train in turn,
an epoch each, in the real trainer with its evaluation left out. Times are of the processor, so that
a busy machine disturbs little; what is printed is the median of the turns' ratios.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import torch

from pllbench.data.dataset import load_dataset
from pllbench.method import Method
from pllbench.registry import load_method
from pllbench.training.loader import Loader
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench.training.task import make_task
from pllbench.training.trainer import build_method
from tools import served_steps
from tools.served_steps import LONG_QUEUE, VIEWS, planned

METHODS = ("cc", "supervised", "rc", "proden", "dpll", "ncpd", "asyco", "syco", "pico")
PHASES = ("views", "loss", "backward", "optimizer", "after_step")
CONTENDERS = (*METHODS, LONG_QUEUE, VIEWS)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Contender:
    """A method ready to train."""

    method: Method[Any]
    loader: Loader
    optimizer: Any


def contender(name: str, data_dir: Path) -> Contender:
    """A method in the second half of its schedule."""
    run = planned(name)
    spec = run.spec
    task = make_task(spec, load_dataset(run.data, data_dir), torch.device("cpu"))
    method = build_method(spec, load_method(name), task)
    method.epoch = spec.train.epochs * 6 // 10
    loader = Loader(task.x, task.candidates, task.views, method.views, 64, seed=0)
    with torch.no_grad():
        method.on_epoch_start(loader)
    return Contender(method, loader, SGD(method.parameters(), 0.001, 0.9, 1e-4))


def one_epoch(entry: Contender, epoch: int) -> dict[str, float]:
    """Microseconds a step, by phase."""
    spent: defaultdict[str, float] = defaultdict(float)

    def timed(phase: str, function: Callable[..., R]) -> Callable[..., R]:
        def call(*arguments: Any) -> R:
            clock = time.perf_counter()
            result = function(*arguments)
            spent[phase] += time.perf_counter() - clock
            return result

        return call

    method, optimizer, steps = entry.method.train(), entry.optimizer, 0
    batches = entry.loader.epoch(epoch)
    draw = timed("views", lambda: next(batches, None))
    with (
        patch.object(method, "loss", timed("loss", method.loss)),
        patch.object(method, "after_step", timed("after_step", method.after_step)),
        patch.object(optimizer, "step", timed("optimizer", optimizer.step)),
    ):
        step = timed("step", take_step)
        while batch := draw():
            step(method, batch, optimizer)
            steps += 1
    parts = spent["loss"] + spent["after_step"] + spent["optimizer"]
    spent["backward"] = spent.pop("step") - parts
    return {phase: 1e6 * spent[phase] / steps for phase in PHASES}


def phases(data_dir: Path, num_turns: int) -> dict[str, dict[str, float]]:
    """What the table without --against says."""
    entries = {name: contender(name, data_dir) for name in METHODS}
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in METHODS}
    for turn in range(num_turns + 1):
        for name, entry in entries.items():
            spent = one_epoch(entry, turn)
            if turn:  # the first turn warms up
                turns[name].append(spent)
    report: dict[str, dict[str, float]] = {}
    for name, laps in turns.items():
        pairs = zip(laps, turns["cc"], strict=True)
        report[name] = {
            "step_us": statistics.median(sum(lap.values()) for lap in laps),
            "ratio_to_cc": statistics.median(
                sum(own.values()) / sum(cc.values()) for own, cc in pairs
            ),
            **{phase: statistics.median(lap[phase] for lap in laps) for phase in PHASES},
        }
    return report


# Two trees beside each other.


class Tree:
    """A process that serves laps of the packages below a folder."""

    def __init__(self, root: Path, options: argparse.Namespace) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, served_steps.__file__, "--turns", str(options.turns)),
                *("--data-dir", str(options.data_dir.resolve())),
            ],
            env=os.environ | {"PYTHONPATH": f"{root}:{root / 'methods'}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: str) -> None:
        """Begin a contender, or a lap of it."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def lap(self) -> float:
        """Microseconds a step of one more lap."""
        self.ask("lap")
        assert self.process.stdout is not None
        return float(self.process.stdout.readline())


def unpack(revision: str, folder: Path) -> None:
    """The packages of a commit."""
    archive = folder / "tree.tar"
    here = str(Path(__file__).parents[1])
    command = ["git", "-C", here, "archive", "-o", str(archive), revision]
    subprocess.run([*command, "pllbench", "methods", "benchmarks"], check=True)
    shutil.unpack_archive(archive, folder, filter="data")


def against(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Microseconds a step before and now, and the median of the turns' ratios, by contender."""
    here = Path(__file__).parents[1]
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        unpack(options.against, Path(folder))
        trees = [Tree(Path(folder), options), Tree(here, options)]
        for name in options.only:
            for tree in trees:
                tree.ask(name)
            turns = [[tree.lap() for tree in trees] for _ in range(options.turns)]
            before, now = (statistics.median(laps) for laps in zip(*turns, strict=True))
            ratio = statistics.median(after / first for first, after in turns)
            found[name] = {"before_us": before, "now_us": now, "ratio": ratio}
            print(name, found[name], file=sys.stderr)
        for tree in trees:
            tree.process.communicate()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--against", metavar="REVISION")
    parser.add_argument("--only", type=lambda text: text.split(","), default=CONTENDERS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    report = against(options) if options.against else phases(options.data_dir, options.turns)
    if options.json:
        print(json.dumps(report, indent=1))
        return
    columns = list(next(iter(report.values())))
    print(f"{'':<12}" + "".join(f"{column:>12}" for column in columns))
    for name, row in report.items():
        cells = (f"{row[c]:>12.2f}" if "ratio" in c else f"{row[c]:>12.0f}" for c in columns)
        print(f"{name:<12}" + "".join(cells))


if __name__ == "__main__":
    main()
