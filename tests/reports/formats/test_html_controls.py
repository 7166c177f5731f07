"""The page in Chromium: every control of its parts and of its leaderboard is used."""

import csv
import io
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.keys import Keys

from pllbench.reports.formats.latex import escape_latex
from pllbench.reports.formats.markdown import to_markdown
from pllbench.reports.page import Page
from pllbench.reports.report import Report
from tests.browser import Browser, needs_chromium

pytestmark = [needs_chromium, pytest.mark.slow]


def labels(browser: Browser) -> list[str]:
    """The methods of the leaderboard that are shown, in order."""
    return browser.shown("#ranking tbody th")


def header(browser: Browser, text: str) -> None:
    """Click on a header of the leaderboard."""
    [button] = [
        b for b in browser.all("#ranking thead button") if text in b.text.replace("\n", " ")
    ]
    button.click()


def test_links_lead_from_part_to_part_and_back(browser: Browser, path: Path) -> None:
    browser.open(path)
    assert browser.shown("h2") == ["Leaderboard"]
    for link in ("Comparisons", "Data sets", "Methods", "Published", "Provenance", "Leaderboard"):
        [one] = [a for a in browser.all("nav a") if a.text == link]
        one.click()
        [heading] = browser.shown("h2")
        assert heading.startswith(link)
        assert browser.run("return document.activeElement.textContent") == heading
        assert browser.shown("nav a[aria-current]") == [link]
    browser.driver.back()
    browser.wait("return !document.getElementById('provenance').hidden")
    assert browser.shown("h2") == ["Provenance"]
    browser.find("nav a[href='#datasets']").click()
    browser.find("#datasets a[href='#dataset-lost']").click()
    assert browser.shown("h2") == ["Lost"]
    browser.find("#dataset-lost a[href='#method-rc']").click()
    assert browser.shown("h2") == ["RC"]
    assert browser.shown("nav a[aria-current]") == ["Methods"]
    browser.find("nav a[href='#all']").click()
    assert len(browser.shown("h2")) == 14
    browser.open(path, "#no-such-part")
    assert browser.shown("h2") == ["Leaderboard"]


def test_the_leaderboard_is_sorted_by_any_column_and_the_address_says_so(
    browser: Browser, path: Path
) -> None:
    browser.open(path)
    ranked = ["PRODEN", "RC", "CC"]
    assert labels(browser) == [*ranked, "PiCO", "Fully supervised"]
    header(browser, "Digits q = 0.1")
    assert labels(browser) == ["Fully supervised", *ranked, "PiCO"]
    header(browser, "Digits q = 0.1")
    assert labels(browser) == ["CC", "RC", "PRODEN", "Fully supervised", "PiCO"]
    assert browser.find("#ranking th[aria-sort=ascending]").text.startswith("Digits\nq = 0.1")
    browser.open(path, browser.address())
    assert labels(browser) == ["CC", "RC", "PRODEN", "Fully supervised", "PiCO"]
    header(browser, "Digits q = 0.1")
    assert labels(browser) == [*ranked, "PiCO", "Fully supervised"]
    header(browser, "Method")
    assert labels(browser) == ["CC", "Fully supervised", "PiCO", "PRODEN", "RC"]


@pytest.mark.parametrize(
    ("holder", "best_first", "as_it_came"),
    [
        ("dl + .table", "PiCO PRODEN RC CC", "CC RC PRODEN PiCO"),
        ("figure + .table", "PiCO PRODEN RC", "PRODEN RC PiCO"),
    ],
)
def test_every_other_table_is_sorted_by_its_headers_too(
    browser: Browser, path: Path, holder: str, best_first: str, as_it_came: str
) -> None:
    browser.open(path, "#dataset-lost?against=method-cc")
    table = f"#dataset-lost {holder}"
    orders = {"descending": best_first.split(), "ascending": best_first.split()[::-1]}
    for direction, methods in (*orders.items(), ("none", as_it_came.split())):
        browser.all(f"{table} thead button")[1].click()
        assert browser.shown(f"{table} tbody th") == methods
        assert browser.all(f"{table} thead th")[1].get_attribute("aria-sort") == direction


