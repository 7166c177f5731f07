"""Human candidate sets of CIFAR-10: unions and votes, order, and what is refused."""

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pllbench.candidates.audit import audit
from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load, split
from pllbench.data.readers.base import Content

NUM_TRAIN, NUM_TEST = 20, 10
Y = torch.arange(NUM_TRAIN + NUM_TEST) % 10


@pytest.fixture(autouse=True)
def small_cifar10(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Thirty images in place of CIFAR-10's."""
    if "real" in request.node.name:
        return
    x = torch.zeros(len(Y), 3, 32, 32, dtype=torch.uint8)
    x[:, 0, 0, 0] = torch.arange(len(Y), dtype=torch.uint8)
    content = Content(x, Y, 10, num_train=NUM_TRAIN)
    monkeypatch.setattr("pllbench.data.readers.human.read_torchvision", lambda *_: content)


def annotators() -> dict[str, Any]:
    y = Y[:NUM_TRAIN].numpy().astype(np.uint8)
    return {
        "clean_label": y,
        "random_label1": y,
        "random_label2": (y + 1) % 10,
        "random_label3": np.where(y == 3, (y + 2) % 10, y),
    }


def save(folder: Path, name: str, content: dict[str, Any]) -> Path:
    path = folder / "cifar10_human" / name
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **content)
    return path


def test_cifar10n_is_the_union_of_three_annotators(tmp_path: Path) -> None:
    save(tmp_path, "cifar10n_train_labels.npz", annotators())
    dataset = load("cifar10n", tmp_path)
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


def test_the_first_images_keep_the_candidate_sets_of_their_annotators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, "cifar10n_train_labels.npz", annotators())
    reduced = DATASETS["cifar10n-5k"]
    assert reduced.first == (5_000, 1_000)
    monkeypatch.setitem(DATASETS, "cifar10n-5k", replace(reduced, first=(5, 2)))
    whole, dataset = load("cifar10n", tmp_path), load("cifar10n-5k", tmp_path)
    assert whole.candidates is not None
    assert dataset.candidates is not None
    rows = [0, 1, 2, 3, 4, NUM_TRAIN, NUM_TRAIN + 1]
    assert torch.equal(dataset.candidates, whole.candidates[rows])
    assert dataset.y.tolist() == Y[rows].tolist()
    assert dataset.num_train == 5


def test_cifar10h_is_the_test_images_with_whatever_got_a_vote(tmp_path: Path) -> None:
    votes = np.zeros((NUM_TEST, 10), dtype=np.uint8)
    votes[np.arange(NUM_TEST), Y[NUM_TRAIN:]] = 40
    votes[2, 7] = 1
    save(tmp_path, "cifar10h_test_counts.npz", {"counts": votes})
    dataset = load("cifar10h", tmp_path)
    assert dataset.x[:, 0, 0, 0].tolist() == list(range(NUM_TRAIN, NUM_TRAIN + NUM_TEST))
    assert dataset.candidates is not None
    assert dataset.candidates[2].nonzero().flatten().tolist() == [2, 7]
    train, test = split(dataset, 0)
    assert (len(train), len(test)) == (8, 2)


def save_pickle(folder: Path, content: object) -> Path:
    path = folder / "plcifar10" / "plcifar10.pkl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps(content))
    return path


def test_plcifar10_aggregates_or_takes_the_vaguest(tmp_path: Path) -> None:
    sets = {row: [[row % 10], [row % 10, 4], [1, 4, 5], [6, 7, 8]] for row in range(NUM_TRAIN)}
    save_pickle(tmp_path, sets)
    found = {
        name: load(f"plcifar10-{name}", tmp_path).candidates for name in ("aggregate", "vaguest")
    }
    assert all(found[name] is not None for name in found)
    rows = {name: found[name][2].nonzero().flatten().tolist() for name in found}  # type: ignore[index]
    assert rows == {"aggregate": [1, 2, 4, 5, 6, 7, 8], "vaguest": [1, 4, 5]}


def real(file: str) -> Path:
    folder = Path(os.environ.get("PLLBENCH_DATA", "not set"))
    if not (folder / file).exists() or not (folder / "cifar-10-batches-py").exists():
        pytest.skip(f"PLLBENCH_DATA has no {file} or no CIFAR-10")
    return folder


def test_real_cifar10n() -> None:
    dataset = load("cifar10n", real("cifar10_human/cifar10n_train_labels.npz"))
    assert dataset.candidates is not None
    facts = audit(dataset.candidates[:50_000].numpy(), dataset.y[:50_000].numpy())
    assert facts.mean == pytest.approx(1.457, abs=5e-4)
    assert 1 - facts.without_true == pytest.approx(0.9787, abs=5e-5)
