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
    assert {"against", "theme", "find", "family", "ranked", "heat", "Markdown", "Method"} <= set(
        reached
    )
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
    made = "script, img, iframe, [onload], [onerror], main svg:not(figure svg)"
    assert [one.tag_name for one in browser.all(f"body :is({made})")] == ["script", "script"]
    for part in ("#dataset-script-window-hacked-1-script", "#provenance"):
        browser.open(hostile, part)
        assert HOSTILE[0] in browser.find("main").text
        assert browser.run("return window.hacked") is None
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


def test_tables_that_are_wider_than_paper_are_printed_in_parts(
    browser: Browser, large: Path, path: Path
) -> None:
    texts = "return [...document.querySelectorAll('{}')].map(cell => cell.textContent)"
    table = "#comparisons .scroll > table"
    browser.open(large, "#comparisons")
    headers = browser.run(texts.format(f"{table} thead th"))
    cells = browser.run(texts.format(f"{table} tbody td"))
    assert len(headers) == 47
    browser.resize(1032)  # A4 landscape without its margins
    browser.prefer("light", "print")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    parts = [part for part in browser.all(table) if part.is_displayed()]
    assert len(parts) > 1
    assert all(part.size["width"] <= 1032 for part in parts)
    printed = f"{table}:not([hidden])"
    others = browser.run(texts.format(f"{printed} thead th:not(:first-child)"))
    assert others == headers[1:]
    rows = browser.run(texts.format(f"{printed} tbody th"))
    assert len(rows) == 45 * len(parts)
    assert sorted(browser.run(texts.format(f"{printed} tbody td"))) == sorted(cells)
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(texts.format(f"{table} thead th")) == headers
    browser.open(path, "#dataset-digits")  # narrow, and a cell spans all rates
    before = browser.run("return document.querySelector('main').innerHTML")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("return document.querySelector('main').innerHTML") == before
    part = "copyColumns(document.querySelector('#dataset-digits table'), [0, 2, 3])"
    first = browser.run(f"return [...{part}.rows[1].cells].map(c => [c.textContent, c.colSpan])")
    assert first == [["Fully supervised", 1], ["97.83 ± 0.76", 2]]


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
    for part in ("leaderboard", "method-cc", "all"):
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
