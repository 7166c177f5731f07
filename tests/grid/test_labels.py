"""The rows of a table: which one a run belongs to, and what it is called."""

from typing import Any

import pytest
from pydantic import JsonValue

from pllbench.budget import Budget, TuningSpec
from pllbench.data.catalogue import DATASETS
from pllbench.grid.labels import differences, printed_name, row_label
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, default_protocol
from pllbench.registry import method_entries
from pllbench.spec import CandidateSpec

PROTOCOL = default_protocol()


def runs(**parts: Any) -> list[PlannedRun]:
    return plan(Selection(**parts))


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
        row = row_label(run.spec, PROTOCOL)
        assert run.spec.run_id in ids[row.name]  # an earlier row may hold the same runs
        assert row.label == printed_name(row.name, PROTOCOL)


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
    assert row_label(run.spec, PROTOCOL).label == run.label == f"RC ({change})"
    assert row_label(run.spec, PROTOCOL).name == "rc"


def test_a_setting_at_its_expected_value_is_no_difference() -> None:
    same = Setting(reason="flag", train={"lr": 0.1, "epochs": 200}, hparams={"num_strong": 2})
    [plain] = runs(methods=("rc",), q=(0.1,), seeds=(3,))
    [flagged] = runs(methods=("rc",), q=(0.1,), seeds=(3,), flags=(same,))
    assert flagged.spec.run_id == plain.spec.run_id
    assert flagged.label == "RC"


def test_options_of_a_process_are_not_the_rows() -> None:
    given: dict[str, JsonValue] = {"process": "noisy", "eta": 0.2}
    flag = Setting(reason="--candidates noisy:eta=0.2", candidates=given)
    [run] = runs(methods=("rc",), datasets=("digits",), q=(0.1,), seeds=(0,), flags=(flag,))
    assert run.spec.candidates == CandidateSpec(process="noisy", q=0.1, eta=0.2)
    assert run.label == row_label(run.spec, PROTOCOL).label == "RC"


TUNING = TuningSpec(
    budget=Budget(trials=(20,), space="3f2a91bc"),
    own_space="77aa01ce",
    hparams=("beta",),
    train=("lr",),
)
FOUND = Setting(reason="found", train={"lr": 0.03}, hparams={"beta": 2.0}, tuning=TUNING)
WORDS = "(tuned: 20 trials, covering_rate, seeds 100, space 3f2a91bc/77aa01ce)"


def tuned_label(*further: Setting) -> str:
    [run] = runs(methods=("lws",), q=(0.1,), seeds=(3,), flags=(FOUND, *further))
    assert run.label == row_label(run.spec, PROTOCOL).label
    return run.label


def test_what_a_search_has_found_is_not_listed_and_all_else_is() -> None:
    assert tuned_label() == f"LWS {WORDS}"
    longer = Setting(reason="flag", train={"epochs": 100})
    assert tuned_label(longer) == f"LWS (epochs=100) {WORDS}"
    other = Setting(reason="flag", hparams={"num_strong": 1})
    assert tuned_label(other) == f"LWS (num_strong=1) {WORDS}"


def test_a_change_on_top_of_what_was_found_ends_the_finding() -> None:
    higher = Setting(reason="flag", train={"lr": 0.05})
    assert tuned_label(higher) == "LWS (beta=2.0, lr=0.05)"
    other = Setting(reason="flag", hparams={"beta": 1.5})
    assert tuned_label(other) == "LWS (beta=1.5, lr=0.03)"
