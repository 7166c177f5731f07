"""From a selection to runs: layers of settings, restrictions, errors, and the way back to rows."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from pllbench.catalogue import DATASETS
from pllbench.grid import PlannedRun, Selection, plan
from pllbench.protocol import Benchmark, Grid, Protocol, Setting, Variant, When, default_protocol
from pllbench.registry import method_entries
from pllbench.rows import differences, row_of
from pllbench.spec import FITTED, CandidateSpec, RunSpec

PROTOCOL = default_protocol()

RC = When(method=("rc",))
MINE = Variant(base="rc", label="Mine", train={"lr": 0.4}, setting=(Setting(train={"lr": 0.5}),))
BARE = Protocol(title="bare", q={"digits": (0.3,), "cnae9": (0.3,)}, labels={"rc": "RC"})

ELSEWHERE = Setting(reason="why", when=When(dataset=("lost",)), train={"lr": 0.5})

LAYERS: Mapping[str, Mapping[str, Any]] = {
    "protocol": {"protocol": (Setting(train={"lr": 0.2}),)},
    "its deviation": {
        "protocol": (Setting(train={"lr": 0.2}), Setting(when=RC, train={"lr": 0.3}))
    },
    "variant": {"variant": {"train": {"lr": 0.4}}},
    "its deviation for a data set": {"variant": {"setting": (Setting(train={"lr": 0.5}),)}},
    "benchmark": {"benchmark": (Setting(train={"lr": 0.6}),)},
    "grid": {"grid": (Setting(train={"lr": 0.7}),)},
    "flag": {"flags": (Setting(reason="--train lr=0.8", train={"lr": 0.8}),)},
}
"""Every layer of settings, weakest first; each sets its own learning rate."""


def with_layers(names: Sequence[str]) -> RunSpec:
    """The run of the variant `mine` of RC under some of the layers."""
    found: dict[str, Any] = {}
    variant: dict[str, Any] = {}
    for name in names:
        layer = dict(LAYERS[name])
        variant |= layer.pop("variant", {})
        found |= layer
    mine = Variant(base="rc", label="Mine", **variant)
    grid = Grid(methods=("mine",), datasets=("digits",), seeds=(0,), setting=found.get("grid", ()))
    benchmark = Benchmark(grid=(grid,), variants={"mine": mine}, setting=found.get("benchmark", ()))
    protocol = BARE.model_copy(update={"setting": found.get("protocol", ())})
    [run] = plan(Selection(benchmark, protocol=protocol, flags=found.get("flags", ())))
    return run.spec


def runs(**parts: Any) -> list[PlannedRun]:
    return plan(Selection(**parts))


def benchmark(*grids: Grid, **parts: Any) -> Benchmark:
    return Benchmark(grid=grids, **parts)


@pytest.mark.parametrize("count", range(len(LAYERS) + 1))
def test_a_later_layer_wins(count: int) -> None:
    expected = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]  # declared default first
    assert with_layers(list(LAYERS)[:count]).train.lr == expected[count]


def test_a_flag_wins_over_every_single_layer() -> None:
    for layer in LAYERS:
        assert with_layers([layer, "flag"]).train.lr == 0.8


def test_a_variant_inherits_what_the_protocol_says_of_its_base() -> None:
    protocol = BARE.model_copy(
        update={
            "setting": (Setting(when=RC, hparams={"num_strong": 5}, views={"noise_std": 0.7}),),
            "variants": {"mine": MINE},
        }
    )
    base, mine, other = runs(methods=("rc", "mine", "cc"), seeds=(0,), protocol=protocol)
    assert base.spec.hparams["num_strong"] == mine.spec.hparams["num_strong"] == 5
    assert base.spec.views.noise_std == mine.spec.views.noise_std == 0.7
    assert (base.spec.train.lr, mine.spec.train.lr) == (0.1, 0.5)
    assert (mine.name, mine.label, mine.spec.method) == ("mine", "Mine", "rc")
    assert other.spec.hparams["num_strong"] == 2


def test_another_benchmarks_settings_stand_between_protocol_and_variant(tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text("[[setting]]\ntrain = { lr = 0.35, momentum = 0.35 }\n[[grid]]\n")
    protocol = BARE.model_copy(update={"setting": (Setting(train={"lr": 0.2}),)})
    grid = Grid(methods=("rc", "mine"), datasets=("digits",), seeds=(0,), protocol=str(file))
    both = benchmark(
        grid,
        grid.model_copy(update={"protocol": ""}),
        variants={"mine": MINE},
        setting=(Setting(train={"momentum": 0.6}),),
    )
    found = [(run.name, run.spec.train.lr) for run in runs(benchmark=both, protocol=protocol)]
    assert found == [("rc", 0.35), ("mine", 0.5), ("rc", 0.2)]
    assert all(run.spec.train.momentum == 0.6 for run in runs(benchmark=both, protocol=protocol))


def test_a_flag_for_a_method_reaches_its_variants_and_one_for_a_variant_only_itself() -> None:
    protocol = BARE.model_copy(update={"variants": {"mine": MINE}})

    def strong(method: str) -> list[Any]:
        flag = Setting(reason="--set", when=When(method=(method,)), hparams={"num_strong": 7})
        found = runs(methods=("rc", "mine", "cc"), seeds=(0,), protocol=protocol, flags=(flag,))
        return [run.spec.hparams["num_strong"] for run in found]

    assert strong("rc") == [7, 7, 2]
    assert strong("mine") == [2, 7, 2]


def test_product_of_methods_data_sets_q_and_seeds() -> None:
    found = runs(methods=("rc", "cc"), datasets=("digits", "cnae9"), q=(0.1, 0.3), seeds=(0, 4))
    keys = {(r.spec.method, r.spec.dataset, r.spec.q, r.spec.seed) for r in found}
    assert len(found) == len(keys) == 2 * 2 * 2 * 2
    assert {q for _, _, q, _ in keys} == {0.1, 0.3}
    assert [r.spec.dataset for r in found] == ["digits"] * 8 + ["cnae9"] * 8
    assert [run.spec.seed for run in runs(methods=("rc",), q=(0.1,))] == [0, 1, 2]
    assert {run.spec.q for run in runs(methods=("rc",))} == set(PROTOCOL.q["digits"])


def test_runs_without_a_process_have_no_q() -> None:
    found = runs(
        methods=("supervised", "rc"), datasets=("digits", "lost"), q=(0.1, 0.3), seeds=(0,)
    )
    assert [(r.spec.method, r.spec.dataset, r.spec.q) for r in found] == [
        ("supervised", "digits", None),
        ("rc", "digits", 0.1),
        ("rc", "digits", 0.3),
        ("supervised", "lost", None),
        ("rc", "lost", None),
    ]
    assert all((r.spec.candidates is None) == (r.spec.q is None) for r in found)
    assert found[0].spec.labels == "true"


def test_a_row_has_each_run_once() -> None:
    grid = Grid(methods=("rc",), datasets=("digits",), q=(0.1, 0.3), seeds=(0, 1))
    wider = grid.model_copy(update={"q": (0.3, 0.1 + 0.2, 0.5)})
    found = runs(benchmark=benchmark(grid, wider))
    assert [(r.spec.q, r.spec.seed) for r in found] == [
        (q, seed) for q in (0.1, 0.3, 0.5) for seed in (0, 1)
    ]


def test_a_method_without_gradient_has_one_run_whatever_is_asked_of_training() -> None:
    asked = Setting(reason="--epochs 5", train={"epochs": 5, "network": "mlp", "lr": 0.3})
    parts = {"methods": ("pl_knn", "cc"), "q": (0.3,), "seeds": (0,)}
    [plain, _], [fitted, trained] = runs(**parts), runs(**parts, flags=(asked,))
    assert (trained.spec.train.epochs, trained.spec.train.network) == (5, "mlp")
    assert (fitted.spec.gradient, fitted.spec.train) == (False, FITTED)
    assert fitted.spec.run_id == plain.spec.run_id
    for run in (plain, fitted):
        assert run.label == row_of(run.spec, PROTOCOL).label == "PL-kNN"


def test_train_settings_need_a_method_that_reads_them() -> None:
    flag = Setting(reason="--epochs 5", train={"epochs": 5})
    with pytest.raises(ValueError, match=r"^--epochs 5: no method here has train settings"):
        runs(methods=("pl_knn",), flags=(flag,))


def test_order_of_the_request_changes_no_run() -> None:
    one = runs(methods=("rc", "cc"), q=(0.1, 0.3), seeds=(0, 1))
    other = runs(methods=("cc", "rc"), q=(0.3, 0.1), seeds=(1, 0))
    assert {r.spec.run_id for r in one} == {r.spec.run_id for r in other}


LOST = ("rc", "lost", None, 0)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, {("rc", "digits", q, seed) for q in (0.1, 0.3) for seed in (0, 1)} | {LOST}),
        ({"datasets": ("lost",)}, {LOST}),
        ({"datasets": ("digits",), "q": (0.3,)}, {("rc", "digits", 0.3, s) for s in (0, 1)}),
        ({"datasets": ("digits",), "seeds": (8,)}, {("rc", "digits", q, 8) for q in (0.1, 0.3)}),
        ({"datasets": ("lost",), "methods": ("cc",)}, {("cc", "lost", None, 0)}),
    ],
)
def test_a_benchmark_can_be_restricted(parts: Any, expected: set[Any]) -> None:
    two = benchmark(
        Grid(methods=("rc",), datasets=("digits",), q=(0.1, 0.3), seeds=(0, 1)),
        Grid(methods=("rc",), datasets=("lost",), seeds=(0,)),
        setting=(ELSEWHERE,),
    )
    found = [run.spec for run in runs(benchmark=two, **parts)]
    assert {(s.method, s.dataset, s.q, s.seed) for s in found} == expected
    assert all(s.train.lr == (0.5 if s.dataset == "lost" else 0.1) for s in found)


DIGITS = benchmark(Grid(methods=("rc",), datasets=("digits",), q=(0.1,), seeds=(0,)))


ANY_RC: dict[str, Any] = {"methods": ("rc",), "seeds": (0,)}
BENCHMARK = {"benchmark": DIGITS}


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("no methods: name some with --methods, or a --benchmark", {}),
        ("--methods: unknown method 'prodem': did you mean proden?", {"methods": ("prodem",)}),
        ("unknown data set 'digit': did you mean digits?", ANY_RC | {"datasets": ("digit",)}),
        ("--q: no run here has generated", ANY_RC | {"datasets": ("lost",), "q": (0.1,)}),
        ("--q: no run here has generated", {"methods": ("supervised",), "q": (0.1,)}),
        ("--q 0.9: not in this benchmark", BENCHMARK | {"q": (0.1, 0.9)}),
        ("the selection has no runs: its data sets or q are", BENCHMARK | {"q": (0.9,)}),
        (
            "--datasets lost: not in this benchmark, digits are",
            BENCHMARK | {"datasets": ("digits", "lost")},
        ),
        ("the selection has no runs", {"benchmark": benchmark()}),
    ],
)
def test_what_selects_nothing_is_an_error(message: str, parts: Any) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        runs(**parts)


@pytest.mark.parametrize(
    ("message", "setting"),
    [
        ("--flag: applies to no run", {"when": {"method": "cc"}, "hparams": {"num_strong": 1}}),
        ("--flag: unknown method 'rcc': did you mean rc?", {"when": {"method": "rcc"}}),
        (
            "rc on digits: hparams: unknown key 'num_stron', did you mean num_strong?",
            {"hparams": {"num_stron": 1}},
        ),
        ("rc on digits: num_strong: Input should be greater", {"hparams": {"num_strong": -1}}),
        ("rc on digits: holdout: Input should be less than 1, got 1.0", {"holdout": 1.0}),
        ("rc on digits: lr: Input should be a valid number", {"train": {"lr": "x"}}),
        ("rc on digits: process: Input should be 'uniform'", {"candidates": {"process": "x"}}),
    ],
)
def test_a_flag_that_changes_nothing_or_does_not_fit_is_an_error(
    message: str, setting: Any
) -> None:
    flag = Setting.parse({"reason": "--flag"} | setting)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        runs(**ANY_RC, flags=(flag,))


def test_candidates_need_a_data_set_whose_sets_are_generated() -> None:
    flag = Setting(reason="--candidates uniform", candidates={"policy": "free"})
    with pytest.raises(ValueError, match=r"^--candidates uniform: no data set here has generated"):
        runs(**ANY_RC, datasets=("lost",), flags=(flag,))
    found = runs(**ANY_RC, datasets=("lost", "digits"), q=(0.1,), flags=(flag,))
    assert [r.spec.candidates and r.spec.candidates.policy for r in found] == [None, "free"]


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("why: applies to no run", {"setting": (ELSEWHERE,)}),
        (
            "unknown method 'rcc': did you mean rc?",
            {"setting": (Setting(when=When(method=("rcc",))),)},
        ),
        ("variant 'cc' has the name of a method", {"variants": {"cc": MINE}}),
        ("variant 'asyco-code' is built in already", {"variants": {"asyco-code": MINE}}),
        (
            "variant 'x': unknown method 'rcc': did you mean rc?",
            {"variants": {"x": Variant(base="rcc", label="X")}},
        ),
    ],
)
def test_a_benchmark_with_a_dead_part_is_an_error(message: str, parts: Any) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        runs(benchmark=DIGITS.model_copy(update=parts))


def test_a_grids_own_setting_must_apply_in_that_grid() -> None:
    grids = (
        DIGITS.grid[0].model_copy(update={"setting": (ELSEWHERE,)}),
        Grid(methods=("rc",), datasets=("lost",)),
    )
    with pytest.raises(ValueError, match=r"^why: applies to no run"):
        runs(benchmark=benchmark(*grids))


EVERYTHING = tuple(method_entries()) + tuple(PROTOCOL.variants)


@pytest.fixture(scope="module")
def everything() -> list[PlannedRun]:
    """Every method and variant on every data set and q of the protocol."""
    return runs(methods=EVERYTHING, datasets=tuple(DATASETS), seeds=(0,))


def test_every_run_of_the_protocol_is_what_the_protocol_says(everything: list[PlannedRun]) -> None:
    ids: dict[str, set[str]] = {}
    for run in everything:
        ids.setdefault(run.name, set()).add(run.spec.run_id)
        assert differences(run.spec, run.name, PROTOCOL) == []
    assert set(ids) == set(EVERYTHING)
    for run in everything:
        row = row_of(run.spec, PROTOCOL)
        assert run.spec.run_id in ids[row.name]  # an earlier row may hold the same runs
        assert "(" not in row.label.removesuffix(" (not NCPD)")


@pytest.mark.parametrize(
    ("setting", "change"),
    [
        ({"train": {"lr": 0.5}}, "lr=0.5"),
        ({"train": {"epochs": 5}}, "epochs=5"),
        ({"train": {"network": "mlp"}}, "network=mlp"),
        ({"views": {"scaling": "zscore"}}, "scaling=zscore"),
        ({"hparams": {"num_strong": 1}}, "num_strong=1"),
        ({"holdout": 0.1}, "holdout=0.1"),
        ({"data_seed": 0}, "data_seed=0"),
        ({"train": {"lr": 0.5}, "holdout": 0.25}, "lr=0.5, holdout=0.25"),
    ],
)
def test_a_row_shows_every_difference_from_the_protocol(setting: Any, change: str) -> None:
    [run] = runs(methods=("rc",), q=(0.1,), seeds=(3,), flags=(Setting(reason="flag", **setting),))
    assert row_of(run.spec, PROTOCOL).label == run.label == f"RC ({change})"
    assert row_of(run.spec, PROTOCOL).name == "rc"


def test_a_setting_at_its_expected_value_is_no_difference() -> None:
    same = Setting(reason="flag", train={"lr": 0.1, "epochs": 200}, hparams={"num_strong": 2})
    [plain] = runs(methods=("rc",), q=(0.1,), seeds=(3,))
    [flagged] = runs(methods=("rc",), q=(0.1,), seeds=(3,), flags=(same,))
    assert flagged.spec.run_id == plain.spec.run_id
    assert flagged.label == "RC"


def test_a_process_without_a_rate_has_one_run_where_others_have_one_a_rate() -> None:
    flag = Setting(reason="--candidates uniform-set", candidates={"process": "uniform-set"})
    found = runs(methods=("rc", "supervised"), datasets=("digits",), seeds=(0,), flags=(flag,))
    assert [(run.spec.method, run.spec.q) for run in found] == [("rc", None), ("supervised", None)]
    assert found[0].spec.candidates == CandidateSpec(process="uniform-set")
    assert found[0].label == "RC"
    with pytest.raises(ValueError, match=r"--q: no run here .* a process with a rate"):
        runs(methods=("rc",), datasets=("digits",), q=(0.1,), flags=(flag,))


def test_options_of_a_process_are_not_the_rows() -> None:
    given: dict[str, JsonValue] = {"process": "noisy", "eta": 0.2}
    flag = Setting(reason="--candidates noisy:eta=0.2", candidates=given)
    [run] = runs(methods=("rc",), datasets=("digits",), q=(0.1,), seeds=(0,), flags=(flag,))
    assert run.spec.candidates == CandidateSpec(process="noisy", q=0.1, eta=0.2)
    assert run.label == row_of(run.spec, PROTOCOL).label == "RC"
