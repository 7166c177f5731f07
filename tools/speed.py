"""Speed and memory of the image path: views beside PIL, training beside its bare network passes.

    python tools/speed.py [--json] [--parts views,trainer,memory] [--device cpu|cuda] [--bf16]
                               [--networks a,b] [--methods a,b] [--steps N] [--turns N]
                               [--data-dir DIR]

Images are CIFAR-10's where the data directory has them, else random ones of their size.

views: microseconds an image on one core, beside the same pipeline in PIL and torchvision
transforms, item by item; `ratio` is the time of one weak and two strong views there by that here.

trainer: images a second of steps of each method in the second half of its schedule, its views and
bookkeeping included, beside its bare work: the very passes through its networks that a step makes
(recorded, not guessed), forward and backward or forward alone, and the optimizer's step, on inputs
that lie ready. A step's share of its views is that of a whole chunk, however few steps are timed.
Both take turns, and `efficiency` is the median of the turns' quotients. On a busy machine it
scatters, so what a step costs beside its bare work is timed by itself too: `views_share` and
`bookkeeping_share` are the parts of a step's time that its views take, and all else that the method
does (timed with networks that answer at once). Without noise the three sum to 1.

memory: MiB of all tensors that are alive while a CIFAR-10-sized run of each method iterates over
its batches, its network left out, beside the images and one block of views.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import truediv
from pathlib import Path
from typing import Any

import torch
from pydantic import JsonValue
from torch import Tensor, nn
from torchvision import transforms
from torchvision.transforms.functional import to_pil_image

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset
from pllbench.data.readers.base import Dataset
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.method import Batch, Method, Network
from pllbench.registry import load_method, method_entries
from pllbench.spec import ViewSpec
from pllbench.training.loader import BLOCK, CHUNK, Loader
from pllbench.training.sgd import SGD
from pllbench.training.step import take_step
from pllbench.training.task import Task, make_task
from pllbench.training.trainer import build_method
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics

BATCH = 64
TURNS = 3
PARTS = ("views", "trainer", "memory")
NETWORKS = ("small_cnn", "resnet18")
BOOKKEEPING_STEPS = 10
STEPS = {"resnet18": 1}
"""Steps of a turn on the CPU, by network; else, and on a GPU, those of a chunk of views."""


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


# Views.


class PilCutout:
    """A black square on a tensor image, as DPLL's code has it."""

    def __call__(self, image: Tensor) -> Tensor:
        """The image [K, H, W] with the square, in place."""
        row, column = torch.randint(32, (2,)).tolist()
        image[:, max(0, row - 8) : row + 8, max(0, column - 8) : column + 8] = 0
        return image


def pil_views() -> dict[str, Callable[[Any], Tensor]]:
    """Weak and strong view of a PIL image, in torchvision's transforms."""
    mean, std = DATASETS["cifar10"].pixels or ((), ())
    crop = [
        transforms.RandomHorizontalFlip(),
        transforms.RandomCrop(32, 4, padding_mode="reflect"),
    ]
    tensor = [transforms.ToTensor(), transforms.Normalize(mean, std)]
    policy = transforms.AutoAugment(transforms.AutoAugmentPolicy.CIFAR10)
    hole = [transforms.ToTensor(), PilCutout(), transforms.ToPILImage()]
    return {
        "weak": transforms.Compose([*crop, *tensor]),
        "strong": transforms.Compose([*crop, *hole, policy, *tensor]),
    }


def time_views(dataset: Dataset) -> dict[str, float]:
    """Microseconds of processor time an image, ours and PIL's, and the ratio."""
    x = dataset.x[:CHUNK]
    spec = ViewSpec()
    views = Views("image", spec, image_statistics(x, DATASETS["cifar10"].pixels, spec))
    images = [to_pil_image(image) for image in x[:500]]
    found: dict[str, list[float]] = {}
    for turn in range(TURNS + 1):  # the first warms up
        for role, transform in pil_views().items():
            clock = time.process_time()
            drawn = views.draw(role, x, turn)
            for start in range(0, CHUNK, BLOCK):
                drawn(slice(start, start + BLOCK))
            middle = time.process_time()
            for image in images:
                transform(image)
            end = time.process_time()
            if turn:
                found.setdefault(f"{role}_us", []).append(1e6 * (middle - clock) / len(x))
                found.setdefault(f"pil_{role}_us", []).append(1e6 * (end - middle) / len(images))
    us = {name: statistics.median(values) for name, values in found.items()}
    theirs = us["pil_weak_us"] + 2 * us["pil_strong_us"]
    return us | {"ratio": theirs / (us["weak_us"] + 2 * us["strong_us"])}


# Training.


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a step through a network."""

    network: Network
    x: Tensor
    backward: bool


@dataclass(frozen=True, slots=True)
class Contender:
    """A method ready to train."""

    method: Method[Any]
    loader: Loader
    optimizer: SGD
    device: torch.device

    def now(self) -> float:
        """Seconds: of this process on the CPU, where others share it; of the clock on a GPU."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
            return time.perf_counter()
        return time.process_time()

    def step(self, batch: Batch) -> None:
        """What the trainer does with a batch."""
        take_step(self.method, batch, self.optimizer)

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


