"""What in a run's specification says how its training rows and their candidate sets come about."""

from dataclasses import dataclass
from typing import Self

from pllbench.spec import CandidateSpec, PruningSpec, RunSpec


@dataclass(frozen=True, slots=True)
class SetsSpec:
    """How the training rows and their candidate sets come about.

    Attributes:
        process: generates the sets; None where they come with the data.
        annotations: makes sets of annotators' labels; None where there are none.
        pruning: removes candidates; None for none.
        imbalance: of the training rows.
    """

    process: CandidateSpec | None = None
    annotations: str | None = None
    pruning: PruningSpec | None = None
    imbalance: float = 1.0

    @classmethod
    def of(cls, spec: RunSpec) -> Self:
        """Those of a run."""
        return cls(spec.candidates, spec.annotations, spec.pruning, spec.imbalance)

    @property
    def text(self) -> str:
        """The process or "real", and every option that differs from its default, as printed."""
        name, _, options = (self.process.text if self.process else "real").partition(":")
        parts = [options] if options else []
        if self.annotations not in (None, "union"):
            parts += [self.annotations]
        if self.pruning:
            parts += [self.pruning.text]
        if self.imbalance != 1:
            parts += [f"imbalance={self.imbalance:g}"]
        return ":".join(filter(None, (name, ",".join(parts))))

    @property
    def words(self) -> str:
        """As `text`, but nothing for sets as they come with the data."""
        return self.text.removeprefix("real").removeprefix(":")

    @property
    def noisy(self) -> bool:
        """Whether what makes these sets may leave the true label out, pruning aside."""
        drawn = self.annotations is not None and self.annotations.startswith("draws")
        return drawn or (self.process is not None and self.process.noisy)
