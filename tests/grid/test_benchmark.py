"""Benchmark files: where they are found, and what is wrong with one, said in one line."""

from pathlib import Path

import pytest

from pllbench.grid.benchmark import Benchmark, Grid, benchmark_names, load_benchmark
from pllbench.grid.plan import Selection, plan
from pllbench.grid.protocol import Variant, read_toml

WRONG_FILES = {
    'title = "a"\ntitle = "b"\n': "Cannot overwrite a value (at line 2, column",
    "[[grid]]\nseeds = [0,": "Invalid value (at end of document)",
    'title = "no grid"': "grid: Field required",
    'titel = "a"': "unknown key 'titel', did you mean title?",
    "[[grid]]\nmethod = 'rc'": "grid.0: unknown key 'method', did you mean methods?",
    "[[grid]]\ndatasets = 'lots'": "grid.0.datasets.0: unknown data set 'lots': did you mean lost?",
    "[[grid]]\nseeds = [1.5]": "grid.0.seeds.0: Input should be a valid integer",
    "[[grid]]\nseeds = [-1]": "grid.0.seeds.0: Input should be greater than or equal to 0",
    "[[grid]]\n[[grid.setting]]\nviews = { noise = 3 }": "grid.0.setting.0: views: unknown key",
}

WRONG_SETTINGS = {
    "train = { epoch = 3 }": ": train: unknown key 'epoch', did you mean epochs?",
    "candidates = { polcy = 'free' }": ": candidates: unknown key 'polcy', did you mean policy?",
    "train = { lr = nan }": ".train: a number is not finite",
    "when = { datset = 'digits' }": ".when: unknown key 'datset', did you mean dataset?",
    "when = { kind = 'txt' }": ".when.kind.0: Input should be 'image', 'digits'",
    "when = { q = 30 }": ".when.q.0: Input should be less than or equal to 1",
}

A = "base = 'rc'\nlabel = 'A'\n"
WRONG_VARIANTS = {
    "base = 'rc'": ".label: Field required",
    f"{A}hparam = {{}}": ": unknown key 'hparam', did you mean hparams?",
    f"{A}train = {{ rl = 1 }}": ": train: unknown key 'rl', known: batch_size, channels_last,",
    f"{A}[[variants.a.setting]]\ntrain = {{ rl = 1 }}": ".setting.0: train: unknown key 'rl'",
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *WRONG_FILES.items(),
        *((f"[[setting]]\n{t}\n[[grid]]", f"setting.0{m}") for t, m in WRONG_SETTINGS.items()),
        *((f"[variants.a]\n{t}\n[[grid]]", f"variants.a{m}") for t, m in WRONG_VARIANTS.items()),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_names_the_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^b\.toml: ") as error:
        read_toml(Path("b.toml"), text, Benchmark)
    line = str(error.value)
    assert "\n" not in line
    assert line.startswith(f"b.toml: {message}")


def test_a_benchmark_is_found_by_name_and_by_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("title = 'Mine'\n[[grid]]\nmethods = 'rc'\ndatasets = 'digits'\n")
    found = load_benchmark(str(file))
    assert (found.title, found.grid[0].methods, found.grid[0].seeds) == ("Mine", ("rc",), (0, 1, 2))
    name = benchmark_names()[0]
    assert load_benchmark(name).grid


def test_a_benchmark_that_is_not_there_is_named(tmp_path: Path) -> None:
    name = benchmark_names()[0]
    with pytest.raises(ValueError, match=f"^unknown benchmark '{name}x': did you mean {name}"):
        load_benchmark(f"{name}x")
    with pytest.raises(ValueError, match=r"mine\.toml: not readable \(.*No such file"):
        load_benchmark(str(tmp_path / "mine.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"binary\.toml: not readable"):
        load_benchmark(str(tmp_path / "binary.toml"))


@pytest.mark.parametrize("label", ["", "  ", "bell\a", "two\nlines"])
def test_a_label_must_be_visible_text_of_one_line(label: str) -> None:
    with pytest.raises(ValueError, match="must be visible text of one line"):
        Variant(base="cc", label=label)


def test_two_rows_must_not_have_one_label() -> None:
    mine = Benchmark(
        grid=(Grid(methods=("mine",), datasets=("digits",)),),
        variants={"mine": Variant(base="cc", label="RC")},
    )
    with pytest.raises(ValueError, match="variant 'mine' has the label 'RC' of 'rc'"):
        plan(Selection(benchmark=mine))
