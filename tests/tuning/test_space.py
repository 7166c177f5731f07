"""Spaces: what a file may say, and whose it is."""

from pathlib import Path

import pytest

from pllbench.registry import load_method
from pllbench.tuning.space import SHARED, Range, Space, own_space, shared_space, spaces_folder
from pllbench.validation import FieldError
from tests.plugins import Install

METHODS = sorted(path.stem for path in spaces_folder().glob("*.toml") if path.stem != SHARED)

PAPER = ["cc", "rc", "proden", "pico", "dpll", "ncpd", "asyco", "syco"]


def test_all_methods_of_the_paper_and_four_more_have_a_space() -> None:
    assert {*METHODS} == {*PAPER, "lws", "mcl_exp", "cavl", "pop"}


@pytest.mark.parametrize("method", METHODS)
def test_every_range_of_the_suite_says_where_it_comes_from(method: str) -> None:
    space = own_space(method)
    assert all(len(found.source) > 10 for found in space.hparams.values())
    assert space.hparams.keys() <= load_method(method).hparams_type.model_fields.keys()


def test_the_shared_space_holds_what_is_not_the_methods() -> None:
    space = shared_space()
    assert space.train.keys() == {
        "lr", "weight_decay", "batch_size", "epochs", "schedule", "network"
    }  # fmt: skip
    assert space.train_ranges("text").keys() == space.train.keys()
    assert space.train_ranges("image").keys() == {"lr", "weight_decay", "epochs", "schedule"}
    assert {key: found.default for key, found in space.train.items()} == {
        "lr": 0.1,
        "weight_decay": 1e-4,
        "batch_size": 64,
        "epochs": 200,
        "schedule": "multistep",
        "network": "linear",
    }


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.toml").write_text(text)


WRONG = [
    ("", "hparams.rho.source: Field required"),
    ("low = 0.1\nsource = 's'", "hparams.rho: needs low and high, or values"),
    ("low = 0.1\nhigh = 0.2\nvalues = [1]\nsource = 's'", "needs low and high, or values"),
    ("low = 0.3\nhigh = 0.2\nsource = 's'", "low 0.3 is not below high 0.2"),
    ("low = 0.0\nhigh = 0.2\nlog = true\nsource = 's'", "log needs a low above 0"),
    ("low = -1.0\nhigh = 0.2\nsource = 's'", "rho: Input should be greater than or equal to 0"),
    ("values = ['much']\nsource = 's'", "rho: Input should be a valid number, got 'much'"),
    ("values = [0.1]\ndefault = 0.1\nsource = 's'", "default and kinds are the shared space's"),
    ("value = 0.1\nsource = 's'", "unknown key 'value', did you mean values?"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_range_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, "asyco", f"[hparams.rho]\n{text}\n")
    with pytest.raises(ValueError, match=r"asyco\.toml") as error:
        own_space("asyco", tmp_path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_ranges_stand_in_the_space_of_their_owner(tmp_path: Path) -> None:
    write(tmp_path, "asyco", "[hparams.roh]\nvalues = [0.1]\nsource = 's'\n")
    with pytest.raises(
        ValueError, match=r"asyco\.toml: hparams: unknown key 'roh', did you mean rho"
    ):
        own_space("asyco", tmp_path)
    write(tmp_path, "asyco", "[train.lr]\nvalues = [0.1]\nsource = 's'\n")
    with pytest.raises(ValueError, match="these settings belong into the shared space"):
        own_space("asyco", tmp_path)
    write(tmp_path, "shared", "[hparams.rho]\nvalues = [0.1]\nsource = 's'\n")
    with pytest.raises(ValueError, match="they belong into the space of a method"):
        shared_space(tmp_path)
    write(tmp_path, "shared", "[train.lr]\nvalues = [0.1]\nsource = 's'\n")
    with pytest.raises(ValueError, match=r"train\.lr: needs a default, for trial 0"):
        shared_space(tmp_path)
    write(tmp_path, "shared", "[train.lr]\nvalues = [0.1]\ndefault = 0.2\nsource = 's'\n")
    with pytest.raises(ValueError, match=r"default 0\.2 is outside of it"):
        shared_space(tmp_path)
    write(tmp_path, "shared", "[train.schedul]\nvalues = [0.1]\ndefault = 0.1\nsource = 's'\n")
    with pytest.raises(ValueError, match="unknown key 'schedul', did you mean sched"):
        shared_space(tmp_path)


def test_a_folder_of_ones_own_comes_before_the_suites(tmp_path: Path) -> None:
    write(tmp_path, "asyco", "[hparams.rho]\nvalues = [0.1, 0.2]\nsource = 's'\n")
    assert own_space("asyco", tmp_path).hparams["rho"].values == (0.1, 0.2)
    assert own_space("syco", tmp_path) == own_space("syco")
    assert shared_space(tmp_path) == shared_space()
    with pytest.raises(FieldError, match=r"spaces .*nosuch: no such folder"):
        shared_space(tmp_path / "nosuch")


PLUGIN = """
from pllbench.method import Hparams, Method
class MyHparams(Hparams):
    alpha: float = 1.0
class Mine(Method[MyHparams]):
    hparams_type = MyHparams
    def loss(self, batch): ...
    def predict(self, x): ...
"""


def test_a_plug_in_ships_its_space_beside_its_module(install: Install, tmp_path: Path) -> None:
    install("mine", {"mine": "mine_module:Mine"}, mine_module=PLUGIN)
    with pytest.raises(FieldError, match=r"methods mine: no space; write .*spaces/mine\.toml"):
        own_space("mine")
    write(
        tmp_path / "mine" / "spaces", "mine", "[hparams.alpha]\nvalues = [1.0, 2.0]\nsource = 's'\n"
    )
    assert own_space("mine").hparams["alpha"].ends == (1.0, 2.0)


def test_the_digest_is_of_what_is_searched_alone() -> None:
    one = Space(hparams={"a": Range(low=1, high=2, source="a paper")})
    assert one.digest == Space(hparams={"a": Range(low=1, high=2, source="ours")}).digest
    others = [
        Space(hparams={"a": Range(low=1, high=3, source="ours")}),
        Space(hparams={"a": Range(low=1, high=2, log=True, source="ours")}),
        Space(hparams={"b": Range(low=1, high=2, source="ours")}),
        Space(train={"a": Range(low=1, high=2, source="ours")}),
        Space(),
    ]
    assert len({one.digest, *(space.digest for space in others)}) == 6
