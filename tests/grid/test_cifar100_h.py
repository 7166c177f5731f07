"""CIFAR-100-H: a data set whose name means candidates of the true label's superclass."""

import json
from pathlib import Path

import pytest

from pllbench.data.catalogue import DATASETS
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting
from pllbench.spec import CandidateSpec
from tests.commands import pllbench, refused
from tests.data.test_readers_torchvision import write_cifar


def runs(q: tuple[float, ...] = (), **candidates: object) -> list[PlannedRun]:
    flags: tuple[Setting, ...] = ()
    if candidates:
        flags = (Setting.parse({"reason": "--candidates", "candidates": candidates}),)
    return plan(Selection(methods=("cc",), datasets=("cifar100-h",), q=q, seeds=(0,), flags=flags))


def test_its_files_are_those_of_cifar100_and_its_sets_hierarchical() -> None:
    named, plain = DATASETS["cifar100-h"], DATASETS["cifar100"]
    for field in ("file", "torchvision", "kind", "split", "num_classes", "superclasses", "pixels"):
        assert getattr(named, field) == getattr(plain, field)
    found = runs()
    assert [run.spec.q for run in found] == [0.1, 0.5, 0.8], "the rates of PiCO and WSC"
    assert {run.spec.candidates and run.spec.candidates.process for run in found} == {
        "hierarchical"
    }
    assert found[0].title == "CC · cifar100-h hierarchical q=0.1 · seed 0"


def changed(dataset: str) -> dict[str, dict[str, object]]:
    """Settings of methods for noisy sets that are not the declared ones."""
    methods = ("pico_plus", "alim", "irnet")
    specs = (r.spec for r in plan(Selection(methods=methods, datasets=(dataset,), q=(0.5,))))
    return {spec.method: {key: spec.hparams[key] for key in spec.changed} for spec in specs}


def test_methods_for_noisy_sets_have_their_settings_of_100_classes() -> None:
    """With those of 10 classes IRNet's margin could hardly be passed."""
    assert changed("cifar100-h") == {
        "pico_plus": {"proto_start": 50.0, "num_neighbours": 5},
        "alim": {"target": "scale"},
        "irnet": {"cls_loss": "ce", "theta": 0.002},
    }
    assert changed("cifar100-h") == changed("cifar100")


def test_its_noisy_form_is_an_option() -> None:
    (run,) = runs((0.5,), process="hierarchical", eta=0.2)
    assert run.spec.candidates == CandidateSpec(process="hierarchical", q=0.5, eta=0.2)
    (same,) = runs((0.5,), eta=0.2)
    assert same.spec.run_id == run.spec.run_id


def test_other_processes_are_refused_under_its_name() -> None:
    message = "cifar100-h: its candidate sets are those of process hierarchical, not uniform"
    with pytest.raises(ValueError, match=message):
        runs(process="uniform")
    assert refused("data", "cifar100-h", "--candidates", "uniform") == message


def test_it_is_listed_with_its_process() -> None:
    listed = json.loads(pllbench("list", "datasets", "--json").out)
    candidates = {row["name"]: row["candidates"] for row in listed}
    assert candidates["cifar100-h"] == "hierarchical"
    assert candidates["cifar100"] == "generated"
    assert candidates["birdsong"] == "real"
    assert candidates["dcic-pig"] == "annotations"


def test_small_files_in_the_exact_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cifar(tmp_path, "cifar100", monkeypatch)
    answer = pllbench("data", "cifar100-h", "--data-dir", tmp_path, "--q", 0.5, "--json")
    facts = json.loads(answer.out)
    assert facts["candidates"] == "process=hierarchical, q=0.5, eta=0.0"
    assert facts["candidates_max"] <= 5
    assert facts["candidates_mean"] == pytest.approx(3.0, abs=0.6)
