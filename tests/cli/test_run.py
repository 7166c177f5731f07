"""`pllbench run`: grids, failures, wishes that the machine cannot fulfil."""

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.commands import GRID, Answer, broken, on_lost, pllbench, same, stored


def test_a_grid_is_stored_and_its_table_printed(grid_results: Path) -> None:
    assert len(stored(grid_results)) == 8
    table = (grid_results / "answer.txt").read_text()
    assert re.search(r"Digits +q = 0.1 +q = 0.3\n", table)
    assert re.search(r"CC( +[*+] \d+\.\d\d ± \d+\.\d\d){2}\n", table)
    assert "Shared settings: epochs=2." in table
    assert "n = 2 seeds" in table
    assert not (grid_results / "work").exists() or not list((grid_results / "work").iterdir())


def test_a_method_without_gradient_is_run_and_its_settings_are_printed(tmp_path: Path) -> None:
    request = shlex.split("run --methods pl_knn --datasets digits --q 0.3 --seeds 1 --jobs 1")
    request += ["--results", str(tmp_path)]
    planned = pllbench(*request, "--dry-run").out
    settings = (
        "PL-kNN on digits q=0.3, seeds 0: 0 of 1 done\n  hparams: num_neighbours=10\n  views: "
    )
    assert planned.startswith(settings)
    assert "train: " not in planned
    answer = pllbench(*request)
    assert answer.code == 0
    assert answer.err.splitlines()[-1] == "pllbench: 1 done, 0 were done before, 0 failed"
    [[spec, result, curves]] = stored(tmp_path).values()
    assert isinstance(spec, dict)
    assert isinstance(result, dict)
    assert spec["gradient"] is False
    assert result["accuracy"]["last10"] > 0.9
    assert {len(values) for values in curves.values()} == {1}


@pytest.mark.parametrize(
    "changed",
    [
        "",
        "--methods rc,cc",
        "--q 0.30,0.1",
        "--q 0.30000000000000004,1e-1",
        "--seeds 1,0",
        "--jobs 2 --checkpoint-every 1 --device cpu",
        "--train epochs=2",
        "--train lr=0.1 --train batch_size=64 --holdout 0",
        "--candidates uniform:policy=force",
    ],
)
def test_the_same_grid_in_other_words_reruns_nothing(grid_results: Path, changed: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in grid_results.rglob("*")}
    answer = pllbench("run", *GRID, *changed.split(), "--results", grid_results)
    assert answer.code == 0
    assert answer.err == "pllbench: 0 done, 8 were done before, 0 failed\n"
    assert {path: path.stat().st_mtime_ns for path in grid_results.rglob("*")} == before


def test_two_workers_store_what_one_stores(grid_results: Path, tmp_path: Path) -> None:
    answer = pllbench("run", *GRID, "--jobs", 2, "--results", tmp_path)
    assert answer.code == 0
    assert same(tmp_path, grid_results)


