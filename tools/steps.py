"""Time of one training step of each method on BirdSong, beside CC's, and where it goes.

    python tools/steps.py --data-dir DIR [--turns N] [--json]
    python tools/steps.py --data-dir DIR --against REVISION [--only a,b] [--turns N] [--json]

Methods take turns, an epoch each, in the second half of their schedules, where all their networks
and terms are on. Ratios are paired within a turn; medians over the turns are printed. Phases: views
(the loader's share), loss (forward passes and terms), backward, optimizer, after_step.

With --against, each method's step here is set beside its step in another commit. The packages of
that commit are unpacked into a folder of their own, and two processes, one a tree, train in turn,
an epoch each, in the real trainer with its evaluation left out. Times are of the processor, so that
a busy machine disturbs little; what is printed is the median of the turns' ratios. It reaches as
far back as `pllbench.training.trainer.train` has been called as it is here.
"""

import argparse
import importlib
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import torch
from pydantic import JsonValue

from pllbench.data.dataset import load_dataset
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.method import Method
from pllbench.registry import load_method
from pllbench.spec import ViewSpec
from pllbench.training import trainer
from pllbench.training.loader import Loader
from pllbench.training.step import take_step
from pllbench.training.task import make_task
from pllbench.training.trainer import Progress, build_method
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics

METHODS = ("cc", "supervised", "rc", "proden", "dpll", "ncpd", "asyco", "syco", "pico")
PHASES = ("views", "loss", "backward", "optimizer", "after_step")
LONG_QUEUE = "pico-8192"
"""PiCO with a queue of 8,192 keys and batches of 128."""
VIEWS = "views"
"""One weak and two strong views of each of 4,096 random images of CIFAR-10's size."""
CONTENDERS = (*METHODS, LONG_QUEUE, VIEWS)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Contender:
    """A method ready to train."""

    method: Method[Any]
    loader: Loader
    optimizer: Any


def planned(name: str, **train: JsonValue) -> PlannedRun:
    """A method on BirdSong under the protocol, but at batch 64 for all, so that steps compare."""
    hparams: dict[str, JsonValue] = {}
    train = {"batch_size": 64, **train}
    if name == LONG_QUEUE:
        name, hparams, train["batch_size"] = "pico", {"queue_size": 8192}, 128
    flag = Setting(reason="steps", train=train, hparams=hparams)
    [run] = plan(Selection(methods=(name,), datasets=("birdsong",), seeds=(0,), flags=(flag,)))
    return run


def contender(name: str, data_dir: Path) -> Contender:
    """A method in the second half of its schedule."""
    from pllbench.training.sgd import SGD  # not in all trees that --against reaches

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


# Two trees beside each other. What follows runs in both.


def serve(data_dir: Path, num_turns: int) -> None:
    """Train what the lines of stdin name; another line asks for each lap, its time is printed."""
    while name := sys.stdin.readline().strip():
        if name == VIEWS:
            serve_views(num_turns)
        else:
            serve_training(name, data_dir, num_turns)


def answer(seconds: float, num_steps: int) -> None:
    """Tell the time of a step, in microseconds."""
    print(1e6 * seconds / num_steps, flush=True)


def serve_training(name: str, data_dir: Path, num_turns: int) -> None:
    """The second half of a short run, an epoch a lap."""
    run = planned(name, epochs=2 * num_turns)
    spec = run.spec
    task = make_task(spec, load_dataset(run.data, data_dir), torch.device("cpu"))
    num_steps = -(-len(task.x) // spec.train.batch_size)
    clock = 0.0

    def on_epoch(progress: Progress) -> bool:
        nonlocal clock
        if progress.epoch >= num_turns:
            answer(time.process_time() - clock, num_steps)
        if progress.epoch + 1 in range(num_turns, 2 * num_turns):
            sys.stdin.readline()
        clock = time.process_time()
        return True

    with patch.object(trainer, "evaluate", lambda *_: {"accuracy": 0.0}):
        trainer.train(spec, load_method(spec.method), task, on_epoch=on_epoch)


def serve_views(num_turns: int) -> None:
    """The views of an epoch a lap; a step is an image."""
    x = torch.randint(256, (4096, 3, 32, 32), generator=torch.Generator().manual_seed(0))
    x, spec = x.to(torch.uint8), ViewSpec()
    views = Views("image", spec, image_statistics(x, None, spec))
    sets = torch.ones(len(x), 1, dtype=torch.bool)
    loader = Loader(x, sets, views, ("weak", "strong", "strong"), 64, seed=0)
    for turn in range(num_turns):
        sys.stdin.readline()
        clock = time.process_time()
        for _ in loader.epoch(turn):
            pass
        answer(time.process_time() - clock, len(x))


class Tree:
    """A process that serves laps of the packages below a folder."""

    def __init__(self, root: Path, options: argparse.Namespace) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, __file__, "--serve", "--turns", str(options.turns)),
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


def against(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Microseconds a step before and now, and the median of the turns' ratios, by contender."""
    here = Path(__file__).parents[1]
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "tree.tar")
        command = ["git", "-C", here, "archive", "-o", archive, options.against]
        subprocess.run([*command, "pllbench", "methods", "benchmarks"], check=True)
        shutil.unpack_archive(archive, folder, filter="data")
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
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.serve:
        with suppress(ImportError):  # not in all trees that --against reaches
            importlib.import_module("pllbench.runner.worker").prepare_worker()
        serve(options.data_dir, options.turns)
        return
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
