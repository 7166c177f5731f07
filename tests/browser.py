"""Chromium without a network, for the tests of pages."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None or shutil.which("chromedriver") is None,
    reason="chromium and chromedriver are not installed",
)


class Browser:
    """A window with one page."""

    def __init__(self, *, width: int = 1400) -> None:
        options = webdriver.ChromeOptions()
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # Any: which of its calls are typed depends on the version of selenium.
        self.driver: Any = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        self.resize(width)
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)

    def resize(self, width: int) -> None:
        """Make the window so many pixels wide."""
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str, media: str = "") -> None:
        """Have the system prefer `light` or `dark`, on a screen or on the medium `media`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        values = {"features": features, "media": media}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", values)

    def open(self, path: Path, address: str = "") -> None:
        """Open a file anew, at an address within it."""
        self.driver.get("about:blank")
        self.driver.get(path.resolve().as_uri() + address)

    def run(self, script: str, *arguments: object) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def run_async(self, script: str) -> Any:
        """What a script hands to its first argument."""
        return self.driver.execute_async_script(script)

    def address(self) -> str:
        """The part of the address within the file."""
        return str(self.run("return location.hash"))

    def find(self, selector: str) -> WebElement:
        """The first element that a selector finds."""
        found: WebElement = self.driver.find_element(By.CSS_SELECTOR, selector)
        return found

    def all(self, selector: str) -> list[WebElement]:
        """All elements that a selector finds."""
        found: list[WebElement] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def shown(self, selector: str) -> list[str]:
        """Texts of the elements that a selector finds and that are displayed."""
        return [one.text for one in self.all(selector) if one.is_displayed()]

    def choose(self, selector: str, text: str) -> None:
        """Choose an option of a select by its text."""
        Select(self.find(selector)).select_by_visible_text(text)

    def wait(self, script: str) -> None:
        """Wait until a script returns something true."""
        WebDriverWait(self.driver, 10).until(lambda _: self.run(script))

    def console(self) -> list[str]:
        """What the console has said since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requested(self) -> set[str]:
        """Kinds of the addresses that were asked for since the last time, such as `file`."""
        log = self.driver.get_log("performance")
        events = [json.loads(entry["message"])["message"] for entry in log]
        urls = [
            e["params"]["request"]["url"]
            for e in events
            if e["method"] == "Network.requestWillBeSent"
        ]
        return {url.partition(":")[0] for url in urls}

    def copied(self, holder: str, form: str) -> str:
        """What a button of a table copies to the clipboard."""
        permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        self.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": permissions})
        [button] = [b for b in self.all(f"{holder} .copy button") if b.text == form]
        button.click()
        self.wait(f"return document.getElementById('status').textContent === 'Copied as {form}.'")
        return str(self.run_async("navigator.clipboard.readText().then(arguments[0])"))
