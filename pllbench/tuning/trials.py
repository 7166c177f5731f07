"""Trials: which settings a trial has, and its runs.

The settings of a trial follow from its number, so that a study that was killed goes on with the
same ones. Shared settings follow from nothing else: trial 7 of every method has the same learning
rate, batch size and so on, on every data set. Comparisons of searches are paired by that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import RandomSampler
from pydantic import JsonValue

from pllbench.budget import Judging
from pllbench.grid.plan import PlannedRun
from pllbench.grid.resolve import with_settings
from pllbench.seeds import stream_seed
from pllbench.tuning.space import Range, Space

DIGITS = 4
"""Significant digits of a drawn number."""


@dataclass(frozen=True)  # no slots: the cached properties need a dictionary
class TunedCell:
    """What is tuned: one method on one data set at one q.

    Attributes:
        base: its run at the settings of the protocol, with the study's hold-out.
        shared: the shared space.
        own: the space of the method.
        judging: how trials are judged.
    """

    base: PlannedRun
    shared: Space
    own: Space
    judging: Judging

    @property
    def key(self) -> str:
        """Its name in the study: what it is, and the id of its base run, which makes it unique."""
        return f"{self.base.title.rpartition(' · ')[0]} [{self.base.spec.run_id}]"

    @cached_property
    def ranges(self) -> Mapping[str, Range]:
        """What is searched, by owner and key: `train.lr`, `hparams.rho`."""
        spec, kind = self.base.spec, self.base.data.kind
        train = self.shared.train_ranges(kind) if spec.gradient else {}
        return {f"train.{key}": found for key, found in train.items()} | {
            f"hparams.{key}": found for key, found in self.own.hparams.items()
        }

    def searched(self, owner: str) -> tuple[str, ...]:
        """The keys of an owner, `train` or `hparams`, that are searched."""
        return tuple(sorted(part(self.ranges, owner)))

    def require_defaults(self) -> None:
        """Check that the protocol's hyperparameters, which are trial 0, lie in the space.

        Raises:
            ValueError: one does not.
        """
        for key, found in self.own.hparams.items():
            value = self.base.spec.hparams[key]
            if not found.holds(value):
                where = f"{self.base.name} on {self.base.spec.dataset}"
                raise ValueError(f"{where}: {key} = {value} is outside of its range: widen that")

    def settings(self, number: int) -> dict[str, JsonValue]:
        """The values of a trial, by owner and key; trial 0 has the defaults."""
        if number == 0:
            own = {f"hparams.{key}": value for key, value in self.base.spec.hparams.items()}
            return {key: own.get(key, found.default) for key, found in self.ranges.items()}
        seed = self.judging.seeds[0]
        return {key: draw(found, seed, number, key) for key, found in self.ranges.items()}

    def runs(self, number: int) -> list[PlannedRun]:
        """The runs of a trial, one a seed."""
        values, kind = self.settings(number), self.base.data.kind
        spec = with_settings(
            self.base.spec, kind, train=part(values, "train"), hparams=part(values, "hparams")
        )
        label = f"{self.base.label}, trial {number}"
        return [
            replace(self.base, label=label, spec=spec.model_copy(update={"seed": seed}))
            for seed in self.judging.seeds
        ]


V = TypeVar("V")


def part(values: Mapping[str, V], owner: str) -> dict[str, V]:
    """The values of one owner, by key."""
    prefix = f"{owner}."
    return {
        key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)
    }


def draw(found: Range, seed: int, number: int, key: str) -> JsonValue:
    """A value of a range at random, from a stream of its own."""
    sampler = RandomSampler(seed=stream_seed(seed, "trial", number, key) % 2**32)
    value: JsonValue = sampler.sample_independent(None, None, key, distribution(found))  # type: ignore[arg-type]  # it reads neither study nor trial
    if not isinstance(value, float) or found.low is None or found.high is None:
        return value
    return min(max(float(f"{value:.{DIGITS}g}"), found.low), found.high)


def distribution(found: Range) -> BaseDistribution:
    """A range as Optuna has it."""
    if found.low is None or found.high is None:
        return CategoricalDistribution(found.values)
    if isinstance(found.low, int) and isinstance(found.high, int):
        return IntDistribution(found.low, found.high, log=found.log)
    return FloatDistribution(found.low, found.high, log=found.log)
