"""What the text of a flag means."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllbench.cli.parsing import candidate_setting, key_value, names, noise_rate, seeds
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
