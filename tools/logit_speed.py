"""How fast a step moves the logits of each network, and the temperature that keeps AsyCo's speed.

    python tools/logit_speed.py --data-dir DIR

A step of SGD on a loss of z / tau moves a logit by lr K / tau^2, K being the squared norm of the
gradient of the logit in all weights. K is measured on CIFAR-10 at initialisation, in training mode,
so that BatchNorm counts; the mean over rows of a batch of 64, a logit each, and over three
initialisations. AsyCo's paper has tau = 20 on ResNet-18.
"""

import argparse
import math
from pathlib import Path

import torch

from pllbench.data.catalogue import dataset_info
from pllbench.data.dataset import load_dataset
from pllbench.networks import make_network
from pllbench.spec import NetworkName, TrainSpec, ViewSpec
from pllbench.views.roles import Views
from pllbench.views.scaling import image_statistics

NETWORKS: tuple[NetworkName, ...] = ("resnet18", "small_cnn", "lenet", "mlp", "linear")
BATCH_SIZE, ROWS, CLASSES = 64, 10, 10


def squared_gradient(network: NetworkName, x: torch.Tensor, seed: int) -> float:
    """K: the mean over the first rows of x of |dz/dtheta|^2, of one logit of each row."""
    torch.manual_seed(seed)
    net = make_network(TrainSpec(network=network), tuple(x.shape[1:]), CLASSES).train()
    logits, _ = net(x)
    weights = list(net.parameters())
    total = 0.0
    for row in range(ROWS):
        parts = torch.autograd.grad(logits[row, row % CLASSES], weights, retain_graph=True)
        total += sum(part.square().sum().item() for part in parts)
    return total / ROWS


def main(data_dir: Path) -> None:
    """Print K and the temperature of each network as a Markdown table."""
    dataset = load_dataset(dataset_info("cifar10-5k"), data_dir)
    raw = torch.as_tensor(dataset.x)
    spec = ViewSpec(normalisation="training")
    views = Views("image", spec, image_statistics(raw, None, spec))
    x = views.plain(raw[:BATCH_SIZE])
    found = {name: sum(squared_gradient(name, x, s) for s in range(3)) / 3 for name in NETWORKS}
    print("| network | K | tau |\n| :-- | --: | --: |")
    for name, k in found.items():
        print(
            f"| `{name}` | {float(f'{k:.3g}'):,g} | {20 * math.sqrt(k / found['resnet18']):.2g} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    main(parser.parse_args().data_dir)
