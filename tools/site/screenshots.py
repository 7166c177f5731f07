"""The pictures of `results/report.html`: `python -m tools.site.screenshots` takes them anew.

Needs Chromium, its driver, and selenium.
"""

import base64
import io
import shutil
from typing import Any

from PIL import Image

from tools.site.pictures import FOLDER
from tools.site.places import ROOT

PAGE = ROOT / "results" / "report.html"

WIDTH = 1200
"""Of the window, in pixels."""

LEADERBOARD = "#leaderboard?heat=on&ranked=on"

# The data set with the most runs at several rates has most to show.
_DATASET = """
const runs = (i) => data.cells.filter((cell) => data.columns[cell.column].dataset === i).length;
const swept = [...data.datasets.keys()].filter((i) =>
  data.columns.some((column) => column.dataset === i && column.q !== null));
const best = swept.sort((a, b) => runs(b) - runs(a))[0];
return document.querySelectorAll("section[data-part=datasets]")[best].id;
"""

_EDGES = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
return [box.top + scrollY, box.bottom + scrollY];
"""


def open_browser(scheme: str) -> Any:
    """Headless Chromium whose system prefers a colour scheme, with the page in it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    browser: Any = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(PAGE.as_uri())
    return browser


def take(browser: Any, name: str, top: float, bottom: float) -> None:
    """Save what stands between two heights of the page."""
    clip = {"x": 0, "y": top, "width": WIDTH, "height": bottom - top, "scale": 1}
    wanted = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", wanted)["data"]
    picture = Image.open(io.BytesIO(base64.b64decode(taken))).convert("RGB")
    picture.save(FOLDER / f"{name}.png", optimize=True)


def main() -> None:
    """Take all pictures."""
    light = open_browser("light")
    light.get(PAGE.as_uri() + LEADERBOARD)
    light.refresh()
    take(light, "report_leaderboard", 0, light.execute_script(_EDGES, "#ranking")[1] + 12)
    light.quit()
    dark = open_browser("dark")
    chapter = dark.execute_script(_DATASET)
    dark.get(f"{PAGE.as_uri()}#{chapter}")
    dark.refresh()
    top, _ = dark.execute_script(_EDGES, f"#{chapter} figure[data-figure=accuracy]")
    _, bottom = dark.execute_script(_EDGES, f"#{chapter} figure[data-figure=differences]")
    take(dark, "report_dataset_dark", top - 10, bottom + 10)
    dark.quit()


if __name__ == "__main__":
    main()
