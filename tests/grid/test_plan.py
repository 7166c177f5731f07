"""From a selection to runs: what is planned, restrictions, and what is refused."""

import re
from typing import Any

import pytest

from pllbench.grid.benchmark import Benchmark, Grid
from pllbench.grid.labels import row_label
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, Variant, When, default_protocol
from pllbench.spec import FITTED, CandidateSpec
from tests.factories import FREE, make_plan, make_spec

PROTOCOL = default_protocol()

MINE = Variant(base="rc", label="Mine")

ELSEWHERE = Setting(reason="why", when=When(dataset=("lost",)), train={"lr": 0.5})


def runs(**parts: Any) -> list[PlannedRun]:
    return plan(Selection(**parts))


def benchmark(*grids: Grid, **parts: Any) -> Benchmark:
    return Benchmark(grid=grids, **parts)


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
        assert run.label == row_label(run.spec, PROTOCOL).label == "PL-kNN"


def test_train_settings_need_a_method_that_reads_them() -> None:
    flag = Setting(reason="--epochs 5", train={"epochs": 5})
    with pytest.raises(ValueError, match=r"^--epochs 5: no method here has train settings"):
        runs(methods=("pl_knn",), flags=(flag,))


@pytest.mark.parametrize(
    ("called", "name"),
    [("CRDPLL", "dpll"), ("plcr", "dpll"), ("RCR", "dpll"), ("CORR", "dpll"), ("SARI", "pals")],
)
def test_a_method_is_found_by_what_else_it_is_called(called: str, name: str) -> None:
    with pytest.raises(ValueError, match=rf"unknown method '{called}': did you mean {name}\?"):
        runs(methods=(called,))


def test_a_method_is_found_by_how_it_is_printed() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'PiCO\+': did you mean pico_plus\?"):
        runs(methods=("PiCO+",))


def test_rates_are_rounded_as_specs_hold_them() -> None:
    assert [run.spec.q for run in runs(methods=("rc",), q=(0.1 + 0.2,), seeds=(0,))] == [0.3]
    wanted = Selection(benchmark=DIGITS, q=(1 - 0.9,))  # 0.09999999999999998
    assert [run.spec.q for run in plan(wanted)] == [0.1]


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
        ("methods: name some, or a benchmark", {}),
        ("methods: unknown method 'prodem': did you mean proden?", {"methods": ("prodem",)}),
        ("unknown data set 'digit': did you mean digits?", ANY_RC | {"datasets": ("digit",)}),
        ("q: no run here has generated", ANY_RC | {"datasets": ("lost",), "q": (0.1,)}),
        ("q: no run here has generated", {"methods": ("supervised",), "q": (0.1,)}),
        ("q 0.9: not in this benchmark", BENCHMARK | {"q": (0.1, 0.9)}),
        ("the selection has no runs: its data sets or q are", BENCHMARK | {"q": (0.9,)}),
        (
            "datasets lost: not in this benchmark, digits are",
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


def test_a_process_without_a_rate_has_one_run_where_others_have_one_a_rate() -> None:
    flag = Setting(reason="--candidates uniform-set", candidates={"process": "uniform-set"})
    found = runs(methods=("rc", "supervised"), datasets=("digits",), seeds=(0,), flags=(flag,))
    assert [(run.spec.method, run.spec.q) for run in found] == [("rc", None), ("supervised", None)]
    assert found[0].spec.candidates == CandidateSpec(process="uniform-set")
    assert found[0].label == "RC"
    with pytest.raises(ValueError, match=r"^q: no run here .* a process with a rate"):
        runs(methods=("rc",), datasets=("digits",), q=(0.1,), flags=(flag,))


def test_titles_of_runs() -> None:
    generated, real = make_plan([make_spec(seed=7), make_spec(dataset="lost", q=None)])
    assert generated.title == "CC · digits q=0.3 · seed 7"
    assert real.title == "CC · lost · seed 0"
    [free] = make_plan([make_spec(candidates=FREE)])
    assert free.title == "CC · digits uniform:policy=free q=0.3 · seed 0"
