"""The pictures of `docs/partial_labels.md`: `python -m tools.site.pictures` draws them anew.

They show what the suite's own code does: candidate sets come from `pllbench.candidates`, and PRODEN
learns from them.
"""

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Wedge
from sklearn.datasets import load_digits, make_blobs
from torch import Tensor

from pllbench.candidates.audit import audit_candidates
from pllbench.candidates.processes import Candidates, Labels, TrueLabels, generate
from pllbench.method import Batch, Method, Problem
from pllbench.networks import make_network
from pllbench.registry import load_method
from pllbench.reports.plots.figure import FIGURE_STYLE
from pllbench.spec import CandidateSpec, Process, TrainSpec
from tools.site.places import DOCS

FOLDER = DOCS / "pictures"
COLOURS = ("#0072B2", "#D55E00", "#009E73")
RATES = (0.1, 0.3, 0.5, 0.7)


def sets(y: Labels, num_classes: int, q: float, process: Process = "uniform") -> Candidates:
    """Candidate sets [N, C] of true labels, at seed 0."""
    return generate(TrueLabels(y, num_classes), CandidateSpec(process=process, q=q), seed=0)


def learn(x: Tensor, candidates: Tensor, network: str, epochs: int) -> Iterator[Method[Any]]:
    """PRODEN after each epoch; all rows [N, D] are one batch, and their plain view is the only one.

    Candidates are [N, C].
    """
    torch.manual_seed(0)
    settings = TrainSpec.parse({"network": network})
    cls = load_method("proden")
    problem = Problem(
        candidates, epochs, lambda: make_network(settings, tuple(x.shape[1:]), candidates.shape[1])
    )
    method = cls(problem, cls.hparams_type.parse({"num_strong": 0}))
    optimizer = torch.optim.SGD(method.parameters(), lr=0.5, momentum=0.9)
    batch = Batch((x,), torch.arange(len(x)), candidates)
    for epoch in range(epochs):
        method.epoch = epoch
        step = method.train().loss(batch)
        optimizer.zero_grad()
        step.loss.backward()
        optimizer.step()
        yield method


def candidate_sets() -> Figure:
    """Digits with their candidate sets at q = 0.3; the true label is the bold one."""
    digits = load_digits()
    rows = range(10, 16)
    found = sets(digits.target, 10, 0.3)
    figure = Figure(figsize=(7.2, 1.5), layout="constrained")
    for axes, row in zip(figure.subplots(1, len(rows)), rows, strict=True):
        axes.imshow(digits.images[row], cmap="gray_r")
        axes.set_axis_off()
        labels = np.flatnonzero(found[row])
        for i, label in enumerate(labels):
            true = label == digits.target[row]
            axes.text(
                *(3.5 + 1.35 * (i - (len(labels) - 1) / 2), 9.3, str(label)),
                ha="center",
                color=COLOURS[1] if true else "0.35",
                weight="bold" if true else "normal",
                fontsize=11,
            )
    return figure


def set_sizes() -> Figure:
    """How many candidates the rows of digits have, at the four rates of the protocol."""
    y = load_digits().target
    figure = Figure(figsize=(7.2, 1.9), layout="constrained")
    panels = figure.subplots(1, len(RATES), sharey=True)
    for axes, q in zip(panels, RATES, strict=True):
        found = sets(y, 10, q)
        shares = 100 * np.bincount(found.sum(1), minlength=11) / len(y)
        axes.bar(range(1, 11), shares[1:], color=COLOURS[0])
        mean = audit_candidates(found, y).mean
        axes.axvline(mean, color=COLOURS[1])
        axes.set_title(f"q = {q:g}, mean {mean:.1f}")
        axes.set_xlabel("candidates of a row")
        axes.set_xticks([2, 4, 6, 8, 10])
    panels[0].set_ylabel("rows (%)")
    return figure


