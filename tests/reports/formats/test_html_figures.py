"""The page in Chromium: its figures, and what they are drawn from."""

from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.support.ui import Select

from pllbench.reports.aggregate import build_table
from pllbench.reports.paired_tests import paired_tests
from pllbench.reports.table import format_difference
from pllbench.spec import CandidateSpec
from tests.browser import Browser, needs_chromium
from tests.factories import PROTOCOL, make_records
from tests.reports.pages import example_runs, page_of, tuned_runs, write_page

pytestmark = [needs_chromium, pytest.mark.slow]


@pytest.mark.parametrize("against", ["cc", "rc", "proden"])
def test_differences_are_those_of_the_paired_tests(
    browser: Browser, path: Path, against: str
) -> None:
    tests = paired_tests(build_table(example_runs(), PROTOCOL), against)
    expected = {
        test.label: format_difference(-test.difference, -test.high, -test.low)
        for test in tests
        if test.dataset == "lost" and test.difference and test.high and test.low
    }
    browser.open(path, "#dataset-lost")
    for name in ("RC", "CC", PROTOCOL.labels[against]):
        browser.choose("#against", name)
    found = dict(
        browser.run(
            "return [...document.querySelectorAll('#dataset-lost figure + .table tbody tr')]"
            ".map(row => [...row.cells].map(cell => cell.textContent))"
        )
    )
    assert {label: found[label] for label in expected} == expected
    assert len(expected) == 3
    assert f"against=method-{against}" in browser.address()


def test_the_chosen_method_is_marked_and_its_own_page_says_so(browser: Browser, path: Path) -> None:
    browser.open(path, "#leaderboard?against=method-rc")
    assert browser.shown("#ranking .chosen th") == ["RC"]
    browser.find("#ranking a[href='#method-rc']").click()
    assert browser.shown("#method-rc .empty") == [
        "This is the chosen method: choose another one above."
    ]
    browser.choose("#against", "CC")
    assert browser.shown("#method-rc .empty") == []
    assert len(browser.shown("#method-rc figure[data-figure=line-differences] svg text")) > 5


def test_lines_of_figures_are_shown_and_hidden(browser: Browser, path: Path) -> None:
    browser.open(path, "#dataset-digits")
    figure = "#dataset-digits figure[data-figure=accuracy]"
    before = len(browser.all(f"{figure} .drawing .marker"))
    assert before == 3 * 3
    [button] = [b for b in browser.all(f"{figure} .legend button") if b.text == "RC"]
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert len(browser.all(f"{figure} .drawing .marker")) == 2 * 3
    for other in browser.all(f"{figure} .legend button[aria-pressed=true]"):
        other.click()
    assert browser.shown(f"{figure} .empty") == ["Nothing is shown: choose lines below."]
    button.click()
    assert len(browser.all(f"{figure} .drawing .marker")) == 3


def test_figures_follow_their_choices(browser: Browser, path: Path) -> None:
    browser.open(path, "#dataset-digits")
    curves = "#dataset-digits figure[data-figure=curves]"

    def drawn(figure: str) -> str:
        return str(browser.run(f"return document.querySelector('{figure} .drawing').innerHTML"))

    seen = {drawn(curves)}
    browser.choose(f"{curves} [data-choice=column]", "q = 0.7")
    seen.add(drawn(curves))
    for name in ("Class noise rate (%)", "Pairwise noise rate (%)"):
        browser.choose(f"{curves} [data-choice=curve]", name)
        assert name in browser.shown(f"{curves} svg text")
        seen.add(drawn(curves))
    assert len(seen) == 4
    differences = "#dataset-digits figure[data-figure=differences]"
    before = drawn(differences)
    browser.choose(f"{differences} select", "q = 0.7")
    assert drawn(differences) != before
    browser.open(path, "#comparisons")
    pareto = "figure[data-figure=pareto]"
    assert len(browser.all(f"{pareto} .drawing .marker")) == 3
    browser.choose(f"{pareto} select", "Lost")
    assert len(browser.all(f"{pareto} .drawing .marker")) == 4
    browser.open(path, "#method-cc")
    line = "#method-cc figure[data-figure=line-curves]"
    assert len(browser.all(f"{line} .drawing > svg")) == 3
    browser.choose(f"{line} select", "Lost")
    assert len(browser.all(f"{line} .drawing > svg")) == 3
    browser.find("#method-cc details summary").click()
    assert "momentum" in browser.find("#method-cc details table").text


