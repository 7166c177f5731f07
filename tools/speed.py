"""Speed and memory of the image path: views beside PIL, training beside its bare network passes.

    python -m tools.speed [--json] [--parts views,trainer,memory] [--device cpu|cuda] [--bf16]
                          [--networks a,b] [--methods a,b] [--steps N] [--turns N] [--data-dir DIR]

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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torchvision import transforms
from torchvision.transforms.functional import to_pil_image

from pllbench.data.catalogue import DATASETS
from pllbench.data.readers.base import Dataset
from pllbench.spec import ViewSpec
from pllbench.training.loader import BLOCK, CHUNK
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics
from tools.efficiency import (
    BATCH,
    BF16,
    cifar10,
    contender,
    time_training,
    train_settings,
    trained_methods,
)

TURNS = 3
PARTS = ("views", "trainer", "memory")
NETWORKS = ("small_cnn", "resnet18")
STEPS = {"resnet18": 1}
"""Steps of a turn on the CPU, by network; else, and on a GPU, those of a chunk of views."""


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
    entry = contender(name, dataset, torch.device("cpu"), train_settings("small_cnn"))
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
        settings = train_settings(network) | (BF16 if arguments.bf16 else {})
        entry = contender(name, dataset, device, settings)
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
    parser.add_argument("--methods", type=names, default=trained_methods())
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
