"""What the suite itself costs: a run's overhead beside its training, and commands on many records.

    python tools/overhead.py [--json] [--runs N] [--jobs N] [--records N,N,...]

runs: a grid of tiny runs (CC on digits, one epoch, one run a seed), after a few that warm up, in
milliseconds of processor time a run, so that other work on the machine does not count. A run itself
is `task_ms`, its split, candidate sets and statistics, and `training_ms`. All else is overhead:
`runner_ms` is that of the runner's process: planning, scheduling, the live display, records, the
table at the end. `worker_ms` is that of `execute` beyond the run itself: data set, checkpoint,
provenance; here, in turns with the run alone, the median of the differences. A worker's end of the
pipe is in neither. Beside them, in wall time: `slot_ms`, jobs * time of the grid / runs, which is
what a run takes of a worker; it has the waiting for the disk in it, and for other work on the
machine.

records: `table` and `status` as whole processes, start of Python and imports included, over folders
of fabricated records, a fifth as many cells: seconds of processor and of wall time, the least of a
few processes. `growth` is the time that a record of the last step takes by that of the first: 1
where time grows linearly.

selection: the same two over `SELECTED` records with flags that select all of them, in turn with an
import of torch: `ratio` is the median of the turns' quotients of processor time.
"""

import argparse
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from pllbench.candidates.audit import audit_candidates
from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, default_protocol
from pllbench.registry import load_method
from pllbench.reports.aggregate import build_table
from pllbench.reports.formats.render import to_text
from pllbench.reports.report import report_table
from pllbench.results import records
from pllbench.results.records import Provenance, Record, Result
from pllbench.runner.display import Display
from pllbench.runner.job import Job, RunOptions, execute
from pllbench.runner.local_engine import LocalEngine
from pllbench.runner.run_grid import run_grid
from pllbench.spec import RunSpec, round_rate
from pllbench.training.task import make_task
from pllbench.training.trainer import train

WARM_UP, TURNS = 8, 60
"""Runs before those that are measured, and turns of `execute` and `train`."""

PROCESSES = 5
"""Processes of a command over one folder: one slow process would spoil the growth."""

SELECTED = 1000
"""Records of the folder in which flags select."""

SEEDS = 5
"""Runs of a fabricated cell."""

METHODS = ("cc", "rc", "proden", "dpll", "ncpd", "asyco", "syco", "pico", "asyco-no-refinement")
DATA = ("digits", "cnae9", "cifar10", "mnist")


# Runs.


def tiny(first: int, number: int) -> list[PlannedRun]:
    """Runs of one epoch at consecutive seeds."""
    flag = Setting(reason="--epochs", train={"epochs": 1})
    seeds = tuple(range(first, first + number))
    return plan(
        Selection(methods=("cc",), datasets=("digits",), q=(0.3,), seeds=seeds, flags=(flag,))
    )


def time_runs(number: int, jobs: int) -> dict[str, float]:
    """Milliseconds a run."""
    engine = LocalEngine(jobs)
    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions(Path(folder), Path(folder), "cpu")
        terminal = Console(file=io.StringIO(), force_terminal=True)
        run_grid(tiny(number, WARM_UP), engine, options, Display(terminal))
        wall, clock = time.perf_counter(), time.process_time()
        planned = tiny(0, number)
        summary = run_grid(planned, engine, options, Display(terminal))
        engine.close()
        found, _ = records.read_records(options.results)
        table = build_table(found, default_protocol(), planned=planned)
        to_text(report_table(table), "markdown")
        runner, wall = time.process_time() - clock, time.perf_counter() - wall
    assert summary.done == number, summary.failed
    work = time_work([run.spec for run in planned[:TURNS]])
    return {
        "overhead_ms": 1000 * runner / number + work["worker_ms"],
        "runner_ms": 1000 * runner / number,
        **work,
        "slot_ms": 1000 * jobs * wall / number,
        "runs": number,
        "jobs": jobs,
    }


def time_work(specs: Sequence[RunSpec]) -> dict[str, float]:
    """Median processor time in milliseconds of a run's parts, and of `execute` beyond them."""
    dataset, cls = load_dataset(DATASETS["digits"], Path()), load_method(specs[0].method)
    found: dict[str, list[float]] = {"worker_ms": [], "task_ms": [], "training_ms": []}
    with tempfile.TemporaryDirectory() as folder:
        for spec in specs:
            clocks = [time.process_time()]
            task = make_task(spec, dataset, torch.device("cpu"))
            clocks.append(time.process_time())
            train(spec, cls, task)
            clocks.append(time.process_time())
            options = RunOptions(Path(folder), Path(), "cpu")
            execute(Job(spec, DATASETS["digits"], options, Path(folder) / "checkpoint.pt"))
            clocks.append(time.process_time())
            parts = 1000 * np.diff(clocks)
            for name, value in zip(("task_ms", "training_ms"), parts, strict=False):
                found[name].append(value)
            found["worker_ms"].append(parts[2] - parts[0] - parts[1])
    return {name: statistics.median(values) for name, values in found.items()}


