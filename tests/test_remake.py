"""Pages, tables and plots of numbers are those of the records: `python -m tools.remake`."""

from functools import cache
from pathlib import Path

import pytest

from pllbench import api
from pllbench.reports.results import Results
from tests.factories import of_benchmark, store
from tools import remake

ROOT = remake.ROOT


@cache
def records() -> Results:
    return api.load(ROOT / "results")


@cache
def pages() -> dict[str, str]:
    return dict(remake.pages(records()))


@cache
def plots() -> dict[str, str]:
    return {path: digest for path, digest, _ in remake.plots(records())}


def test_every_committed_page_is_that_of_the_records() -> None:
    assert {"docs/quickstart.md", "docs/results.md", "results/REPRODUCTION.md"} < pages().keys()
    differing = [path for path, text in pages().items() if (ROOT / path).read_text("utf-8") != text]
    assert differing == [], "python -m tools.remake"


def test_every_committed_plot_shows_the_records() -> None:
    stored = {path: remake.digest_of(ROOT / path) for path in plots()}
    assert stored == plots(), "python -m tools.remake"


@pytest.mark.parametrize("folder", ["results/tables", "results/plots"])
def test_nothing_else_lies_beside_them(folder: str) -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).iterdir()}
    assert there == {path for path in (*pages(), *plots()) if path.startswith(f"{folder}/")}


def test_another_result_is_another_page_and_another_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small repository: it is made once, left alone, and made anew after one run changes."""
    for path, (mark, _) in remake.EMBEDDED.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(f"a\n<!-- {mark} -->\n<!-- /{mark} -->\nb\n")
    (tmp_path / "results" / "search" / "records").mkdir(parents=True)
    (tmp_path / "results" / "tables").mkdir()
    monkeypatch.setattr(remake, "ROOT", tmp_path)
    monkeypatch.setattr(remake, "PLOTS", {"digits": remake.PLOTS["digits"]})
    birdsong = of_benchmark("birdsong", {("cc", None): [70, 71, 72, 73, 74]})

    def made(accuracies: list[float]) -> dict[str, int]:
        runs = of_benchmark("digits", {("cc", 0.3): accuracies}) + birdsong
        store(tmp_path / "results", runs)
        remake.main()
        files = [path for path in tmp_path.rglob("*") if path.suffix in (".md", ".png")]
        return {path.relative_to(tmp_path).as_posix(): path.stat().st_mtime_ns for path in files}

    first = made([90, 91, 92, 93, 94])
    assert "| CC | -- | 92.00 ± 1.58 |" in (tmp_path / "docs/quickstart.md").read_text()
    assert {*first} == {
        "docs/quickstart.md",
        "docs/results.md",
        "results/REPRODUCTION.md",
        "results/tables/tabular.md",
        "results/tables/tabular_variants.md",
        "results/tables/tabular_all.md",
        "results/tables/tuned_tabular_chosen.md",
        "results/plots/digits.png",
    }
    assert made([90, 91, 92, 93, 94]) == first
    second = made([90, 91, 92, 93, 99])
    changed = {path for path in second if second[path] != first[path]}
    assert changed == {"docs/quickstart.md", "results/plots/digits.png"}
