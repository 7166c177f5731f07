"""Human candidate sets of CIFAR-10: unions of labels, votes, and the real files."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pllbench.candidates.audit import audit_candidates
from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset, split
from tests.data.files import NUM_TEST, NUM_TRAIN, real_data_dir, save_human, small_labels

with_small_cifar10 = pytest.mark.usefixtures("small_cifar10")


def save_cifar10n(folder: Path) -> None:
    """Labels of three annotators: the true one, the next one, and another one for class 3."""
    y = small_labels()[:NUM_TRAIN].astype(np.uint8)
    save_human(
        folder,
        "cifar10n_train_labels.npz",
        clean_label=y,
        random_label1=y,
        random_label2=(y + 1) % 10,
        random_label3=np.where(y == 3, (y + 2) % 10, y),
    )


@with_small_cifar10
def test_cifar10n_is_the_union_of_three_annotators(tmp_path: Path) -> None:
    save_cifar10n(tmp_path)
    dataset = load_dataset(DATASETS["cifar10n"], tmp_path)
    assert dataset.candidates is not None
    assert [np.flatnonzero(row).tolist() for row in dataset.candidates[:4].numpy()] == [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 4, 5],
    ]
    train, test = split(dataset, 3)
    assert (len(train), len(test)) == (NUM_TRAIN, NUM_TEST)
    assert (dataset.candidates[test].sum(1) == 1).all()


@with_small_cifar10
def test_the_first_images_keep_the_candidate_sets_of_their_annotators(tmp_path: Path) -> None:
    save_cifar10n(tmp_path)
    whole = load_dataset(DATASETS["cifar10n"], tmp_path)
    first = load_dataset(replace(DATASETS["cifar10n-5k"], first=(5, 2)), tmp_path)
    assert whole.candidates is not None
    assert first.candidates is not None
    rows = [0, 1, 2, 3, 4, NUM_TRAIN, NUM_TRAIN + 1]
    assert torch.equal(first.candidates, whole.candidates[rows])
    assert first.y.tolist() == small_labels()[rows].tolist()
    assert first.num_train == 5


@with_small_cifar10
def test_cifar10h_is_the_test_images_with_every_class_that_got_a_vote(tmp_path: Path) -> None:
    votes = np.zeros((NUM_TEST, 10), dtype=np.uint8)
    votes[np.arange(NUM_TEST), small_labels()[NUM_TRAIN:]] = 40
    votes[2, 7] = 1
    save_human(tmp_path, "cifar10h_test_counts.npz", counts=votes)
    dataset = load_dataset(DATASETS["cifar10h"], tmp_path)
    assert dataset.x[:, 0, 0, 0].tolist() == list(range(NUM_TRAIN, NUM_TRAIN + NUM_TEST))
    assert dataset.candidates is not None
    assert dataset.candidates[2].nonzero().flatten().tolist() == [2, 7]
    train, test = split(dataset, 0)
    assert (len(train), len(test)) == (8, 2)


@with_small_cifar10
@pytest.mark.parametrize(
    ("name", "expected"),
    [("plcifar10-aggregate", [1, 2, 4, 5, 6, 7, 8]), ("plcifar10-vaguest", [1, 4, 5])],
)
def test_plcifar10_takes_the_union_or_the_first_of_the_largest_sets(
    tmp_path: Path, name: str, expected: list[int]
) -> None:
    sets = {row: [[row % 10], [row % 10, 4], [1, 4, 5], [6, 7, 8]] for row in range(NUM_TRAIN)}
    path = tmp_path / "plcifar10" / "plcifar10.pkl"
    path.parent.mkdir()
    path.write_bytes(pickle.dumps(sets))
    candidates = load_dataset(DATASETS[name], tmp_path).candidates
    assert candidates is not None
    assert candidates[2].nonzero().flatten().tolist() == expected


def test_real_cifar10n() -> None:
    dataset = load_dataset(DATASETS["cifar10n"], real_data_dir("cifar10n"))
    assert dataset.candidates is not None
    sets, y = dataset.candidates[:50_000].numpy(), dataset.y[:50_000].numpy()
    facts = audit_candidates(sets, y)
    assert facts.mean == pytest.approx(1.457, abs=5e-4)
    assert facts.without_true is not None
    assert 1 - facts.without_true == pytest.approx(0.9787, abs=5e-5)