# Records.


def rates(number: int) -> tuple[float, ...]:
    """Noise rates of the grid that `number` runs are from."""
    num = -(-number // (SEEDS * len(METHODS) * len(DATA)))
    return tuple(round_rate((i + 1) / (num + 1)) for i in range(num))


def fabricated(number: int) -> Iterator[RunSpec]:
    """Specs of `number` runs of a grid, `SEEDS` of each cell."""
    selection = Selection(methods=METHODS, datasets=DATA, q=rates(number), seeds=(0,))
    planned = plan(selection)[: -(-number // SEEDS)]
    specs = (run.spec.model_copy(update={"seed": s}) for run in planned for s in range(SEEDS))
    for spec, _ in zip(specs, range(number), strict=False):
        yield spec


def fabricate(folder: Path, number: int) -> None:
    """A results folder of `number` records, without training and without waiting for the disk."""
    curves = io.BytesIO()
    names = ("accuracy", "class_noise", "loss", "lr", "pairwise_noise")
    np.savez_compressed(curves, **dict.fromkeys(names, np.linspace(0, 1, 200)))  # type: ignore[arg-type]
    sets = np.eye(10, dtype=np.bool_)
    audit = audit_candidates(sets, np.arange(10))
    for place, spec in enumerate(fabricated(number)):
        accuracy = place % 97 / 97
        record = Record(
            schema=1,
            spec=spec,
            result=Result(
                accuracy={"last10": accuracy, "last": accuracy, "oracle": accuracy},
                epoch={"oracle": 0},
                class_noise=0.1,
                pairwise_noise=0.1,
                num_train=1437,
                num_test=360,
                num_holdout=0,
            ),
            provenance=Provenance(
                commit="0" * 40,
                versions=dict.fromkeys(("python", "pllbench", "torch", "numpy"), "1.0.0"),
                audit=audit,
            ),
        )
        path = records.record_path(folder, spec)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record.model_dump_json(indent=1, by_alias=True) + "\n")
        path.with_suffix(".npz").write_bytes(curves.getvalue())


def time_command(command: str, folder: Path) -> dict[str, float]:
    """Seconds of processor and of wall time of a whole process, the least of several."""
    arguments = ("-m", "pllbench", command, "--results", str(folder))
    laps = [_time_process(*arguments) for _ in range(PROCESSES)]
    return {name: min(lap[name] for lap in laps) for name in laps[0]}


def _time_process(*arguments: str) -> dict[str, float]:
    """Seconds of a Python process, which may write bytecode as anywhere else."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    wall, after = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": spent, "wall_s": wall}


def time_commands(numbers: Sequence[int]) -> dict[str, dict[str, float]]:
    """Seconds by command and number of records, and how their growth changes."""
    found: dict[str, dict[str, float]] = {"table": {}, "status": {}}
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            fabricate(Path(folder), number)
            for command, times in found.items():
                times |= {
                    f"{name}_{number}": s for name, s in time_command(command, Path(folder)).items()
                }
    for times in found.values():
        spent = [times[f"cpu_s_{number}"] for number in numbers]
        slopes = np.diff(spent) / np.diff(numbers)
        times["growth"] = float(slopes[-1] / slopes[0])
    return found


def time_selections() -> dict[str, dict[str, float]]:
    """Seconds of processor time of commands that select, and their ratio to an import of torch."""
    flags = {
        "--methods": ",".join(METHODS),
        "--datasets": ",".join(DATA),
        "--q": ",".join(map(str, rates(SELECTED))),
        "--seeds": str(SEEDS),
    }
    words = [word for flag in flags.items() for word in flag]
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        fabricate(Path(folder), SELECTED)
        for command in ("table", "status"):
            asked = ("-m", "pllbench", command, "--results", folder, *words)
            turns = [
                [_time_process(*line)["cpu_s"] for line in (asked, ("-c", "import torch"))]
                for _ in range(PROCESSES + 1)
            ][1:]  # the first writes what others read
            found[command] = {
                "cpu_s": statistics.median(own for own, _ in turns),
                "torch_cpu_s": statistics.median(torch for _, torch in turns),
                "ratio": statistics.median(own / torch for own, torch in turns),
            }
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--records", default="2500,5000,10000", help="sizes of the folders")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, Any] = {"runs": time_runs(arguments.runs, arguments.jobs)}
    found |= time_commands([int(number) for number in arguments.records.split(",")])
    found["selection"] = time_selections()
    print(json.dumps(found, indent=None if arguments.json else 1))


if __name__ == "__main__":
    main()
