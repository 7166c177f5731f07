"""Selection rules: how the epochs of a run become one accuracy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pllbench.budget import Criterion
from pllbench.results.metrics import CRITERIA

if TYPE_CHECKING:
    import numpy as np

    from pllbench.results.curves import Curves

Select = Literal["covering_rate", "approximated_accuracy", "last", "last10", "oracle"]
"""Name of a rule."""

DEFAULT_RULE: Select = "last10"


@dataclass(frozen=True, slots=True)
class Rule:
    """How a rule is printed.

    Attributes:
        header: of its column.
        words: what it takes, in words.
    """

    header: str
    words: str


RULES: Mapping[Select, Rule] = {
    "covering_rate": Rule(
        "Covering rate", "at the epoch with the highest covering rate on the hold-out"
    ),
    "approximated_accuracy": Rule(
        "Approximated accuracy",
        "at the epoch with the highest approximated accuracy on the hold-out",
    ),
    "last": Rule("last", "last epoch"),
    "last10": Rule("last10", "mean of the last 10 epochs"),
    "oracle": Rule("Oracle (diagnostic)", "oracle (best test epoch): a diagnostic, not a result"),
}
"""Rules in printed order: those without clean labels first, the oracle, which looks at the test
set, last."""


def last_epochs(curve: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    """Mean of the last ten epochs of a column, of all epochs of a shorter one."""
    return float(curve[-10:].mean())


def choose(curves: "Curves") -> tuple[dict[Select, float], dict[Select, int]]:
    """Test accuracy under every rule that the columns of a run allow, and the epochs chosen.

    The hold-out's rules need its columns. There the other criterion breaks ties, then the later
    epoch wins. Without true labels there is no accuracy, and no oracle.
    """
    import numpy as np  # commands name the rules in --help, which shall be fast

    test = curves.get("accuracy")
    epochs: dict[Select, int] = {} if test is None else {"oracle": int(test.argmax())}
    if "covering_rate" in curves:
        covering, approximated = curves["covering_rate"], curves["approximated_accuracy"]
        epochs["covering_rate"] = int(np.lexsort((approximated, covering))[-1])
        epochs["approximated_accuracy"] = int(np.lexsort((covering, approximated))[-1])
    return {} if test is None else under_rules(test, epochs), epochs


def chosen_epoch(runs: "Sequence[Curves]", criterion: Criterion) -> int:
    """The epoch (0-based) at which a criterion's mean over runs of equal length is highest.

    The other criterion breaks ties, then the later epoch wins, as in `choose`.
    """
    import numpy as np

    names = (other_criterion(criterion), criterion)
    by_criterion = (np.mean([run[name] for run in runs], axis=0) for name in names)
    return int(np.lexsort(tuple(by_criterion))[-1])


def other_criterion(criterion: Criterion) -> Criterion:
    """The one that breaks its ties."""
    return next(name for name in CRITERIA if name != criterion)


def under_rules(
    column: "np.ndarray[tuple[int], np.dtype[np.float64]]", epochs: Mapping[Select, int]
) -> dict[Select, float]:
    """Value of a per-epoch column under every rule; `epochs` are those that rules chose."""
    values: dict[Select, float] = {"last": float(column[-1]), "last10": last_epochs(column)}
    return values | {rule: float(column[epoch]) for rule, epoch in epochs.items()}


@dataclass(frozen=True, slots=True)
class HoldoutCurves:
    """What a search for settings may know of a run: the hold-out's columns, each [epochs]."""

    covering_rate: "np.ndarray[tuple[int], np.dtype[np.float64]]"
    approximated_accuracy: "np.ndarray[tuple[int], np.dtype[np.float64]]"

    @classmethod
    def of(cls, curves: "Curves") -> "HoldoutCurves":
        """Those among all columns of a run that has a hold-out."""
        return cls(curves["covering_rate"], curves["approximated_accuracy"])


def holdout_score(curves: HoldoutCurves, criterion: Criterion, epochs: int) -> float:
    """A criterion after so many epochs: the mean of the last ten, as test accuracy is reported.

    This is all that a search judges settings by. No test value is in what it is given.
    """
    column = {
        "covering_rate": curves.covering_rate,
        "approximated_accuracy": curves.approximated_accuracy,
    }[criterion]
    return last_epochs(column[:epochs])
