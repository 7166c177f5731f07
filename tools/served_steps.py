"""What `tools/steps.py --against` starts, once with the packages of each of two trees.

It reaches back to the first trees in which `pllbench.training.trainer.train` was called as it is
here; what has changed since is looked for in both places.
"""

import argparse
import sys
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import torch
from pydantic import JsonValue

from pllbench.data import dataset as datasets
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.registry import load_method
from pllbench.spec import ViewSpec
from pllbench.training import trainer
from pllbench.training.loader import Loader
from pllbench.training.task import make_task
from pllbench.training.trainer import Progress
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics

load_dataset = getattr(datasets, "load_dataset", None) or datasets.load  # type: ignore[attr-defined]

LONG_QUEUE = "pico-8192"
"""PiCO with a queue of 8,192 keys and batches of 128."""
VIEWS = "views"
"""One weak and two strong views of each of 4,096 random images of CIFAR-10's size."""


def planned(name: str, **train: JsonValue) -> PlannedRun:
    """A method on BirdSong under the protocol, but at batch 64 for all, so that steps compare."""
    hparams: dict[str, JsonValue] = {}
    train = {"batch_size": 64, **train}
    if name == LONG_QUEUE:
        name, hparams, train["batch_size"] = "pico", {"queue_size": 8192}, 128
    flag = Setting(reason="steps", train=train, hparams=hparams)
    [run] = plan(Selection(methods=(name,), datasets=("birdsong",), seeds=(0,), flags=(flag,)))
    return run


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


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--turns", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with suppress(ImportError):  # not in all trees
        from pllbench.runner.worker import prepare_worker

        prepare_worker()
    serve(options.data_dir, options.turns)


if __name__ == "__main__":
    main()
