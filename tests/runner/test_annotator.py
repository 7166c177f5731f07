"""Annotators: an ordinary run on true labels, trained once, whose scores make candidate sets."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from pllbench.data import dataset as datasets
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting, When, default_protocol
from pllbench.grid.resolve import annotator_run
from pllbench.registry import load_method
from pllbench.runner import annotator as annotators
from pllbench.runner.annotator import annotate
from pllbench.runner.job import Job, execute
from pllbench.spec import RunSpec
from pllbench.training.trainer import Interrupted, Progress

CPU = torch.device("cpu")
OPTIONS = {"process": "instance", "annotator_network": "mlp", "annotator_epochs": 2}


def run(dataset: str = "digits", seed: int = 0, q: float = 0.4, **options: object) -> RunSpec:
    given = OPTIONS | options
    flags = (
        Setting.parse({"reason": "--candidates", "candidates": given}),
        Setting(reason="--epochs", train={"epochs": 1}),
    )
    rates = () if options.get("rule") == "max" else (q,)
    selection = Selection(methods=("cc",), datasets=(dataset,), q=rates, seeds=(seed,), flags=flags)
    [planned] = plan(selection)
    return planned.spec


def test_the_annotators_run_is_a_supervised_one_with_the_runs_split() -> None:
    found = annotator_run(run(), 3)
    assert (found.labels, found.candidates, found.seed) == ("true", None, 3)
    assert (found.train.network, found.train.epochs) == ("mlp", 2)
    assert found.hparams["num_strong"] == 0
    assert annotator_run(run(), 4).run_id != found.run_id
    assert annotator_run(run(q=0.1), 3).run_id == found.run_id


@pytest.mark.parametrize("split_by", ["random", "fixed"])
def test_a_fixed_split_has_one_annotator_for_all_seeds(
    tmp_path: Path, split_by: Literal["random", "fixed"]
) -> None:
    dataset = datasets.load("digits", tmp_path)
    if split_by == "fixed":
        dataset = replace(dataset, split_by="fixed", num_train=1000)
    found = {annotate(run(seed=s), dataset, CPU, tmp_path).facts.run_id for s in (0, 5)}
    expected = {annotator_run(run(), s).run_id for s in ((0,) if split_by == "fixed" else (0, 5))}
    assert found == expected


@pytest.mark.parametrize("change", ["version", "protocol"])
def test_runs_are_others_when_their_annotator_is_another(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, plain = run(), replace_process(run())
    if change == "version":
        monkeypatch.setattr(load_method("supervised"), "version", 99)
    else:
        protocol = default_protocol()
        slower = Setting(reason="lr", when=When(method=("supervised",)), train={"lr": 0.01})
        changed = protocol.model_copy(update={"setting": (*protocol.setting, slower)})
        monkeypatch.setattr("pllbench.grid.resolve.default_protocol", lambda: changed)
    assert run().run_id != before.run_id
    assert run().model_copy(update={"annotator": before.annotator}).run_id == before.run_id
    assert replace_process(run()) == plain
    assert plain.annotator is None


def test_runs_of_other_seeds_differ_in_the_seed_alone() -> None:
    assert run(seed=1).model_copy(update={"seed": 0}).run_id == run(seed=0).run_id


@pytest.mark.parametrize(
    ("name", "problem"),
    [("proden", "learns from candidate sets"), ("nobody", "nobody")],
)
def test_an_annotator_must_learn_from_labels(name: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        run(annotator=name)


def test_it_is_trained_once_and_its_scores_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = datasets.load("digits", tmp_path)
    spec = run()
    first = annotate(spec, dataset, CPU, tmp_path)
    assert first.logits.shape == (1438, 10)
    assert first.facts.run_id == spec.annotator == annotator_run(spec, 0).run_id
    assert first.facts.train_accuracy > 0.5
    train, _ = datasets.split(dataset, 0)
    right = first.logits.argmax(1) == dataset.y[train].numpy()
    assert right.mean() == first.facts.train_accuracy
    monkeypatch.delattr(annotators, "train")
    again = annotate(run(q=0.1), dataset, CPU, tmp_path)
    assert np.array_equal(again.logits, first.logits)
    assert again.facts == first.facts


def test_the_chunk_of_its_evaluation_changes_no_candidate_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for chunk in (7, 1000):
        monkeypatch.setattr("pllbench.training.trainer.EVALUATION_CHUNK", chunk)
        record, _ = execute(Job(run(), tmp_path, "cpu", annotators=tmp_path / str(chunk)))
        digests.add(record.provenance.audit.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("rule", ["mean_rate", "max"])
def test_a_record_tells_of_its_annotator(tmp_path: Path, rule: str) -> None:
    record, _ = execute(Job(run(rule=rule), tmp_path, "cpu"))
    assert record.provenance.annotator is not None
    assert record.provenance.annotator.test_accuracy > 0.5
    audit = record.provenance.audit
    assert audit.without_true == 0
    assert 1 < audit.mean < 10
    if rule == "max":
        assert audit.min >= 2
    plain, _ = execute(Job(replace_process(record.spec), tmp_path, "cpu"))
    assert plain.provenance.annotator is None


def replace_process(spec: RunSpec) -> RunSpec:
    flags = (Setting(reason="--epochs", train={"epochs": 1}),)
    [planned] = plan(
        Selection(methods=("cc",), datasets=(spec.dataset,), q=(0.3,), seeds=(0,), flags=flags)
    )
    return planned.spec


def test_a_request_to_stop_is_obeyed_while_the_annotator_trains(tmp_path: Path) -> None:
    job = Job(run(), tmp_path, "cpu", annotators=tmp_path / "annotators")
    seen: list[Progress] = []

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return False

    with pytest.raises(Interrupted):
        execute(job, stop)
    assert [progress.epoch for progress in seen] == [0]
    stopped, _ = execute(job)
    straight, _ = execute(replace(job, annotators=tmp_path / "others"))
    assert stopped.provenance.audit == straight.provenance.audit
    assert stopped.result == straight.result
