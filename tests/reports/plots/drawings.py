"""Records that are plotted, and what a figure shows."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from pllbench.reports.curves import CurvesById
from pllbench.results.records import Record
from tests.factories import make_records


def example_records() -> list[Record]:
    """A reference, two methods at two and three q, and a data set without q."""
    return [
        *make_records([97, 98], method="supervised"),
        *(r for q in (0.1, 0.3, 0.7) for r in make_records([90, 94], method="cc", q=q)),
        *(r for q in (0.1, 0.3) for r in make_records([91, 92], method="rc", q=q)),
        *make_records([71, 72], method="cc", dataset="birdsong", q=None),
    ]


def flat_curves(records: Sequence[Record]) -> CurvesById:
    """Columns in which seed 0 stays 10 percent below seed 1."""
    return {
        r.run_id: {
            "accuracy": np.full(20, 0.8 + 0.1 * r.spec.seed),
            "class_noise": np.full(20, np.nan if r.spec.labels == "true" else 0.2),
            "pairwise_noise": np.full(20, np.nan if r.spec.labels == "true" else 0.05),
        }
        for r in records
    }


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for part in figure.legends for text in part.get_texts()]


def caption(figure: Figure) -> str:
    """The notes above the legend, in one line."""
    [below] = figure.legends
    return " ".join(below.get_title().get_text().split())


def titles(figure: Figure) -> list[str]:
    return [axes.get_title() for axes in figure.axes]
