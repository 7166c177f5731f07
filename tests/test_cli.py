"""The command line as a user meets it: grids, failures, interruptions, wrong requests."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from pllbench import records
from tests import plugins
from tests.commands import Answer, pllbench

REAL_DATA = os.environ.get("PLLBENCH_DATA")

GRID = shlex.split("--methods cc,rc --datasets digits --q 0.1,0.3 --seeds 2 --epochs 2")


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of `GRID`, run by one worker."""
    results = tmp_path_factory.mktemp("grid") / "results"
    answer = pllbench("run", *GRID, "--jobs", 1, "--results", results)
    assert answer.code == 0, answer.err
    (results / "answer.txt").write_text(answer.out)
    return results


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A plug-in whose methods go wrong while `broken` lies here, and the data set `lost`."""
    folder = tmp_path_factory.mktemp("workshop")
    with plugins.installed(folder):
        plugins.write_lost(folder)
        yield folder


def stored(results: Path) -> dict[str, tuple[object, object, dict[str, NDArray[np.float64]]]]:
    """Spec, result and curves of every record, by the path below the results folder."""
    found = {}
    for path in sorted((results / "records").rglob("*.json")):
        content = json.loads(path.read_bytes())
        curves = records.read_curves(path)
        found[str(path.relative_to(results))] = (content["spec"], content["result"], curves)
    return found


def same(one: Path, other: Path) -> bool:
    """Whether two results folders hold the same specs, results and curves, byte for byte."""
    first, second = stored(one), stored(other)
    return first.keys() == second.keys() and all(
        spec == second[name][0]
        and result == second[name][1]
        and {key: column.tobytes() for key, column in curves.items()}
        == {key: column.tobytes() for key, column in second[name][2].items()}
        for name, (spec, result, curves) in first.items()
    )


# Grids.


def test_a_grid_is_stored_and_its_table_printed(grid: Path) -> None:
    assert len(stored(grid)) == 8
    table = (grid / "answer.txt").read_text()
    assert re.search(r"Digits +q = 0.1 +q = 0.3\n", table)
    assert re.search(r"CC \(epochs=2\)( +[*+] \d+\.\d\d ± \d+\.\d\d){2}\n", table)
    assert "n = 2 seeds" in table
    assert not (grid / "work").exists() or not list((grid / "work").iterdir())


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
def test_the_same_grid_in_other_words_reruns_nothing(grid: Path, changed: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in grid.rglob("*")}
    answer = pllbench("run", *GRID, *changed.split(), "--results", grid)
    assert answer.code == 0
    assert answer.err == "pllbench: 0 done, 8 were done before, 0 failed\n"
    assert {path: path.stat().st_mtime_ns for path in grid.rglob("*")} == before


def test_two_workers_store_what_one_stores(grid: Path, tmp_path: Path) -> None:
    answer = pllbench("run", *GRID, "--jobs", 2, "--results", tmp_path)
    assert answer.code == 0
    assert same(tmp_path, grid)


def test_dry_run_prints_the_settings_and_writes_nothing(
    grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    assert pllbench("run", *GRID, "--dry-run", "--results", grid).out.endswith("8 runs, 8 done\n")


# Runs that fail.


def on_lost(*methods: str, results: Path, epochs: int = 4) -> list[object]:
    """Selection of runs on the small data set, at seed 0."""
    found: list[object] = ["--methods", ",".join(methods), "--datasets", "lost", "--seeds", "0,"]
    return [*found, "--epochs", epochs, "--train", "batch_size=16", "--results", results]


@contextmanager
def broken(workshop: Path) -> Iterator[None]:
    """The plug-in's methods go wrong."""
    (workshop / "broken").touch()
    yield
    (workshop / "broken").unlink()


FAILURES = {
    "raising": "RuntimeError: a line, and [another] one",
    "diverging": "FloatingPointError: loss is nan at epoch 1, step 1 of 5",
    "killed": "the worker was killed by the system (out of memory?)",
    "out_of_memory": "MemoryError",
    "hanging": "took longer than --timeout 5 s",
}


