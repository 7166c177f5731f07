"""Content digests of the files of data sets."""

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pllbench.data.catalogue import DATASETS, DatasetInfo
from pllbench.data.content import files_digest, other_files
from pllbench.data.dataset import load_dataset
from pllbench.results.records import read_records
from tests.commands import pllbench
from tests.data.files import X, real_data_dir, save_npz
from tests.plugins import write_lost

RESULTS = Path(__file__).parents[2] / "results"
LOST = replace(DATASETS["lost"], known_digest="42a8cc43e0557808")


def write_files(folder: Path, contents: dict[str, bytes]) -> None:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


KNOWN = [info for info in DATASETS.values() if info.known_digest]


@pytest.mark.parametrize("info", KNOWN, ids=lambda info: info.name)
def test_the_real_files_are_the_known_ones(info: DatasetInfo) -> None:
    assert files_digest(info, real_data_dir(info.name)) == info.known_digest


def test_what_we_have_published_numbers_of_is_known() -> None:
    names = {info.name for info in KNOWN} | {"digits"}  # which scikit-learn ships
    assert {record.spec.dataset for record in read_records(RESULTS)[0]} <= names


def test_the_digest_of_one_file_is_its_sha256_wherever_it_lies(tmp_path: Path) -> None:
    digest = sha(write_lost(tmp_path).read_bytes())
    assert files_digest(LOST, tmp_path) == digest
    (tmp_path / "pll_realworld" / "lost.mat").rename(tmp_path / "Lost.mat")
    assert files_digest(LOST, tmp_path) == digest


def test_a_replaced_file_is_seen_in_the_same_process(tmp_path: Path) -> None:
    path = write_lost(tmp_path)
    first = files_digest(LOST, tmp_path)
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    os.utime(path, (1, 1))
    assert files_digest(LOST, tmp_path) == sha(bytes(content)) != first


def test_zipped_and_unzipped_files_of_mnist_are_the_same(tmp_path: Path) -> None:
    info = DATASETS["mnist"]
    assert len(info.parts) == 4
    contents = {name: name.encode() * 100 for name in info.parts}
    digest = sha(b"".join(contents.values()))
    write_files(tmp_path / "plain/MNIST/raw", contents)
    zipped = {f"{name}.gz": gzip.compress(content) for name, content in contents.items()}
    write_files(tmp_path / "zipped/MNIST/raw", zipped)
    for folder in ("plain", "zipped"):
        assert files_digest(info, tmp_path / folder) == digest
    for name, content in zipped.items():
        (tmp_path / "zipped/MNIST/raw" / name).write_bytes(content[:-10])
        assert files_digest(info, tmp_path / "zipped") is None
        (tmp_path / "zipped/MNIST/raw" / name).write_bytes(content)


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "svhn"])
def test_the_files_of_an_image_set_count_and_their_neighbours_do_not(
    tmp_path: Path, name: str
) -> None:
    info = DATASETS[name]
    folder = tmp_path if name == "svhn" else tmp_path / str(info.file)
    contents = {part: part.encode() for part in info.parts}
    assert len(contents) >= 2
    assert files_digest(info, tmp_path) is None
    write_files(folder, contents)
    digest = sha(b"".join(contents.values()))
    assert files_digest(info, tmp_path) == digest
    write_files(folder, {"notes.txt": b"mine"})
    assert files_digest(info, tmp_path) == digest
    (folder / info.parts[-1]).write_bytes(b"other")
    assert files_digest(info, tmp_path) not in (None, digest)


def test_human_sets_count_their_labels_and_their_images(tmp_path: Path) -> None:
    info = DATASETS["cifar10h"]
    parts = {f"cifar-10-batches-py/{part}": b"images" for part in DATASETS["cifar10"].parts}
    write_files(tmp_path, {str(info.file): b"votes", **parts})
    assert files_digest(info, tmp_path) == sha(b"votes" + b"images" * 6)


def test_what_has_no_files_has_no_digest(tmp_path: Path) -> None:
    assert files_digest(DATASETS["digits"], tmp_path) is None
    assert files_digest(DATASETS["cnae9"], tmp_path) is None  # missing, or at OpenML's place
    assert files_digest(LOST, tmp_path / "gone") is None


def test_another_file_than_the_known_one_is_named(tmp_path: Path) -> None:
    path = write_lost(tmp_path)
    digest = sha(path.read_bytes())
    line = other_files(LOST, tmp_path)
    assert line == (
        f"data set 'lost': {path} is not the file that is known (digest {digest}, not "
        "42a8cc43e0557808): its runs are kept apart from those of the known one"
    )
    assert other_files(replace(LOST, known_digest=digest), tmp_path) is None
    assert other_files(replace(LOST, known_digest=None), tmp_path) is None
    assert other_files(LOST, tmp_path / "gone") is None


def test_a_loaded_data_set_and_its_audit_say_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "lost", LOST)
    digest = sha(write_lost(tmp_path).read_bytes())
    assert load_dataset(LOST, tmp_path).digest == digest
    assert load_dataset(DATASETS["digits"], tmp_path).digest is None
    answer = pllbench("data", "lost", "--data-dir", tmp_path, "--json")
    assert f'"file_digest": "{digest}",\n "known_file": false' in answer.out


def test_a_run_on_another_file_says_so_and_its_record_holds_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "lost", LOST)
    digest = sha(write_lost(tmp_path).read_bytes())
    options = ["--methods", "cc", "--datasets", "lost", "--epochs", 1, "--seeds", "0,"]
    command = ["run", *options, "--data-dir", tmp_path, "--results", tmp_path / "results"]
    for _ in ("run", "done before"):
        answer = pllbench(*command, "--jobs", 1)
        assert answer.code == 0
        assert answer.err.count(f"is not the file that is known (digest {digest}, not 42a8") == 1
    [record], _ = read_records(tmp_path / "results")
    assert record.provenance.data_digest == digest


def test_own_data_keep_their_digest_in_the_identity_alone(tmp_path: Path) -> None:
    path = save_npz(tmp_path, x=X)
    options = ["--methods", "cc", "--datasets", path, "--q", 0.3, "--epochs", 1, "--seeds", "0,"]
    assert pllbench("run", *options, "--jobs", 1, "--results", tmp_path / "results").code == 0
    [record], _ = read_records(tmp_path / "results")
    assert record.spec.digest is not None
    assert record.provenance.data_digest is None
