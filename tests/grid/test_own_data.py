"""Custom data in benchmark files: named there, or put into the grids by a selection."""

from pathlib import Path

import pytest

from pllbench.grid.benchmark import Benchmark, load_benchmark
from pllbench.grid.plan import PlannedRun, Selection, plan
from tests.commands import pllbench, refused
from tests.data.files import X, save_npz

VARIANT = '[variants.mine-cc]\nbase = "cc"\nlabel = "Mine"\nhparams = { num_strong = 1 }\n'
GRID = '[[grid]]\nmethods = "mine-cc"\nq = 0.3\nseeds = [0]\n'


def write(folder: Path, text: str) -> Benchmark:
    (folder / "mine.toml").write_text(GRID + text + VARIANT)
    return load_benchmark(str(folder / "mine.toml"))


def found(benchmark: Benchmark, *datasets: str) -> list[PlannedRun]:
    return plan(Selection(benchmark=benchmark, datasets=datasets))


@pytest.mark.parametrize("path", ["birds.npz", "./birds.npz", "../here/birds.npz"])
def test_a_path_in_a_benchmark_file_is_relative_to_its_folder(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    file = save_npz(here, "birds")
    for current in (tmp_path, here):
        monkeypatch.chdir(current)
        [run] = found(write(here, f'datasets = "{path}"\n'))
        assert (run.label, run.spec.dataset, run.spec.q) == ("Mine", "birds", 0.3)
        assert run.data.path is not None
        assert run.data.path.resolve() == file
    [relative] = found(load_benchmark("mine.toml"))
    assert relative.spec == run.spec
    [absolute] = found(write(here, f'datasets = "{file}"\n'))
    assert absolute.spec == run.spec


def test_custom_data_of_a_flag_are_put_into_the_grids(tmp_path: Path) -> None:
    file = str(save_npz(tmp_path, "birds"))
    benchmark = write(tmp_path, 'datasets = ["digits", "cnae9"]\n')
    assert [run.spec.dataset for run in found(benchmark)] == ["digits", "cnae9"]
    assert [run.spec.dataset for run in found(benchmark, file)] == ["birds"]
    assert [run.spec.dataset for run in found(benchmark, "cnae9", file)] == ["cnae9", "birds"]
    assert [run.spec.dataset for run in found(write(tmp_path, ""), file)] == ["birds"]


def test_a_flag_chooses_among_the_custom_data_that_a_file_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_npz(tmp_path, "birds")
    save_npz(tmp_path, "fish", x=2 * X)
    benchmark = write(tmp_path, 'datasets = ["birds.npz", "fish.npz", "digits"]\n')
    assert [run.spec.dataset for run in found(benchmark, "./fish.npz")] == ["fish"]
    assert [run.spec.dataset for run in found(benchmark)] == ["birds", "fish", "digits"]
    (tmp_path / "other").mkdir()
    save_npz(tmp_path / "other", "fish")
    with pytest.raises(ValueError, match=r"fish\.npz: another data set is named 'fish'"):
        found(benchmark, "other/fish.npz")


def test_a_setting_may_be_for_custom_data_by_name(tmp_path: Path) -> None:
    file = str(save_npz(tmp_path, "birds"))
    setting = '[[setting]]\nwhen = { dataset = "birds" }\ntrain = { lr = 0.5 }\n'
    benchmark = write(tmp_path, f'datasets = ["digits", "birds.npz"]\n{setting}')
    rates = {run.spec.dataset: run.spec.train.lr for run in found(benchmark)}
    assert rates == {"digits": 0.1, "birds": 0.5}
    [run] = found(write(tmp_path, setting), file)
    assert run.spec.train.lr == 0.5
    with pytest.raises(ValueError, match=r"birds.*: unknown data set 'birds': did you mean"):
        found(write(tmp_path, f'datasets = "digits"\n{setting}'))


def test_own_variants_run_on_own_data(tmp_path: Path) -> None:
    save_npz(tmp_path, "birds")
    write(tmp_path, 'datasets = "./birds.npz"\n[[setting]]\ntrain = { epochs = 1 }\n')
    options = ["--benchmark", tmp_path / "mine.toml", "--results", tmp_path / "results"]
    answer = pllbench("run", *options, "--jobs", 1)
    assert answer.code == 0, answer.err
    assert "Mine" in answer.out
    assert pllbench("table", *options, "--format", "csv").out.count("birds") == 1
    (tmp_path / "birds.npz").unlink()
    line = refused("run", *options)
    assert line.endswith(f"{tmp_path}/birds.npz: no such file or folder")