def test_dry_run_prints_the_settings_and_writes_nothing(
    grid_results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = pllbench("run", *GRID, "--holdout", "0.25", "--dry-run")
    assert (answer.code, answer.err) == (0, "")
    assert "CC (epochs=2, holdout=0.25) on digits q=0.1, seeds 0, 1: 0 of 2 done\n" in answer.out
    assert re.search(r"^  train: .*epochs=2, batch_size=64, lr=0.1, .*$", answer.out, re.MULTILINE)
    assert "  candidates: process=uniform, q=0.1, policy=force\n" in answer.out
    assert "  holdout: share=0.25\n" in answer.out
    assert answer.out.endswith("\n8 runs, 0 done\n")
    assert not list(tmp_path.iterdir())
    assert pllbench("run", *GRID, "--dry-run", "--results", grid_results).out.endswith(
        "8 runs, 8 done\n"
    )


FAILURES = {
    "raising": "RuntimeError: a line, and [another] one",
    "diverging": "FloatingPointError: loss is nan at epoch 1, step 1 of 5",
    "killed": "the worker was killed by the system (out of memory?)",
    "out_of_memory": "MemoryError",
    "hanging": "took longer than its timeout of 5 s",
}


def test_failures_stand_alone_and_are_tried_again(plugin_folder: Path, tmp_path: Path) -> None:
    selection = on_lost(*FAILURES, "steady", results=tmp_path)
    command = ["run", *selection, "--data-dir", plugin_folder, "--jobs", 2]
    with broken(plugin_folder):
        answer = pllbench(*command, "--timeout", 5)
    assert answer.code == 1
    assert answer.err.endswith("pllbench: 1 done, 0 were done before, 5 failed\n")
    for name, reason in FAILURES.items():
        line = rf"{name} \(.*\) · lost · seed 0: {re.escape(reason)}\n"
        assert re.search(f"^pllbench: failed: {line}", answer.err, re.MULTILINE)
    errors = [path.read_text() for path in (tmp_path / "work").glob("*/error.txt")]
    assert sorted(text.splitlines()[0] for text in errors) == sorted(FAILURES.values())
    assert [text for text in errors if "go_wrong" in text and "Traceback" in text]
    assert "steady" in answer.out

    counts = {"done": 1, "failed": 5, "running": 0, "missing": 0}
    status = pllbench("status", *selection, "--json")
    assert (status.code, json.loads(status.out)) == (0, counts)
    assert json.loads(pllbench("status", "--results", tmp_path, "--json").out) == counts
    words = pllbench("status", *selection).out
    assert words.startswith("1 done, 5 failed, 0 running, 0 missing\n")
    assert all(reason in words for reason in FAILURES.values())

    answer = pllbench(*command)
    assert answer.code == 0
    assert answer.err.endswith("pllbench: 5 done, 1 were done before, 0 failed\n")
    assert not list((tmp_path / "work").iterdir())


def test_huge_seeds_are_seeds(plugin_folder: Path, tmp_path: Path) -> None:
    selection = on_lost("steady", results=tmp_path, seeds=f"{10**30},")
    run = ["run", *selection, "--data-dir", plugin_folder]
    assert pllbench(*run).code == 0
    [[spec, _, _]] = stored(tmp_path).values()
    assert isinstance(spec, dict)
    assert spec["seed"] == 10**30
    assert pllbench(*run).err == "pllbench: 0 done, 1 were done before, 0 failed\n"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_without_a_device() -> None:
    answer = pllbench("run", "--methods", "cc", "--device", "cuda")
    assert answer == Answer(2, "", "pllbench: --device cuda: no CUDA device here; use cpu\n")


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    monkeypatch.delitem(sys.modules, "pllbench.runner.ray_engine", raising=False)
    answer = pllbench("run", "--methods", "cc", "--engine", "ray")
    message = "pllbench: --engine ray: Ray is not installed; pip install 'pllbench[ray]'\n"
    assert answer == Answer(2, "", message)


def test_what_its_network_makes_of_a_method_is_said_before_it_runs() -> None:
    request = shlex.split("run --methods cc,asyco --datasets mnist-5k --network lenet --dry-run")
    [line] = pllbench(*request).err.splitlines()
    assert line.startswith("pllbench: AsyCo (network=lenet): tau = 20 belongs to ResNet-18")
    assert pllbench(*request, "--set", "asyco.tau=0.4").err == ""


def test_what_its_network_makes_of_a_method_is_said_by_a_run_too(tmp_path: Path) -> None:
    images = tmp_path / "images.npz"
    np.savez(images, x=np.zeros((30, 8, 8), np.uint8), y=np.arange(30) % 3)
    request = ["run", "--methods", "asyco", "--datasets", images, "--network", "small_cnn"]
    request += ["--q", "0.3", "--epochs", "1", "--seeds", "0,", "--results", tmp_path / "results"]
    answer = pllbench(*request, "--engine", "inline")
    assert answer.code == 0, answer.err
    assert ": tau = 20 belongs to ResNet-18" in answer.err.splitlines()[0]
