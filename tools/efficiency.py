"""Steps of a method on CIFAR-10's images beside its bare work, which `tools/speed.py` defines."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import truediv
from pathlib import Path
from typing import Any

import torch
from pydantic import JsonValue
from torch import Tensor, nn

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset
from pllbench.data.readers.base import Dataset
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.method import Batch, Method, Network
from pllbench.registry import load_method, method_entries
from pllbench.training.compiling import compiled_loss
from pllbench.training.graph import GraphedSteps, Take
from pllbench.training.loader import Loader
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench.training.task import Task, make_task
from pllbench.training.trainer import build_method

BATCH = 64
BOOKKEEPING_STEPS = 10
BF16: dict[str, JsonValue] = {"precision": "bf16", "channels_last": True}


def cifar10(num_rows: int, data_dir: Path, num_test: int = 1) -> Dataset:
    """The first training images of CIFAR-10, or random ones."""
    try:
        whole = load_dataset(DATASETS["cifar10"], data_dir)
    except ValueError:
        generator = torch.Generator().manual_seed(0)
        shape = (num_rows + num_test, 3, 32, 32)
        x = torch.randint(256, shape, generator=generator, dtype=torch.uint8)
        y = torch.randint(10, shape[:1], generator=generator)
    else:
        x, y = whole.x[: num_rows + num_test].clone(), whole.y[: num_rows + num_test]
    return Dataset(DATASETS["cifar10"], x, y, 10, num_train=num_rows)


def trained_methods() -> list[str]:
    """All methods that take steps."""
    return sorted(name for name in method_entries() if load_method(name).gradient)


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a step through a network."""

    network: Network
    x: Tensor
    backward: bool


@dataclass(frozen=True, slots=True)
class Contender:
    """A method ready to train.

    Attributes:
        method: in the second half of its schedule.
        loader: its batches.
        optimizer: steps on small gradients.
        device: where it all is.
        step: does what the trainer does with a batch.
    """

    method: Method[Any]
    loader: Loader
    optimizer: SGD
    device: torch.device
    step: Take

    def now(self) -> float:
        """Seconds: of this process on the CPU, where others share it; of the clock on a GPU."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
            return time.perf_counter()
        return time.process_time()

    def bare_step(self, passes: Iterable[Pass]) -> None:
        """The passes of a step alone, and the optimizer's step."""
        total = torch.zeros((), device=self.device)
        for each in passes:
            with torch.set_grad_enabled(each.backward):
                logits, features = each.network(each.x)
            if each.backward:
                total = total + logits.mean() + features.mean()
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()


def train_settings(network: str) -> dict[str, JsonValue]:
    """Those of all that is measured: one batch size, so that steps compare."""
    return {"network": network, "batch_size": BATCH}


def contender(
    name: str, dataset: Dataset, device: torch.device, settings: Mapping[str, JsonValue]
) -> Contender:
    """A method on CIFAR-10 images under the protocol but for some train settings."""
    flag = Setting(reason="speed", train=dict(settings))
    rates = () if load_method(name).labels == "true" else (0.3,)
    selection = Selection(
        methods=(name,), datasets=("cifar10",), q=rates, seeds=(0,), flags=(flag,)
    )
    [run] = plan(selection)
    task: Task = make_task(run.spec, dataset, device)
    method = build_method(run.spec, load_method(name), task)
    method.epoch = run.spec.train.epochs * 6 // 10
    size = run.spec.train.batch_size
    loader = Loader(task.x, task.candidates, task.views, method.views, size, seed=0)
    with torch.no_grad():
        method.on_epoch_start(loader)
    optimizer = SGD(method.parameters(), 1e-4, 0.9, 1e-4)
    loss = compiled_loss(method) if run.spec.train.compile == "step" else method.loss
    take: Take = partial(take_step, method.train(), optimizer=optimizer, loss=loss)
    step = GraphedSteps(take) if run.spec.train.graph else take
    return Contender(method, loader, optimizer, device, step)


def recorded(entry: Contender, batch: Batch) -> list[Pass]:
    """The passes through networks that a step of the method makes."""
    passes: list[Pass] = []

    def note(network: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(network, Network)
        backward = torch.is_grad_enabled() and any(p.requires_grad for p in network.parameters())
        passes.append(Pass(network, inputs[0], backward))

    networks = [module for module in entry.method.modules() if isinstance(module, Network)]
    handles = [module.register_forward_pre_hook(note) for module in networks]
    take_step(entry.method, batch, entry.optimizer)  # neither compiled nor from a graph
    for handle in handles:
        handle.remove()
    return passes


def answer_at_once(method: Method[Any]) -> None:
    """Let the networks of a method give random outputs instead of passing anything."""

    def instead_of(network: Network) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        widths = network.classifier.out_features, network.num_features

        def forward(x: Tensor) -> tuple[Tensor, Tensor]:
            grad = torch.is_grad_enabled()
            logits, features = (
                torch.randn(len(x), width, device=x.device, requires_grad=grad) for width in widths
            )
            return logits, features

        return forward

    for module in method.modules():
        if isinstance(module, Network):
            module.forward = instead_of(module)  # type: ignore[assignment, method-assign]


def time_training(entry: Contender, num_steps: int, num_turns: int) -> dict[str, float]:
    """Images a second of training and of its bare work, their quotient, and where it is lost."""
    batches = list(islice(entry.loader.epoch(0), num_steps))
    passes = [recorded(entry, batch) for batch in batches]
    for batch in batches[:3]:  # where it is compiled or captured, that is done here
        entry.step(batch)
    steps, bare, views = [], [], []
    for turn in range(1, num_turns + 1):
        clock = entry.now()
        for _ in entry.loader.epoch(turn):  # a chunk, none of whose batches is held
            pass
        drawn = entry.now()
        for batch in batches:
            entry.step(batch)
        stepped = entry.now()
        for each in passes:
            entry.bare_step(each)
        views.append((drawn - clock) / len(entry.loader))
        steps.append(views[-1] + (stepped - drawn) / num_steps)
        bare.append((entry.now() - stepped) / num_steps)
    answer_at_once(entry.method)
    bookkeeping = []
    for _ in range(BOOKKEEPING_STEPS):
        clock = entry.now()
        take_step(entry.method, batches[0], entry.optimizer)
        bookkeeping.append(entry.now() - clock)
    lost = statistics.median(views), statistics.median(bookkeeping)
    total = statistics.median(bare) + sum(lost)
    return {
        "images_per_s": entry.loader.batch_size / statistics.median(steps),
        "bare_images_per_s": entry.loader.batch_size / statistics.median(bare),
        "efficiency": statistics.median(map(truediv, bare, steps)),
        "views_share": lost[0] / total,
        "bookkeeping_share": lost[1] / total,
    }
