"""Custom data sets: their names and facts, and their content in the identity of runs."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from pllbench.data.custom import (
    content_digest,
    custom_info,
    dataset_name,
    find_dataset,
    is_path,
)
from pllbench.grid.labels import differences, row_label
from pllbench.grid.plan import PlannedRun, Selection, plan
from pllbench.grid.protocol import Setting, default_protocol
from pllbench.runner.job import Job, RunOptions, execute
from tests.data.files import X, Y, path_refusal, save_image, save_npz


def planned(path: Path, method: str = "cc", q: float | None = 0.3, epochs: int = 1) -> PlannedRun:
    """One run on the data set at `path`; no q where its candidate sets are given or not needed."""
    flag = Setting(reason="--epochs", train={"epochs": epochs})
    rates = () if q is None else (q,)
    selection = Selection(
        methods=(method,), datasets=(str(path),), q=rates, seeds=(0,), flags=(flag,)
    )
    [run] = plan(selection)
    return run


def make_job(run: PlannedRun, folder: Path) -> Job:
    return Job(run.spec, run.data, RunOptions(folder / "results", folder, "cpu"))


def test_what_is_a_path_and_what_is_a_name() -> None:
    assert is_path("a/b")
    assert is_path("b.npz")
    assert is_path("b.mat")
    assert is_path("b.csv")
    assert is_path("b.parquet")
    assert not is_path("cifar10")
    assert find_dataset("cifar10").path is None
    with pytest.raises(ValueError, match="unknown data set 'mine'"):
        find_dataset("mine")


def test_the_name_is_that_of_the_file_or_folder(tmp_path: Path) -> None:
    assert find_dataset(str(save_npz(tmp_path))).name == "mine"
    inside = tmp_path / "photos" / "cats"
    inside.mkdir(parents=True)
    assert dataset_name(inside) == "cats"
    assert dataset_name(inside / "..") == "photos"


def test_bad_paths_and_names_are_refused(tmp_path: Path) -> None:
    assert "no such file or folder" in path_refusal(custom_info, tmp_path / "nothing.npz")
    assert "is a data set of the suite" in path_refusal(custom_info, save_npz(tmp_path, "digits"))
    for name in ("my data", ".", ".."):
        assert "its name must be" in path_refusal(custom_info, save_npz(tmp_path, name))
    assert "'Digits' is a data set of the suite" in path_refusal(
        custom_info, save_npz(tmp_path, "Digits")
    )
    assert "its name is that of a device" in path_refusal(custom_info, save_npz(tmp_path, "aux"))
    assert "its name is longer than 200 bytes" in path_refusal(
        custom_info, save_npz(tmp_path, "x" * 201)
    )
    (tmp_path / "a.txt").write_text("1,2")
    forms = "a .npz, .csv, .parquet or .mat file, or a folder"
    assert forms in path_refusal(custom_info, tmp_path / "a.txt")


def test_two_data_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    pair = (str(save_npz(tmp_path)), str(save_npz(tmp_path / "below", x=2 * X)))
    with pytest.raises(ValueError, match="another data set is named 'mine'"):
        plan(Selection(methods=("cc",), datasets=pair))


def test_names_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    pair = (str(save_npz(tmp_path, "birds")), str(save_npz(tmp_path, "Birds")))
    with pytest.raises(ValueError, match=r"Birds\.npz: another data set is named 'birds' as well"):
        plan(Selection(methods=("cc",), datasets=pair))


def test_the_content_is_part_of_the_identity_and_the_path_is_not(tmp_path: Path) -> None:
    first = planned(save_npz(tmp_path))
    other = tmp_path / "elsewhere"
    other.mkdir()
    moved = (tmp_path / "mine.npz").rename(other / "mine.npz")
    assert planned(moved).spec == first.spec
    changed = planned(save_npz(tmp_path, x=2 * X))
    assert changed.spec.digest != first.spec.digest
    assert changed.spec.run_id != first.spec.run_id


def test_the_digest_of_a_folder_covers_names_and_contents(tmp_path: Path) -> None:
    root = tmp_path / "pets"
    save_image(root / "cat" / "0.png")
    save_image(root / "dog" / "0.png", value=9)
    digests = [content_digest(root)]
    save_image(root / "cat" / "0.png", value=99)
    digests.append(content_digest(root))
    (root / "cat" / "0.png").rename(root / "cat" / "1.png")
    digests.append(content_digest(root))
    assert len(set(digests)) == 3


def test_a_file_that_changes_after_planning_is_refused_by_its_run(tmp_path: Path) -> None:
    path = save_npz(tmp_path)
    run = planned(path)
    save_npz(tmp_path, x=2 * X)
    with pytest.raises(ValueError, match="has changed since the runs were planned") as caught:
        execute(make_job(run, tmp_path))
    assert str(path) in str(caught.value)


def test_runs_have_the_settings_of_their_kind(tmp_path: Path) -> None:
    pictures = np.zeros((40, 8, 8, 3), dtype=np.uint8)
    rows, images = planned(save_npz(tmp_path)), planned(save_npz(tmp_path, "photos", x=pictures))
    assert (rows.spec.kind, rows.spec.train.network) == ("tabular", "linear")
    assert (images.spec.kind, images.spec.train.network) == ("image", "resnet18")
    protocol = default_protocol()
    for run in (rows, images):
        assert differences(run.spec, "cc", protocol) == ["epochs=1"]
        assert row_label(run.spec, protocol).label == run.label
    selection = Selection(methods=("cc",), datasets=(str(tmp_path / "mine.npz"),), seeds=(0,))
    assert [run.spec.q for run in plan(selection)] == [0.1, 0.3, 0.5, 0.7]


def test_given_candidate_sets_take_no_process(tmp_path: Path) -> None:
    path = save_npz(tmp_path, candidates=np.ones((40, 4), dtype=np.uint8), num_train=30)
    run = planned(path, q=None)
    assert run.spec.candidates is None
    record, _ = execute(make_job(run, tmp_path))
    assert record.result.num_test == 10


@pytest.mark.parametrize("real", [True, False])
def test_a_mat_file_takes_a_process_unless_candidate_sets_come_with_it(
    tmp_path: Path, real: bool
) -> None:
    path = tmp_path / "mine.mat"
    content = {"data": X, "target": np.eye(4)[Y].T}
    savemat(path, content | ({"partial_target": np.ones((4, 40))} if real else {}))
    assert (planned(path, q=None if real else 0.3).spec.candidates is None) is real


def test_a_record_has_the_name_and_digest_of_its_data(tmp_path: Path) -> None:
    path = save_npz(tmp_path)
    record, _ = execute(make_job(planned(path, "supervised", q=None, epochs=2), tmp_path))
    assert (record.spec.dataset, record.spec.digest) == ("mine", content_digest(path))