def plane() -> Figure:
    """Three classes in the plane: true labels, candidate sets, and what PRODEN makes of them."""
    centers = np.array([[-1.0, -0.6], [1.0, -0.6], [0.0, 1.0]])
    points, y = make_blobs(90, centers=centers, cluster_std=0.45, random_state=2)
    found = sets(y, 3, 0.5)
    x = torch.tensor(points, dtype=torch.float32)
    *_, method = learn(x, torch.from_numpy(found), "mlp", 100)
    pseudo = method.get_buffer("confidence").argmax(1).numpy()
    wrong = pseudo != y
    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    truth, given, learned = figure.subplots(1, 3, sharex=True, sharey=True)
    for axes, labels in ((truth, y), (learned, pseudo)):
        colours = [COLOURS[label] for label in labels]
        axes.scatter(*points.T, s=26, color=colours, edgecolor="white", linewidth=0.4)
    learned.scatter(*points[wrong].T, s=75, facecolor="none", edgecolor="black", linewidth=1)
    _pies(given, points, found)
    _regions(learned, method)
    truth.set_title("true labels")
    given.set_title("candidate sets, q = 0.5")
    learned.set_title(f"pseudo labels, {wrong.sum()} of {len(y)} wrong")
    for axes in (truth, given, learned):
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    return figure


def _pies(axes: Axes, points: npt.NDArray[np.float64], found: Candidates) -> None:
    """Each point as a disc with a sector for each of its candidates."""
    for point, row in zip(points, found, strict=True):
        labels = np.flatnonzero(row)
        for i, label in enumerate(labels):
            edges = (90 + 360 * i / len(labels), 90 + 360 * (i + 1) / len(labels))
            axes.add_patch(Wedge(tuple(point), 0.125, *edges, color=COLOURS[label], linewidth=0))


def _regions(axes: Axes, method: Method[Any]) -> None:
    """What the method predicts in each place, behind the points."""
    low, high = -2.3, 2.5
    steps = torch.linspace(low, high, 120)
    grid = torch.cartesian_prod(steps, steps).flip(1)  # rows of equal height, from below
    with torch.no_grad():
        labels = method.eval().predict(grid).argmax(1).view(120, 120).numpy()
    colours = mpl.colors.ListedColormap(COLOURS)
    axes.imshow(labels, origin="lower", extent=(low, high, low, high), cmap=colours, alpha=0.18)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)


def confidence() -> Figure:
    """The confidence of three digits over the epochs, at q = 0.5: early, late, and wrong."""
    digits = load_digits()
    y = digits.target
    found = torch.from_numpy(sets(y, 10, 0.5))
    x = torch.tensor(digits.data / 16, dtype=torch.float32)
    history = torch.stack(
        [m.get_buffer("confidence").clone() for m in learn(x, found, "linear", 60)]
    )
    right = history.argmax(2) == torch.from_numpy(y)  # [epochs, N]
    weight = history[:, torch.arange(len(y)), torch.from_numpy(y)]
    early = int(weight[10].argmax())
    late = int((right[-1] * (~right[:25]).float().mean(0) * weight[-1]).argmax())
    wrong = int((weight[-1] + right[-1].float()).argmin())
    figure = Figure(figsize=(7.2, 2.2), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    titles = ("clear early", "clear late", "wrong")
    for axes, row, title in zip(panels, (early, late, wrong), titles, strict=True):
        for label in np.flatnonzero(found[row]):
            true = label == y[row]
            colour, width = (COLOURS[1], 2.2) if true else ("0.55", 1)
            line = history[:, row, label].numpy()
            axes.plot(range(1, len(line) + 1), line, color=colour, linewidth=width)
            if line[-1] > 0.1:
                axes.annotate(f" {label}", (len(line), line[-1]), color=colour, va="center")
        axes.set_title(f"a {y[row]}, {title}")
        axes.set_xlabel("epoch")
        axes.set_xlim(0, len(history) + 5)
    panels[0].set_ylabel("confidence")
    return figure


PICTURES = {
    "candidates": candidate_sets,
    "set_sizes": set_sizes,
    "plane": plane,
    "confidence": confidence,
}
"""What draws each picture, by the name of its file."""


def main() -> None:
    """Draw all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        with mpl.rc_context(FIGURE_STYLE):
            draw().savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