def test_rows_are_found_by_name_and_family(browser: Browser, path: Path) -> None:
    browser.open(path)
    browser.find("#find").send_keys("pro")
    assert labels(browser) == ["PRODEN"]
    assert browser.find("#count").text == "1 of 5 rows"
    browser.open(path, browser.address())
    assert labels(browser) == ["PRODEN"]
    browser.find("#find").send_keys(Keys.BACKSPACE * 3)
    browser.choose("#family", "loss")
    assert labels(browser) == ["RC", "CC"]
    browser.open(path, browser.address())
    assert labels(browser) == ["RC", "CC"]
    browser.choose("#family", "all")
    browser.find("#ranked").click()
    assert labels(browser) == ["PRODEN", "RC", "CC"]
    assert browser.find("#count").text == "3 of 5 rows"
    browser.find("#ranked").click()
    assert browser.find("#count").text == ""
    browser.find("#ranked").click()
    browser.open(path, browser.address())
    assert labels(browser) == ["PRODEN", "RC", "CC"]


def test_columns_are_hidden_and_shown_again(browser: Browser, path: Path) -> None:
    browser.open(path)
    everything = browser.shown("#ranking thead th")
    browser.find("#columns summary").click()
    [box] = [label for label in browser.all("#columns label") if label.text == "Digits"]
    box.click()
    kept = [text for text in everything if not text.startswith("Digits")]
    assert browser.shown("#ranking thead th") == kept != everything
    browser.open(path, browser.address())
    assert browser.shown("#ranking thead th") == kept
    browser.find("#columns summary").click()
    [box] = [label for label in browser.all("#columns label") if label.text == "Digits"]
    box.click()
    assert browser.shown("#ranking thead th") == everything


def test_the_heat_map_colours_from_lowest_to_highest(browser: Browser, path: Path) -> None:
    browser.open(path)
    assert browser.all("td.heat") == []
    browser.find("#heat").click()
    heats = browser.run(
        "return [...document.querySelectorAll('#ranking tbody tr')].map(row => "
        "row.cells[7].style.getPropertyValue('--heat'))"
    )
    assert [float(heat) for heat in heats if heat][-1] == 1.0  # fully supervised
    assert float(heats[2]) == 0.0  # CC, the lowest
    colours = {td.value_of_css_property("background-image") for td in browser.all("td.heat")}
    assert len(colours) > 3
    browser.find("#heat").click()
    assert browser.all("td.heat") == []


def test_light_and_dark_follow_the_system_unless_chosen(browser: Browser, path: Path) -> None:
    def back() -> str:
        return browser.find("body").value_of_css_property("background-color")

    browser.open(path)
    light = back()
    browser.prefer("dark")
    dark = back()
    assert light != dark
    browser.choose("#theme", "light")
    assert back() == light
    browser.prefer("light")
    browser.choose("#theme", "dark")
    assert back() == dark
    browser.open(path, browser.address())
    assert back() == dark


def test_a_table_is_copied_as_every_other_format_prints_it(
    browser: Browser, path: Path, page: Page
) -> None:
    browser.open(path, "#dataset-digits")
    [table] = page.datasets[0].tables
    printed = to_markdown(Report("", (table,), (), []))
    holder = "#dataset-digits dl + .table"
    assert browser.copied(holder, "Markdown").strip() == printed.strip()
    rows = list(csv.reader(io.StringIO(browser.copied(holder, "CSV"))))
    assert rows[0] == [" ".join(parts) for parts in table.headers]
    assert rows[1:] == [[cell.text for cell in row.by_column] for row in table.rows]
    latex = browser.copied(holder, "LaTeX")
    assert latex.startswith("\\begin{tabular}{lrrr}\n\\toprule\nDigits & q = 0.1 &")
    best = next(cell.text for row in table.rows for cell in row.cells if cell.mark == "best")
    assert f"\\textbf{{{escape_latex(best)}}}" in latex
    differences = browser.copied("#dataset-digits figure + .table", "CSV")
    assert differences.startswith("Method,q = 0.1,q = 0.3,q = 0.7\nRC,")


def test_what_is_hidden_or_filtered_out_is_not_copied(browser: Browser, path: Path) -> None:
    browser.open(path, "#leaderboard?find=cc&hide=Digits%7CLost%7CBirdSong%7CSeconds")
    assert browser.copied("#leaderboard", "CSV") == (
        "Method,Average rank,Places,Tie group,Family,Year\nCC,3.00,2 to 3,b,loss,2020\n"
    )


def test_without_a_clipboard_the_text_is_shown(browser: Browser, path: Path) -> None:
    browser.open(path, "#leaderboard?find=cc")
    browser.run("navigator.clipboard.writeText = () => Promise.reject(new Error('not permitted'))")
    [button] = [b for b in browser.all("#leaderboard .copy button") if b.text == "CSV"]
    button.click()
    browser.wait("return document.getElementById('text').open")
    text = browser.run("return document.querySelector('#text textarea').value")
    assert text.startswith("Method,Average rank")
    browser.find("#text button").click()
    assert not browser.find("#text").is_displayed()
