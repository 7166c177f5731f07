"""The audit as `pllbench data` asks for it: the candidate process and its rate."""

import json
from pathlib import Path

import pytest

from tests import plugins
from tests.commands import pllbench, refused


def audited(*arguments: object) -> dict[str, object]:
    facts: dict[str, object] = json.loads(pllbench("data", *arguments, "--json").out)
    return facts


def test_without_a_rate_it_is_the_first_of_the_protocol() -> None:
    assert audited("digits") == audited("digits", "--q", 0.1)
    assert audited("digits") != audited("digits", "--q", 0.3)


def test_process_and_seed_are_those_of_the_flags() -> None:
    flags = ("--candidates", "uniform:policy=resample", "--q", 0.5)
    facts = audited("digits", *flags)
    assert facts["candidates"] == "process=uniform, q=0.5, policy=resample"
    other = audited("digits", *flags, "--seed", 1)
    assert other["candidate_digest"] != facts["candidate_digest"]


def test_real_candidate_sets_take_no_process(tmp_path: Path) -> None:
    plugins.write_lost(tmp_path)
    assert audited("lost", "--data-dir", tmp_path)["candidates"] == "real"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("digit",), "unknown data set 'digit': did you mean digits"),
        (("lost", "--q", 0.5), "--q 0.5: lost has real candidate sets"),
        (("digits", "--candidates", "unifrom"), "--candidates unifrom: process: Input should be"),
        (
            ("digits", "--candidates", "uniform:policy=resample", "--q", 0),
            "--candidates uniform:policy=resample, q = 0: policy resample needs q > 0",
        ),
        (
            ("digits", "--candidates", "uniform-set", "--q", 0.5),
            "--q 0.5: process uniform-set takes no rate",
        ),
        (("italian",), "data set 'italian': no file"),
    ],
)
def test_wrong_requests(tmp_path: Path, arguments: tuple[object, ...], message: str) -> None:
    plugins.write_lost(tmp_path)
    assert refused("data", *arguments, "--data-dir", tmp_path).startswith(message)
