"""Every block of code and every command in README, CONTRIBUTING and docs does what it says.

Commands are executed, except those of `NOT_HERE`, which need data, a GPU or more than 30 seconds:
`run` is then asked with --dry-run, and of others it is checked that the words exist. The blocks of
a page are run in order, in one folder, and a block `output` is what the one above it prints.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt
from PIL import Image

from pllbench.data.catalogue import DATASETS
from pllbench.grid.benchmark import load_benchmark
from tests.commands import pllbench
from tools.site.commands import commands
from tools.site.datasets import at_hand

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DATA = os.environ.get("PLLBENCH_DATA")

NOT_HERE = {
    # longer than 30 seconds
    "pllbench run --methods supervised,cc,rc,proden --datasets digits --q 0.3,0.7 --seeds 3",
    "pllbench run --methods supervised,cc,rc --datasets digits --q 0.3,0.7 --seeds 5",
    "pllbench run --methods asyco --datasets digits --q 0.5 --set asyco.rho=0.01 --epochs 100",
    "pllbench run --methods cc,rc --datasets digits --q 0.5 --train lr=0.05 --train batch_size=128",
    "pllbench run --methods cc,rc --datasets digits --candidates pair --q 0.5",
    "pllbench run --methods cc,rc --datasets digits --q 0.5 --holdout 0.1",
    "pllbench run --methods cc --datasets digits --candidates noisy:eta=0.1 --q 0.3",
    "pllbench run --methods average,cc --datasets digits --set average.sharpness=2",
    "pllbench run --methods proden,pico --datasets ./birds/ --q 0.3 --network resnet18",
    "pllbench run --benchmark sharpened.toml",
    "pllbench choose digits --methods cc,proden --q 0.3 --criterion approximated_accuracy --json",
    # files of docs/without_labels.md
    "pllbench fit ./owls.npz --method asyco --epochs 100 --set num_strong=1 --output owls.model",
    "pllbench predict owls.model new.npz --output predictions.csv",
    "pllbench disambiguate owls.model ./owls.npz --output labels.csv",
    "pllbench choose ./owls.npz --methods cc,proden,asyco --seeds 5",
    # data, and longer than 30 seconds
    (
        "python tools/labels_found.py --methods cc,rc,proden,dpll,ncpd,asyco,pl_knn,ipal --seeds 3 "
        "--datasets lost,birdsong"
    ),
    (
        "pllbench run --methods cc,rc,proden,dpll,ncpd,asyco --datasets digits,cnae9 --q 0.7 "
        "--holdout 0.2 --seeds 5 --results results/choices"
    ),
    (
        "pllbench run --methods cc,rc,proden,dpll,ncpd,asyco --datasets birdsong,lost,msrcv2 "
        "--holdout 0.2 --seeds 5 --results results/choices"
    ),
    "python -m tools.remake",
    "pllbench tune --benchmark tuned_tabular",
    "pllbench run --benchmark cnae9",
    "pllbench run --benchmark cnae9 --methods asyco --seeds 7,",
    "pllbench run --methods asyco --datasets birdsong --set asyco.rho=0.01 --epochs 100",
    "pllbench run --benchmark tabular",
    "pllbench run --benchmark tabular --results /shared/results",
    "pllbench run --benchmark tabular --engine ray",
    "pllbench run --benchmark tabular --engine ray --gpus-per-run 0.25",
    "pllbench run --benchmark tabular --engine ray --address 10.0.0.7:6379 --gpus-per-run 0.25",
    # stored runs of another source; tests/cli/test_stale.py
    "pllbench check average --same-numbers",
    # folders of others, runs by their ids, and what deletes; tests/cli
    "pllbench merge results /shared/results --output everything",
    "pllbench merge from_a from_b from_c --output results --json",
    "pllbench merge from_a from_b --output together",
    "pllbench remove --methods cc --datasets digits --yes",
    "pllbench remove fc84a5 1f0575 --yes",
    "pllbench show fc84a5",
    "pllbench show fc84a5a14846f5d1 --json",
    "pllbench show 1f05 --results results --results /shared/results",
    "pllbench rerun fc84a5",
    "pllbench rerun fc84a5 1f0575 --keep predictions,model",
    "pllbench rerun 3b07 --datasets ./birds.npz --json",
    # a package to be installed; tests/test_scaffold.py
    "pllbench check cold_start",
    "pip install -e pll-cold-start",
    # a GPU
    "pllbench run --methods asyco,dpll --datasets cifar10 --q 0.7 --seeds 0,",
    "pytest -m gpu",
    "python -m tools.gpu --data-dir data --output gpu.jsonl",
    "python -m tools.speed --device cuda --bf16 --json",
    # a study that is not committed yet
    "python tools/criteria.py tuned_tabular",
    # what the gate executes, or a cluster
    "ruff check .",
    "ruff format --check .",
    "mypy",
    "lint-imports",
    "pytest",
    "python -m tools.site",
    "python -m zensical build --strict",
    "python3 -m venv .venv",
    ". .venv/bin/activate",
    "mkdir -p try",
    "cd try",
    "pip install .",
    "pip install -e .",
    "pip install -e '.[dev]'",
    "pip install -e '.[dev,docs]'",
    "pip install 'pllbench[ray]'",
    "pip install 'pllbench[tune]'",
}
"""Commands that are checked without being executed."""


MAKERS = ("run", "tune")
"""Commands that train. What is not to be executed of them is asked with --dry-run."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: its language, its text, and the block `output` right below it."""

    language: str
    text: str
    output: str | None


