"""The pages of the documentation site: what is made from the code, and that nothing is left out."""

import os
import re
from pathlib import Path

import pytest

from pllbench.data.catalogue import DATASETS
from pllbench.grid.protocol import default_protocol
from pllbench.results.rows import RunRow
from pllbench.spec import ViewSpec
from tools.site import assemble as assembling
from tools.site import datasets, methods, protocol
from tools.site.commands import commands, options
from tools.site.docstrings import field_docstrings
from tools.site.inserts import expand
from tools.site.markdown import table
from tools.site.navigation import navigation
from tools.site.places import DOCS, ROOT

DATA = Path(os.environ.get("PLLBENCH_DATA") or "no data here")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    assembling.assemble(folder)
    return folder


def test_a_cell_of_a_table_is_one_line_and_ends_at_no_bar_of_its_own() -> None:
    found = table(("a", "n"), [("x\n|y", "`1|2`")], numbers=["n"])
    assert found.splitlines() == ["| a | n |", "| :-- | --: |", r"| x \|y | `1|2` |"]


def test_every_command_has_a_page_with_all_its_options(pages: Path) -> None:
    assert {"run", "table", "data"} <= commands().keys()
    for name, command in commands().items():
        text = (pages / "docs" / "commands" / f"{name}.md").read_text("utf-8")
        assert text.startswith(f"# pllbench {name}\n")
        for parameter in command.params:
            assert f"| `{parameter.opts[0]}" in text, parameter.opts
            assert parameter.help, f"{name} {parameter.opts} says nothing"


def test_options_are_said_with_values_meaning_and_default() -> None:
    found = options("run").splitlines()
    assert "| `--dry-run` | Print the runs and their settings only. |  |" in found
    assert "| `--timeout <float>` | Seconds after which a run fails. | x>=0 |" in found
    assert any(line.endswith("| default: 10; x>=1 |") for line in found)
    assert found.index("## Selection") < found.index("## Options")


def test_the_navigation_leads_to_every_page_once(pages: Path) -> None:
    listed = re.findall(r"\]\((.+?)\)$", navigation(pages), re.M)
    assert len(listed) == len(set(listed))
    there = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    assert set(listed) == there - {"SUMMARY.md"}


def test_methods_are_listed_by_family_and_year(tmp_path: Path) -> None:
    (tmp_path / "cc.md").write_text("# CC: one loss\n\nSomebody, NeurIPS 2020.\n")
    (tmp_path / "rc.md").write_text("# RC\n\nSomebody, ICML 2019.\n")
    (tmp_path / "proden.md").write_text("# PRODEN\n\nSomebody, ICML 2018.\n")
    loss, first, second = methods.method_pages(tmp_path)
    assert (loss.name, loss.family, loss.summary, loss.year) == ("cc", "loss", "one loss", "2020")
    assert (first.name, first.family, first.year) == ("proden", "confidence", "2018")
    assert first.summary
    assert (second.name, second.label, second.year) == ("rc", "RC", "2019")


def test_pages_have_no_insert_left_and_no_path_of_a_machine(pages: Path) -> None:
    for path in pages.rglob("*.md"):
        text = path.read_text("utf-8")
        assert not re.search(r"^<!-- insert", text, re.M), path
        assert not re.search(r"(?<![\w.])/(work|tmp|home|root)/", text), path


def test_the_page_of_results_leads_to_no_record_that_the_site_lacks(pages: Path) -> None:
    text = (ROOT / "results" / "report.html").read_text("utf-8")
    copy = (pages / "results" / "report.html").read_text("utf-8")
    assert 'href="records/' in text
    assert 'href="records/' not in copy
    assert re.sub("<[^>]*>", "", copy) == re.sub("<[^>]*>", "", text)


def test_an_unknown_insert_is_an_error() -> None:
    with pytest.raises(KeyError):
        expand("<!-- insert: nothing -->")


def test_the_protocol_is_told_whole() -> None:
    shipped = default_protocol()
    settings, variants = protocol.settings(), protocol.variants()
    assert len(settings.splitlines()) == 2 + len(shipped.setting)
    assert len(variants.splitlines()) == 2 + len(shipped.variants)
    assert "| data set `digits` | `scaling = none` |" in settings
    assert "| AsyCo w/o auxiliary | `asyco` | `auxiliary = false` |" in variants
    assert "| CIFAR-100 | `cifar100` | 0.01, 0.05, 0.1, 0.2 |" in protocol.rates()


def test_declared_defaults_come_with_the_docstrings_of_their_fields() -> None:
    found = protocol.defaults("views")
    assert "| `cutout` | `16` | Strong view of images: side of the black square" in found
    assert field_docstrings(ViewSpec).keys() == ViewSpec.model_fields.keys()


@pytest.mark.parametrize("name", DATASETS)
def test_pages_of_data_sets_say_what_catalogue_and_files_say(name: str) -> None:
    page = (DOCS / "datasets" / f"{name}.md").read_text("utf-8")
    info = DATASETS[name]
    assert page.startswith(f"# {info.title}\n")
    assert "\nLicence: " in page
    assert datasets.marked(page, "facts") == datasets.facts(info)
    if not datasets.at_hand(info, DATA):
        pytest.skip(f"the file of {name} is not in PLLBENCH_DATA")
    assert datasets.marked(page, "audit") == datasets.audit(info, DATA)


def test_formulas_become_mathml_and_code_stays() -> None:
    markdown = pytest.importorskip("markdown", reason="needs the extra docs")
    pytest.importorskip("math_core", reason="needs the extra docs")
    from tools.site.mathml import makeExtension

    text = "$p_k^2$ costs \\$5, `$x$` and\n\n$$\\sum_k w_k\n= 1$$"
    found = markdown.markdown(text, extensions=[makeExtension()])
    assert found.count("<math") == 2
    assert "<msubsup><mi>p</mi><mi>k</mi><mn>2</mn></msubsup>" in found
    assert "costs $5, <code>$x$</code>" in found
    assert '<span class="formula"><math display="block">' in found


def test_a_notebook_is_a_page_with_what_its_cells_show(pages: Path) -> None:
    page = "five_minutes.md"
    text = (pages / "docs" / page).read_text("utf-8")
    assert text.startswith("# pllbench in five minutes\n")
    assert "```python\nimport pllbench\n```" in text
    assert text.count("<table") == 4
    assert text.count('<img alt="figure" src="data:image/png;base64,') == 1
    assert not re.search(r"<table[^`]*\n\n[^`]*</table>", text)
    assert f"]({page})" in (pages / "docs" / "python.md").read_text("utf-8")
    assert f"](docs/{page})" in (pages / "README.md").read_text("utf-8")


def test_the_columns_of_frames_are_listed(pages: Path) -> None:
    text = (pages / "docs" / "python.md").read_text("utf-8")
    for name in RunRow.model_fields:
        assert f"| `{name}` |" in text
