"""`pllbench tune`, and the tables and plots of tuned rows."""

import json
import sys
from pathlib import Path

import pytest

from pllbench.results.records import read_records
from tests.commands import Answer, broken, pllbench, refused

SELECTION = ["--methods", "cc,lws", "--datasets", "lost", "--epochs", 9, "--network", "linear"]


@pytest.fixture(scope="module")
def results(plugin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a search, and of the benchmark that compares what it has chosen."""
    folder = tmp_path_factory.mktemp("tune") / "results"
    answer = tune(folder, plugin_folder, "--trials", 3)
    assert answer.code == 0, answer.err
    (folder / "answer.txt").write_text(answer.out + answer.err)
    run = ["run", "--benchmark", chosen(folder), "--results", folder, "--jobs", 1]
    assert pllbench(*run, "--data-dir", plugin_folder).code == 0
    return folder


def tune(results: Path, data_dir: Path, *options: object) -> Answer:
    where = ["--results", results, "--data-dir", data_dir, "--jobs", 1, "--device", "cpu"]
    return pllbench("tune", *SELECTION, "--study", "mine", *where, *options)


def chosen(results: Path) -> Path:
    return results / "tuning" / "mine" / "chosen.toml"


def test_a_search_says_what_it_chooses_and_where_the_benchmark_is(results: Path) -> None:
    said = (results / "answer.txt").read_text()
    lines = said.splitlines()
    assert lines[0].split() == [
        "method", "data", "set", "q", "complete", "pruned", "failed", "trial", "criterion"
    ]  # fmt: skip
    assert [line.split()[:5] for line in lines if line.startswith(("cc", "lws"))] == [
        ["cc", "lost", "1", "2", "0"],
        ["lws", "lost", "1", "2", "0"],
    ]
    assert "lr=" in said
    assert "beta=" in said
    assert f"pllbench run --benchmark {chosen(results)} compares it with the default" in said


def test_trials_are_shown_where_the_study_is_named_alone(results: Path) -> None:
    found, _ = read_records(results)
    assert len(found) == 2 * 2 * 3
    shown = json.loads(pllbench("table", "--results", results, "--format", "json").out)
    assert {entry["n"] for entry in shown} == {3}
    trials = pllbench("table", "--results", results / "tuning" / "mine", "--format", "json")
    assert {entry["n"] for entry in json.loads(trials.out)} == {1}


def test_rows_are_marked_within_a_budget_and_together_if_that_is_asked_for(results: Path) -> None:
    table = ["table", "--benchmark", chosen(results), "--results", results]
    apart = pllbench(*table, "--format", "markdown").out
    assert apart.count("**") == 4, "the best with default settings, and the best of the tuned"
    assert "are ranked apart: a budget, a ranking." in apart
    together = pllbench(*table, "--format", "markdown", "--mixed-budgets").out
    assert together.count("**") == 2
    assert "Mixed budgets:" in together
    message = refused(*table, "--mixed-budgets", "--tests", "cc")
    assert message == "--mixed-budgets: for the plain table alone"


def test_tuned_rows_beside_default_ones(results: Path) -> None:
    table = ["table", "--benchmark", chosen(results), "--results", results]
    entries = json.loads(pllbench(*table, "--compare", "default", "--format", "json").out)
    assert [(entry["method"], entry["n"]) for entry in entries] == [("cc", 3), ("lws", 3)]
    for entry in entries:
        assert entry["budget"].startswith("3 trials, covering_rate, seeds 100, space ")
        difference = entry["tuned"] - entry["default"]
        assert entry["difference"] == pytest.approx(difference, abs=1e-9)
        assert entry["low"] <= entry["difference"] <= entry["high"]
    text = pllbench(*table, "--compare", "default").out
    assert "Method" in text
    assert "Tuned: 3 trials, covering_rate, seeds 100, space" in " ".join(text.split())
    tests = json.loads(pllbench(*table, "--tests", "cc", "--format", "json").out)
    assert len(tests) == 2, "within a budget each"
    plain = [*SELECTION, "--results", results]
    message = refused("table", *plain, "--compare", "default")
    assert message == "no row here is there both with tuned settings and with default ones"


@pytest.mark.parametrize("kind", ["tuning", "accuracy"])
def test_plots_of_tuned_rows(results: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "plot.svg"
    plot = ["plot", kind, "--benchmark", chosen(results), "--results", results]
    assert pllbench(*plot, "--output", path).code == 0
    assert path.stat().st_size > 5000


def test_the_same_search_again_makes_nothing_anew_and_more_trials_add_the_difference(
    results: Path, plugin_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    (folder / "tuning").mkdir(parents=True)
    (results / "tuning" / "mine").rename(folder / "tuning" / "mine")
    try:
        before = chosen(folder).read_bytes()
        again = tune(folder, plugin_folder, "--trials", 3)
        assert again.err.count("\n") == 1, "no run"
        assert chosen(folder).read_bytes() == before
        more = tune(folder, plugin_folder, "--trials", 5, "--output", tmp_path / "five.toml")
        assert "[1/4]" in more.err
        assert "trials = [\n    3,\n    2,\n]" in (tmp_path / "five.toml").read_text()
    finally:
        (folder / "tuning" / "mine").rename(results / "tuning" / "mine")


def test_nothing_of_the_test_rows_is_shown_of_a_trial(tmp_path: Path, plugin_folder: Path) -> None:
    answer = tune(tmp_path, plugin_folder, "--trials", 1)
    progress = [line for line in answer.err.splitlines() if line.startswith("[")]
    assert [line.rpartition(": ")[2] for line in progress[-2:]] == ["9 of 9 epochs"] * 2
    assert not [line for line in progress if "%" in line]


def test_dry_run_says_what_would_be_searched(tmp_path: Path) -> None:
    answer = pllbench("tune", *SELECTION, "--dry-run", "--results", tmp_path / "none")
    assert answer.code == 0
    assert answer.out.startswith("study default: 20 trials, covering_rate, seeds 100, space ")
    assert "  hparams.beta: 1.0, 2.0; trial 0: 1.0\n" in answer.out
    assert "  train.lr: 0.001 to 1, log; trial 0: 0.1\n" in answer.out
    assert not (tmp_path / "none").exists()


REFUSED = [
    (
        ["--seeds", "3"],
        "--seeds 0, 1, 2: trials have seeds from 100 on: those below are the tables'",
    ),
    (["--holdout", "0"], "--holdout 0.0: Input should be greater than 0"),
    (["--study", "a/b"], "--study a/b: its name must be letters"),
    (["--spaces", "nowhere"], "--spaces nowhere: no such folder"),
    (["--methods", "average"], "--methods: unknown method 'average'"),
    (["--methods", "able"], "--methods able: no space; write "),
    (["--methods", "supervised"], "--methods: none here learns from candidate sets"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_wrong_requests_are_refused_in_one_line(
    tmp_path: Path, options: list[str], message: str
) -> None:
    request = ["tune", "--datasets", "lost", "--results", tmp_path]
    methods = [] if "--methods" in options else ["--methods", "cc"]
    assert message in refused(*request, *methods, *options)


def test_a_benchmark_says_what_its_search_gives(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = '[tuning]\ntrials = 4\nseeds = [107]\n[[grid]]\nmethods = ["cc"]\ndatasets = ["lost"]\n'
    path.write_text(text)
    said = pllbench("tune", "--benchmark", path, "--dry-run").out
    assert said.startswith("study mine: 4 trials, covering_rate, seeds 107, space ")
    said = pllbench("tune", "--benchmark", path, "--trials", 6, "--dry-run").out
    assert said.startswith("study mine: 6 trials, covering_rate, seeds 107, space ")
    path.write_text(text.replace("107", "7"))
    assert "tuning.seeds.0: Input should be greater than or equal to 100" in refused(
        "tune", "--benchmark", path
    )


def test_a_failure_is_named_and_the_same_command_mends_it(
    tmp_path: Path, plugin_folder: Path
) -> None:
    spaces = tmp_path / "spaces"
    spaces.mkdir()
    shared = "[train.lr]\nvalues = [0.05, 0.1]\ndefault = 0.1\nsource = 's'\n"
    (spaces / "shared.toml").write_text(shared)
    (spaces / "raising.toml").write_text("")
    request = ["tune", "--methods", "raising", "--datasets", "lost", "--epochs", 4, "--trials", 1]
    request += ["--spaces", spaces, "--results", tmp_path, "--data-dir", plugin_folder]
    with broken(plugin_folder):
        answer = pllbench(*request, "--jobs", 1)
    assert answer.code == 1
    assert "failed: raising (epochs=4, holdout=0.1), trial 0 · lost · seed 100: RuntimeError" in (
        answer.err
    )
    assert answer.out.split()[-1] == "none"
    mended = pllbench(*request, "--jobs", 1)
    assert (mended.code, "written: " in mended.err) == (0, True)


def test_optuna_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pllbench.tuning.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optuna", None)  # as where it is not installed
    message = "Optuna is not installed; pip install 'pllbench[tune]'"
    assert refused("tune", "--methods", "cc", "--datasets", "lost") == message