def tokens(page: Path) -> Iterator[tuple[str, str, str]]:
    """Kind, language and text of each block and each piece of inline code."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8")):
        if token.type in ("fence", "code_block"):
            yield token.type, token.info.strip(), token.content
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.type, "", child.content


def blocks(page: Path) -> Sequence[Block]:
    """The blocks of a page, each with its output."""
    found = [(language, text) for kind, language, text in tokens(page) if kind == "fence"]
    following = [*found, ("", "")][1:]
    return [
        Block(*block, after[1] if after[0] == "output" else None)
        for block, after in zip(found, following, strict=True)
        if block[0] != "output"
    ]


def command_lines(script: str) -> list[str]:
    """The commands of a shell script, without comments, loops and what stands before pllbench."""
    lines = script.replace("\\\n", " ").splitlines()
    parts = [part for line in lines for part in re.sub(r"(^|\s)#.*", "", line).split("&&")]
    if any(re.match(r"\s*(for|srun)\b", line) for line in lines):  # only what is ours is checked
        parts = [found[0] for part in parts if (found := re.search(r"\bpllbench [^&;]*", part))]
    return [" ".join(part.split()) for part in parts if part.strip()]


@pytest.fixture(scope="module")
def plug_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The plug-in of `docs/add_a_method.md`, installed as pip would do it."""
    folder = tmp_path_factory.mktemp("plug-in")
    pyproject, source = blocks(ROOT / "docs" / "add_a_method.md")[:2]
    (folder / "pll_average.py").write_text(source.text, "utf-8")
    project = tomllib.loads(pyproject.text)["project"]
    info = folder / "pll_average-0.1.dist-info"
    info.mkdir()
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(about)
    (group, entries), *_ = project["entry-points"].items()
    lines = [f"{name} = {target}" for name, target in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield
        sys.modules.pop("pll_average", None)


@pytest.mark.usefixtures("plug_in")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_and_commands_do_what_they_say(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "results").mkdir()
    for name in ("finch", "owl", "robin"):  # the folder of images that docs/own_data.md shows
        (tmp_path / "birds" / name).mkdir(parents=True)
        image = Image.fromarray(np.zeros((8, 8, 3), np.uint8))
        image.save(tmp_path / "birds" / name / "001.png")
    found = blocks(page)
    for block in found:
        check_toml(block, [name for b in found for name in re.findall(r"\w+\.toml", b.text)])
    for block in found:
        said = None
        if block.language == "python":
            said = run_python(block.text)
        elif block.language == "sh":
            subprocess.run(["bash", "-n", "-c", block.text], check=True)
            for line in command_lines(block.text):
                said = perform(line)
        assert block.language in ("python", "sh", "toml", "text"), "a block without a check"
        if block.output is not None:
            assert said is not None
            masked = any(
                f"pllbench {name}" in block.text for name in MAKERS
            )  # what is trained here may differ elsewhere
            assert lines_of(said, masked=masked) == lines_of(block.output, masked=masked)
    for kind, _, text in tokens(page):
        if kind == "code_inline" and text.startswith("pllbench "):
            require_words(text)
            if not re.search(r"<|\b[A-Z]{2,}\b|\|", text) and len(text.split()) > 2:
                perform(text)
        elif kind == "code_block":
            assert "pllbench" not in text, "a command stands in a fenced block"


def lines_of(text: str, *, masked: bool) -> list[str]:
    """Lines without spaces at their ends; `masked`: without digits and marks of the best."""
    if masked:
        text = re.sub(r"[*+] +(?=\d)", "", re.sub(r" +", " ", text))
        text = re.sub(r"\d+", "0", text)
    return [line.rstrip() for line in text.strip().splitlines()]


def check_toml(block: Block, names: Sequence[str]) -> None:
    """TOML parses; a benchmark is one, and is saved by the names that the page calls it."""
    if block.language == "toml" and "grid" in tomllib.loads(block.text):
        for name in {"benchmark.toml", *names} - {"pyproject.toml"}:
            Path(name).write_text(block.text, "utf-8")
        load_benchmark("benchmark.toml")


def run_python(text: str) -> str:
    """Run a block as a file, since docstrings of fields are read from their source."""
    path = Path("block.py")
    path.write_text(text, "utf-8")
    said = StringIO()
    with redirect_stdout(said):
        runpy.run_path(str(path))
    return said.getvalue()


@cache
def options(name: str) -> set[str]:
    """The options of a command."""
    found = (opt for p in commands()[name].params for opt in (*p.opts, *p.secondary_opts))
    return {"--help", *found}


def require_words(line: str) -> list[str]:
    """The words of a command line, of which command and options exist."""
    words = shlex.split(line)
    assert words[1] in commands(), line
    assert {word for word in words[2:] if word.startswith("--")} <= options(words[1]), line
    return words[1:]


def perform(line: str) -> str | None:
    """Execute a command, or check it where it is in `NOT_HERE`; gives what it prints."""
    words = shlex.split(line)
    if words[0] != "pllbench":
        assert line in NOT_HERE, line
        check_other(words)
        return None
    name, *rest = require_words(line)
    if "--results" not in rest and "--results" in options(name):
        rest += ["--results", "results" if name in MAKERS else str(ROOT / "results")]
    if name not in MAKERS and line in NOT_HERE:
        return None
    if line in NOT_HERE:
        rest += ["--dry-run"]
    elif "--jobs" in options(name):
        rest += ["--jobs", "1", "--device", "cpu"]
    if name == "data" and rest[0] in DATASETS and not at_hand(DATASETS[rest[0]], Path(DATA or "")):
        return None  # its file is not here
    answer = pllbench(name, *rest)
    assert answer.code == 0, f"{line}: {answer.err}"
    return answer.out


def check_other(words: Sequence[str]) -> None:
    """What can be known of a command that is not pllbench's."""
    line = " ".join(words)
    for extras in re.findall(r"\[([\w,]+)\]", line):
        assert set(extras.split(",")) <= PYPROJECT["project"]["optional-dependencies"].keys()
    if words[:2] == ["pytest", "-m"]:
        markers = PYPROJECT["tool"]["pytest"]["ini_options"]["markers"]
        assert words[2] in [marker.partition(":")[0] for marker in markers]
    if words[0] == "python" and words[1].endswith(".py"):
        script = (ROOT / words[1]).read_text("utf-8")
        assert [flag for flag in words if flag[:2] == "--" and f'"{flag}"' not in script] == []


def test_what_is_not_executed_is_still_in_the_docs() -> None:
    shown = {
        line
        for page in PAGES
        for block in blocks(page)
        if block.language == "sh"
        for line in command_lines(block.text)
    }
    assert NOT_HERE - shown == set()


def test_options_that_docs_name_exist() -> None:
    known = {option for name in commands() for option in options(name)}
    known |= {"--strict"}  # of zensical
    named = {
        (page.name, word)
        for page in PAGES
        for kind, _, text in tokens(page)
        if kind == "code_inline" and text.startswith("--")
        for word in [re.split(r"[ =]", text)[0]]
    }
    assert {word for _, word in named} - known == set(), sorted(named)


def test_links_and_pictures_lead_to_files() -> None:
    links = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if "://" not in target
    ]
    assert len(links) > 80
    missing = [(p, target) for p, target in links if not (p.parent / target).exists()]
    assert missing == []
    pictures = {(p.parent / target).resolve() for p, target in links}
    assert set((ROOT / "docs" / "pictures").iterdir()) <= pictures
