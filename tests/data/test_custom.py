"""The user's own data: its forms, what is refused, and its content in the identity of runs."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from pllbench.data import custom as own
from pllbench.data import dataset as datasets
from pllbench.data.audit import audit_dataset
from pllbench.data.dataset import Dataset, split
from pllbench.grid.labels import differences, row_of
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, default_protocol
from pllbench.runner.job import Job, execute

RNG = np.random.default_rng(0)
Y = np.arange(40) % 4


def npz(folder: Path, name: str = "mine", **arrays: Any) -> Path:
    path = folder / f"{name}.npz"
    content = {"x": RNG.normal(size=(40, 5)), "y": Y} | arrays
    np.savez(path, **{key: value for key, value in content.items() if value is not None})
    return path


def images(*shape: int) -> Any:
    return RNG.integers(0, 256, (40, *shape), dtype=np.uint8)


def read(path: Path) -> Dataset:
    return datasets.load(own.inspect(path), Path())


def refused(path: Path) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        read(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


def planned(path: Path, method: str = "cc", q: float | None = 0.3, epochs: int = 1) -> PlannedRun:
    flag = Setting(reason="--epochs", train={"epochs": epochs})
    rates = () if q is None else (q,)
    selection = Selection(
        methods=(method,), datasets=(str(path),), q=rates, seeds=(0,), flags=(flag,)
    )
    [run] = plan(selection)
    return run


# npz.


def test_rows_of_features(tmp_path: Path) -> None:
    dataset = read(npz(tmp_path))
    assert (dataset.name, dataset.num_classes, dataset.num_train) == ("mine", 4, None)
    assert dataset.x.dtype == torch.float32
    assert dataset.y.tolist() == Y.tolist()
    assert dataset.info is not None
    assert (dataset.info.kind, dataset.info.split) == ("tabular", "random")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((9, 7), (1, 9, 7)),
        ((9, 7, 1), (1, 9, 7)),
        ((9, 7, 3), (3, 9, 7)),
        ((3, 9, 7), (3, 9, 7)),
        ((1, 9, 9), (1, 9, 9)),
    ],
)
def test_images_grey_or_not_square(
    tmp_path: Path, given: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    x = images(*given)
    dataset = read(npz(tmp_path, x=x))
    assert dataset.x.shape[1:] == expected
    assert dataset.x.dtype == torch.uint8
    assert dataset.x.sum().item() == x.sum()
    assert dataset.info is not None
    assert dataset.info.kind == "image"
    digits = own.inspect(npz(tmp_path, x=x, kind="digits"))
    assert digits.info.kind == "digits"


def test_candidates_a_fixed_split_and_more_than_255_classes(tmp_path: Path) -> None:
    y = np.arange(40) * 7  # up to 273
    sets = np.zeros((40, 300), dtype=np.uint8)
    sets[np.arange(40), y] = 1
    sets[:, 299] = 1
    path = npz(tmp_path, y=y, candidates=sets, num_train=30)
    dataset = read(path)
    assert dataset.num_classes == 300
    assert dataset.y.tolist() == y.tolist()
    assert dataset.candidates is not None
    assert dataset.candidates.sum().item() == 80
    train, test = split(dataset, 5)
    assert (len(train), test.tolist()) == (30, list(range(30, 40)))
    run = planned(path, q=None)
    assert run.spec.candidates is None
    record, _ = execute(Job(run.spec, tmp_path, "cpu", own=run.own))
    assert record.result.num_test == 10


def test_what_is_no_npz_file_is_refused(tmp_path: Path) -> None:
    path = npz(tmp_path)
    whole = path.read_bytes()
    for content in (b"", b"<html>", whole[: len(whole) // 2]):
        path.write_bytes(content)
        assert "not a .npz file, or cut off" in refused(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"nothing")
    assert "not a .npz file" in refused(path)


# Names and identity.


def test_names_and_paths(tmp_path: Path) -> None:
    assert own.is_path("a/b")
    assert own.is_path("b.npz")
    assert own.is_path("b.mat")
    assert not own.is_path("cifar10")
    assert "no such file or folder" in refused(tmp_path / "nothing.npz")
    assert "is a data set of the suite" in refused(npz(tmp_path, "digits"))
    assert "its name must be" in refused(npz(tmp_path, "my data"))
    assert "its name must be" in refused(npz(tmp_path, "."))
    assert "its name must be" in refused(npz(tmp_path, ".."))
    inside = tmp_path / "photos" / "cats"
    inside.mkdir(parents=True)
    assert own.dataset_name(inside / "..") == "photos"
    (tmp_path / "a.csv").write_text("1,2")
    assert "a .npz file, a .mat file or a folder" in refused(tmp_path / "a.csv")
    (tmp_path / "below").mkdir()
    pair = (str(npz(tmp_path)), str(npz(tmp_path / "below")))
    with pytest.raises(ValueError, match="another data set is named 'mine'"):
        plan(Selection(methods=("cc",), datasets=pair))


def test_the_content_is_part_of_the_identity_and_the_path_is_not(tmp_path: Path) -> None:
    first = planned(npz(tmp_path))
    other = tmp_path / "elsewhere"
    other.mkdir()
    moved = (tmp_path / "mine.npz").rename(other / "mine.npz")
    assert planned(moved).spec == first.spec
    changed = planned(npz(tmp_path))
    assert changed.spec.digest != first.spec.digest
    assert changed.spec.run_id != first.spec.run_id


def test_a_file_that_changes_after_planning_is_refused(tmp_path: Path) -> None:
    run = planned(npz(tmp_path))
    path = npz(tmp_path)
    with pytest.raises(ValueError, match="has changed since the runs were planned") as caught:
        execute(Job(run.spec, tmp_path, "cpu", own=run.own))
    assert str(path) in str(caught.value)


def test_runs_on_it_are_those_of_its_kind(tmp_path: Path) -> None:
    rows, pictures = planned(npz(tmp_path)), planned(npz(tmp_path, "photos", x=images(8, 8, 3)))
    assert (rows.spec.kind, rows.spec.train.network) == ("tabular", "linear")
    assert (pictures.spec.kind, pictures.spec.train.network) == ("image", "resnet18")
    protocol = default_protocol()
    for run in (rows, pictures):
        assert differences(run.spec, "cc", protocol) == ["epochs=1"]
        assert row_of(run.spec, protocol).label == run.label
    selection = Selection(methods=("cc",), datasets=(str(tmp_path / "mine.npz"),), seeds=(0,))
    assert [run.spec.q for run in plan(selection)] == [0.1, 0.3, 0.5, 0.7]


def test_it_trains_and_is_audited(tmp_path: Path) -> None:
    path = npz(tmp_path)
    run = planned(path, "supervised", q=None, epochs=2)
    record, _ = execute(Job(run.spec, tmp_path, "cpu", own=run.own))
    assert (record.spec.dataset, record.spec.digest) == ("mine", own.digest(path))
    facts = audit_dataset(str(path), tmp_path, "uniform", None, 0)
    assert (facts["kind"], facts["num_rows"], facts["digest"]) == ("tabular", 40, own.digest(path))


# mat.


@pytest.mark.parametrize("real", [True, False])
def test_mat_files_with_and_without_candidate_sets(tmp_path: Path, real: bool) -> None:
    path = tmp_path / "mine.mat"
    target = np.eye(4)[Y].T
    content = {"data": RNG.normal(size=(40, 5)), "target": target}
    savemat(path, content | ({"partial_target": np.ones((4, 40))} if real else {}))
    dataset = read(path)
    assert dataset.y.tolist() == Y.tolist()
    assert (dataset.candidates is not None) == real
    assert (planned(path, q=None if real else 0.3).spec.candidates is None) == real


# Folders.


def save_image(path: Path, shape: tuple[int, ...] = (6, 5, 3), value: int = 7) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full(shape, value, dtype=np.uint8)).save(path)


def test_a_folder_of_images(tmp_path: Path) -> None:
    root = tmp_path / "pets"
    for number, name in enumerate(["cat", "dog", "ant"]):
        for copy in range(4):
            save_image(root / name / f"{copy}.png", value=10 * number)
    dataset = read(root)
    assert dataset.x.shape == (12, 3, 6, 5)
    assert dataset.y.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert dataset.x[:, 0, 0, 0].tolist() == [20] * 4 + [0] * 4 + [10] * 4
    assert dataset.num_train is None
    before = own.digest(root)
    save_image(root / "cat" / "0.png", value=99)
    assert own.digest(root) != before


def test_training_and_test_images_and_a_class_missing_from_one(tmp_path: Path) -> None:
    root = tmp_path / "pets"
    for number in range(3):
        save_image(root / "train" / f"class{number}" / "a.png", (6, 6), number)
    save_image(root / "test" / "class1" / "b.png", (6, 6), 50)
    dataset = read(root)
    assert dataset.x.shape == (4, 1, 6, 6)
    assert (dataset.num_train, dataset.num_classes, dataset.y.tolist()) == (3, 3, [0, 1, 2, 1])
    save_image(root / "test" / "class2" / "c.png", (6, 6, 3), 60)  # one in colour
    assert read(root).x.shape == (5, 3, 6, 6)


def test_the_suites_own_sets_are_not_reached_by_path() -> None:
    with pytest.raises(ValueError, match="unknown data set 'mine'"):
        datasets.load("mine", Path())
