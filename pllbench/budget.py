"""What a search for settings was given: equal for all methods that are compared under it."""

from typing import Annotated, Literal

from pydantic import Field

from pllbench.validation import StrictModel

Criterion = Literal["covering_rate", "approximated_accuracy"]
"""What settings are judged by, on training rows kept aside with their candidate sets only."""

FIRST_SEED = 100
"""Trials have seeds from here on, so that no run of a table shares split or candidate sets."""

Digest = Annotated[str, Field(pattern="^[0-9a-f]{8}$")]
TrialSeeds = Annotated[tuple[Annotated[int, Field(ge=FIRST_SEED)], ...], Field(min_length=1)]
NumTrials = Annotated[int, Field(ge=1, le=100_000)]


class Judging(StrictModel):
    """How trials are made and judged."""

    criterion: Criterion = "covering_rate"
    """Of the hold-out."""
    seeds: TrialSeeds = (FIRST_SEED,)
    """A trial has a run at each of them; its value is their mean."""
    holdout: float = Field(default=0.1, gt=0, lt=1)
    """Share of the training rows kept aside in trials."""
    halving: int = Field(default=3, ge=1, le=100)
    """After a share of its epochs, one trial in so many goes on; 1: all go to their end."""


class TuningRequest(Judging):
    """What a search is asked to do, in a benchmark's file or by flags."""

    trials: NumTrials = 20
    """Trials of each method on each data set and q."""


class Budget(Judging):
    """What each method was given: rows are ranked within one."""

    trials: Annotated[tuple[NumTrials, ...], Field(min_length=1)]
    """Numbers of trials that were asked for, one after another; each lot is halved by itself."""
    space: Digest
    """Of the shared space: ranges and defaults of train settings."""

    @property
    def words(self) -> str:
        """As it is printed: what is at its default is left out, but for criterion and seeds."""
        trials, seeds = ("+".join(map(str, numbers)) for numbers in (self.trials, self.seeds))
        declared = Judging()
        special = [
            f"{name}={value:g}"
            for name in ("holdout", "halving")
            if (value := getattr(self, name)) != getattr(declared, name)
        ]
        parts = [f"{trials} trials", self.criterion, f"seeds {seeds}", *special]
        return ", ".join([*parts, f"space {self.space}"])


class TuningSpec(StrictModel):
    """How the settings of a run were found. It changes no number beside those settings."""

    budget: Budget
    """Equal for all methods of a study."""
    own_space: Digest
    """Of the method's own space: ranges of its hyperparameters."""
    hparams: tuple[str, ...] = ()
    """Hyperparameters that were searched."""
    train: tuple[str, ...] = ()
    """Train settings that were searched."""

    @property
    def words(self) -> str:
        """As it stands in a row's label."""
        return f"tuned: {self.budget.words}/{self.own_space}"
