"""Wrong requests: one line that names the place and the mend, exit code 2, and nothing written."""

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import plugins
from tests.commands import refused


@pytest.fixture
def wrong_files(current_folder: Path, monkeypatch: pytest.MonkeyPatch, grid_results: Path) -> Path:
    """The current folder, with files to go wrong with, and a link to the records of `grid`."""
    monkeypatch.delenv("PLLBENCH_DATA", raising=False)
    (current_folder / "grid").symlink_to(grid_results)
    (current_folder / "empty").mkdir()
    (current_folder / "file").touch()
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
        (current_folder / name).write_text(text)
    plugins.write_lost(current_folder / "good")
    plugins.write_lost(current_folder / "unreadable").write_bytes(b"MATLAB 5.0, no more")
    whole = plugins.write_lost(current_folder / "cut")
    whole.write_bytes(whole.read_bytes()[:-100])
    sets = np.ones((3, 100))
    sets[:, 17] = 0
    plugins.write_lost(current_folder / "empty_set", partial_target=sets)
    plugins.write_lost(
        current_folder / "without_true", partial_target=np.eye(3)[np.zeros(100, int)].T
    )
    plugins.write_lost(current_folder / "infinite", data=np.full((100, 5), np.inf))
    counts = np.random.default_rng(0).integers(0, 2, (1080, 857))
    for name, first in {"from_zero": 0, "from_two": 2}.items():
        counts[:, 0] = np.arange(1080) % 9 + first
        (current_folder / name / "cnae9").mkdir(parents=True)
        np.savetxt(current_folder / name / "cnae9" / "CNAE-9.data", counts, fmt="%d", delimiter=",")
    return current_folder


WRONG = {
    # Names.
    "run --methods ccc": "unknown method 'ccc': did you mean cc?",
    "run --methods cc --datasets digit": "unknown data set 'digit': did you mean digits?",
    "run --methods asyco-no-refinment": "did you mean asyco-no-refinement?",
    "run --benchmark birdsongs": "unknown benchmark 'birdsongs': did you mean birdsong?",
    "run --methods cc --network liner": "--network liner: network: Input should be 'linear'",
    "run --methods cc --candidates unifrom": "--candidates unifrom: process: Input should be",
    "run": "--methods: name some, or a benchmark",
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
    "run --methods cc --train lr=true": "lr=true: lr: Input should be a valid number, got True",
    "run --methods asyco --set asyco.tau=true": "tau: Input should be a valid number, got True",
    "run --methods cc --q true": "--q true: must be a number from 0 to 1",
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
    "run --methods cc --timeout 0": "--timeout 0.0: must be a number of seconds, more than 0",
    "run --methods cc --timeout nan": "Invalid value for '--timeout'",
    "run --methods cc --engine rya": "Invalid value for '--engine': 'rya' is not one of 'local'",
    "run --methods cc --device gpu": "--device gpu: did you mean cpu?",
    "run --methods cc --device cuda:one": "--device cuda:one: did you mean cuda?",
    "run --methods cc --device cuda:1 --engine ray": "cuda:1: with engine ray, the cluster",
    "run --methods cc --address 10.0.0.1:6379": "--address: only with engine ray",
    "run --methods cc --gpus-per-run 0.5": "--gpus-per-run: only with engine ray",
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
    "run --methods cc --datasets lost --data-dir empty_set": "lost.mat: row 17 ",
    "run --methods cc --datasets lost --data-dir without_true": "lost.mat: row 1 ",
    "run --methods cc --datasets lost --data-dir infinite": "lost.mat: `data`: row 0 ",
    "run --methods cc --datasets cnae9 --data-dir from_zero": "row 0 (counted from 0) has a label",
    "run --methods cc --datasets cnae9 --data-dir from_two": "if they count from 1, subtract 1",
    "data lost --data-dir empty_set": "lost.mat: row 17 ",
    # Folders and files.
    "run --methods cc --results file": "--results file: not writable (File exists); name another",
    "run --methods cc --results file/in": "--results file/in: not writable (Not a directory)",
    "run --methods cc --results grid --results other": "--results: run writes into one folder",
    "table --results gone": "--results gone: no such folder",
    "table --results file": "--results file: no such folder",
    "table --results empty": "--results empty: no records there; is it another folder?",
    "table --methods cc --results empty": "--results empty: no records there; is it another",
    "table --methods proden --results grid": "none of the 8 runs here meets the selection",
    "table --results grid --format latx": "'latx' is not one of 'rich', 'latex'",
    "table --results grid --output empty": "--output empty: not writable (Is a directory)",
    "table --results grid --output file/in": "--output file/in: not writable (",
    "table --results grid --select covering_rate": "no run here has a value for it; it needs a",
    "table --results grid --select best": "'best' is not one of 'covering_rate', ",
    "table --results grid --compare paper --tests cc": "--compare: neither with --tests nor with",
    "table --results grid --compare paper --select all": "--compare: neither with --tests nor with",
    "table --results grid --compare papers": "--compare papers: did you mean paper?",
    "table --results grid --methods cc --datasets digits --q 0.1 --seeds 2 --epochs 2 "
    "--compare paper": "--compare paper: it has no number for any cell here",
    "table --results grid --tests proden": "--tests proden: must be one of at least two rows here",
    "table --results grid --tests cc --select all": "--tests: needs one rule, so not with --select",
    "plot hparam --results grid": "one hyperparameter must differ between the rows here, found: ",
    "plot ranks --results gone": "--results gone: no such folder",
    "plot accuracy --results grid --output plot.jpg": "use .pdf .png .svg",
    "plot accuracy --results grid --output plot": "use .pdf .png .svg",
    "plot accuracy --results empty": "--results empty: no records there; is it another",
    "status --results gone": "--results gone: no such folder",
    # Methods to check.
    "check ccc": "unknown method 'ccc': did you mean cc?",
    "check pathlib:Path": "pathlib:Path is not a subclass of pllbench.method.Method",
    "check pathlib:Paht": "'pathlib:Paht' cannot be imported: ",
    "check no_such_module:Path": "'no_such_module:Path' cannot be imported: ",
    "check :Path": "':Path' cannot be imported: ",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_requests(wrong_files: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = {path: path.stat().st_mtime_ns for path in wrong_files.rglob("*")}
    assert WRONG[line] in refused(*shlex.split(line))
    assert {path: path.stat().st_mtime_ns for path in wrong_files.rglob("*")} == before
