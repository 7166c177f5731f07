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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pllbench.data import dataset as datasets
from pllbench.grid.plan import Selection, plan
from pllbench.method import Method
from pllbench.registry import load_method
from pllbench.training.loader import Loader
from pllbench.training.task import make_task
from pllbench.training.trainer import build

METHODS = ("cc", "supervised", "rc", "proden", "dpll", "ncpd", "asyco", "syco", "pico")
PHASES = ("views", "loss", "backward", "optimizer", "after_step")


@dataclass(frozen=True, slots=True)
class Contender:
    """A method ready to train."""

    method: Method[Any]
    loader: Loader
    optimizer: torch.optim.Optimizer


def contender(name: str, data_dir: Path) -> Contender:
    """`name` on BirdSong under the protocol, but at batch 64 for all, so that steps compare."""
    [run] = plan(Selection(methods=(name,), datasets=("birdsong",), seeds=(0,)))
    spec = run.spec
    task = make_task(spec, datasets.load(spec.dataset, data_dir), torch.device("cpu"))
    method = build(spec, load_method(name), task)
    method.epoch = spec.train.epochs * 6 // 10
    loader = Loader(task.x, task.candidates, task.views, method.views, 64, seed=0)
    with torch.no_grad():
        method.on_epoch_start(loader)
    optimizer = torch.optim.SGD(method.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4)
    return Contender(method, loader, optimizer)


def one_epoch(entry: Contender, epoch: int) -> dict[str, float]:
    """Microseconds a step, by phase."""
    spent: defaultdict[str, float] = defaultdict(float)
    method, steps = entry.method.train(), 0
    clock = time.perf_counter()

    def lap(phase: str) -> None:
        nonlocal clock
        now = time.perf_counter()
        spent[phase] += now - clock
        clock = now

    for batch in entry.loader.epoch(epoch):
        lap("views")
        step = method.loss(batch)
        lap("loss")
        entry.optimizer.zero_grad(set_to_none=True)
        step.loss.backward()
        lap("backward")
        entry.optimizer.step()
        lap("optimizer")
        with torch.no_grad():
            method.after_step(batch)
        lap("after_step")
        steps += 1
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
