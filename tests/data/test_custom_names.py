"""Names of custom data sets, and MATLAB 7.3 files."""

import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from pllbench.data.custom import custom_info, find_dataset
from pllbench.data.dataset import load_dataset


def test_accents_are_one_letter_however_the_file_system_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "vo\N{LATIN SMALL LETTER O}\N{COMBINING DIAERESIS}gel.npz"
    np.savez(path, x=np.eye(4), y=np.arange(4))
    assert custom_info(path).name == "vo\N{LATIN SMALL LETTER O WITH DIAERESIS}gel"


def test_a_bare_folder_is_told_how_to_be_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pics").mkdir()
    with pytest.raises(ValueError, match=r"unknown data set 'pics': .* write \./pics$"):
        find_dataset("pics")


@pytest.fixture
def mat73(tmp_path: Path) -> Path:
    """Three rows of two features, two classes, as MATLAB 7.3 stores them: axes turned."""
    path = tmp_path / "new.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["data"] = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).T
        file["target"] = np.array([[1, 0, 1], [0, 1, 0]]).T
        file["partial_target"] = np.array([[1, 1, 1], [0, 1, 1]]).T
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    with path.open("r+b") as raw:
        raw.write(header)
    return path


def test_a_matlab_73_file_is_read(mat73: Path, tmp_path: Path) -> None:
    dataset = load_dataset(custom_info(mat73), tmp_path)
    assert dataset.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert dataset.y.tolist() == [0, 1, 0]
    assert dataset.candidates is not None
    assert dataset.candidates.tolist() == [[True, False], [True, True], [True, True]]


def test_without_h5py_the_extra_is_named(
    mat73: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ValueError, match=r"new\.mat: a MATLAB 7\.3 file; .*mat73.*'-v7'"):
        load_dataset(custom_info(mat73), tmp_path)


def test_a_missing_variable_of_a_custom_file_is_to_be_stored(tmp_path: Path) -> None:
    from scipy.io import savemat

    path = tmp_path / "nolabels.mat"
    savemat(path, {"data": np.eye(3)})
    with pytest.raises(ValueError, match=r"no variable `target` in it; store `target`$"):
        load_dataset(custom_info(path), tmp_path)