def test_the_choices_of_figures_are_in_the_address(browser: Browser, path: Path) -> None:
    browser.open(path, "#dataset-digits")
    curves = "#dataset-digits figure[data-figure=curves]"
    accuracy = "#dataset-digits figure[data-figure=accuracy]"
    browser.choose(f"{curves} [data-choice=column]", "q = 0.7")
    browser.choose(f"{curves} [data-choice=curve]", "Class noise rate (%)")
    [button] = [b for b in browser.all(f"{curves} .legend button") if b.text == "CC"]
    button.click()
    [button] = [b for b in browser.all(f"{accuracy} .legend button") if b.text == "none"]
    button.click()
    address = browser.address()
    browser.find("nav a[href='#comparisons']").click()
    browser.choose("figure[data-figure=pareto] select", "Lost")
    both = browser.address()
    for opened in (address, both.replace("#comparisons", "#dataset-digits")):
        browser.open(path, opened)
        found = browser.all(f"{curves} select")
        assert [Select(one).first_selected_option.text for one in found] == [
            "q = 0.7",
            "Class noise rate (%)",
        ]
        assert browser.shown(f"{curves} .legend [aria-pressed=true]") == [
            "PRODEN",
            "RC",
            "Fully supervised",
        ]
        assert browser.shown(f"{accuracy} .empty") == ["Nothing is shown: choose lines below."]
        assert len(browser.all(f"{accuracy} .legend [aria-pressed=false]")) == 4
    browser.open(path, both)
    assert len(browser.all("figure[data-figure=pareto] .drawing .marker")) == 4
    browser.open(path, "#dataset-digits?dataset-digits.curves.column=q+%3D+9")
    assert Select(browser.find(f"{curves} select")).first_selected_option.text == "q = 0.1"


def test_every_figure_is_drawn_and_named(browser: Browser, path: Path) -> None:
    browser.open(path, "#all")
    for figure in browser.all("figure"):
        drawings = figure.find_elements("css selector", ".drawing > svg")
        words = figure.find_elements("css selector", ".empty")
        assert drawings or words, figure.get_attribute("outerHTML")
        for svg in drawings:
            assert svg.get_attribute("role") == "img"
            assert len(svg.get_attribute("aria-label") or "") > 40
    [curve] = browser.all("#dataset-lost figure[data-figure=curves] svg[role=img]")
    said = curve.get_attribute("aria-label") or ""
    assert "Test accuracy (%) at the end: PRODEN 5" in said
    assert len(browser.all("figure[data-figure=ranks] .drawing .marker")) == 3
    assert "NaN" not in browser.run("return document.querySelector('main').innerHTML")


def test_a_figure_beside_its_legend_uses_the_room_that_is_left(
    browser: Browser, tmp_path: Path
) -> None:
    runs = [
        run
        for process in ({"process": "uniform"}, {"process": "noisy", "eta": 0.1})
        for q in (0.3, 0.5)
        for run in make_records([80, 81], candidates=CandidateSpec.parse({**process, "q": q}))
    ]
    browser.open(write_page(page_of(runs), tmp_path), "#dataset-digits")
    first, second = browser.all("#dataset-digits figure[data-figure=accuracy] .drawing svg")
    assert first.location["y"] == second.location["y"]
    assert first.location["x"] < second.location["x"]


