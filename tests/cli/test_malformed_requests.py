"""Malformed flags: one line names the place, exit code 2, nothing is written.

Plain mistakes stand in `test_wrong_requests.py`.
"""

import shlex
import sys
from pathlib import Path

import pytest

from tests.commands import contents, refused

LONG = "x" * 300
"""Longer than a file's name may be."""

DIGITS = "9" * 5000
"""More digits than Python reads."""


@pytest.fixture
def malformed_files(current_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    modules = {
        "raises": "raise RuntimeError('two\\nlines')",
        "exits": "import sys; sys.exit(0)",
        "unfinished": "def f(:",
        "empty_class": "class M: pass",
    }
    for name, text in modules.items():
        (current_folder / f"{name}.py").write_text(text)
    (current_folder / "folder.toml").mkdir()
    (current_folder / "digits").mkdir()
    return current_folder


REQUESTS = {
    # Numbers.
    f"run --methods cc --seeds {DIGITS}": f"--seeds {DIGITS}: must be a number of seeds (3)",
    f"run --methods cc --seeds {DIGITS},": "--seeds 9",
    f"run --methods cc --train epochs={DIGITS}": "--train epochs=9",
    f"run --methods cc --set cc.num_strong={DIGITS}": "num_strong: Input should be a valid integer",
    f"run --methods cc --train lr=1{'0' * 400}": "--train lr=1",
    f"run --methods cc --train lr={'[' * 5000}": "--train lr=[",
    "run --methods cc --train 'lr=1\nmomentum=2'": "--train lr=1 momentum=2: lr: Input should be",
    "run --methods cc --train 'lr=1\n[lr]'": "--train lr=1 [lr]: lr: Input should be",
    "run --methods cc --train lr=1e999": "--train lr=1e999: must be a finite number",
    "run --methods cc --train lr=1979-05-27": "--train lr=1979-05-27: must be a finite number",
    "run --methods cc --train lr={a=1}": "--train lr={a=1}: lr: Input should be a valid number",
    "run --methods cc --train lr=[1]": "--train lr=[1]: lr: Input should be a valid number",
    "run --methods cc --train lr=0": "--train lr=0: lr: Input should be greater than 0",
    "run --methods cc --train momentum=1": "momentum: Input should be less than 1",
    f"run --methods cc --train batch_size={10**20}": "batch_size: Input should be less than or",
    "run --methods cc --train lr=1e308": "lr: Input should be less than or equal to 1000000000",
    "run --methods cc --train batch_size=0": "batch_size: Input should be greater than or equal",
    "run --methods cc --train milestones=0.5": "milestones: Input should be a valid array",
    "run --methods cc --train milestones=[2]": "milestones.0: Input should be less than or equal",
    "run --methods cc --train compile=maybe": "compile: Input should be False, True or 'step'",
    "run --methods cc --train precision=fp16": "precision: Input should be 'float32' or 'bf16'",
    "run --methods cc --view cutout=-1": "--view cutout=-1: cutout: Input should be greater",
    "run --methods cc --view =1": "--view =1: must be KEY=VALUE",
    "run --methods cc --set cc.num_strong=[1]": "num_strong: Input should be a valid integer",
    "run --methods cc --set cc..=1": "hparams: unknown key '.'",
    "run --methods cc --set CC.num_strong=1": "unknown method 'CC': did you mean cc?",
    "run --methods cc --q 1e999": "--q 1e999: must be a number from 0 to 1",
    "run --methods cc --q 0.1;0.3": "--q 0.1;0.3: must be a number from 0 to 1",
    "run --methods cc --holdout -0.1": "holdout: Input should be greater than or equal to 0",
    "run --methods cc --holdout 0.9999": "a hold-out share of 0.9999 takes 1438 of 1438 training",
    "run --methods cc --train network=lenet": "network lenet needs images, these rows have",
    "run --methods cc --timeout -1": "Invalid value for '--timeout'",
    "run --methods cc --dry-run=1": "Option '--dry-run' does not take a value",
    "data digits --q nan": "Invalid value for '--q'",
    # Candidate sets.
    "run --methods cc --candidates :": "--candidates : an entry is empty",
    "run --methods cc --candidates pair:policy=free": "process pair has no option 'policy'",
    "run --methods cc --candidates controlled:num_wrong=0": "num_wrong: Input should be greater",
    "run --methods cc --candidates noisy": "process noisy needs eta > 0",
    "run --methods cc --candidates noisy:eta=2": "eta: Input should be less than or equal to 1",
    "run --methods cc --candidates uniform-set --q 0.1": "--q: no run here has generated",
    "run --methods cc --candidates instance:annotator=cc": "annotator 'cc' learns from candidate",
    "run --methods cc --candidates instance:annotator=me": "unknown method 'me'",
    "run --methods cc --candidates hierarchical": (
        "CC · digits hierarchical q=0.1 · seed 0: process hierarchical needs classes with"
    ),
    "run --methods cc --candidates controlled:num_wrong=10": "num_wrong = 10: must be less than",
    "run --methods cc --candidates instance:annotator_network=resnet18": "resnet18 needs images",
    "data digits --candidates hierarchical": "process hierarchical needs classes with superclasses",
    "data digits --candidates controlled:num_wrong=10": "less than the number of classes, 10",
    "data digits --candidates instance": "process instance needs an annotator",
    "data digits --candidates uniform-set --q 0.1": "--q 0.1: process uniform-set takes no rate",
    # Names and paths.
    "run --methods 'cc;rc'": "unknown method 'cc;rc'",
    "run --methods 'cc\nrc'": r"unknown method 'cc\nrc'",
    f"run --methods {LONG}": f"unknown method '{LONG}'",
    f"run --methods cc --datasets ./{LONG}": f"File name too long: '{LONG}'",
    f"run --methods cc --datasets {LONG}.npz": f"File name too long: '{LONG}.npz'",
    "run --methods cc --datasets gone/": "gone: no such file or folder",
    "run --methods cc --datasets /dev/null": "/dev/null: no such file or folder",
    "run --methods cc --datasets ./raises.py": "raises.py: own data is a .npz, .csv, .parquet",
    "run --methods cc --datasets ./digits": "digits: 'digits' is a data set of the suite",
    "run --methods cc --datasets 'a b.npz'": "a b.npz: its name must be letters",
    "run --methods cc --datasets .npz": "unknown data set '.npz'",
    f"run --methods cc --results {LONG}": "File name too long",
    f"run --methods cc --dry-run --results {LONG}": "File name too long",
    f"table --results {LONG}": f"File name too long: '{LONG}'",
    f"status --results {LONG}": f"File name too long: '{LONG}'",
    f"plot accuracy --results {LONG}": f"File name too long: '{LONG}'",
    f"list benchmarks --results {LONG}": "File name too long",
    f"data lost --data-dir {LONG}": "File name too long",
    f"data ./{LONG}": f"File name too long: '{LONG}'",
    f"run --benchmark {LONG}": f"unknown benchmark '{LONG}'",
    f"run --benchmark {LONG}.toml": f"{LONG}.toml: not readable",
    "run --benchmark folder.toml": "folder.toml: not readable",
    "run --benchmark ../benchmarks": "unknown benchmark '../benchmarks'",
    "run --benchmark birdsong --q 0.1": "--q: no run here has generated candidate sets",
    "table --results ''": ".: no records there",
    "status --json=1": "Option '--json' does not take a value",
    "list": "Missing argument 'what'",
    "data digits lost": "unexpected extra argument",
    "run --methods": "Option '--methods' requires an argument",
    # Modules to check.
    "check exits:M": "'exits:M' cannot be imported: SystemExit",
    "check raises:M": "'raises:M' cannot be imported: RuntimeError: two lines",
    "check unfinished:M": "'unfinished:M' cannot be imported: SyntaxError",
    "check empty_class:M": "empty_class:M is not a subclass of pllbench.method.Method",
    "check empty_class:": "'empty_class:' cannot be imported",
    "check ..:x": "'..:x' cannot be imported",
}


@pytest.mark.parametrize("line", REQUESTS, ids=lambda line: line[:60])
def test_malformed_requests(malformed_files: Path, line: str) -> None:
    before = contents(malformed_files)
    assert REQUESTS[line] in refused(*shlex.split(line))
    after = contents(malformed_files)
    assert {path: after[path] for path in after if path.suffix != ".pyc"} == before
