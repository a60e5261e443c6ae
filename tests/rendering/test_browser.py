"""The report in a browser: it opens, is quick, filters, shows dialogues; asks for nothing; hostile values are inert.

They need Chromium and its driver (Debian's `chromium` and `chromium-driver`), and skip where these are not.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.demo import TRACKERS, synthetic
from tests.rendering.test_report import HOSTILE, write_hostile

CHROMIUM, DRIVER = (
    next(filter(None, map(shutil.which, names)), None)
    for names in (("chromium", "chromium-browser"), ("chromedriver",))
)
NOTHING = "\N{EN DASH}"  # what stands for a value that is not there
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1280,1000",
)  # fmt: skip
#: What axe-core is found in.
AXE = "axe_selenium_python"

pytestmark = [
    pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Selenium's pipes
]


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


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("demo") / "report.html"
    path.write_text(dstbench.report(synthetic(120)).to_html(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page that axe is soon through with."""
    path = tmp_path_factory.mktemp("small") / "report.html"
    path.write_text(dstbench.report(synthetic(8), metrics="jga,fga,gca").to_html(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "report.html"
    path.write_text(dstbench.report([str(run) for run in write_hostile(folder)]).to_html(), encoding="utf-8")
    return path.as_uri()


def opened(browser: Any, address: str) -> Any:
    browser.get("about:blank")  # so that the same page is loaded anew
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(address)
    return browser


def quiet(browser: Any, address: str) -> None:
    """Nothing on the console, and no request but for the page itself."""
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("data:", "about:"))] == [address]


def found(browser: Any, selector: str) -> list[Any]:
    elements: list[Any] = browser.find_elements("css selector", selector)
    return elements


def control(browser: Any, label: str) -> Any:
    (element,) = (e for e in found(browser, "#explorer label") if e.text.split("\n")[0].strip().startswith(label))
    return element.find_element("css selector", "select, input")