def test_failures_stand_alone_and_are_tried_again(workshop: Path, tmp_path: Path) -> None:
    selection = on_lost(*FAILURES, "steady", results=tmp_path)
    command = ["run", *selection, "--data-dir", workshop, "--jobs", 2]
    with broken(workshop):
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


# Processes: interrupted, killed, and side by side.


Process = subprocess.Popen[bytes]


@contextmanager
def started(*arguments: object, log: Path) -> Iterator[Process]:
    """A process of its own, which is killed at the end."""
    command = [sys.executable, "-m", "pllbench.cli", *map(str, arguments)]
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(pattern: str, folder: Path, process: Process) -> Path:
    """The first file of `pattern` that appears below `folder`."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if found := next(folder.glob(pattern), None):
            return found
        assert process.poll() is None, "it ended too early"
        time.sleep(0.05)
    raise AssertionError(f"{pattern} did not appear")


def slow_grid(workshop: Path, results: Path) -> list[object]:
    """A run, and then one that is slow enough to be caught after its first checkpoint."""
    selection = on_lost("steady", "slow", results=results, epochs=40)
    return ["run", *selection, "--data-dir", workshop, "--jobs", 1, "--checkpoint-every", 3]


@pytest.fixture(scope="module")
def straight(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of `slow_grid` without any disturbance."""
    results = tmp_path_factory.mktemp("straight")
    assert pllbench(*slow_grid(workshop, results)).code == 0
    return results


def resumed_from(results: Path) -> list[list[int]]:
    paths = sorted((results / "records").glob("lost/slow/*.json"))
    return [json.loads(path.read_bytes())["provenance"]["resumed_from"] for path in paths]