def test_a_single_rate_is_drawn_as_a_row_a_line(browser: Browser, tmp_path: Path) -> None:
    runs = [*make_records([80, 81]), *make_records([70, 72], method="rc")]
    browser.open(write_page(page_of(runs), tmp_path), "#dataset-digits")
    figure = "#dataset-digits figure[data-figure=accuracy]"
    assert browser.shown(f"{figure} figcaption") == [
        "Test accuracy; bars are the sample standard deviation."
    ]
    texts = browser.shown(f"{figure} svg text")
    assert texts[-1] == "Test accuracy (%)"
    assert any("RC" in text for text in texts)
    assert browser.all("#method-rc figure[data-figure=sweeps]") == []


def test_epochs_are_whole_numbers(browser: Browser, tmp_path: Path) -> None:
    runs = make_records([80, 81], train={"epochs": 2})
    browser.open(write_page(page_of(runs), tmp_path), "#dataset-digits")
    texts = browser.shown("#dataset-digits figure[data-figure=curves] svg text")
    assert texts[:3] == ["0", "1", "2"]


def test_rows_of_another_budget_are_not_compared(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_page(page_of(tuned_runs()), tmp_path), "#dataset-lost?against=method-cc")
    found = browser.run(
        "return [...document.querySelectorAll('#dataset-lost figure + .table tbody tr')]"
        ".map(row => row.cells[1].textContent)"
    )
    assert sorted(found) == ["+1.00 [+1.00, +1.00]", "other budget", "other budget"]


def test_axes_have_three_ticks_also_where_times_hardly_differ(browser: Browser, path: Path) -> None:
    browser.open(path)
    for low, high, ticks in (
        (0.9, 1100, [1, 10, 100, 1000]),
        (2.5, 35, [3, 10, 30]),
        (19, 120, [20, 50, 100]),
        (22, 140, [30, 50, 70, 100]),
    ):
        assert browser.run("return logTicks(arguments[0], arguments[1])", low, high) == ticks


def test_45_methods_have_45_looks(browser: Browser, large: Path) -> None:
    browser.open(large, "#dataset-digits")
    looks = browser.run("return data.lines.map(line => line.look.join(' '))")
    assert len(set(looks)) == len(looks) == 45
    figure = "#dataset-digits figure[data-figure=curves]"
    assert len(browser.all(f"{figure} .legend button[aria-pressed]")) == 45
    assert len(browser.all(f"{figure} .legend button[aria-pressed=true]")) == 10


def test_all_lines_of_a_figure_are_shown_or_none(browser: Browser, large: Path) -> None:
    browser.open(large, "#dataset-digits")
    figure = "#dataset-digits figure[data-figure=curves]"
    [everything] = [b for b in browser.all(f"{figure} .legend .switch") if b.text == "all"]
    [nothing] = [b for b in browser.all(f"{figure} .legend .switch") if b.text == "none"]
    everything.click()
    assert len(browser.all(f"{figure} .legend button[aria-pressed=true]")) == 45
    assert len(browser.all(f"{figure} .drawing .band")) == 45
    nothing.click()
    assert browser.all(f"{figure} .legend button[aria-pressed=true]") == []
    assert browser.shown(f"{figure} .empty") == ["No line shown here has this curve."]


def test_tuned_rows_are_drawn_against_the_same_ones_with_default_settings(
    browser: Browser, tmp_path: Path
) -> None:
    page = page_of(tuned_runs())
    browser.open(write_page(page, tmp_path), "#tuning")
    assert browser.shown("h2") == ["What tuning is worth"]
    figure = "#tuning figure[data-figure=tuning]"
    for column in ("Digits, q = 0.3", "Lost"):
        browser.choose(f"{figure} select", column)
        titles = browser.run(
            "return [...document.querySelectorAll(arguments[0])].map(node => node.textContent)",
            f"{figure} .marker title",
        )
        assert titles == ["+9.00 [+9.00, +9.00]"] * 2
    assert "CC" in browser.find(f"{figure} svg").text
    assert browser.shown("#tuning h3") == ["Digits", "Lost", "Average ranks over data sets"]