def choose(browser: Any, label: str, text: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(control(browser, label)).select_by_visible_text(text)


def status(browser: Any) -> str:
    text: str = found(browser, "[role=status]")[0].text
    return text.partition(" dialogues")[0]


def test_the_demo_filters_sorts_and_opens_a_dialogue(browser: Any, demo: str) -> None:
    opened(browser, demo)
    assert status(browser) == "120 of 120"
    assert len(found(browser, "#explorer tbody tr")) == 100
    found(browser, "#explorer > p:last-child button")[0].click()
    assert len(found(browser, "#explorer tbody tr")) == 120

    rows = dstbench.traits(synthetic(120), metrics="jga").dialogues.filter(run="careful")
    control(browser, "is at least").send_keys("50")
    control(browser, "and at most").send_keys("80")
    wanted = rows.filter((100 * rows["jga"]).is_between(50, 80))
    assert status(browser) == f"{wanted.height} of 120"
    (head,) = (h for h in found(browser, "#explorer th[scope=col]") if h.text == "JGA")
    head.find_element("css selector", "button").click()
    head = found(browser, "#explorer th[aria-sort=descending]")[0]
    assert head.text.startswith("JGA")
    column = [h.text for h in found(browser, "#explorer th[scope=col]")].index(head.text)
    shown = [
        float(row.find_elements("css selector", "th, td")[column].text) for row in found(browser, "#explorer tbody tr")
    ]
    assert shown == sorted(shown, reverse=True)
    assert shown == [round(100 * value, 2) for value in sorted(wanted["jga"], reverse=True)]

    link = found(browser, "#explorer tbody a")[0]
    name = link.text
    link.click()
    assert found(browser, "#dialogue h3")[0].text == f"Dialogue {name}"
    assert browser.switch_to.active_element.text == f"Dialogue {name}"
    turns = wanted.filter(dialogue=name)["turns"].item()
    assert len(found(browser, "#dialogue .turn")) == 1
    found(browser, "#dialogue input")[0].click()  # all turns
    assert len(found(browser, "#dialogue .turn")) == turns
    found(browser, "#dialogue input")[1].click()  # also what is carried over and correct
    heads = [h.text for h in found(browser, "#dialogue .states")[0].find_elements("css selector", "thead th")]
    assert heads == ["slot", "gold", *TRACKERS]
    found(browser, "#dialogue button")[1].click()  # the next one of the list
    assert found(browser, "#dialogue h3")[0].text != f"Dialogue {name}"
    quiet(browser, demo)


def test_states_and_marks_are_those_of_the_run(browser: Any, demo: str) -> None:
    corpus = synthetic(120)
    name = dstbench.traits(corpus, metrics="jga").dialogues.filter(run="eager").sort("mistakes")["dialogue"][-1]
    opened(browser, f"{demo}#dialogue={name}&turn=all&carried=shown")
    column = 2 + list(TRACKERS).index("eager")
    rows = dstbench.scan({"eager": corpus["eager"]}).collect().filter(dialogue=name)
    for number, turn in enumerate(found(browser, "#dialogue .turn")):
        cells = [
            [c.text for c in row.find_elements("css selector", "th, td")]
            for row in turn.find_elements("css selector", ".states tbody tr")
        ]
        # A slot that only another run has is in the table, too.
        shown = {
            slot: (gold.removesuffix(" new"), preds[column - 2][:1], preds[column - 2])
            for slot, gold, *preds in cells
            if (gold, preds[column - 2]) != (NOTHING, NOTHING)
        }
        state = rows.filter(turn=number).drop_nulls("slot").select("slot", "gold", "pred").rows()
        wanted = {slot: (g, p) for slot, g, p in state if g is not None or p is not None}
        assert shown.keys() == wanted.keys()
        for slot, (gold, pred) in wanted.items():
            sign = "✓" if gold == pred else "○" if pred is None else "+" if gold is None else "✗"
            assert shown[slot][:2] == (gold or NOTHING, sign)
            assert shown[slot][2].startswith(f"{sign} {pred or NOTHING} ")


def test_spaces_that_make_a_value_another_are_seen(browser: Any, tmp_path: Path) -> None:
    area = {"hotel-area": "north"}
    states = [{"dialogue_id": d, "turn": 0, "gold": area, "pred": {"hotel-area": " north"}} for d in ("A", "B")]
    path = tmp_path / "spaces.html"
    path.write_text(dstbench.report(states, metrics="jga").to_html(), encoding="utf-8")
    opened(browser, f"{path.as_uri()}#dialogue=A")
    (cell,) = found(browser, "#dialogue .states td.wrong")
    assert cell.text == "✗ ' north' wrong fresh"


def test_search_and_kinds_of_errors(browser: Any, demo: str) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, demo)
    control(browser, "search").send_keys("demo0000007")
    assert status(browser) == "1 of 120"
    control(browser, "search").send_keys(Keys.BACKSPACE * 11)
    choose(browser, "Run", "forgetful")
    choose(browser, "with", "missed")
    choose(browser, "in", "hotel-area")
    corpus = synthetic(120)
    rows = dstbench.scan({"r": corpus["forgetful"]}).collect().filter(slot="hotel-area")
    missed = rows.filter(rows["gold"].is_not_null() & rows["pred"].is_null())
    assert status(browser) == f"{missed['dialogue'].n_unique()} of 120"


def test_hostile_values_are_inert(browser: Any, hostile: str) -> None:
    opened(browser, hostile)
    assert browser.title == "Dialogue state tracking: report"
    for number in range(len(HOSTILE)):
        browser.execute_script(
            "location.hash = document.querySelectorAll('#explorer tbody a')[arguments[0]].getAttribute('href') + '&turn=all'",
            number,
        )
        assert len(found(browser, "#dialogue .turn")) == 2
    texts = {e.text for e in found(browser, "#dialogue .user span")}
    assert len(texts) == 1
    shown = browser.execute_script("return [...document.querySelectorAll('#explorer tbody a')].map(a => a.textContent)")
    wanted = {f"{n} {t}".replace("\0", "\\x00").replace("\u202e", "\\u202e") for n, t in enumerate(HOSTILE)}
    assert set(shown) == wanted
    assert browser.execute_script("return window.hit") is None
    assert browser.execute_script("return document.scripts.length") == 2
    assert found(browser, "main img, main b script, main textarea, main iframe") == []
    inert = browser.execute_script(
        "const listens = e => [...e.attributes].some(a => a.name.startsWith('on'));"
        "return [...document.querySelectorAll('*')].filter(listens).length"
    )
    assert inert == 0
    quiet(browser, hostile)


