"""Flags: what each of them means, and that a command takes them all."""

import re
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from pllbench.cli.parsing import candidate_setting, key_value, names, noise_rate, seeds
from pllbench.cli.selection import SelectionFlags, with_selection
from pllbench.grid.plan import Selection
from pllbench.spec import CandidateSpec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", (0, 1, 2)),
        ("1", (0,)),
        ("7,", (7,)),
        ("0,1,2", (0, 1, 2)),
        ("2, 0 ,2", (2, 0)),
        ("12345678901234567890,", (12345678901234567890,)),
    ],
)
def test_seeds(text: str, expected: tuple[int, ...]) -> None:
    assert seeds(text) == expected


@pytest.mark.parametrize(
    "text", ["0", "10001", "-1", "1.0", "a", "", ",", "1,,2", "0,-1", "1e3", "٣", "²,", "0x1,"]
)
def test_seeds_are_whole_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=f"^--seeds {re.escape(text)}: "):
        seeds(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0.0), ("1", 1.0), ("0.30", 0.3), (".1", 0.1), ("3e-1", 0.3)]
)
def test_rates(text: str, expected: float) -> None:
    assert noise_rate(text) == expected


def test_rates_are_rounded_as_specs_round_them() -> None:
    assert noise_rate("0.30000000000000004") == 0.3
    assert str(noise_rate("-0")) == "0.0"


@pytest.mark.parametrize("text", ["1.1", "-0.1", "nan", "inf", "30%", "0,3", "", "a"])
def test_rates_are_from_0_to_1(text: str) -> None:
    with pytest.raises(ValueError, match=f"^--q {re.escape(text)}: must be a number from 0 to 1$"):
        noise_rate(text)


@given(st.floats(0, 1))
def test_every_rate_is_read_back(value: float) -> None:
    assert noise_rate(str(value)) == pytest.approx(value, abs=1e-10)


def test_names_are_listed_once_in_their_order() -> None:
    assert names(["rc, cc,rc"], "--methods") == ("rc", "cc")
    assert names(["rc", "cc,rc"], "--methods") == ("rc", "cc"), "repeated flags add up"
    assert names(None, "--methods") == ()
    for text in ("rc,", ",", "", " ", "rc,,cc"):
        with pytest.raises(ValueError, match=f"^--methods {text}: an entry is empty$"):
            names([text], "--methods")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr=0.5", ("lr", 0.5)),
        ("lr=1e-3", ("lr", 0.001)),
        ("epochs=5", ("epochs", 5)),
        ("flag=true", ("flag", True)),
        ("milestones=[0.5, 0.75]", ("milestones", [0.5, 0.75])),
        ("schedule=cosine", ("schedule", "cosine")),
        ("schedule='cosine'", ("schedule", "cosine")),
        ("name=a=b", ("name", "a=b")),
        (" lr = .5 ", ("lr", ".5")),  # no TOML: the field reads it as a number
        ("policy=None", ("policy", "None")),
    ],
)
def test_a_value_is_toml_or_text(text: str, expected: tuple[str, object]) -> None:
    found = key_value(text, "--train")
    assert found == expected
    assert type(found[1]) is type(expected[1])


@pytest.mark.parametrize("text", ["lr", "lr=", "=1", "", "=", "lr= "])
def test_a_pair_has_key_and_value(text: str) -> None:
    with pytest.raises(ValueError, match=f"^--train {text}: must be KEY=VALUE$"):
        key_value(text, "--train")


@pytest.mark.parametrize("text", ["lr=nan", "lr=-inf", "lr=[1, inf]", "lr=1979-05-27"])
def test_a_value_is_what_a_record_can_hold(text: str) -> None:
    with pytest.raises(ValueError, match=f"^--set {re.escape(text)}: must be a finite number"):
        key_value(text, "--set")


def test_candidates() -> None:
    assert candidate_setting("uniform").candidates == {"process": "uniform"}
    assert candidate_setting("uniform:policy=free").candidates == {
        "process": "uniform",
        "policy": "free",
    }
    assert candidate_setting("uniform:policy=free").reason == "--candidates uniform:policy=free"


@pytest.mark.parametrize(
    ("text", "q"),
    [
        ("uniform", 0.3),
        ("uniform:policy=free", 0.3),
        ("noisy:policy=resample,eta=0.0123456789", 0.3),
        ("instance:annotator_network=small_cnn,annotator_epochs=10", 0.3),
        ("instance:rule=max", None),
    ],
)
def test_a_process_is_written_as_the_flag_takes_it(text: str, q: float | None) -> None:
    spec = CandidateSpec.parse(candidate_setting(text).candidates | {"q": q})
    assert spec.text == text


