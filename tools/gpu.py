"""What a GPU makes of the suite: one script, whose lines are written as they are measured.

    python -m tools.gpu [--minutes 10] [--parts tests,views,...] [--data-dir DIR] [--output FILE]
                        [--smoke]

Images are CIFAR-10's where the data directory has them, else random ones of their size, which
train as fast. Every line is a JSON object; a measurement that fails says so in its line, and what
time did not suffice for is named in the last one. Nothing begins after the given minutes; what has
begun then may take two more.

tests: outcome of the tests that need a GPU.
views: microseconds an image, by view.
runs: one epoch of AsyCo and DPLL under the protocol at ResNet-18, after one that warms up, and the
hours of 200 such: with float32, and with bf16 and channels_last. AsyCo's last epochs are its
slowest.
together: images a second of CC's runs, one alone and three at a time.
modes: images a second of each method with each of `MODES`, and the efficiency that `tools/speed.py`
defines. What has to be compiled comes last.

--smoke takes a small network and few images on whatever device there is: it shows that the script
works. Without a GPU, graphs fail in one line, as they should.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import JsonValue

from pllbench.data.readers.base import Dataset
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.registry import load_method
from pllbench.runner.device import peak_memory_mib, reset_peak_memory
from pllbench.spec import ViewSpec
from pllbench.training.loader import CHUNK
from pllbench.training.task import make_task
from pllbench.training.trainer import Progress, train
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics
from tools.efficiency import (
    BF16,
    cifar10,
    contender,
    time_training,
    train_settings,
    trained_methods,
)
from tools.speed import names

ROOT = Path(__file__).parents[1]

PARTS = {"tests": 0.2, "views": 0.25, "runs": 0.5, "together": 0.6, "modes": 1.0}
"""Which part of the time has passed when a part begins nothing more."""

FLOAT32, QUICK = "float32", "bf16, channels_last"
MODES: dict[str, dict[str, JsonValue]] = {
    FLOAT32: {},
    QUICK: BF16,
    "grouped": {"forward": "grouped"},
    f"grouped, {QUICK}": {"forward": "grouped", **BF16},
    "graph": {"graph": True},
    f"graph, {QUICK}": {"graph": True, **BF16},
    "compile=true": {"compile": True},
    "compile=step": {"compile": "step"},
    f"compile=step, {QUICK}": {"compile": "step", **BF16},
}
"""Train settings, beside the network and the size of batches."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of what is measured.

    Attributes:
        network: of all methods.
        num_rows: training images of a run.
        num_steps: batches of a turn.
        seconds: how long runs at a time are counted.
        methods: in the order in which modes are measured.
        batch: train settings that say how many images a batch has; empty: those of each part.
    """

    network: str = "resnet18"
    num_rows: int = 50_000
    num_steps: int = 16
    seconds: float = 15
    methods: list[str] = field(default_factory=trained_methods)
    batch: dict[str, JsonValue] = field(default_factory=dict)

    def settings(self, mode: str) -> dict[str, JsonValue]:
        """Train settings of a step in a mode."""
        return train_settings(self.network) | self.batch | MODES[mode]


SMOKE = Scale("small_cnn", 256, 2, 2, ["cc"], {"batch_size": 16})


class Report:
    """Lines as they are measured, within a time.

    Attributes:
        output: file that they are written to, beside standard output.
        left: what time did not suffice for.
    """

    def __init__(self, seconds: float, output: Path | None) -> None:
        self.output = output
        self.left: list[str] = []
        self._seconds, self._started = seconds, time.monotonic()

    def seconds_left(self, part: str) -> float:
        """Until a part begins nothing more."""
        return self._started + PARTS[part] * self._seconds - time.monotonic()

    def measure(self, part: str, name: str, function: Callable[[], Line]) -> None:
        """Write what a measurement gives, or why it fails, if there is time for it."""
        if self.seconds_left(part) <= 0:
            self.left.append(f"{part}: {name}")
            return
        clock = time.monotonic()
        try:
            found = function()
        except Exception as error:  # noqa: BLE001 - the others are measured nevertheless
            found = {"failed": f"{type(error).__name__}: {error}".partition("\n")[0]}
        took = round(time.monotonic() - clock, 2)
        self.write({"part": part, "name": name, **found, "took_s": took})

    def write(self, line: Line) -> None:
        """One line."""
        text = json.dumps(line)
        print(text, flush=True)
        if self.output:
            with self.output.open("a") as file:
                file.write(text + "\n")


def now(device: torch.device) -> float:
    """Seconds of the clock, when the device has done all that it was asked for."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def time_tests(seconds: float) -> Line:
    """Outcome of the tests that need a GPU."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "gpu", "tests"]
    done = subprocess.run(
        command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=seconds
    )
    return {"exit_code": done.returncode, "end": done.stdout.splitlines()[-12:]}


def time_views(dataset: Dataset, device: torch.device) -> Line:
    """Microseconds an image of a chunk, by view."""
    x, spec = dataset.x[:CHUNK].to(device), ViewSpec()
    drawing = Views("image", spec, image_statistics(x, None, spec))
    found: dict[str, float] = {}
    for role in ("weak", "strong", "query", "key"):
        laps = []
        for turn in range(4):
            clock = now(device)
            drawing.draw(role, x, turn)(slice(0, len(x)))
            laps.append(1e6 * (now(device) - clock) / len(x))
        found[f"{role}_us"] = statistics.median(laps[1:])  # the first warms up
    return found


def time_epoch(
    name: str, dataset: Dataset, device: torch.device, settings: dict[str, JsonValue]
) -> Line:
    """Seconds of the first two epochs of a run under the protocol, and hours of 200."""
    flag = Setting(reason="gpu", train={"epochs": 2, **settings})
    [run] = plan(
        Selection(methods=(name,), datasets=("cifar10",), q=(0.3,), seeds=(0,), flags=(flag,))
    )
    reset_peak_memory(device)
    task = make_task(run.spec, dataset, device)
    ends = [now(device)]

    def on_epoch(progress: Progress) -> bool:  # noqa: ARG001 - the trainer's
        ends.append(now(device))
        return True

    train(run.spec, load_method(name), task, on_epoch=on_epoch)
    first, last = ends[1] - ends[0], ends[2] - ends[1]
    hours = last * 200 / 3600
    return {"first_s": first, "s": last, "hours_of_200": hours, "peak_mib": peak_memory_mib(device)}


def time_mode(
    name: str, dataset: Dataset, device: torch.device, scale: Scale, mode: str
) -> dict[str, float]:
    """What `tools/speed.py` says of a method in one mode."""
    entry = contender(name, dataset, device, scale.settings(mode))
    return time_training(entry, scale.num_steps, 2)


def steady(device: torch.device, scale: Scale, data_dir: Path) -> float:
    """Images a second of CC, over some seconds after a few steps that warm up."""
    dataset = cifar10(min(CHUNK, scale.num_rows), data_dir)
    entry = contender("cc", dataset, device, scale.settings(FLOAT32))
    batches = list(entry.loader.epoch(0))[: scale.num_steps]
    for batch in batches:
        entry.step(batch)
    clock, images = now(device), 0
    while (end := now(device)) - clock < scale.seconds:
        for batch in batches:
            entry.step(batch)
            images += len(batch.index)
    return images / (end - clock)


def time_together(number: int, arguments: argparse.Namespace) -> Line:
    """Images a second of so many runs at a time, each in a process of its own."""
    data_dir = str(arguments.data_dir.resolve())
    command = [sys.executable, "-m", "tools.gpu", "--steady", "--data-dir", data_dir]
    command += ["--smoke"] if arguments.smoke else []
    processes = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(number)
    ]
    rates = [float(process.communicate()[0]) for process in processes]
    return {"images_per_s": sum(rates), "of_each": rates}


def modes(methods: list[str]) -> Iterator[tuple[str, str]]:
    """Methods and modes in the order in which they are measured."""
    for compiled in (False, True):
        for name in methods:
            yield from ((name, mode) for mode in MODES if ("compile" in mode) == compiled)


def measure(arguments: argparse.Namespace, device: torch.device, scale: Scale) -> None:
    """All parts."""
    report = Report(60 * arguments.minutes, arguments.output)
    kind = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    report.write({"device": kind, "torch": torch.__version__, "cuda": torch.version.cuda})
    chunk = cifar10(min(CHUNK, scale.num_rows), arguments.data_dir)
    whole = cifar10(scale.num_rows, arguments.data_dir, num_test=1000)
    todo: list[tuple[str, str, Callable[[], Line]]] = [
        ("tests", "gpu", lambda: time_tests(report.seconds_left("tests"))),
        ("views", kind, partial(time_views, chunk, device)),
    ]
    for name in ("asyco", "dpll"):
        for mode in (FLOAT32, QUICK):
            settings = {"network": scale.network, **scale.batch, **MODES[mode]}
            epoch = partial(time_epoch, name, whole, device, settings)
            todo.append(("runs", f"{name}, {mode}", epoch))
    todo += [("together", str(n), partial(time_together, n, arguments)) for n in (1, 3)]
    for name, mode in modes(scale.methods):
        steps = partial(time_mode, name, chunk, device, scale, mode)
        todo.append(("modes", f"{name}, {mode}", steps))
    for part, name, function in todo:
        if part in arguments.parts:
            report.measure(part, name, function)
    report.write({"left": report.left})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="nothing begins after these")
    parser.add_argument("--parts", type=names, default=list(PARTS))
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--output", type=Path, help="file for the lines")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, on a CPU too")
    parser.add_argument("--steady", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"--parts {','.join(unknown)}: must be of {', '.join(PARTS)}")
    if not (arguments.smoke or torch.cuda.is_available()):
        parser.error("no CUDA device here; --smoke needs none")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    scale = SMOKE if arguments.smoke else Scale()
    torch.set_num_threads(1)
    if arguments.steady:
        print(steady(device, scale, arguments.data_dir))
        return
    measure(arguments, device, scale)


if __name__ == "__main__":
    main()