def test_the_policy_stops_what_would_run(browser: Any, hostile: str) -> None:
    """Were there a hole, the browser would close it: neither markup from text, nor another script, nor a request."""
    opened(browser, hostile)
    tries = {
        "markup": "document.body.innerHTML = '<p>x</p>'",
        "a listener": "document.body.setAttribute('onclick', 'window.hit = 1')",
        "a script": "document.body.append(document.createElement('script')); document.scripts[2].text = 'hit = 1'",
    }
    for name, code in tries.items():
        wrapped = f"try {{ {code}; return 'done' }} catch (error) {{ return error.name }}"
        assert browser.execute_script(wrapped) == "TypeError", name
    browser.execute_script(
        "const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i)"
    )
    assert browser.execute_script("return window.hit") is None
    messages = [entry["message"] for entry in browser.get_log("browser")]
    assert any("127.0.0.1:9" in message and "Content Security Policy" in message for message in messages)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(browser: Any, small: str, scheme: str) -> None:
    spec = find_spec(AXE)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("axe-core is not installed (axe-selenium-python)")
    (where,) = spec.submodule_search_locations
    script = next(Path(where).rglob("axe.min.js")).read_text(encoding="utf-8")
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})  # for axe, which is no part of the page
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    try:
        opened(browser, small)
        browser.set_script_timeout(300)
        found(browser, "#explorer tbody a")[0].click()
        browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
        browser.execute_script(script)
        # It takes links to dialogues, which the script follows, for links that skip to a place that is not there.
        rules = "{rules: {'skip-link': {enabled: false}}}"
        run = f"const done = arguments[0]; axe.run({rules}).then(done, e => done({{error: String(e)}}))"
        result = browser.execute_async_script(run)
        told = [(v["id"], v["help"], [n["html"][:200] for n in v["nodes"][:3]]) for v in result["violations"]]
        assert told == [], told
        assert len(result["passes"]) > 20
        for link in found(browser, "a.skip, nav a"):
            assert found(browser, "#" + link.get_attribute("href").partition("#")[2])
    finally:
        browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_tables_sort_by_keyboard(browser: Any, demo: str) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, demo)
    button = found(browser, "section:nth-of-type(2) thead button")[2]
    for order in ("descending", "ascending"):
        button.send_keys(Keys.ENTER)
        table = button.find_element("xpath", "./ancestor::table")
        assert button.find_element("xpath", "./..").get_attribute("aria-sort") == order
        shown = [
            float(row.find_elements("css selector", "th, td")[2].text)
            for row in table.find_elements("css selector", "tbody tr")
        ]
        assert shown == sorted(shown, reverse=order == "descending")


def test_a_thousand_dialogues_of_seven_runs_are_small_and_quick(browser: Any, tmp_path: Path) -> None:
    corpus = synthetic(1000)
    said = [*TRACKERS, *TRACKERS, "eager"]
    page = dstbench.report({f"run {n}": corpus[name] for n, name in enumerate(said)}).to_html()
    assert len(page.encode()) < 8e6
    path = tmp_path / "large.html"
    path.write_text(page, encoding="utf-8")
    browser.execute_cdp_cmd("Performance.enable", {})
    opened(browser, path.as_uri())
    assert status(browser) == "1,000 of 1,000"
    measured = {m["name"]: m["value"] for m in browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
    assert measured["ThreadTime"] < 1  # seconds of the page's own thread, whatever else the machine does
    quiet(browser, path.as_uri())
