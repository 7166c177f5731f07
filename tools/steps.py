"""Time of one training step of each method on BirdSong, beside CC's, and where it goes.

    python tools/steps.py --data-dir DIR [--json]

Methods take turns, an epoch each, in the second half of their schedules, where all their networks
and terms are on. Ratios are paired within a turn; medians over the turns are printed. Phases: views
(the loader's share), loss (forward passes and terms), backward, optimizer, after_step.
"""

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import torch

from pllbench.data.dataset import load_dataset
from pllbench.grid.plan import Selection, plan
from pllbench.method import Method
from pllbench.registry import load_method
from pllbench.training.loader import Loader
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench.training.task import make_task
from pllbench.training.trainer import build_method

METHODS = ("cc", "supervised", "rc", "proden", "dpll", "ncpd", "asyco", "syco", "pico")
PHASES = ("views", "loss", "backward", "optimizer", "after_step")

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Contender:
    """A method ready to train."""

    method: Method[Any]
    loader: Loader
    optimizer: SGD


def contender(name: str, data_dir: Path) -> Contender:
    """`name` on BirdSong under the protocol, but at batch 64 for all, so that steps compare."""
    [run] = plan(Selection(methods=(name,), datasets=("birdsong",), seeds=(0,)))
    spec = run.spec
    task = make_task(spec, load_dataset(run.data, data_dir), torch.device("cpu"))
    method = build_method(spec, load_method(name), task)
    method.epoch = spec.train.epochs * 6 // 10
    loader = Loader(task.x, task.candidates, task.views, method.views, 64, seed=0)
    with torch.no_grad():
        method.on_epoch_start(loader)
    optimizer = SGD(method.parameters(), 0.001, 0.9, 1e-4)
    return Contender(method, loader, optimizer)


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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    entries = {name: contender(name, options.data_dir) for name in METHODS}
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in METHODS}
    for turn in range(options.turns + 1):
        for name, entry in entries.items():
            phases = one_epoch(entry, turn)
            if turn:  # the first turn warms up
                turns[name].append(phases)
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
    if options.json:
        print(json.dumps(report, indent=1))
        return
    print(f"{'method':<12}{'us a step':>10}{'x CC':>7}" + "".join(f"{p:>12}" for p in PHASES))
    for name, row in report.items():
        phases_text = "".join(f"{row[phase]:>12.0f}" for phase in PHASES)
        print(f"{name:<12}{row['step_us']:>10.0f}{row['ratio_to_cc']:>7.2f}{phases_text}")


if __name__ == "__main__":
    main()