def test_an_option_at_its_default_is_not_written() -> None:
    assert CandidateSpec(process="uniform", q=0.3, policy="force").text == "uniform"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("uniform:polcy=free", "unknown key 'polcy', did you mean policy?"),
        ("uniform:q=0.1", "q does not belong there but in --q"),
        ("uniform:process=a", "process does not belong there but before the colon"),
        ("uniform:policy", "must be KEY=VALUE"),
        ("uniform:policy=free,", "an entry is empty"),
    ],
)
def test_candidates_are_a_process_and_its_options(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^--candidates .*: {re.escape(problem)}$"):
        candidate_setting(text)


def typed(*arguments: str) -> tuple[SelectionFlags, int]:
    """What a command with the shared flags and one of its own receives."""
    received: list[tuple[SelectionFlags, int]] = []
    app = typer.Typer()

    @app.command()
    @with_selection
    def command(flags: SelectionFlags, jobs: int = 1) -> None:
        received.append((flags, jobs))

    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return received[0]


def test_nothing_typed_selects_everything() -> None:
    flags, jobs = typed()
    assert not flags.given
    assert jobs == 1
    assert flags.selection() == Selection(protocol=flags.selection().protocol)


def test_a_commands_own_option_is_no_selection() -> None:
    flags, jobs = typed("--jobs", "3")
    assert not flags.given
    assert jobs == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--methods", "rc,cc"], {"methods": ("rc", "cc")}),
        (["--datasets", "digits"], {"datasets": ("digits",)}),
        (["--q", "0.1,0.10,0.3"], {"q": (0.1, 0.1, 0.3)}),
        (["--seeds", "2"], {"seeds": (0, 1)}),
    ],
)
def test_parts_of_a_selection(arguments: list[str], expected: dict[str, Any]) -> None:
    flags, _ = typed(*arguments)
    assert flags.given
    found = flags.selection()
    assert {name: getattr(found, name) for name in expected} == expected
    assert found.flags == ()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--epochs", "5"], {"train": {"epochs": 5}}),
        (["--network", "mlp"], {"train": {"network": "mlp"}}),
        (["--holdout", "0"], {"holdout": 0.0}),
        (["--set", "rc.num_strong=1"], {"hparams": {"num_strong": 1}, "when": {"method": ["rc"]}}),
        (["--train", "lr=0.5"], {"train": {"lr": 0.5}}),
        (["--view", "scaling=zscore"], {"views": {"scaling": "zscore"}}),
        (["--candidates", "uniform"], {"candidates": {"process": "uniform"}}),
    ],
)
def test_every_other_flag_is_one_setting_that_says_what_was_typed(
    arguments: list[str], expected: dict[str, Any]
) -> None:
    flags, _ = typed(*arguments)
    assert flags.given
    [setting] = flags.selection().flags
    assert setting.reason.split() == arguments
    found = setting.model_dump(mode="json", exclude_defaults=True, exclude={"reason"})
    assert found == expected


def test_settings_may_be_repeated_and_the_last_word_wins() -> None:
    flags, _ = typed("--train", "lr=1", "--train", "lr=2", "--epochs", "3", "--train", "epochs=4")
    values = [setting.train for setting in flags.selection().flags]
    assert values == [{"epochs": 3}, {"lr": 1}, {"lr": 2}, {"epochs": 4}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train", "lrr=1"], "--train lrr=1: unknown key 'lrr', did you mean lr?"),
        (
            ["--view", "nois_std=1"],
            "--view nois_std=1: unknown key 'nois_std', did you mean noise_",
        ),
        (["--set", "num_strong=1"], "--set num_strong=1: must be METHOD.KEY=VALUE"),
        (["--set", ".num_strong=1"], "--set .num_strong=1: must be METHOD.KEY=VALUE"),
        (["--set", "rc.=1"], "--set rc.=1: must be METHOD.KEY=VALUE"),
        (["--benchmark", "birdsnog"], "unknown benchmark 'birdsnog': did you mean birdsong?"),
        (["--benchmark", "no.toml"], "no.toml: not readable"),
    ],
)
def test_a_wrong_flag_is_named(arguments: list[str], message: str) -> None:
    flags, _ = typed(*arguments)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        flags.selection()