def test_an_interrupted_grid_goes_on(workshop: Path, straight: Path, tmp_path: Path) -> None:
    results, log = tmp_path / "results", tmp_path / "log"
    with started(*slow_grid(workshop, results), log=log) as process:
        wait_for("records/lost/steady/*.json", results, process)
        checkpoint = wait_for("work/*/checkpoint.pt", results, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    lines = log.read_text().splitlines()
    stopped = "stopped, the next run of this command goes on"
    assert f"slow (epochs=40, batch_size=16) · lost · seed 0: {stopped}" in lines
    assert lines[-1] == (
        "pllbench: 1 done, 0 were done before, 0 failed, 1 left: the same command goes on"
    )
    assert checkpoint.exists()
    answer = pllbench(*slow_grid(workshop, results))
    assert answer.code == 0
    assert answer.err.endswith("1 done, 1 were done before, 0 failed\n")
    assert same(results, straight)
    [[epoch]] = resumed_from(results)
    assert 3 <= epoch < 40
    assert not list((results / "work").iterdir())


def test_a_grid_whose_runner_was_killed_goes_on(
    workshop: Path, straight: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    with started(*slow_grid(workshop, results), log=tmp_path / "log") as process:
        wait_for("records/lost/steady/*.json", results, process)
        wait_for("work/*/checkpoint.pt", results, process)
        process.kill()
    assert pllbench(*slow_grid(workshop, results)).code == 0
    assert same(results, straight)
    [[epoch]] = resumed_from(results)
    assert epoch % 3 == 0


def test_a_second_interrupt_ends_at_once(workshop: Path, tmp_path: Path) -> None:
    selection = on_lost("hanging", results=tmp_path / "results")
    command = ["run", *selection, "--data-dir", workshop, "--checkpoint-every", 1]
    log = tmp_path / "log"
    with broken(workshop), started(*command, log=log) as process:
        checkpoint = wait_for("work/*/checkpoint.pt", tmp_path / "results", process)
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        assert process.poll() is None, "the epoch has not ended"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert log.read_text() == ""
    assert checkpoint.exists()


def test_two_runners_share_a_grid(workshop: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    selection = on_lost("slow", results=results, epochs=10)
    command = ["run", *selection, "--seeds", 6, "--data-dir", workshop, "--jobs", 1]
    logs = [tmp_path / "one", tmp_path / "two"]
    with started(*command, log=logs[0]) as one, started(*command, log=logs[1]) as two:
        assert (one.wait(120), two.wait(120)) == (0, 0)
    assert len(stored(results)) == 6
    finished = [re.findall(r"seed (\d): \d+\.\d\d %", log.read_text()) for log in logs]
    assert sorted(finished[0] + finished[1]) == list("012345"), "each run was executed once"
    assert all(log.read_text().endswith("6 done, 0 were done before, 0 failed\n") for log in logs)


def test_help_and_names_need_no_torch() -> None:
    program = (
        "import sys\nfrom pllbench.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('heavy:', *{'torch', 'numpy', 'pandas'} & set(sys.modules))"
    )
    for arguments in (["--help"], ["run", "--help"], ["list", "methods"]):
        command = [sys.executable, "-c", program, *arguments]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert output.endswith("heavy:\n"), arguments


# Questions.


def test_status_counts_a_selection(grid: Path) -> None:
    answer = pllbench("status", *GRID, "--seeds", 3, "--results", grid, "--json")
    assert json.loads(answer.out) == {"done": 8, "failed": 0, "running": 0, "missing": 4}
    assert pllbench("status", "--results", grid).out == "8 done, 0 failed, 0 running, 0 missing\n"


@pytest.mark.parametrize(
    ("what", "name", "keys"),
    [
        ("methods", "cc", {"name", "from"}),
        ("variants", "asyco-no-refinement", {"name", "base", "label"}),
        ("datasets", "digits", {"name", "title", "kind", "candidates", "file"}),
        ("networks", "linear", {"name"}),
        ("candidates", "uniform", {"name"}),
        ("benchmarks", "birdsong", {"name", "runs", "done", "hours_left", "unestimated", "title"}),
    ],
)
def test_lists(what: str, name: str, keys: set[str]) -> None:
    rows = json.loads(pllbench("list", what, "--json").out)
    assert name in [row["name"] for row in rows]
    assert all(row.keys() == keys for row in rows)
    lines = pllbench("list", what).out.splitlines()
    heads = [key for key in rows[0] if key in keys]
    # A last column that is too long for 80 columns stands below its row, its head too.
    assert " ".join(lines[:2]).split()[: len(heads)] == heads
    assert any(line.split()[0] == name for line in lines[1:])


CELL_KEYS = [
    *("method", "label", "dataset", "candidates", "q", "network", "epochs"),
    *("n", "mean", "std", "select", "run_ids"),
]


def test_json_of_a_table(grid: Path) -> None:
    answer = pllbench("table", "--format", "json", "--results", grid)
    cells = json.loads(answer.out)
    assert [(cell["method"], cell["q"]) for cell in cells] == [
        ("cc", 0.1),
        ("cc", 0.3),
        ("rc", 0.1),
        ("rc", 0.3),
    ]
    accuracies = {
        record.run_id: 100 * record.result.accuracy["last10"] for record in records.query(grid)[0]
    }
    for cell in cells:
        assert list(cell) == CELL_KEYS
        assert cell["label"] == f"{cell['method'].upper()} (epochs=2)"
        assert (cell["dataset"], cell["candidates"], cell["network"]) == (
            "digits",
            "uniform",
            "linear",
        )
        assert (cell["epochs"], cell["n"], cell["select"]) == (2, 2, "last10")
        assert len(set(cell["run_ids"])) == 2
        values = [accuracies.pop(run_id) for run_id in cell["run_ids"]]
        assert cell["mean"] == pytest.approx(np.mean(values))
        assert cell["std"] == pytest.approx(np.std(values, ddof=1))
    assert not accuracies, "every run is in one cell"
    alone = json.loads(
        pllbench("table", *GRID, "--seeds", "1,", "--format", "json", "--results", grid).out
    )
    assert {(cell["n"], cell["std"]) for cell in alone} == {(1, None)}


@pytest.mark.parametrize("form", ["rich", "latex", "markdown", "csv", "json"])
def test_a_table_in_a_file_is_the_table_on_the_screen(
    grid: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    path = tmp_path / "new" / "table"
    answer = pllbench("table", "--format", form, "--output", path, "--results", grid)
    assert answer == Answer(0, "", "")
    screen = pllbench("table", "--format", form, "--results", grid).out
    assert path.read_text() == screen


def test_a_table_of_the_best_epochs_says_so(grid: Path) -> None:
    assert "oracle" in pllbench("table", "--select", "oracle", "--results", grid).out


@pytest.mark.parametrize("kind", ["accuracy", "noise", "curves"])
def test_plots(grid: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "plot.png"
    answer = pllbench("plot", kind, "--output", path, "--results", grid)
    assert answer == Answer(0, f"{path}\n", "")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_records_that_cannot_be_read_are_named_and_not_counted(grid: Path, tmp_path: Path) -> None:
    path = tmp_path / "records" / "digits" / "cc" / f"{'0' * 16}.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    answer = pllbench("status", "--results", tmp_path)
    assert answer.out == "0 done, 0 failed, 0 running, 0 missing\n"
    assert answer.err.startswith(f"pllbench: not counted: {path}: ")


def test_facts_about_a_data_set() -> None:
    facts = json.loads(pllbench("data", "digits", "--q", "0.3", "--json").out)
    assert (facts["num_rows"], facts["num_classes"], facts["candidates_min"]) == (1797, 10, 2)
    words = pllbench("data", "digits", "--q", "0.3").out
    assert re.search(r"^num rows +1797 *$", words, re.MULTILINE)
    assert re.search(r"^candidates without true +0 *$", words, re.MULTILINE)


@pytest.mark.skipif(REAL_DATA is None, reason="PLLBENCH_DATA names no folder of real data sets")
@pytest.mark.parametrize(("name", "rows"), [("cnae9", 1080), ("birdsong", 4998)])
def test_facts_about_real_data_sets(name: str, rows: int) -> None:
    facts = json.loads(pllbench("data", name, "--data-dir", REAL_DATA, "--json").out)
    assert facts["num_rows"] == rows


def test_check_tells_what_a_method_does_not_satisfy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = pllbench("check", "cc")
    assert good.code == 0
    assert good.out.endswith("cc: conforms\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    Path("unlucky.py").write_text(
        "from pllbench_methods.cc import CC\n"
        "class Unlucky(CC):\n"
        "    def predict(self, x):\n        raise RuntimeError('no\\nluck')\n"
    )
    bad = pllbench("check", "unlucky:Unlucky")
    assert bad.code == 1
    assert re.search(r"^FAILED  .*: it raises RuntimeError: no luck$", bad.out, re.MULTILINE)
    assert re.search(r"^unlucky:Unlucky: \d+ checks failed\n$", bad.out.splitlines(True)[-1])


# Wrong requests: one line that names the place and the mend, exit code 2, and nothing written.


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grid: Path) -> Path:
    """The current folder, with files to go wrong with, and a link to the records of `grid`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PLLBENCH_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "grid").symlink_to(grid)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    files = {
        "twice.toml": 'title = "a"\ntitle = "b"\n',
        "unknown.toml": '[[grid]]\nmethods = ["cc"]\nepoch = 3\n',
        "nested.toml": '[[grid]]\nmethods = ["cc"]\n[[grid.setting]]\ntrain = { lrr = 1 }\n',
        "rate.toml": '[[grid]]\nmethods = ["cc"]\nq = [1.5]\n',
        "nan.toml": '[[grid]]\nmethods = ["cc"]\n[[setting]]\ntrain = { lr = nan }\n',
        "binary.toml": "\x00",
        "no_grid.toml": 'title = "a"\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    plugins.write_lost(tmp_path / "good")
    plugins.write_lost(tmp_path / "unreadable").write_bytes(b"MATLAB 5.0, no more")
    whole = plugins.write_lost(tmp_path / "cut")
    whole.write_bytes(whole.read_bytes()[:-100])
    sets = np.ones((3, 100))
    sets[:, 17] = 0
    plugins.write_lost(tmp_path / "hollow", partial_target=sets)
    plugins.write_lost(tmp_path / "narrow", partial_target=np.eye(3)[np.zeros(100, int)].T)
    plugins.write_lost(tmp_path / "infinite", data=np.full((100, 5), np.inf))
    counts = np.random.default_rng(0).integers(0, 2, (1080, 857))
    for name, first in {"from_zero": 0, "from_two": 2}.items():
        counts[:, 0] = np.arange(1080) % 9 + first
        (tmp_path / name / "cnae9").mkdir(parents=True)
        np.savetxt(tmp_path / name / "cnae9" / "CNAE-9.data", counts, fmt="%d", delimiter=",")
    return tmp_path


WRONG = {
    # Names.
    "run --methods ccc": "unknown method 'ccc': did you mean cc?",
    "run --methods cc --datasets digit": "unknown data set 'digit': did you mean digits?",
    "run --methods asyco-no-refinment": "did you mean asyco-no-refinement?",
    "run --benchmark birdsongs": "unknown benchmark 'birdsongs': did you mean birdsong?",
    "run --methods cc --network liner": "--network liner: network: Input should be 'linear'",
    "run --methods cc --candidates unifrom": "--candidates unifrom: process: Input should be",
    "run": "no methods: name some with --methods, or a --benchmark",
    "run --method cc": "No such option: --method (Possible options: --methods",
    "run --methods cc rc": "unexpected extra argument",
    "rum --methods cc": "No such command 'rum'. Did you mean 'run'?",
    "list method": "'method' is not one of 'methods', 'variants'",
    "plot": "Missing argument 'kind'. Choose from: accuracy, hparam, noise, curves, ranks",
    "data digit": "unknown data set 'digit': did you mean digits?",
    # Lists.
    "run --methods cc,,rc": "--methods cc,,rc: an entry is empty",
    "run --methods cc,": "--methods cc,: an entry is empty",
    "run --methods ''": "--methods : an entry is empty",
    "run --methods cc --datasets ,digits": "--datasets ,digits: an entry is empty",
    "run --methods cc --q ''": "--q : an entry is empty",
    "run --methods cc --seeds ''": "--seeds : must be a number of seeds (3), or seeds",
    "run --benchmark ''": "unknown benchmark ''",
    # q and seeds.
    "run --methods cc --q 1.5": "--q 1.5: must be a number from 0 to 1",
    "run --methods cc --q -0.1": "--q -0.1: must be a number from 0 to 1",
    "run --methods cc --q nan": "--q nan: must be a number from 0 to 1",
    "run --methods cc --q 0.1,x": "--q x: must be a number from 0 to 1",
    "run --methods cc --datasets lost --q 0.1": "--q: no run here has generated candidate sets",
    "run --methods supervised --q 0.1": "--q: no run here has generated candidate sets",
    "run --methods cc --seeds 1.5": "--seeds 1.5: must be a number of seeds (3), or seeds",
    "run --methods cc --seeds 0,x": "--seeds 0,x: must be a number of seeds (3), or seeds",
    "run --methods cc --seeds -1": "--seeds -1: must be a number of seeds (3), or seeds",
    "run --methods cc --seeds 0": "a number of seeds is from 1 to 10000; seed 7 is '7,'",
    "run --methods cc --seeds 99999999999": "a number of seeds is from 1 to 10000; seed",
    "data digits --seed -1": "Invalid value for '--seed'",
    # Keys and values.
    "run --methods cc --set cc.nm_strong=1": "unknown key 'nm_strong', did you mean num_strong?",
    "run --methods cc --set rc.num_strong=1": "--set rc.num_strong=1: applies to no run",
    "run --methods cc --set ccc.num_strong=1": "unknown method 'ccc': did you mean cc?",
    "run --methods cc --set num_strong=1": "--set num_strong=1: must be METHOD.KEY=VALUE",
    "run --methods cc --set cc.num_strong=x": "num_strong: Input should be a valid integer",
    "run --methods asyco --set asyco.tau=inf": "--set asyco.tau=inf: must be a finite number",
    "run --methods asyco --set asyco.tau=nan": "--set asyco.tau=nan: must be a finite number",
    "run --methods cc --train learn=1": "--train learn=1: unknown key 'learn', known: ",
    "run --methods cc --train lr": "--train lr: must be KEY=VALUE",
    "run --methods cc --train lr=": "--train lr=: must be KEY=VALUE",
    "run --methods cc --train lr=-1": "--train lr=-1: lr: Input should be greater than 0, got -1",
    "run --methods cc --train lr=inf": "--train lr=inf: must be a finite number",
    "run --methods cc --train batch_size=2.5": "--train batch_size=2.5: batch_size: Input should",
    "run --methods cc --view scalng=none": "unknown key 'scalng', did you mean scaling?",
    "run --methods cc --view noise_std=-1": "--view noise_std=-1: noise_std: Input should be",
    "run --methods cc --epochs 0": "--epochs 0: epochs: Input should be greater than or equal to 1",
    "run --methods cc --epochs 1.5": "Invalid value for '--epochs'",
    "run --methods cc --holdout 1": "holdout: Input should be less than 1, got 1.0",
    "run --methods cc --holdout nan": "--holdout nan: holdout: Input should be a finite number",
    "run --methods cc --candidates uniform:polcy=free": "'polcy', did you mean policy?",
    "run --methods cc --candidates uniform:q=0.1": "q does not belong there but in --q",
    "run --methods cc --candidates uniform:": "--candidates : an entry is empty",
    "run --methods cc --candidates uniform:policy=resample --q 0": "resample needs q > 0",
    "run --methods cc --datasets lost --candidates uniform": "has generated candidate sets",
    "run --methods cc --jobs 0": "Invalid value for '--jobs': Input should be greater than or",
    "run --methods cc --checkpoint-every 0": "Invalid value for '--checkpoint-every'",
    "run --methods cc --timeout 0": "--timeout 0: must be more than 0 seconds",
    "run --methods cc --timeout nan": "Invalid value for '--timeout'",
    "run --methods cc --engine rya": "Invalid value for '--engine': 'rya' is not one of 'local'",
    "run --methods cc --device gpu": "'gpu' is not one of 'auto', 'cpu', 'cuda'.",
    "run --methods cc --address 10.0.0.1:6379": "--address and --gpus-per-run: only with --engine",
    "run --methods cc --gpus-per-run 0.5": "--address and --gpus-per-run: only with --engine ray",
    "run --methods cc --engine ray --gpus-per-run 2": "Invalid value for '--gpus-per-run'",
    "data digits --q 2": "Invalid value for '--q'",
    # Benchmark files.
    "run --benchmark gone.toml": "gone.toml: not readable",
    "run --benchmark empty.toml/": "unknown benchmark 'empty.toml/'",
    "run --benchmark twice.toml": "twice.toml: Cannot overwrite a value (at line 2, column",
    "run --benchmark unknown.toml": "unknown.toml: grid.0: unknown key 'epoch', known:",
    "run --benchmark nested.toml": "nested.toml: ",
    "run --benchmark rate.toml": "rate.toml: grid.0.q.0: Input should be less than or equal to 1",
    "run --benchmark nan.toml": "nan.toml: ",
    "run --benchmark binary.toml": "binary.toml: Invalid statement (at line 1, column 1)",
    "run --benchmark no_grid.toml": "no_grid.toml: grid: Field required",
    # Data files.
    "run --methods cc --datasets lost": "no file data/pll_realworld/lost.mat; get it from https",
    "run --methods cc --datasets digits,lost": "no file data/pll_realworld/lost.mat; get it",
    "run --methods cc --datasets lost --data-dir unreadable": "lost.mat: not a .mat file, or cut",
    "run --methods cc --datasets lost --data-dir cut": "lost.mat: not a .mat file, or cut off",
    "run --methods cc --datasets lost --data-dir hollow": "lost.mat: row 17 ",
    "run --methods cc --datasets lost --data-dir narrow": "lost.mat: row 1 ",
    "run --methods cc --datasets lost --data-dir infinite": "lost.mat: `data`: row 0 ",
    "run --methods cc --datasets cnae9 --data-dir from_zero": "row 0 (counted from 0) has a label",
    "run --methods cc --datasets cnae9 --data-dir from_two": "if they count from 1, subtract 1",
    "data lost --data-dir hollow": "lost.mat: row 17 ",
    # Folders and files.
    "run --methods cc --results file": "--results file: not writable (File exists); name another",
    "run --methods cc --results file/in": "--results file/in: not writable (Not a directory)",
    "table --results gone": "--results gone: no such folder",
    "table --results file": "--results file: no such folder",
    "table --results empty": "empty: no records there; name another folder with --results?",
    "table --methods cc --results empty": "empty: no records there; name another folder with",
    "table --methods proden --results grid": "grid: none of the 12 runs of this selection is done",
    "table --results grid --format latx": "'latx' is not one of 'rich', 'latex'",
    "table --results grid --output empty": "--output empty: not writable (Is a directory)",
    "table --results grid --output file/in": "--output file/in: not writable (",
    "table --results grid --select covering_rate": "it needs training rows kept aside with --hold",
    "table --results grid --select best": "'best' is not one of 'last10', 'last'",
    "plot accuracy --results grid --output plot.jpg": "use .pdf .png .svg",
    "plot accuracy --results grid --output plot": "use .pdf .png .svg",
    "plot accuracy --results empty": "empty: no records there; name another folder",
    "status --results gone": "--results gone: no such folder",
    # Methods to check.
    "check ccc": "unknown method 'ccc': did you mean cc?",
    "check pathlib:Path": "pathlib:Path is not a subclass of pllbench.method.Method",
    "check pathlib:Paht": "'pathlib:Paht' cannot be imported: ",
    "check no_such_module:Path": "'no_such_module:Path' cannot be imported: ",
    "check :Path": "':Path' cannot be imported: ",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_requests(desk: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = {path: path.stat().st_mtime_ns for path in desk.rglob("*")}
    answer = pllbench(*shlex.split(line))
    assert answer.err.startswith("pllbench: ")
    assert WRONG[line] in answer.err
    assert answer.err.count("\n") == 1, "one line"
    assert "Traceback" not in answer.err
    assert (answer.code, answer.out) == (2, "")
    assert {path: path.stat().st_mtime_ns for path in desk.rglob("*")} == before


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_without_a_device() -> None:
    answer = pllbench("run", "--methods", "cc", "--device", "cuda")
    assert answer == Answer(
        2, "", "pllbench: --device cuda: no CUDA device here; use --device cpu\n"
    )


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    monkeypatch.delitem(sys.modules, "pllbench.ray_engine", raising=False)
    answer = pllbench("run", "--methods", "cc", "--engine", "ray")
    message = "pllbench: --engine ray: Ray is not installed; pip install 'pllbench[ray]'\n"
    assert answer == Answer(2, "", message)


def test_huge_seeds_are_seeds(workshop: Path, tmp_path: Path) -> None:
    selection = on_lost("steady", results=tmp_path)
    run = ["run", *selection, "--seeds", f"{10**30},", "--data-dir", workshop]
    assert pllbench(*run).code == 0
    [[spec, _, _]] = stored(tmp_path).values()
    assert isinstance(spec, dict)
    assert spec["seed"] == 10**30
    assert pllbench(*run).err == "pllbench: 0 done, 1 were done before, 0 failed\n"
