"""The page in Chromium: by keyboard, with any names, on any width, on paper, read aloud."""

from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser import Browser, needs_chromium
from tests.reports.pages import HOSTILE, partial_page, write_page

pytestmark = [needs_chromium, pytest.mark.slow]

LABELS = "#ranking tbody th"

EVERY_PART = (
    *("leaderboard", "comparisons", "datasets", "dataset-digits", "dataset-lost", "methods"),
    *("method-cc", "method-supervised", "provenance", "all"),
)


def test_all_can_be_done_with_the_keyboard(browser: Browser, path: Path) -> None:
    browser.open(path)

    def press(*keys: str) -> None:
        ActionChains(browser.driver).send_keys(*keys).perform()

    active, reached = "document.activeElement", []
    for _ in range(60):
        press(Keys.TAB)
        reached.append(
            browser.run(
                "return document.activeElement.id || document.activeElement.textContent.trim()"
            )
        )
        if browser.run(f"return {active}.matches('#ranking tbody a')"):
            break
    assert reached[0] == "Skip to the leaderboard"
    assert {"against", "theme", "find", "family", "heat", "Markdown", "Method"} <= set(reached)
    press(Keys.ENTER)
    assert browser.shown("h2") == ["PRODEN"]
    browser.open(path)
    browser.run("document.querySelectorAll('#ranking thead button')[0].focus()")
    press(Keys.ENTER)
    assert browser.shown(LABELS)[0] == "CC"
    browser.run("document.getElementById('heat').focus()")
    press(Keys.SPACE)
    assert browser.all("td.heat") != []


def test_hostile_names_are_text(browser: Browser, hostile: Path) -> None:
    for part in ("#leaderboard", "#comparisons", "#all"):
        browser.open(hostile, part)
        assert browser.run("return window.hacked") is None
    printed = browser.run(
        "return [...document.querySelectorAll('#ranking tbody th')].map(th => th.textContent)"
    )
    assert set(printed) == {" ".join(name.split()) for name in HOSTILE}
    assert len(browser.all("main script, main img, main [onload], main [onerror]")) == 0
    browser.open(hostile, "#leaderboard?find=%3Cscript%3E&against=%22%3E%3Cscript%3E")
    assert browser.shown(LABELS) == [HOSTILE[0]]
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    browser.copied("#leaderboard", "LaTeX")
    assert browser.run("return window.hacked") is None


@pytest.mark.parametrize("width", [420, 1400])
def test_nothing_is_wider_than_the_window(
    browser: Browser, path: Path, hostile: Path, large: Path, width: int
) -> None:
    browser.resize(width)
    for file in (path, hostile, large):
        browser.open(file, "#all")
        assert browser.run("return document.documentElement.scrollWidth") <= width


def test_paper_has_no_controls_and_is_light(browser: Browser, path: Path) -> None:
    browser.open(path, "#leaderboard?theme=dark")
    browser.prefer("dark", "print")
    assert not browser.find("nav").is_displayed()
    assert not browser.find("#find").is_displayed()
    assert browser.find("#ranking").is_displayed()
    assert (
        browser.find("body").value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"
    )
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert printed["data"].startswith("JVBERi0")  # %PDF-


def test_what_is_missing_is_said(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_page(partial_page(), tmp_path), "#provenance")
    text = browser.find("#provenance").text
    assert "OutOfMemoryError: no memory" in text
    assert "Missing runs" in text


def violations(browser: Browser, axe: str) -> list[str]:
    """Rules that the page breaks, with the first element of each."""
    browser.run(axe)
    found = browser.run_async("const done = arguments[0]; axe.run().then(r => done(r.violations))")
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1400])
def test_nothing_breaks_a_rule_of_accessibility(
    browser: Browser, path: Path, axe: str, width: int, scheme: str
) -> None:
    browser.resize(width)
    browser.prefer(scheme)
    for part in EVERY_PART:
        browser.open(path, f"#{part}?heat=on")
        assert violations(browser, axe) == [], part


def test_the_rules_of_accessibility_see_what_breaks_them(
    browser: Browser, path: Path, axe: str
) -> None:
    browser.open(path)
    browser.run(
        "document.querySelector('label:has(#find)').replaceWith(document.getElementById('find'))"
    )
    browser.run("document.getElementById('find').removeAttribute('placeholder')")
    assert any(rule.startswith("label:") for rule in violations(browser, axe))
