"""Long-tailed training sets: how many rows each class keeps, which ones, and groups of classes.

K. Cao et al.: Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss, NeurIPS 2019
(the exponential profile). H. Wang et al.: SoLar, NeurIPS 2022 (groups of classes by rank).
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from pllbench.seeds import stream_seed

Group = Literal["many", "medium", "few"]


def long_tailed_counts(num_rows: int, num_classes: int, imbalance: float) -> list[int]:
    """Rows that each class keeps, from class 0, the largest, to the last, the smallest.

    Class c keeps int(m g^(c / (C - 1))) rows, with m = num_rows / C and g = 1 / imbalance.

    Raises:
        ValueError: the last class would keep no row.
    """
    largest = num_rows / num_classes
    last = num_classes - 1
    # What is a whole number is so although 1 / 49 is no exact float.
    counts = [int(largest * (1 / imbalance) ** (c / last) + 1e-9) for c in range(num_classes)]
    if not counts[last]:
        raise ValueError(
            f"imbalance {imbalance:g}: class {last} would keep none of its {largest:g} training "
            f"rows; it can be at most {int(largest)} here"
        )
    return counts


def long_tailed_rows(
    y: npt.NDArray[np.int64], num_classes: int, imbalance: float, seed: int
) -> npt.NDArray[np.int64]:
    """Rows [n], ascending, of the labels y [N] that a long-tailed training set keeps.

    They are the first of each class in a random order, so at one seed a larger imbalance keeps a
    subset. A class that has fewer rows than its profile asks for keeps all.

    Raises:
        ValueError: as `long_tailed_counts`.
    """
    counts = long_tailed_counts(len(y), num_classes, imbalance)
    order = np.random.default_rng(stream_seed(seed, "imbalance")).permutation(len(y))
    shuffled = y[order]
    kept = [order[shuffled == c][:count] for c, count in enumerate(counts)]
    return np.sort(np.concatenate(kept))


def class_groups(num_classes: int) -> dict[Group, slice]:
    """Many, medium and few: the first third of the classes, the last third, and those in between.

    Thirds are rounded down: 3, 4, 3 of 10 classes, 33, 34, 33 of 100. The profile falls with the
    class, so the groups are by rank of the class's count. Empty for fewer than 3 classes.
    """
    third = num_classes // 3
    if not third:
        return {}
    return {
        "many": slice(0, third),
        "medium": slice(third, num_classes - third),
        "few": slice(num_classes - third, num_classes),
    }
