"""Malformed benchmark files: one line names the file, exit code 2, nothing is written."""

from pathlib import Path

import pytest
from hypothesis import given

from tests.commands import contents, pllbench, refused
from tests.damage import ANYWHERE, BYTES, anywhere, cut, overwritten

DIGITS = "9" * 5000
"""More digits than Python reads."""


GRID = '[[grid]]\nmethods = "cc"\ndatasets = "digits"\n'
SETTING = f"{GRID}[[setting]]\n"
VARIANT = f'{GRID}[variants.mine]\nbase = "cc"\nlabel = "Mine"\n'

FILES: dict[str, bytes | str] = {
    "grid: Field required": "",
    "grid: Input should be a valid array": "grid = 3",
    "grid.0: Input should be": "grid = [3]",
    "grid.0.methods.0: Input should be a valid string": "[[grid]]\nmethods = [1]",
    "grid.0.seeds: Input should be a valid array": f"{GRID}seeds = 3",
    "grid.0.seeds.0: Input should be greater": f"{GRID}seeds = [-7]",
    "seeds.0: Input should be a valid integer, got True": f"{GRID}seeds = [true]",
    "q.0: Input should be a valid number, got True": f"{GRID}q = true",
    "grid.0.q.0: Input should be a finite number": f"{GRID}q = nan",
    "grid.0.q.1: Input should be a finite number, got inf": f"{GRID}q = [0.1, inf]",
    "title: Input should be a valid string": f"title = 7\n{GRID}",
    "grey 'rc': in no grid": f'grey = "rc"\n{GRID}',
    "improvement 'nobody': in no grid": f'improvement = "nobody"\n{GRID}',
    "unknown key 'grids', did you mean grid?": '[[grids]]\nmethods = "cc"',
    "unknown method 'ccc'": '[[grid]]\nmethods = "ccc"\ndatasets = "digits"',
    "unknown benchmark 'cyclic'": f'{GRID}protocol = "cyclic"',
    "gone.toml: not readable": f'{GRID}protocol = "gone.toml"',
    "Maximum serialization depth exceeded": f"{'a.' * 5000}b = 1",
    "Exceeds the limit": f"{GRID}seeds = [{DIGITS}]",
    "recursion": f"{GRID}seeds = {'[' * 5000}",
    "Cannot declare ('grid', '0') twice": f"[grid.0]\n[grid.0]\n{GRID}",
    "Cannot overwrite a value": f"{GRID}q = 0.1\nq = 0.2",
    "not readable ('utf-8' codec": b"\xff\xfet\0i\0",
    "Invalid statement": b"\xef\xbb\xbf" + GRID.encode(),
    "Expected newline or end of document": f"{GRID}q = 0,1",
    "Illegal character": f'title = "a\0b"\n{GRID}',
    "Unescaped '\\' in a string": f'title = "\\q"\n{GRID}',
    "train: unknown key 'lrr'": f"{SETTING}train = {{ lrr = 1 }}",
    "setting.0.train": f"{SETTING}train = 3",
    "lr: Input should be a valid number": f"{SETTING}train = {{ lr = 1979-05-27 }}",
    "train: a number is not finite": f"{SETTING}train = {{ milestones = [nan] }}",
    "lr: Input should be greater than 0": f"{SETTING}train = {{ lr = -1 }}",
    "epochs: Input should be a valid integer": f'{SETTING}train = {{ epochs = "many" }}',
    "network: Input should be 'linear'": f'{SETTING}train = {{ network = "vgg" }}',
    "noise_std: Input should be a valid number": f"{SETTING}views = {{ noise_std = [] }}",
    "process: Input should be 'uniform'": f'{SETTING}candidates = {{ process = "unifrom" }}',
    "hparams: unknown key 'tau'": f"{SETTING}hparams = {{ tau = 1 }}",
    "holdout: Input should be less than 1": f"{SETTING}holdout = 2",
    "holdout: Input should be a valid number, got True": f"{SETTING}holdout = true",
    "data_seed: Input should be greater": f"{SETTING}data_seed = -1",
    "when: Input should be an object": f"{SETTING}when = 3",
    "when.kind.0: Input should be 'image'": f'{SETTING}when = {{ kind = "sound" }}',
    "when.q.0: Input should be a valid number": f'{SETTING}when = {{ q = "low" }}',
    "unknown data set 'digit': did you mean digits?": f'{SETTING}when = {{ dataset = "digit" }}',
    "unknown method 'nobody'": f'{SETTING}when = {{ method = "nobody" }}',
    'setting when {"method":["rc"]}: applies to no run of this selection': (
        f'{SETTING}when = {{ method = "rc" }}'
    ),
    "variants.mine.base: Input should be a valid string": VARIANT.replace(
        '"cc"\nlabel', "1\nlabel"
    ),
    "variant 'mine': unknown method 'mine'": VARIANT.replace('"cc"\nlabel', '"mine"\nlabel'),
    "variant 'mine': unknown method 'other'": VARIANT.replace('"cc"\nlabel', '"other"\nlabel')
    + '[variants.other]\nbase = "mine"\nlabel = "Each the base of the other"\n',
    "variant 'rc' has the name of a method": VARIANT.replace("variants.mine", "variants.rc"),
    "variants.mine.label: Field required": VARIANT.replace('label = "Mine"', ""),
}


@pytest.mark.parametrize("problem", FILES)
def test_malformed_benchmark_files(current_folder: Path, problem: str) -> None:
    text = FILES[problem]
    (current_folder / "mine.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    before = contents(current_folder)
    line = refused("run", "--benchmark", "mine.toml")
    assert problem in line
    assert line.count("mine.toml") == 1
    assert contents(current_folder) == before


def test_a_missing_benchmark_file_is_named_once(current_folder: Path) -> None:
    line = refused("run", "--benchmark", f"{current_folder}/gone.toml")
    assert line.count("gone.toml") == 1
    assert line.endswith("gone.toml: not readable (No such file or directory)")


WHOLE = f"""\
title = "Mine"
{VARIANT}hparams = {{ num_strong = 2 }}
[[setting]]
reason = "shorter"
when = {{ q = [0.1, 0.3] }}
train = {{ epochs = 3, lr = 0.05 }}
""".encode()
"""A benchmark file."""


def is_refused_or_a_plan(current_folder: Path, content: bytes) -> None:
    """What is left or made by chance may be a benchmark file again; then all of its runs are shown.

    No other outcome is possible.
    """
    (current_folder / "mine.toml").write_bytes(content)
    answer = pllbench("run", "--dry-run", "--benchmark", "mine.toml")
    if answer.code == 0:
        assert answer.err == ""
        assert answer.out.endswith(" runs, 0 done\n")
    else:
        assert answer.code == 2
        assert answer.out == ""
        assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err


@anywhere
@given(place=ANYWHERE)
def test_a_benchmark_file_cut_at_any_byte(current_folder: Path, place: float) -> None:
    is_refused_or_a_plan(current_folder, cut(WHOLE, place))


@anywhere
@given(place=ANYWHERE, by=BYTES)
def test_a_benchmark_file_with_other_bytes(current_folder: Path, place: float, by: bytes) -> None:
    is_refused_or_a_plan(current_folder, overwritten(WHOLE, place, by))
