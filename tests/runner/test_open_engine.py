"""The engine that options describe, and options that no engine has."""

import re

import pytest

from pllbench.runner.local_engine import LocalEngine
from pllbench.runner.open_engine import EngineOptions, open_engine, require_engine_options
from pllbench.validation import FieldError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EngineOptions(name="rya"), "engine rya: did you mean ray?"),
        (EngineOptions(device="gpu"), "device gpu: did you mean cpu?"),
        (EngineOptions(address="10.0.0.1:6379"), "address: only with engine ray"),
        (EngineOptions(gpus_per_run=0.5), "gpus_per_run: only with engine ray"),
        (EngineOptions(timeout=0), "timeout 0: must be more than 0 seconds"),
    ],
)
def test_impossible_options_of_an_engine_are_refused(options: EngineOptions, message: str) -> None:
    for function in (require_engine_options, open_engine):
        with pytest.raises(FieldError, match=f"^{re.escape(message)}$"):
            function(options)


def test_the_local_engine_has_the_options_that_were_asked_for() -> None:
    with open_engine(EngineOptions(device="cpu", jobs=3, timeout=5)) as engine:
        assert isinstance(engine, LocalEngine)
        assert (engine.places, engine.timeout) == (3, 5)
