"""Feature vectors and word counts: layouts of .mat files, digits, CNAE-9, and the real files."""

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from pllbench.candidates.audit import audit_candidates, check_candidates
from pllbench.data.audit import describe
from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset, require_files, split
from pllbench.data.readers import tabular
from tests.data.files import (
    NUM_CLASSES,
    NUM_FEATURES,
    NUM_ROWS,
    mat_variables,
    real_data_dir,
    refusal,
    save_mat,
)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("store", [np.asarray, sparse.csc_matrix, np.uint8])
def test_mat_layouts_give_the_same_tensors(
    tmp_path: Path, transposed: bool, store: Callable[[Any], Any]
) -> None:
    content = mat_variables()
    expected = content["target"].T.argmax(axis=1)
    save_mat(
        tmp_path,
        {
            "data": content["data"],
            "target": store(content["target"].T if transposed else content["target"]),
            "partial_target": store(content["partial_target"]),
        },
    )
    dataset = load_dataset(DATASETS["lost"], tmp_path)
    assert (dataset.x.dtype, dataset.y.dtype) == (torch.float32, torch.int64)
    assert torch.equal(dataset.x, torch.tensor(content["data"], dtype=torch.float32))
    assert dataset.y.tolist() == expected.tolist()
    assert dataset.candidates is not None
    assert dataset.candidates.dtype == torch.bool
    assert np.array_equal(dataset.candidates.numpy(), content["partial_target"].T.astype(bool))


def test_sparse_features_constant_columns_and_absent_classes_stay(tmp_path: Path) -> None:
    content = mat_variables()
    content["data"][:, 1] = 7
    save_mat(tmp_path, content | {"data": sparse.csc_matrix(content["data"])})
    dataset = load_dataset(DATASETS["lost"], tmp_path)
    assert dataset.x.shape == (NUM_ROWS, NUM_FEATURES)
    assert dataset.num_classes == NUM_CLASSES
    facts = describe(dataset, seed=0)
    assert facts.constant_columns == 1
    assert facts.absent_classes == (3,)


def test_a_square_target_is_read_in_its_documented_layout(tmp_path: Path) -> None:
    y = np.array([1, 2, 0, 0])
    target = np.eye(4)[y].T  # [C, N]
    save_mat(tmp_path, {"data": np.ones((4, 2)), "target": target, "partial_target": target})
    assert load_dataset(DATASETS["lost"], tmp_path).y.tolist() == y.tolist()


def test_digits_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its file is where it is looked for or not."""
    x, y = load_digits(return_X_y=True)
    for spec in (find_spec("sklearn"), None):
        monkeypatch.setattr(tabular, "find_spec", lambda _, spec=spec: spec)
        dataset = load_dataset(DATASETS["digits"], Path("unused"))
        assert torch.equal(dataset.x, torch.from_numpy(x / 16).float())
        assert torch.equal(dataset.y, torch.from_numpy(y))


READ = """
import sys
from pathlib import Path
from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset

load_dataset(DATASETS["digits"], Path())
print("sklearn" in sys.modules)
"""


def test_digits_are_read_without_scikit_learn() -> None:
    assert subprocess.check_output([sys.executable, "-c", READ], text=True) == "False\n"


def test_digits() -> None:
    dataset = load_dataset(DATASETS["digits"], Path("unused"))
    assert dataset.x.shape == (1797, 64)
    assert dataset.num_classes == 10
    assert dataset.candidates is None
    assert dataset.x.max() == 1
    train, test = split(dataset, 0)
    assert (len(train), len(test)) == (1438, 359)


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
    dataset = load_dataset(DATASETS["cnae9"], tmp_path)
    assert dataset.y[:10].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]
    assert dataset.num_classes == 9
    train, test = split(dataset, 0)
    assert (len(train), len(test)) == (864, 216)
    assert torch.bincount(dataset.y[test]).tolist() == [24] * 9


def test_malformed_cnae9_is_refused(tmp_path: Path) -> None:
    path = save_cnae9(tmp_path, cnae9_table(first_label=0))
    message = refusal("cnae9", tmp_path)
    assert "labels of 1..9, less 1: row 0 (counted from 0) has a label outside" in message
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert str(path) in refusal("cnae9", tmp_path)
    path.write_bytes(b"\n".join(whole.splitlines()[:500]))
    assert "500 rows of 856 counts, CNAE-9 has 1080 of 856" in refusal("cnae9", tmp_path)
    for content in (b"", b"\n\n", b"<html>503 Service Unavailable</html>", b"\xff\xfe,1"):
        path.write_bytes(content)
        assert "not a table of comma-separated numbers" in refusal("cnae9", tmp_path)


def test_a_missing_cnae9_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = cnae9_table()

    def fetch(*, data_id: int, data_home: Path, **kwargs: object) -> Bunch:
        assert (data_id, data_home) == (1468, tmp_path / "openml")
        return Bunch(data=sparse.csr_matrix(table[:, 1:]), target=table[:, 0].astype(str))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    require_files(DATASETS["cnae9"], tmp_path)
    downloaded = load_dataset(DATASETS["cnae9"], tmp_path)
    save_cnae9(tmp_path, table)
    monkeypatch.delattr("sklearn.datasets.fetch_openml")
    from_file = load_dataset(DATASETS["cnae9"], tmp_path)
    assert torch.equal(downloaded.x, from_file.x)
    assert torch.equal(downloaded.y, from_file.y)


def test_a_failed_download_says_what_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(**kwargs: object) -> Bunch:
        raise OSError("no\nroute")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    message = refusal("cnae9", tmp_path)
    assert f"no file {tmp_path / 'cnae9' / 'CNAE-9.data'}" in message
    assert "https://archive.ics.uci.edu" in message
    assert "OSError: no route" in message


def test_a_download_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*args: object, **kwargs: object) -> None:
        raise URLError("no answer")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", offline)
    assert "no answer" in refusal("cnae9", tmp_path)


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
    dataset = load_dataset(DATASETS[name], real_data_dir(name))
    facts = describe(dataset, seed=0)
    assert (facts.num_rows, facts.num_features, facts.num_classes) == (rows, features, classes)
    assert classes - len(facts.absent_classes) == occurring
    assert facts.num_test == round(0.2 * rows)
    assert dataset.candidates is not None
    sets, y = dataset.candidates.numpy(), dataset.y.numpy()
    check_candidates(sets, y, noisy=False, where=name)
    assert audit_candidates(sets, y).mean == pytest.approx(mean, abs=5e-5)


def test_real_italian_has_constant_columns_and_duplicates() -> None:
    facts = describe(load_dataset(DATASETS["italian"], real_data_dir("italian")), seed=0)
    assert facts.constant_columns == 36
    assert facts.duplicate_rows == 9417
    assert facts.leaked_rows > 0


def test_real_cnae9() -> None:
    dataset = load_dataset(DATASETS["cnae9"], real_data_dir("cnae9"))
    facts = describe(dataset, seed=0)
    assert (facts.num_rows, facts.num_features, facts.num_classes) == (1080, 856, 9)
    assert torch.bincount(dataset.y).tolist() == [120] * 9
    assert (facts.zero_rows, facts.duplicate_rows) == (1, 28)
    assert (facts.num_train, facts.num_test) == (864, 216)
    assert (dataset.x.min().item(), dataset.x.max().item()) == (0, 4)
    assert (dataset.x == 0).double().mean() == pytest.approx(0.9922, abs=5e-5)
