"""Annotators: an ordinary run on true labels, trained once, whose scores make candidate sets."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pllbench.data.catalogue import dataset_info
from pllbench.data.dataset import load_dataset, split
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Setting, When, default_protocol
from pllbench.grid.resolve import annotator_run
from pllbench.registry import load_method
from pllbench.runner import annotator
from pllbench.runner.annotator import annotate
from pllbench.runner.job import Job, RunOptions, execute
from pllbench.spec import RunSpec
from pllbench.training.trainer import Interrupted, Progress

CPU = torch.device("cpu")
DIGITS = dataset_info("digits")
OPTIONS = {"process": "instance", "annotator_epochs": 2}


def run(seed: int = 0, q: float = 0.4, **options: object) -> RunSpec:
    """A run with instance-dependent candidate sets."""
    given = OPTIONS | options
    return planned_spec(seed, () if options.get("rule") == "max" else (q,), given)


def uniform_run() -> RunSpec:
    """A run on the same data whose candidate sets need no annotator."""
    return planned_spec(0, (0.3,), {"process": "uniform"})


def planned_spec(seed: int, q: tuple[float, ...], candidates: Mapping[str, object]) -> RunSpec:
    flags = (
        Setting.parse({"reason": "--candidates", "candidates": candidates}),
        Setting(reason="--epochs", train={"epochs": 1}),
    )
    selection = Selection(methods=("cc",), datasets=("digits",), q=q, seeds=(seed,), flags=flags)
    [planned] = plan(selection)
    return planned.spec


def job(spec: RunSpec, folder: Path, annotators: Path | None = None) -> Job:
    options = RunOptions(folder / "results", folder, "cpu")
    return Job(spec, DIGITS, options, annotators=annotators)


def test_the_annotators_run_is_a_supervised_one_with_the_runs_split() -> None:
    found = annotator_run(run(), DIGITS, 3)
    assert (found.labels, found.candidates, found.seed) == ("true", None, 3)
    assert (found.train.network, found.train.epochs) == ("mlp", 2)
    assert found.hparams["num_strong"] == 0
    assert annotator_run(run(), DIGITS, 4).run_id != found.run_id
    assert annotator_run(run(q=0.1), DIGITS, 3).run_id == found.run_id


@pytest.mark.parametrize(("num_train", "seeds"), [(None, (0, 5)), (1000, (0,))])
def test_a_fixed_split_has_one_annotator_for_all_seeds(
    tmp_path: Path, num_train: int | None, seeds: tuple[int, ...]
) -> None:
    dataset = replace(load_dataset(DIGITS, tmp_path), num_train=num_train)
    found = {annotate(run(seed=s), dataset, CPU, tmp_path).facts.run_id for s in (0, 5)}
    assert found == {annotator_run(run(), DIGITS, seed).run_id for seed in seeds}


@pytest.mark.parametrize("change", ["version", "protocol"])
def test_runs_are_others_when_their_annotator_is_another(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, plain = run(), uniform_run()
    if change == "version":
        monkeypatch.setattr(load_method("supervised"), "version", 99)
    else:
        protocol = default_protocol()
        slower = Setting(reason="lr", when=When(method=("supervised",)), train={"lr": 0.01})
        changed = protocol.model_copy(update={"setting": (*protocol.setting, slower)})
        monkeypatch.setattr("pllbench.grid.resolve.default_protocol", lambda: changed)
    assert run().run_id != before.run_id
    assert run().model_copy(update={"annotator": before.annotator}).run_id == before.run_id
    assert uniform_run() == plain
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
    dataset = load_dataset(DIGITS, tmp_path)
    spec = run()
    first = annotate(spec, dataset, CPU, tmp_path)
    assert first.logits.shape == (1438, 10)
    assert first.facts.run_id == spec.annotator == annotator_run(spec, DIGITS, 0).run_id
    assert first.facts.train_accuracy > 0.5
    train, _ = split(dataset, 0)
    right = first.logits.argmax(1) == dataset.y[train].numpy()
    assert right.mean() == first.facts.train_accuracy
    monkeypatch.delattr(annotator, "train")
    again = annotate(run(q=0.1), dataset, CPU, tmp_path)
    assert np.array_equal(again.logits, first.logits)
    assert again.facts == first.facts


def test_the_chunk_of_its_evaluation_changes_no_candidate_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for chunk in (7, 1000):
        monkeypatch.setattr("pllbench.training.evaluation.EVALUATION_CHUNK", chunk)
        record, _ = execute(job(run(), tmp_path, tmp_path / str(chunk)))
        digests.add(record.provenance.audit.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("rule", ["mean_rate", "max"])
def test_a_record_tells_of_its_annotator(tmp_path: Path, rule: str) -> None:
    record, _ = execute(job(run(rule=rule), tmp_path))
    assert record.provenance.annotator is not None
    assert record.provenance.annotator.test_accuracy > 0.5
    audit = record.provenance.audit
    assert audit.without_true == 0
    assert 1 < audit.mean < 10
    if rule == "max":
        assert audit.min >= 2
    plain, _ = execute(job(uniform_run(), tmp_path))
    assert plain.provenance.annotator is None


def test_a_request_to_stop_is_obeyed_while_the_annotator_trains(tmp_path: Path) -> None:
    stopping = job(run(), tmp_path, tmp_path / "annotators")
    seen: list[Progress] = []

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return False

    with pytest.raises(Interrupted):
        execute(stopping, stop)
    assert [progress.epoch for progress in seen] == [0]
    stopped, _ = execute(stopping)
    straight, _ = execute(replace(stopping, annotators=tmp_path / "others"))
    assert stopped.provenance.audit == straight.provenance.audit
    assert stopped.result == straight.result
