"""Data sets: malformed files are refused by row, real ones have their published shape."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat
from sklearn.utils import Bunch

from pllbench.candidates import audit as candidates
from pllbench.data.catalogue import DATASETS, Split
from pllbench.data.dataset import Dataset, describe, hold_out, load, require_files, split
from pllbench.data.readers.base import check_labels

Matrices = dict[str, Any]

N, D, C = 30, 4, 5


def matrices(num_rows: int = N, num_classes: int = C) -> Matrices:
    """A well-formed real-world set in its documented layout; class 3 never occurs."""
    rng = np.random.default_rng(0)
    y = np.where((y := np.arange(num_rows) % num_classes) == 3, 0, y)
    target = np.eye(num_classes)[y].T
    return {
        "data": rng.normal(size=(num_rows, D)),
        "target": target,
        "partial_target": np.maximum(target, rng.random((num_classes, num_rows)) < 0.3),
    }


def save(folder: Path, content: Matrices, name: str = "lost.mat") -> Path:
    path = folder / "pll_realworld" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, content)
    return path


def refused(folder: Path, name: str = "lost") -> str:
    """The message with which a data set is refused: one line."""
    with pytest.raises(ValueError, match=r".") as caught:
        load(name, folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


# Real-world sets: layouts.


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("store", [np.asarray, sparse.csc_matrix, np.uint8])
def test_mat_layouts_give_the_same_tensors(
    tmp_path: Path, transposed: bool, store: Callable[[Any], Any]
) -> None:
    content = matrices()
    expected = content["target"].T.argmax(axis=1)
    save(
        tmp_path,
        {
            "data": content["data"],
            "target": store(content["target"].T if transposed else content["target"]),
            "partial_target": store(content["partial_target"]),
        },
    )
    dataset = load("lost", tmp_path)
    assert (dataset.x.dtype, dataset.y.dtype) == (torch.float32, torch.int64)
    assert torch.equal(dataset.x, torch.tensor(content["data"], dtype=torch.float32))
    assert dataset.y.tolist() == expected.tolist()
    assert dataset.candidates is not None
    assert dataset.candidates.dtype == torch.bool
    assert np.array_equal(dataset.candidates.numpy(), content["partial_target"].T.astype(bool))


def test_sparse_features_constant_columns_and_absent_classes_stay(tmp_path: Path) -> None:
    content = matrices()
    content["data"][:, 1] = 7
    save(tmp_path, content | {"data": sparse.csc_matrix(content["data"])})
    dataset = load("lost", tmp_path)
    assert dataset.x.shape == (N, D)
    assert dataset.num_classes == C
    facts = describe(dataset, seed=0)
    assert facts.constant_columns == 1
    assert facts.absent_classes == (3,)


def test_a_square_target_is_read_in_its_documented_layout(tmp_path: Path) -> None:
    y = np.array([1, 2, 0, 0])
    target = np.eye(4)[y].T  # [C, N]
    save(tmp_path, {"data": np.ones((4, 2)), "target": target, "partial_target": target})
    assert load("lost", tmp_path).y.tolist() == y.tolist()


@pytest.mark.parametrize(
    "name",
    ["Soccer Player.mat", "SoccerPlayer.mat", "soccer_player.MAT", "inner/Soccer Player.mat"],
)
def test_spellings_and_one_more_folder(tmp_path: Path, name: str) -> None:
    path = save(tmp_path, matrices(), "x.mat")
    (path.parent / name).parent.mkdir(exist_ok=True)
    path.rename(path.parent / name)
    (path.parent / "._Soccer Player.mat").write_bytes(b"a resource fork is no data set")
    require_files("soccer-player", tmp_path)
    assert len(load("soccer-player", tmp_path).x) == N


# Real-world sets: what is refused.


def change(key: str, place: Any, value: float) -> Callable[[Matrices], None]:
    def apply(content: Matrices) -> None:
        content[key][place] = value

    return apply


def replace(key: str, value: Any) -> Callable[[Matrices], None]:
    def apply(content: Matrices) -> None:
        content[key] = value

    return apply


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (change("target", np.s_[:, 17], 0), "`target`: row 17 (counted from 0) has no true label"),
        (change("target", np.s_[:2, 8], 1), "`target`: row 8 (counted from 0) has several true"),
        (change("partial_target", np.s_[:, 4], 0), "row 4 (counted from 0) has no candidate"),
        (
            change("data", (9, 2), np.nan),
            "`data`: row 9 (counted from 0) has a feature that is NaN",
        ),
        (change("data", (0, 0), np.inf), "row 0 (counted from 0) has a feature that is NaN or inf"),
        (change("data", (3, 1), 1e39), "row 3 (counted from 0) has a feature that is NaN or inf"),
        (change("target", (0, 0), 2), "`target` holds values other than 0 and 1"),
        (change("partial_target", (0, 0), np.nan), "`partial_target` holds values other than"),
        (replace("target", np.arange(N)[None]), "holds values other than 0 and 1"),
        (replace("target", np.eye(C)[:, [0] * (N - 1)]), "shape (5, 29), `data` has 30 rows"),
        (replace("data", np.ones((N + 1, D))), "shape (5, 30), `data` has 31 rows"),
        (replace("partial_target", np.ones((C + 1, N))), "has 5 classes, `partial_target` 6"),
        (replace("data", "text"), "`data` is no matrix of numbers"),
        (replace("data", np.ones((N, D)) * 1j), "`data` is no matrix of numbers"),
        (replace("target", np.array([[1], "a"], dtype=object)), "`target` is no matrix of numbers"),
    ],
)
def test_malformed_mat_is_refused(
    tmp_path: Path, damage: Callable[[Matrices], None], expected: str
) -> None:
    content = matrices()
    damage(content)
    path = save(tmp_path, content)
    message = refused(tmp_path)
    assert expected in message
    assert message.startswith(str(path))


@pytest.mark.parametrize("key", ["data", "target", "partial_target"])
def test_missing_variable_is_refused(tmp_path: Path, key: str) -> None:
    content = matrices()
    del content[key]
    save(tmp_path, content)
    assert f"no variable `{key}`" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"<html>503</html>\n" * 50, b"version https://git-lfs"])
def test_what_is_no_mat_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = save(tmp_path, matrices())
    path.write_bytes(content)
    message = refused(tmp_path)
    assert message.startswith(f"{path}: not a .mat file, or cut off")
    assert "https://palm" in message


def test_matlab_7_3_is_refused_with_its_remedy(tmp_path: Path) -> None:
    path = save(tmp_path, matrices())
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    path.write_bytes(header + bytes(400))
    assert "'-v7'" in refused(tmp_path)


@pytest.mark.parametrize("compressed", [False, True])
def test_cut_off_mat_is_refused_wherever_it_ends(tmp_path: Path, compressed: bool) -> None:
    path = save(tmp_path, {})
    buffer = io.BytesIO()
    savemat(buffer, matrices(), do_compression=compressed)
    whole = buffer.getvalue()
    for end in range(0, len(whole), 41):
        path.write_bytes(whole[:end])
        assert str(path) in refused(tmp_path)


def test_a_row_without_its_true_label_needs_permission(tmp_path: Path) -> None:
    content = matrices()
    content["partial_target"][:, 6] = 1 - content["target"][:, 6]
    path = save(tmp_path, content)
    message = refused(tmp_path)
    assert message.startswith(f"{path}: row 6 (counted from 0) does not have its true label")
    assert load("lost", tmp_path, noisy=True).candidates is not None


# Names and files.


def test_unknown_name_gets_its_nearest_match(tmp_path: Path) -> None:
    assert refused(tmp_path, "birdsongs") == (
        "unknown data set 'birdsongs': did you mean birdsong?"
    )
    with pytest.raises(ValueError, match="unknown data set"):
        require_files("birdsongs", tmp_path)


@pytest.mark.parametrize("folder", [".", "not/there"])
def test_missing_file_says_what_to_put_where(tmp_path: Path, folder: str) -> None:
    for name, info in DATASETS.items():
        if info.file is None or info.downloads:
            require_files(name, tmp_path / folder)
        else:
            with pytest.raises(ValueError, match=name) as caught:
                require_files(name, tmp_path / folder)
            assert str(tmp_path / folder / info.file) in str(caught.value)
            assert info.source in str(caught.value)
            assert refused(tmp_path / folder, name) == str(caught.value)


def test_digits() -> None:
    dataset = load("digits", Path("unused"))
    assert dataset.x.shape == (1797, 64)
    assert dataset.num_classes == 10
    assert dataset.candidates is None
    assert dataset.x.max() == 1
    train, test = split(dataset, 0)
    assert (len(train), len(test)) == (1438, 359)


# CNAE-9.


def cnae9_table(first_label: int = 1) -> npt.NDArray[np.int64]:
    counts = np.random.default_rng(0).integers(0, 2, size=(1080, 856))
    return np.column_stack([np.arange(1080) % 9 + first_label, counts])


def save_cnae9(folder: Path, table: npt.NDArray[np.int64]) -> Path:
    path = folder / "cnae9" / "CNAE-9.data"
    path.parent.mkdir()
    np.savetxt(path, table, fmt="%d", delimiter=",")
    return path


def test_cnae9_counts_its_labels_from_1(tmp_path: Path) -> None:
    save_cnae9(tmp_path, cnae9_table())
    dataset = load("cnae9", tmp_path)
    assert dataset.y[:10].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]
    assert dataset.num_classes == 9
    train, test = split(dataset, 0)
    assert (len(train), len(test)) == (864, 216)
    assert torch.bincount(dataset.y[test]).tolist() == [24] * 9


def test_malformed_cnae9_is_refused(tmp_path: Path) -> None:
    path = save_cnae9(tmp_path, cnae9_table(first_label=0))
    assert "labels of 1..9, less 1: row 0 (counted from 0) has a label outside" in refused(
        tmp_path, "cnae9"
    )
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert str(path) in refused(tmp_path, "cnae9")
    path.write_bytes(b"\n".join(whole.splitlines()[:500]))
    assert "500 rows of 856 counts, CNAE-9 has 1080 of 856" in refused(tmp_path, "cnae9")
    for content in (b"", b"\n\n", b"<html>503 Service Unavailable</html>", b"\xff\xfe,1"):
        path.write_bytes(content)
        assert "not a table of comma-separated numbers" in refused(tmp_path, "cnae9")


def test_a_missing_cnae9_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = cnae9_table()

    def fetch(*, data_id: int, data_home: Path, **kwargs: object) -> Bunch:
        assert (data_id, data_home) == (1468, tmp_path / "openml")
        return Bunch(data=sparse.csr_matrix(table[:, 1:]), target=table[:, 0].astype(str))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    require_files("cnae9", tmp_path)
    downloaded = load("cnae9", tmp_path)
    save_cnae9(tmp_path, table)
    monkeypatch.delattr("sklearn.datasets.fetch_openml")
    kept = load("cnae9", tmp_path)
    assert torch.equal(downloaded.x, kept.x)
    assert torch.equal(downloaded.y, kept.y)


def test_a_failed_download_says_what_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(**kwargs: object) -> Bunch:
        raise OSError("no\nroute")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    message = refused(tmp_path, "cnae9")
    assert f"no file {tmp_path / 'cnae9' / 'CNAE-9.data'}" in message
    assert "https://archive.ics.uci.edu" in message
    assert "OSError: no route" in message


def test_a_download_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*args: object, **kwargs: object) -> None:
        raise URLError("nobody answers")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", offline)
    assert "nobody answers" in refused(tmp_path, "cnae9")


# Labels.


def test_labels_keep_their_values_as_int64() -> None:
    labels = check_labels(np.arange(300, dtype=np.uint16), 300, "y")
    assert labels.dtype == np.int64
    assert labels[299] == 299
    # Class 0 is merely absent: nothing is shifted.
    assert check_labels([1, 9, 4], 10, "y").tolist() == [1, 9, 4]
    assert check_labels([0.0, 2.0], 3, "y").tolist() == [0, 2]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.arange(1, 11), r"labels run from 1 to 10, they must be 0\.\.9: .*subtract 1"),
        (np.arange(2, 11), r"labels run from 2 to 10, .*subtract 1"),
        (np.array([0, 3, 10]), r"row 2 \(counted from 0\) has a label outside 0\.\.9"),
        (np.array([0, -1, 3]), r"row 1 \(counted from 0\) has a label outside 0\.\.9"),
        (np.array([0, 0.5]), "row 1 .* fractional label"),
        (np.array([np.nan, 0]), "row 0 .* fractional label"),
        (np.array([0, np.inf]), "row 1 .* fractional label"),
        (np.array(["0", "1"]), "whole numbers"),
        (np.zeros((3, 1), dtype=int), r"shape \(3, 1\)"),
        (np.zeros(0, dtype=int), r"shape \(0,\)"),
    ],
)
def test_bad_labels_are_refused(labels: npt.NDArray[Any], expected: str) -> None:
    with pytest.raises(ValueError, match=rf"^file\.npz: .*{expected}"):
        check_labels(labels, 10, "file.npz")


def test_labels_that_wrapped_around_are_refused() -> None:
    wrapped = np.arange(300).astype(np.uint8)
    with pytest.raises(ValueError, match="uint8 labels cannot hold 300 classes"):
        check_labels(wrapped, 300, "y")


# Splits.


def dataset_of(class_sizes: list[int], split_by: Split) -> Dataset:
    y = torch.repeat_interleave(torch.arange(len(class_sizes)), torch.tensor(class_sizes))
    return Dataset("toy", torch.zeros(len(y), 2), y, len(class_sizes), split_by=split_by)


@given(
    class_sizes=st.lists(st.integers(0, 40), min_size=2, max_size=8).filter(lambda s: max(s) > 2),
    split_by=st.sampled_from(["random", "stratified"]),
    seed=st.integers(0, 2**32),
)
def test_every_row_trains_or_tests(class_sizes: list[int], split_by: Split, seed: int) -> None:
    dataset = dataset_of(class_sizes, split_by)
    train, test = split(dataset, seed)
    assert (train.dtype, test.dtype) == (torch.int64, torch.int64)
    assert torch.cat([train, test]).sort().values.tolist() == list(range(len(dataset.y)))
    assert train.tolist() == sorted(train.tolist())
    assert test.tolist() == sorted(test.tolist())
    if split_by == "stratified":
        tested = torch.bincount(dataset.y[test], minlength=len(class_sizes)).tolist()
        assert tested == [round(0.2 * size) for size in class_sizes]
    else:
        assert len(test) == round(0.2 * len(dataset.y))


def test_a_class_of_one_row_trains() -> None:
    train, _ = split(dataset_of([50, 1, 0, 7], "stratified"), 0)
    assert 50 in train.tolist()


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="2 rows are too few"):
        split(dataset_of([1, 1], "random"), 0)
    with pytest.raises(ValueError, match="4 rows are too few"):
        split(dataset_of([2, 2], "stratified"), 0)


def test_split_depends_on_its_seed_alone() -> None:
    dataset = dataset_of([100, 100], "random")
    torch.manual_seed(0)
    first = split(dataset, 0)[1].tolist()
    torch.manual_seed(1)
    assert split(dataset, 0)[1].tolist() == first
    assert split(dataset, 1)[1].tolist() != first


@given(num_rows=st.integers(10, 200), share=st.floats(0.1, 0.9), seed=st.integers(0, 2**32))
def test_hold_out_divides_the_training_rows(num_rows: int, share: float, seed: int) -> None:
    rows = torch.arange(num_rows) * 3
    kept, held = hold_out(rows, share, seed)
    assert len(held) == round(share * num_rows)
    assert torch.cat([kept, held]).sort().values.tolist() == rows.tolist()
    assert held.tolist() == sorted(held.tolist())


def test_hold_out_at_its_ends() -> None:
    rows = torch.arange(10)
    kept, held = hold_out(rows, 0, 0)
    assert kept.tolist() == rows.tolist()
    assert held.tolist() == []
    for share in (0.01, 0.99):
        with pytest.raises(ValueError, match="hold-out share"):
            hold_out(rows, share, 0)


# Facts.


def test_describe_counts() -> None:
    x = torch.rand(20, 3, generator=torch.Generator().manual_seed(0)) + 1
    x[:, 2] = 5
    x[4] = 0
    x[7] = -0.0
    dataset = Dataset("toy", x, torch.arange(20) % 3, 5)
    facts = describe(dataset, seed=0)
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
    leaking = describe(Dataset("toy", x, dataset.y, 5), seed=0)
    assert leaking.leaked_rows == 1
    assert leaking.digest != facts.digest


def test_digest_covers_labels_and_candidates() -> None:
    x, y = torch.rand(10, 2), torch.arange(10) % 2
    sets = torch.ones(10, 2, dtype=torch.bool)
    variants = [
        Dataset("toy", x, y, 2),
        Dataset("toy", x, 1 - y, 2),
        Dataset("toy", x, y, 3),
        Dataset("toy", x, y, 2, sets),
    ]
    assert len({describe(dataset, 0).digest for dataset in variants}) == 4


# The real files.


def real_data_dir(name: str) -> Path:
    if "PLLBENCH_DATA" not in os.environ:
        pytest.skip("PLLBENCH_DATA does not name a folder with the real data sets")
    folder = Path(os.environ["PLLBENCH_DATA"])
    file = DATASETS[name].file
    if file is not None and not (folder / file).exists():
        pytest.skip(f"{folder / file} is not there")
    return folder


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes", "occurring", "mean"),
    [
        ("birdsong", 4998, 38, 13, 13, 2.1755),
        ("lost", 1122, 108, 16, 14, 2.2317),
        ("msrcv2", 1758, 48, 23, 23, 3.1564),
        ("italian", 21878, 519, 90, 77, 1.5958),
        ("fg-net", 1002, 262, 78, 63, 7.4770),
    ],
)
def test_real_world_sets(
    name: str, rows: int, features: int, classes: int, occurring: int, mean: float
) -> None:
    dataset = load(name, real_data_dir(name))
    facts = describe(dataset, seed=0)
    assert (facts.num_rows, facts.num_features, facts.num_classes) == (rows, features, classes)
    assert classes - len(facts.absent_classes) == occurring
    assert facts.num_test == round(0.2 * rows)
    assert dataset.candidates is not None
    sets, y = dataset.candidates.numpy(), dataset.y.numpy()
    candidates.check(sets, y, noisy=False, where=name)
    assert candidates.audit(sets, y).mean == pytest.approx(mean, abs=5e-5)


def test_real_italian_has_constant_columns_and_duplicates() -> None:
    facts = describe(load("italian", real_data_dir("italian")), seed=0)
    assert facts.constant_columns == 36
    assert facts.duplicate_rows == 9417
    assert facts.leaked_rows > 0


def test_real_cnae9() -> None:
    dataset = load("cnae9", real_data_dir("cnae9"))
    facts = describe(dataset, seed=0)
    assert (facts.num_rows, facts.num_features, facts.num_classes) == (1080, 856, 9)
    assert torch.bincount(dataset.y).tolist() == [120] * 9
    assert (facts.zero_rows, facts.duplicate_rows) == (1, 28)
    assert (facts.num_train, facts.num_test) == (864, 216)
    assert (dataset.x.min().item(), dataset.x.max().item()) == (0, 4)
    assert (dataset.x == 0).double().mean() == pytest.approx(0.9922, abs=5e-5)