def contender(
    name: str, network: str, dataset: Dataset, device: torch.device, bf16: bool
) -> Contender:
    """A method on CIFAR-10 images under the protocol, but at batch 64 for all."""
    train: dict[str, JsonValue] = {"network": network, "batch_size": BATCH}
    if bf16:
        train |= {"precision": "bf16", "channels_last": True}
    flag = Setting(reason="speed", train=train)
    rates = () if load_method(name).labels == "true" else (0.3,)
    selection = Selection(
        methods=(name,), datasets=("cifar10",), q=rates, seeds=(0,), flags=(flag,)
    )
    [run] = plan(selection)
    task: Task = make_task(run.spec, dataset, device)
    method = build_method(run.spec, load_method(name), task)
    method.epoch = run.spec.train.epochs * 6 // 10
    loader = Loader(task.x, task.candidates, task.views, method.views, BATCH, seed=0)
    with torch.no_grad():
        method.on_epoch_start(loader)
    optimizer = SGD(method.parameters(), 1e-4, 0.9, 1e-4)
    return Contender(method.train(), loader, optimizer, device)


def recorded(entry: Contender, batch: Batch) -> list[Pass]:
    """The passes through networks that a step of the method makes."""
    passes: list[Pass] = []

    def note(network: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(network, Network)
        backward = torch.is_grad_enabled() and any(p.requires_grad for p in network.parameters())
        passes.append(Pass(network, inputs[0], backward))

    networks = [module for module in entry.method.modules() if isinstance(module, Network)]
    handles = [module.register_forward_pre_hook(note) for module in networks]
    entry.step(batch)
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
        entry.step(batches[0])
        bookkeeping.append(entry.now() - clock)
    lost = statistics.median(views), statistics.median(bookkeeping)
    total = statistics.median(bare) + sum(lost)
    return {
        "images_per_s": BATCH / statistics.median(steps),
        "bare_images_per_s": BATCH / statistics.median(bare),
        "efficiency": statistics.median(map(truediv, bare, steps)),
        "views_share": lost[0] / total,
        "bookkeeping_share": lost[1] / total,
    }


# Memory.


def alive() -> dict[int, int]:
    """Bytes of every storage that a tensor of this process refers to, by its address."""
    found: dict[int, int] = {}
    for thing in gc.get_objects():
        if issubclass(type(thing), Tensor):  # isinstance would wake up lazy attributes of others
            storage = thing.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
    return found


def memory(name: str, dataset: Dataset) -> dict[str, float]:
    """MiB of images, of a block of views, and of all that a run holds besides its networks."""
    gc.collect()
    before = alive()
    before.pop(dataset.x.untyped_storage().data_ptr(), None)
    entry = contender(name, "small_cnn", dataset, torch.device("cpu"), bf16=False)
    for parameter in (*entry.method.parameters(), *entry.method.buffers()):
        before[parameter.untyped_storage().data_ptr()] = 0
    most, num_views = 0, len(entry.method.views)
    for number, _ in enumerate(entry.loader.epoch(0)):
        if number % (BLOCK // BATCH) < 2:  # the ends of blocks
            held = sum(size for place, size in alive().items() if place not in before)
            most = max(most, held)
        if number > CHUNK // BATCH:
            break
    block = BLOCK * num_views * dataset.x[0].numel() * 4
    unit = 2**20
    return {
        "images_mib": dataset.x.nbytes / unit,
        "block_mib": block / unit,
        "held_mib": most / unit,
        "rest_mib": (most - dataset.x.nbytes - block) / unit,
    }


def names(text: str) -> list[str]:
    """A comma-separated list."""
    return [part for part in text.split(",") if part]


def measured(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts of the output, as they are measured."""
    chunk = cifar10(CHUNK, arguments.data_dir)
    if "views" in arguments.parts:
        yield "views", time_views(chunk)
    if "trainer" in arguments.parts:
        networks = arguments.networks
        yield "trainer", {network: dict(timed(network, chunk, arguments)) for network in networks}
    if "memory" in arguments.parts:
        whole = cifar10(49_999, arguments.data_dir)
        yield "memory", {name: memory(name, whole) for name in arguments.methods}


def timed(
    network: str, dataset: Dataset, arguments: argparse.Namespace
) -> Iterator[tuple[str, dict[str, float]]]:
    """What `time_training` says of every method, each shown on stderr when it is known."""
    device = torch.device(arguments.device)
    default = CHUNK // BATCH if device.type == "cuda" else STEPS.get(network, CHUNK // BATCH)
    for name in arguments.methods:
        entry = contender(name, network, dataset, device, arguments.bf16)
        found = time_training(entry, arguments.steps or default, arguments.turns)
        print(network, name, found, file=sys.stderr)
        yield name, found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--parts", type=names, default=list(PARTS))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--networks", type=names, default=list(NETWORKS))
    parser.add_argument("--methods", type=names, default=sorted(method_entries()))
    parser.add_argument("--steps", type=int, help=f"steps of a turn, at most {CHUNK // BATCH}")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of training")
    parser.add_argument("--bf16", action="store_true", help="bf16 autocast and channels_last")
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"--parts {','.join(unknown)}: must be of {', '.join(PARTS)}")
    if not 1 <= (arguments.steps or 1) <= CHUNK // BATCH or arguments.turns < 1:
        parser.error(f"--steps must be 1 to {CHUNK // BATCH}, --turns 1 or more")
    torch.set_num_threads(1)
    found = dict(measured(arguments))
    print(json.dumps(found, indent=None if arguments.json else 1))


if __name__ == "__main__":
    main()
