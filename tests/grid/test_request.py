"""A selection from Python values: what they mean, and one line for each that is wrong."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllbench.data.arrays import Arrays
from pllbench.grid.plan import Selection
from pllbench.grid.request import Parts, make_selection, method_name
from pllbench.method import Method
from pllbench.registry import load_method
from pllbench.validation import FieldError
from tests.factories import Toy


def asked(**parts: Any) -> Selection:
    """A selection of parts whose types nobody has checked."""
    return make_selection(Parts(**parts))  # type: ignore[typeddict-item]


def test_no_part_asks_for_everything() -> None:
    found = asked()
    assert found == Selection(protocol=found.protocol)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"methods": "cc"}, {"methods": ("cc",)}),
        ({"methods": ["rc", "cc", "rc"]}, {"methods": ("rc", "cc")}),
        ({"datasets": "digits"}, {"datasets": ("digits",)}),
        ({"datasets": Path("birds.npz")}, {"datasets": ("./birds.npz",)}),
        ({"datasets": Path("birds")}, {"datasets": ("./birds",)}),
        ({"datasets": [Path("/data/birds"), "lost"]}, {"datasets": ("/data/birds", "lost")}),
        ({"q": 0.3}, {"q": (0.3,)}),
        ({"q": [0.1 + 0.2, 1]}, {"q": (0.3, 1.0)}),
        ({"q": np.arange(1, 4) / 10}, {"q": (0.1, 0.2, 0.3)}),
        ({"imbalance": 50}, {"imbalance": (50.0,)}),
        ({"seeds": 3}, {"seeds": (0, 1, 2)}),
        ({"seeds": [7]}, {"seeds": (7,)}),
        ({"seeds": range(100, 102)}, {"seeds": (100, 101)}),
        ({"seeds": np.arange(2)}, {"seeds": (0, 1)}),
        ({"methods": None, "datasets": None, "q": None, "seeds": None}, {"methods": ()}),
    ],
)
def test_lists_and_single_values(parts: dict[str, Any], expected: dict[str, Any]) -> None:
    found = asked(**parts)
    assert {name: getattr(found, name) for name in expected} == expected
    assert found.flags == ()


@pytest.mark.parametrize(
    ("parts", "reason", "expected"),
    [
        ({"epochs": 5}, "epochs 5", {"train": {"epochs": 5}}),
        ({"folds": 5}, "folds 5", {"folds": 5}),
        ({"network": "mlp"}, "network mlp", {"train": {"network": "mlp"}}),
        ({"train": {"lr": np.float32(0.5)}}, "train lr=0.5", {"train": {"lr": 0.5}}),
        (
            {"train": {"milestones": (0.5, 0.9)}},
            "train milestones=(0.5, 0.9)",
            {"train": {"milestones": [0.5, 0.9]}},
        ),
        (
            {"views": {"scaling": "zscore"}},
            "views scaling=zscore",
            {"views": {"scaling": "zscore"}},
        ),
        (
            {"hparams": {"rc": {"num_strong": 1}}},
            "hparams rc.num_strong=1",
            {"hparams": {"num_strong": 1}, "when": {"method": ["rc"]}},
        ),
        ({"candidates": "pair"}, "candidates pair", {"candidates": {"process": "pair"}}),
        (
            {"candidates": {"process": "noisy", "eta": 0.1}},
            "candidates noisy",
            {"candidates": {"process": "noisy", "eta": 0.1}},
        ),
        ({"annotations": "votes=2"}, "annotations votes=2", {"annotations": "votes=2"}),
        (
            {"pruning": {"tau": 0.6, "k": 5, "features": Path("f.npy")}},
            "pruning",
            {"pruning": {"tau": 0.6, "k": 5, "features": "f.npy"}},
        ),
        ({"holdout": 0.1}, "holdout 0.1", {"holdout": 0.1}),
    ],
)
def test_every_other_part_is_a_setting_that_says_what_was_asked(
    parts: dict[str, Any], reason: str, expected: dict[str, Any]
) -> None:
    [setting] = asked(**parts).flags
    assert setting.reason == reason
    found = setting.model_dump(mode="json", exclude_defaults=True, exclude={"reason"})
    assert found == expected


def test_a_class_is_named_by_itself_and_a_registered_one_by_its_entry_point() -> None:
    found = asked(methods=[Toy, load_method("cc"), "rc"])
    assert found.methods == ("Toy", "cc", "rc")
    assert found.classes == {"Toy": Toy}


def test_arrays_are_named() -> None:
    assert asked(datasets=Arrays("birds", [[0.0]], [0])).datasets == ("birds",)


class Unfinished(Toy):
    predict = Method.predict


def class_named(name: str) -> type:
    return type(name, (Toy,), {})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"method": "cc"}, "method: no such part, did you mean methods?"),
    ({"methods": int}, "methods int: is not a subclass of pllbench.method.Method"),
    ({"methods": [3]}, "methods 3: is not a subclass of pllbench.method.Method"),
    ({"methods": Unfinished}, "methods Unfinished: lacks predict"),
    (
        {"methods": class_named("CC")},
        "methods CC: rename the class: a method is registered as 'cc'",
    ),
    (
        {"methods": [class_named("Mine"), class_named("Mine")]},
        "methods Mine: two classes have this name: rename one",
    ),
    ({"q": [[0.3]]}, "q [0.3]: must be a number from 0 to 1"),
    ({"datasets": [3]}, "datasets int: must be a name, a path or Arrays"),
    ({"benchmark": "birdsnog"}, "unknown benchmark 'birdsnog': did you mean birdsong?"),
    ({"q": 1.5}, "q 1.5: must be a number from 0 to 1"),
    ({"q": "0.3"}, "q 0.3: must be a number from 0 to 1"),
    ({"q": [0.3, None]}, "q None: must be a number from 0 to 1"),
    ({"q": float("nan")}, "q nan: must be a number from 0 to 1"),
    ({"imbalance": 0.5}, "imbalance 0.5: must be a number from 1 to 1000000000"),
    ({"seeds": 0}, "seeds 0: a number of seeds is from 1 to 10000"),
    ({"seeds": [1.5]}, "seeds 1.5: must be a number of seeds (3), or a list of seeds"),
    ({"seeds": [-1]}, "seeds -1: must be a number of seeds (3), or a list of seeds"),
    ({"seeds": True}, "seeds True: must be a number of seeds (3), or a list of seeds"),
    ({"epochs": 0}, "epochs 0: epochs: Input should be greater than or equal to 1, got 0"),
    ({"epochs": "5"}, "epochs 5: epochs: Input should be a valid integer, got '5'"),
    ({"network": "mlpp"}, "network mlpp: network: Input should be 'linear', 'mlp', "),
    ({"train": {"lrr": 1}}, "train lrr=1: unknown key 'lrr', did you mean lr?"),
    ({"train": 3}, "train 3: must be a dictionary, such as {'name': value}"),
    ({"views": {"noise_std": -1}}, "views noise_std=-1: noise_std: Input should be greater than"),
    ({"hparams": {"num_strong": 1}}, "hparams 1: must be a dictionary, such as {'name': value}"),
    ({"candidates": "pairs"}, "candidates pairs: process: Input should be 'uniform', "),
    ({"candidates": {"process": "noisy"}}, "candidates noisy: process noisy needs eta > 0"),
    ({"candidates": {"process": "pair", "q": 0.1}}, "candidates: q is a part of its own"),
    ({"annotations": "all"}, "annotations all: annotations: rule 'all': must be union, "),
    ({"pruning": {"tau": 0.6}}, "pruning: k: Field required"),
]


@pytest.mark.parametrize(("parts", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_part_is_named_in_one_line(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as raised:
        asked(**parts)
    assert "\n" not in str(raised.value)


def test_the_name_of_a_method_is_text_or_class() -> None:
    assert (method_name("asyco"), method_name(Toy)) == ("asyco", "Toy")
    with pytest.raises(FieldError):
        method_name(int)  # type: ignore[arg-type]
