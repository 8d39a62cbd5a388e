"""Drives Chromium without a window: opens pages, presses keys, and reads console messages and requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 60
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1400,900",
)  # fmt: skip


class Browser:
    """One browser, with methods to open a page, to read it and to act on it."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, url: str) -> None:
        """Opens a page, after it has cleared the records of earlier pages."""
        self.driver.get("about:blank")
        self.complaints()
        self.requests()
        self.driver.get(url)

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css: str) -> WebElement:
        """The first matching element; waits until it exists."""
        return WebDriverWait(self.driver, PATIENCE, 0.03).until(lambda d: d.find_element(By.CSS_SELECTOR, css))

    def text(self, css: str) -> str:
        return self.one(css).text

    def await_text(self, css: str, text: str) -> None:
        """Waits until an element contains a text."""
        WebDriverWait(self.driver, PATIENCE, 0.03, ignored_exceptions=(Exception,)).until(
            lambda d: text in self.text(css)
        )

    def press(self, *keys: str) -> None:
        """Presses keys in the focused element."""
        for key in keys:
            ActionChains(self.driver).send_keys(getattr(Keys, key, key)).perform()

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def protocol(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def complaints(self) -> list[str]:
        """The console messages since the last call, including violations of the content policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The URLs requested since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


@contextmanager
def browser_in(profile: Path) -> Iterator[Browser]:
    """A browser with its own empty profile."""
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
