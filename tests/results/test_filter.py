"""Selections as filters over the runs that are there."""

from typing import Any

import pytest

from pllbench.grid.plan import Selection
from pllbench.grid.protocol import Setting, When
from pllbench.results.filter import Filter, planned_runs
from pllbench.spec import RunSpec
from tests.factories import make_records, make_spec


def make_flag(method: str, **hparams: Any) -> Setting:
    return Setting(reason="--set", when=When(method=(method,)), hparams=hparams)


def make_asyco(num_strong: int) -> RunSpec:
    changed = () if num_strong == 2 else ("num_strong",)
    return make_spec("asyco", hparams={"num_strong": num_strong}, changed=changed)


@pytest.mark.parametrize(
    ("method", "value", "allowed"),
    [
        ("asyco", 1, {1}),  # of the method and its variants
        ("asyco", 2, {2}),
        ("asyco-1-strong", 1, {1, 2}),  # the setting of a variant says nothing of other rows
        ("asyco-1-strong", 3, {2}),
        ("cc", 3, {1, 2}),
    ],
)
def test_a_setting_of_a_method_or_variant_holds_for_its_rows(
    method: str, value: int, allowed: set[int]
) -> None:
    wanted = Filter(Selection(flags=(make_flag(method, num_strong=value),)))
    assert {number for number in (1, 2) if wanted.allows(make_asyco(number))} == allowed


def test_methods_are_rows() -> None:
    wanted = Filter(Selection(methods=("asyco",)))
    assert wanted.allows(make_asyco(2))
    assert not wanted.allows(make_asyco(1))  # which is the row of a variant


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(methods=("rcc",)), "^methods: unknown method 'rcc': did you mean rc?"),
        (Selection(flags=(make_flag("rcc", a=1),)), "^--set: unknown method 'rcc': did you mean"),
    ],
)
def test_unknown_names_are_refused(selection: Selection, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Filter(selection).require_known([make_spec("cc")])


def test_a_method_that_is_not_installed_is_known_by_its_runs() -> None:
    spec = make_spec("cc").model_copy(update={"method": "elsewhere"})
    wanted = Filter(Selection(methods=("elsewhere",)))
    wanted.require_known([spec])
    assert wanted.allows(spec)
    with pytest.raises(ValueError, match="unknown method 'elsewhere'"):
        wanted.require_known([])


def test_a_plan_without_seeds_has_those_that_are_there_too() -> None:
    stored = make_records([90, 91, 92, 93, 94])
    wanted = Selection(methods=("cc",), datasets=("digits",), q=(0.3,))
    assert [run.spec.seed for run in planned_runs(wanted, stored[4:])] == [0, 1, 2, 4]
    one = Selection(methods=("cc",), datasets=("digits",), q=(0.3,), seeds=(7,))
    assert [run.spec.seed for run in planned_runs(one, stored)] == [7]
