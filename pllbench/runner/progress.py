"""Who is told of the progress of a grid."""

from collections.abc import Mapping, Sequence

from pllbench.budget import Criterion
from pllbench.grid.plan import PlannedRun
from pllbench.training.trainer import Progress


class Observer:
    """Is told how a grid proceeds; does nothing with it. Every method may be called at any time."""

    def begun(self, runs: Sequence[PlannedRun]) -> None:
        """These runs are to be executed."""

    def pausing(self, until: Mapping[str, int], criterion: Criterion) -> None:
        """Runs that begin next are trials: they pause after so many epochs, by run_id.

        Then they are judged by `criterion`; their test accuracies are nobody's business.
        """

    def started(self, run: PlannedRun) -> None:
        """A run has begun."""

    def progressed(self, run: PlannedRun, progress: Progress) -> None:
        """A run has ended an epoch."""

    def finished(self, run: PlannedRun, accuracy: float | None, seconds: float) -> None:
        """A run is stored; `accuracy` is a fraction, None without true labels."""

    def failed(self, run: PlannedRun, reason: str) -> None:
        """A run has failed, here or in another process."""

    def passed_over(self, run: PlannedRun) -> None:
        """Another process has finished a run."""

    def stopped(self, run: PlannedRun) -> None:
        """A run has saved its state on request."""

    def paused(self, run: PlannedRun, epochs: int) -> None:
        """A run has come to where it pauses, after so many epochs."""

    def warned(self, line: str) -> None:
        """Something is wrong, or special, that stops no run."""

    def waiting(self, num_runs: int) -> None:
        """All that is left is runs that other processes work on."""

    def ended(self) -> None:
        """Nothing more will be told."""
