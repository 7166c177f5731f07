"""Searches that take a second: three methods on the small stand-in for `lost`."""

import json
from collections.abc import Sequence

from pllbench.budget import TuningRequest
from pllbench.grid.plan import Selection
from pllbench.grid.protocol import Setting
from pllbench.runner.engine import Engine
from pllbench.runner.job import RunOptions
from pllbench.tuning.tune import Tuned, TuningPlan, run_tuning
from tests.inline_engine import InlineEngine

EPOCHS = 9
"""Looks after 1, 3 and 9 of them."""


def on_lost(
    *methods: str,
    trials: int = 9,
    study: str = "try",
    flags: Sequence[Setting] = (),
    **asked: object,
) -> TuningPlan:
    """A search of short runs; `asked` are fields of the request."""
    short = Setting(reason="--epochs", train={"epochs": EPOCHS, "network": "linear"})
    return TuningPlan(
        Selection(methods=methods, datasets=("lost",), flags=(short, *flags)),
        TuningRequest.parse({"trials": trials} | asked),
        given=frozenset({"trials", *asked}),
        study=study,
    )


def run(wanted: TuningPlan, options: RunOptions, engine: Engine | None = None) -> Tuned:
    """The search, executed in this process."""
    return run_tuning(wanted, engine or InlineEngine(), options)


def journal(options: RunOptions, study: str = "try") -> list[dict[str, object]]:
    """The journal of a study, without what differs between two equal ones: times and processes."""
    text = (options.results / "tuning" / study / "journal.log").read_text()
    return [
        {k: v for k, v in json.loads(line).items() if "datetime" not in k and k != "worker_id"}
        for line in text.splitlines()
    ]
