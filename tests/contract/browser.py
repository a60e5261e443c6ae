"""Chromium, asked as a reader would: it looks, waits for what it looks for, clicks and types.

It needs Chromium and its driver (Debian's `chromium` and `chromium-driver`); tests skip where these are not.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, TypeVar

import pytest

CHROMIUM, DRIVER = (
    next(filter(None, map(shutil.which, names)), None)
    for names in (("chromium", "chromium-browser"), ("chromedriver",))
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1280,1000",
)  # fmt: skip
T = TypeVar("T")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium with its driver is installed (apt-get install chromium chromium-driver)")
    if find_spec("selenium") is None:
        pytest.skip("Selenium is not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def until(browser: Any, look: Callable[[], T]) -> T:
    """What `look` gives as soon as that is true: the browser, and the page's script, act when they get to it."""
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    given: T = WebDriverWait(browser, 20, 0.02, [StaleElementReferenceException]).until(lambda _: look())
    return given


def visit(browser: Any, address: str) -> None:
    """Go there, and wait until the script has shown the dialogues: `get` returns earlier on a busy machine."""
    browser.get(address)
    shown = "return document.readyState === 'complete' && !!document.querySelector('#explorer tbody')"
    until(browser, lambda: browser.execute_script(shown))


def unfolded(browser: Any) -> None:
    """All controls of the dialogues are open."""
    browser.execute_script("document.querySelectorAll('#explorer details').forEach(e => (e.open = true))")


def opened(browser: Any, address: str) -> None:
    browser.get("about:blank")  # so that the same page is loaded anew
    until(browser, lambda: browser.execute_script("return location.href") == "about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    visit(browser, address)
    unfolded(browser)


def quiet(browser: Any, address: str) -> None:
    """Nothing on the console, and no request but for the page itself."""
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("data:", "about:"))] == [address]


def found(browser: Any, selector: str, number: int | None = None) -> list[Any]:
    """The elements, as soon as there are any, or that many."""

    def look() -> list[Any]:
        elements: list[Any] = browser.find_elements("css selector", selector)
        return elements if number in (None, len(elements)) else []

    return until(browser, look)


def shown_text(browser: Any, selector: str) -> str:
    """The text of the first element, as soon as there is one."""
    texts: list[str] = until(browser, lambda: [element.text for element in found(browser, selector)[:1]])
    return texts[0]


def shows(browser: Any, selector: str, *texts: str) -> None:
    """Wait until the elements have these texts; none: until there is no such element."""

    def look() -> list[str]:
        return [element.text for element in browser.find_elements("css selector", selector)]

    until(browser, lambda: look() == [*texts])


def address(browser: Any) -> str:
    """As the page knows it; the browser's own bar hears of it later."""
    href: str = browser.execute_script("return location.href")
    return href


def cells(element: Any, rows: str) -> list[list[str]]:
    """The texts of cells as they are seen, row by row, in one question to the browser."""
    script = """
    const texts = row => [...row.querySelectorAll("th, td")].map(e => e.checkVisibility() ? e.innerText.trim() : "");
    return [...arguments[0].querySelectorAll(arguments[1])].map(texts);
    """
    texts: list[list[str]] = element.parent.execute_script(script, element, rows)
    return texts


def control(browser: Any, label: str) -> Any:
    script = """
    const labels = [...document.querySelectorAll("#explorer label")].filter(e => e.checkVisibility());
    const named = labels.filter(e => e.innerText.trim().split("\\n")[0].trim().startsWith(arguments[0]));
    return named.map(e => e.querySelector("select, input"));
    """
    (element,) = until(browser, lambda: browser.execute_script(script, label))
    return element


def choose(browser: Any, label: str, text: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(control(browser, label)).select_by_visible_text(text)


def lists(browser: Any, wanted: str) -> None:
    """Wait until so many dialogues are listed, of so many."""
    shows(browser, "[role=status]", f"{wanted} dialogues; shares in percent")


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def listed(browser: Any) -> list[str]:
    script = "return [...document.querySelectorAll('#explorer tbody a')].map(a => a.textContent)"
    names: list[str] = browser.execute_script(script)
    return names
