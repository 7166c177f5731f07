"""Facts about a data set, its split and its candidate sets."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from pllbench.candidates.sets_spec import SetsSpec
from pllbench.data.audit import audit_dataset, describe
from pllbench.data.catalogue import DATASETS
from pllbench.data.custom import custom_info
from pllbench.data.dataset import split
from pllbench.data.readers.base import Dataset
from pllbench.spec import CandidateSpec
from tests import plugins
from tests.data.files import NUM_TEST, NUM_TRAIN, make_small_cifar10, real_data_dir, save_npz

DIGITS, LOST = DATASETS["digits"], DATASETS["lost"]


def make(x: Tensor, y: Tensor, num_classes: int, candidates: Tensor | None = None) -> Dataset:
    return Dataset(DIGITS, x, y, num_classes, candidates)


def uniform(q: float, **options: object) -> CandidateSpec:
    return CandidateSpec.parse({"process": "uniform", "q": q} | options)


def test_describe_counts() -> None:
    x = torch.rand(20, 3, generator=torch.Generator().manual_seed(0)) + 1
    x[:, 2] = 5
    x[4] = 0
    x[7] = -0.0
    dataset = make(x, torch.arange(20) % 3, 5)
    facts = describe(dataset, seed=0)
    assert facts.name == "digits"
    assert (facts.num_rows, facts.num_features, facts.num_classes) == (20, 3, 5)
    assert facts.absent_classes == (3, 4)
    assert facts.constant_columns == 0
    assert facts.zero_rows == 2
    assert facts.duplicate_rows == 1
    assert (facts.num_train, facts.num_test) == (16, 4)
    assert facts.leaked_rows == 0
    _, test = split(dataset, 0)
    assert {4, 7}.isdisjoint(test.tolist())

    x[test[0]] = 0
    leaking = describe(make(x, dataset.y, 5), seed=0)
    assert leaking.leaked_rows == 1
    assert leaking.digest != facts.digest


def test_classes_without_a_training_row_a_test_row_or_a_candidate_are_named(
    tmp_path: Path,
) -> None:
    """Of classes 0 to 3, 3 has test rows alone, 2 training rows alone, and 1 is never a candidate.

    Training rows of class 1 are noisy: their sets lack it.
    """
    y = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 3, 3])
    sets = torch.zeros(10, 4, dtype=torch.bool)
    sets[:, 0] = sets[:, 2] = sets[8:] = True
    path = save_npz(tmp_path, x=torch.rand(10, 2), y=y, candidates=sets, num_train=6)
    facts = audit_dataset(custom_info(path), tmp_path, SetsSpec(), seed=0)
    assert facts["untrained_classes"] == [3]
    assert facts["untested_classes"] == [2]
    assert facts["never_candidates"] == [1, 3]


def test_digest_covers_labels_and_candidates() -> None:
    x, y = torch.rand(10, 2), torch.arange(10) % 2
    sets = torch.ones(10, 2, dtype=torch.bool)
    variants = [make(x, y, 2), make(x, 1 - y, 2), make(x, y, 3), make(x, y, 2, sets)]
    assert len({describe(dataset, 0).digest for dataset in variants}) == 4


def test_images_are_described_by_their_bytes() -> None:
    shape, generator = (NUM_TRAIN + NUM_TEST, 3, 32, 32), torch.Generator().manual_seed(0)
    x = torch.randint(1, 256, shape, dtype=torch.uint8, generator=generator)
    dataset = replace(make_small_cifar10(), x=x)
    dataset.x[3] = 0
    dataset.x[NUM_TRAIN] = dataset.x[5]
    facts = describe(dataset, 0)
    assert (facts.num_rows, facts.num_features) == (NUM_TRAIN + NUM_TEST, 3 * 32 * 32)
    assert (facts.zero_rows, facts.duplicate_rows, facts.leaked_rows) == (1, 1, 1)
    digest = facts.digest
    dataset.x[7, 0, 0, 0] += 1
    assert describe(dataset, 0).digest != digest


def test_digits(tmp_path: Path) -> None:
    facts = audit_dataset(DIGITS, tmp_path, SetsSpec(uniform(0.5)), seed=1)
    assert facts["kind"] == "tabular"
    assert (facts["num_rows"], facts["num_features"], facts["num_classes"]) == (1797, 64, 10)
    assert (facts["num_train"], facts["num_test"]) == (1438, 359)
    assert facts["candidates"] == "process=uniform, q=0.5, policy=force"
    assert facts["candidate_rows"] == 1438
    assert facts["candidates_mean"] == pytest.approx(1 + 9 * 0.5, abs=0.1)
    assert facts["candidates_min"] == 2
    assert facts["candidates_max"] == 10
    assert facts["candidates_singletons"] == 0
    assert facts["candidates_without_true"] == 0


def test_sets_follow_seed_rate_and_policy(tmp_path: Path) -> None:
    def digest(process: CandidateSpec, seed: int = 0) -> object:
        return audit_dataset(DIGITS, tmp_path, SetsSpec(process), seed)["candidate_digest"]

    plain = uniform(0.5)
    assert digest(plain) == digest(uniform(0.5, policy="force"))
    variants = [
        digest(plain),
        digest(uniform(0.3)),
        digest(plain, seed=1),
        digest(uniform(0.5, policy="resample")),
    ]
    assert len(set(variants)) == 4


def test_real_candidate_sets(tmp_path: Path) -> None:
    plugins.write_lost(tmp_path)
    facts = audit_dataset(LOST, tmp_path, SetsSpec(), seed=0)
    assert facts["candidates"] == "real"
    assert (facts["num_rows"], facts["candidate_rows"]) == (100, 80)
    assert (facts["candidates_min"], facts["candidates_mean"], facts["candidates_max"]) == (2, 2, 2)


def test_a_custom_data_set_is_audited_with_its_content_digest(tmp_path: Path) -> None:
    info = custom_info(save_npz(tmp_path))
    facts = audit_dataset(info, tmp_path, SetsSpec(uniform(0.5)), seed=0)
    assert (facts["kind"], facts["name"], facts["num_rows"]) == ("tabular", "mine", 40)
    assert facts["digest"] == info.digest


def test_a_missing_file_and_a_process_that_needs_an_annotator_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="data set 'italian': no file"):
        audit_dataset(DATASETS["italian"], tmp_path, SetsSpec(), seed=0)
    sets = SetsSpec(CandidateSpec(process="instance", q=0.5))
    with pytest.raises(ValueError, match="process instance needs an annotator, which a run trains"):
        audit_dataset(DIGITS, tmp_path, sets, seed=0)


@pytest.mark.parametrize(
    ("name", "process", "rows", "features", "classes"),
    [("cnae9", uniform(0.1), 1080, 856, 9), ("birdsong", None, 4998, 38, 13)],
)
def test_real_files(
    name: str, process: CandidateSpec | None, rows: int, features: int, classes: int
) -> None:
    facts = audit_dataset(DATASETS[name], real_data_dir(name), SetsSpec(process), seed=0)
    assert facts["num_rows"] == rows
    assert (facts["num_features"], facts["num_classes"]) == (features, classes)
    assert facts["num_train"] == rows - round(rows / 5)
