"""Downloads from a slow mirror on this machine: two at once, one killed half-way, half a file."""

import gzip
import hashlib
import os
import subprocess
import sys
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torchvision.datasets

from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset
from pllbench.data.readers.download import replacing_files
from tests.data.test_readers_torchvision import NUM_TEST, NUM_TRAIN, write_cifar, write_mnist

SECONDS = 3.0
"""How long the mirror takes for the largest file."""

LARGEST = "train-images-idx3-ubyte.gz"

CHILD = """
import sys
from pathlib import Path
from torchvision.datasets import MNIST
from pllbench.data.catalogue import DATASETS
from pllbench.data.dataset import load_dataset
mirror, folder, *resources = sys.argv[1:]
MNIST.mirrors = [mirror]
MNIST.resources = [tuple(resource.split("=")) for resource in resources]
print(len(load_dataset(DATASETS["mnist"], Path(folder)).x))
"""
"""Loads MNIST from a mirror, and prints the number of its images."""


class Mirror(ThreadingHTTPServer):
    """Serves files by name, the largest of them slowly.

    Attributes:
        files: contents.
        served: how often each was sent to its end.
        under_way: set when half of the largest file has been sent.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.served: Counter[str] = Counter()
        self.under_way = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    @property
    def resources(self) -> list[tuple[str, str]]:
        return [(name, hashlib.md5(content).hexdigest()) for name, content in self.files.items()]


class Handler(BaseHTTPRequestHandler):
    server: Mirror

    def do_GET(self) -> None:
        name = self.path.removeprefix("/")
        content = self.server.files[name]
        half = len(content) // 2
        with suppress(ConnectionError):  # who looks for redirections reads no further
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.headers["Method"] == "HEAD":
                return
            self.wfile.write(content[:half])
            if name == LARGEST:
                self.wfile.flush()
                self.server.under_way.set()
                time.sleep(SECONDS)
            self.wfile.write(content[half:])
            self.server.served[name] += 1

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    write_mnist(tmp_path / "original", "mnist", monkeypatch)
    files = (tmp_path / "original" / "MNIST" / "raw").iterdir()
    with Mirror({f"{file.name}.gz": gzip.compress(file.read_bytes()) for file in files}) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def start(mirror: Mirror, folder: Path) -> "subprocess.Popen[str]":
    resources = ["=".join(resource) for resource in mirror.resources]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, mirror.url, str(folder), *resources],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"no_proxy": "*"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def num_images(process: "subprocess.Popen[str]") -> int:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err[-2000:]
    return int(out)


@pytest.mark.slow
def test_two_processes_that_miss_a_data_set_fetch_it_once(mirror: Mirror, tmp_path: Path) -> None:
    processes = [start(mirror, tmp_path / "data") for _ in range(2)]
    assert [num_images(process) for process in processes] == [NUM_TRAIN + NUM_TEST] * 2
    assert mirror.served == dict.fromkeys(mirror.files, 1)


@pytest.mark.slow
def test_a_download_that_was_killed_is_done_again(mirror: Mirror, tmp_path: Path) -> None:
    killed = start(mirror, tmp_path / "data")
    assert mirror.under_way.wait(120)
    killed.kill()
    killed.communicate()
    assert not (tmp_path / "data" / "MNIST").exists()
    assert num_images(start(mirror, tmp_path / "data")) == NUM_TRAIN + NUM_TEST
    assert not list((tmp_path / "data").glob(".*.download"))


@pytest.fixture
def from_mirror(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(torchvision.datasets.MNIST, "mirrors", [mirror.url])
    monkeypatch.setattr(torchvision.datasets.MNIST, "resources", mirror.resources)


@pytest.mark.usefixtures("from_mirror")
@pytest.mark.parametrize("packed", [True, False])
def test_half_a_file_is_fetched_again_and_no_whole_one(
    mirror: Mirror, tmp_path: Path, packed: bool
) -> None:
    raw = tmp_path / "data" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, content in mirror.files.items():
        (raw / name).write_bytes(content)
    name = "train-labels-idx1-ubyte.gz"
    (raw / name).write_bytes(mirror.files[name][:20])
    if not packed:  # as if killed while it was unpacked
        for other, content in mirror.files.items():
            whole = gzip.decompress(content)
            (raw / other.removesuffix(".gz")).write_bytes(whole[:20] if other == name else whole)
    assert len(load_dataset(DATASETS["mnist"], tmp_path / "data").x) == NUM_TRAIN + NUM_TEST
    assert mirror.served == {name: 1}
    assert (raw / name).read_bytes() == mirror.files[name]


@pytest.mark.usefixtures("from_mirror")
def test_a_download_without_its_official_sum_takes_no_place(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files[LARGEST] = gzip.compress(b"another file")
    with pytest.raises(ValueError, match=r"^data set 'mnist': no usable .*, and no download"):
        load_dataset(DATASETS["mnist"], tmp_path / "data")
    assert not (tmp_path / "data" / "MNIST").exists()


def test_an_archive_that_is_there_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cifar(tmp_path / "original", "cifar10", monkeypatch)
    cls, data = torchvision.datasets.CIFAR10, tmp_path / "data"
    data.mkdir()
    with tarfile.open(data / cls.filename, "w:gz") as archive:
        archive.add(tmp_path / "original" / cls.base_folder, cls.base_folder)
    digest = hashlib.md5((data / cls.filename).read_bytes()).hexdigest()
    monkeypatch.setattr(cls, "tgz_md5", digest)
    monkeypatch.setattr(cls, "url", "http://127.0.0.1:1/nobody")
    assert len(load_dataset(DATASETS["cifar10"], data).x) == NUM_TRAIN + NUM_TEST


def test_files_take_their_places_at_the_end_of_a_block_only(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")

    def write(*, fail: bool) -> None:
        with replacing_files(tmp_path, "it") as folder:
            (folder / "old").write_text("new")
            (folder / "deep").mkdir()
            (folder / "deep" / "file").write_text("new")
            if fail:
                raise OSError("the network is away")

    with pytest.raises(OSError, match="the network is away"):
        write(fail=True)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "old"
    (tmp_path / ".it.download").mkdir()  # left by a process that was killed
    (tmp_path / ".it.download" / "half").write_text("ne")
    write(fail=False)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "file", "old"]
    assert (tmp_path / "old").read_text() == (tmp_path / "deep" / "file").read_text() == "new"
