"""The shipped protocol and benchmarks, and what is wrong with a TOML file, said in one line."""

from typing import get_args

import pytest

from pllbench.data.catalogue import DATASETS
from pllbench.grid.benchmark import Benchmark, benchmark_names, load_benchmark
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import (
    GridCell,
    Overrides,
    Protocol,
    Setting,
    When,
    default_protocol,
    merge,
)
from pllbench.grid.resolve import candidate_spec
from pllbench.registry import load_method, method_entries
from pllbench.spec import CandidateSpec, Kind, TrainSpec, ViewSpec
from pllbench.validation import StrictModel

PROTOCOL = default_protocol()
OPTIONS: dict[str, type[StrictModel]] = {
    "train": TrainSpec,
    "views": ViewSpec,
    "candidates": CandidateSpec,
}


def shipped() -> list[tuple[str, Overrides, tuple[str, ...]]]:
    """Every setting and variant that ships, its place, and the methods it may be about."""
    found: list[tuple[str, Overrides, tuple[str, ...]]] = []
    benchmarks = [(name, load_benchmark(name)) for name in benchmark_names()]
    sources: list[tuple[str, Protocol | Benchmark]] = [("protocol", PROTOCOL), *benchmarks]
    for place, source in sources:
        for name, variant in source.variants.items():
            found += [
                (f"{place}: {name}", one, (variant.base,)) for one in (variant, *variant.setting)
            ]
        settings = list(source.setting)
        if isinstance(source, Benchmark):
            settings += [setting for grid in source.grid for setting in grid.setting]
        found += [(f"{place}: {s.when!r}", s, s.when.method) for s in settings]
    return found


@pytest.mark.parametrize(("place", "overrides", "methods"), shipped())
def test_every_shipped_setting_has_a_reason_and_known_values(
    place: str, overrides: Overrides, methods: tuple[str, ...]
) -> None:
    assert overrides.reason.strip(), place
    for owner, model in OPTIONS.items():
        if owner != "candidates":
            model.parse(getattr(overrides, owner))
    candidate_spec(overrides, 0.5, DATASETS["digits"])
    assert methods or not overrides.hparams, "hyperparameters belong to named methods"
    for method in methods:
        base = PROTOCOL.variants[method].base if method in PROTOCOL.variants else method
        load_method(base).hparams_type.parse(overrides.hparams)


def test_protocol_knows_every_data_set_with_generated_candidates_and_only_methods_that_exist() -> (
    None
):
    assert set(PROTOCOL.q) == {name for name, info in DATASETS.items() if not info.real_candidates}
    assert set(PROTOCOL.labels) <= set(method_entries())
    assert set(PROTOCOL.other_names) <= set(method_entries())


WITH_QUEUE = ("pico", "pico_plus", "alim", "irnet")
REDUCED = [name for name, info in DATASETS.items() if info.first]


@pytest.mark.parametrize("name", REDUCED)
def test_a_part_of_a_data_set_has_the_settings_of_the_whole(name: str) -> None:
    whole = name.removesuffix("-5k")
    assert PROTOCOL.q.get(name) == PROTOCOL.q.get(whole)
    methods = (*method_entries(), *PROTOCOL.variants)
    parts, wholes = (plan(Selection(methods=methods, datasets=(d,))) for d in (name, whole))
    assert len(parts) == len(wholes)
    for part, run in zip(parts, wholes, strict=True):
        expected = run.spec.model_dump() | {"dataset": name}
        if part.spec.method in WITH_QUEUE:  # as long in proportion
            expected["hparams"] |= {"queue_size": 8192 * 5_000 // 50_000}
            expected["changed"] = tuple(sorted({*run.spec.changed, "queue_size"}))
        assert part.spec.model_dump() == expected


def test_declared_defaults_are_the_papers() -> None:
    found = TrainSpec()
    optimizer = (found.lr, found.momentum, found.weight_decay, found.batch_size)
    assert optimizer == (0.1, 0.9, 1e-4, 64)
    assert (found.epochs, found.schedule, found.milestones) == (200, "multistep", (0.5, 0.75))


def test_later_settings_win_key_by_key() -> None:
    first = Setting(train={"lr": 1.0, "epochs": 3}, holdout=0.2, data_seed=5, hparams={"a": 1})
    second = Setting(train={"lr": 2.0}, views={"noise_std": 0.3}, hparams={"b": [1]})
    merged = merge([first, second], "tabular")
    assert merged.train == {"lr": 2.0, "epochs": 3}
    assert (merged.views, merged.hparams) == ({"noise_std": 0.3}, {"a": 1, "b": [1]})
    assert (merged.holdout, merged.data_seed) == (0.2, 5)
    zeros = merge([first, Setting(holdout=0.0, data_seed=0)], "tabular")
    assert (zeros.holdout, zeros.data_seed) == (0.0, 0)
    assert first.train == {"lr": 1.0, "epochs": 3}


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (When(), True),
        (When(method=("rc",)), True),  # the base
        (When(method=("mine",)), True),  # the variant
        (When(method=("cc", "rc")), True),
        (When(method=("cc",)), False),
        (When(dataset=("digits",)), True),
        (When(dataset=("cnae9",)), False),
        (When(kind=("tabular",)), True),
        (When(kind=("text",)), False),
        (When(q=(0.1, 0.30000000000000004)), True),
        (When(q=(0.1,)), False),
        (When(method=("rc",), dataset=("digits",), kind=("tabular",), q=(0.3,)), True),
        (When(method=("rc",), dataset=("digits",), kind=("tabular",), q=(0.5,)), False),
    ],
)
def test_a_setting_applies_where_all_its_conditions_hold(when: When, expected: bool) -> None:
    assert when.matches(GridCell("mine", "rc", "digits", "tabular", 0.3)) is expected


def test_a_condition_on_q_never_holds_for_real_candidate_sets() -> None:
    assert not When(q=(0.3,)).matches(GridCell("rc", "rc", "birdsong", "tabular", None))


def test_conditions_may_be_single_values() -> None:
    one = When.parse({"method": "rc", "dataset": "digits", "kind": "text", "q": 0.3})
    assert one == When(method=("rc",), dataset=("digits",), kind=("text",), q=(0.3,))
    assert set(get_args(Kind)) >= {info.kind for info in DATASETS.values()}


def test_models_of_files_are_frozen() -> None:
    assert all(m.model_config.get("frozen") for m in (Protocol, Benchmark, Setting, When))
