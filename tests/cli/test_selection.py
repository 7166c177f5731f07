"""Flags: what each of them means, and that a command takes them all."""

import re
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pllbench.cli.selection import SelectionFlags, with_selection
from pllbench.grid.plan import Selection


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
        # Repeated flags add up.
        (["--methods", "rc", "--methods", "cc"], {"methods": ("rc", "cc")}),
        (["--datasets", "digits", "--datasets", "lost"], {"datasets": ("digits", "lost")}),
        (["--q", "0.1", "--q", "0.3"], {"q": (0.1, 0.3)}),
        (["--seeds", "7,", "--seeds", "2,3"], {"seeds": (7, 2, 3)}),
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
