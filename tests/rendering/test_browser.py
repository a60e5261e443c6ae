"""The report in a browser: it is quick and accessible; addresses, keys; it asks for nothing; hostile values are inert.

What it shows of dialogues is compared with the runs in `tests/contract/test_page_in_browser.py`.

They need Chromium and its driver (Debian's `chromium` and `chromium-driver`), and skip where these are not.
"""

from __future__ import annotations

import re
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.analysis.compare import Design
from dstbench.demo import TRACKERS, synthetic
from tests.contract.browser import (
    address,
    browser,
    cells,
    choose,
    control,
    found,
    listed,
    lists,
    opened,
    press,
    quiet,
    shown_text,
    shows,
    until,
)
from tests.rendering.test_report import HOSTILE, write_hostile

__all__ = ["browser"]  # a fixture

#: The order of the demo's runs: that of JGA.
ORDER = dstbench.score(synthetic(120), metrics="jga").sort("value", descending=True)["run"].to_list()
#: What axe-core is found in.
AXE = "axe_selenium_python"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Selenium's pipes
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("demo") / "report.html"
    path.write_text(dstbench.report(synthetic(120), metrics="jga,fga,gca").to_html(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page that axe is soon through with: all kinds of tables, of few rows."""
    path = tmp_path_factory.mktemp("small") / "report.html"
    path.write_text(dstbench.report(synthetic(3), metrics="jga,fga,gca").to_html(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "report.html"
    page = dstbench.report([str(run) for run in write_hostile(folder)], metrics="jga,fga").to_html()
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of seven runs over a thousand dialogues."""
    path = tmp_path_factory.mktemp("large") / "report.html"
    corpus, names = synthetic(1000), [*TRACKERS, *TRACKERS, "eager"]
    runs = {f"run {n}": corpus[name] for n, name in enumerate(names)}
    with pytest.MonkeyPatch.context() as patched:  # fewer resamples give as many numbers
        patched.setattr("dstbench.rendering.report.Design", partial(Design, resamples=200))
        path.write_text(dstbench.report(runs).to_html(), encoding="utf-8")
    return path


def test_hostile_values_are_inert(browser: Any, hostile: str) -> None:
    opened(browser, hostile)
    assert browser.title == '<b>one<script>, "two" onclick=x: dialogue state tracking compared'
    for number in range(len(HOSTILE)):
        browser.execute_script(
            "const links = document.querySelectorAll('#explorer tbody a');"
            "location.hash = links[arguments[0]].getAttribute('href') + '&turn=all'",
            number,
        )
        shows(browser, "#dialogue h3", f"Dialogue {listed(browser)[number]}")
        found(browser, "#dialogue .turn", 2)
    texts = {e.text for e in found(browser, "#dialogue .user span")}
    assert len(texts) == 1
    wanted = {f"{n} {t}".replace("\0", "\\x00").replace("\u202e", "\\u202e") for n, t in enumerate(HOSTILE)}
    assert set(listed(browser)) == wanted
    choose(browser, "Run", '"two" onclick=x')
    choose(browser, "beside", "<b>one<script>")
    shows(browser, "#explorer caption", 'Dialogues: scores of "two" onclick=x')
    before = view(browser)
    opened(browser, address(browser))
    assert view(browser) == before
    assert browser.execute_script("return window.hit") is None
    assert browser.execute_script("return document.scripts.length") == 2
    shows(browser, "main img, main b script, main textarea, main iframe")
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
    messages: list[str] = []

    def is_told() -> bool:
        messages.extend(entry["message"] for entry in browser.get_log("browser"))
        return any("127.0.0.1:9" in message and "Content Security Policy" in message for message in messages)

    until(browser, is_told)


#: Leaves two of the rows of a table that are made alike: axe looks at every cell, and finds nothing else in others.
FEWER_ROWS = """
for (const table of document.querySelectorAll("table")) {
  const rows = {};
  for (const row of table.querySelectorAll("tbody tr")) {
    const made = [...row.querySelectorAll("*")].map(e => e.tagName + "." + e.getAttribute("class")).join();
    rows[made] = (rows[made] || 0) + 1;
    if (rows[made] > 2) row.remove();
  }
}
"""


@pytest.mark.parametrize(("scheme", "rules"), [("light", {}), ("dark", {"runOnly": "cat.color"})])
def test_it_is_accessible(browser: Any, small: str, scheme: str, rules: dict[str, str]) -> None:
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
        browser.execute_script(FEWER_ROWS)
        browser.execute_script(script)
        options = rules | {"resultTypes": ["violations"]}  # of what passes, it need not describe every element
        run = "const [how, done] = arguments; axe.run(how).then(done, e => done({error: String(e)}))"
        result = browser.execute_async_script(run, options)
        told = [(v["id"], v["help"], [n["html"][:200] for n in v["nodes"][:3]]) for v in result["violations"]]
        assert told == [], told
        assert "color-contrast" in {rule["id"] for rule in result["passes"]}
        assert rules or len(result["passes"]) > 20
        for link in found(browser, "a.skip, nav a"):
            found(browser, "#" + link.get_attribute("href").partition("#")[2])
    finally:
        browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_what_is_undefined_is_last_however_a_table_is_sorted(browser: Any, demo: str) -> None:
    browser.get(demo)
    columns = browser.execute_script(
        """const found = [];
        document.querySelectorAll("main table.numbers").forEach((table) => {
          const rows = () => [...table.tBodies[0].rows];
          [...table.tHead.rows[0].cells].forEach((head, at) => {
            const texts = () => rows().map((row) => row.cells[at].firstChild?.textContent.trim() ?? "");
            const button = head.querySelector("button");
            if (!at || !button || !texts().includes("-") || texts().every((text) => text === "-")) return;
            for (const _ of [1, 2]) { button.click(); found.push([head.getAttribute("aria-sort"), texts()]); }
          });
        });
        return found;"""
    )
    assert {order for order, _ in columns} == {"ascending", "descending"}
    for order, texts in columns:
        assert texts == sorted(texts, key=lambda text: text == "-"), order


def test_tables_sort_by_keyboard(browser: Any, demo: str) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, demo)
    browser.execute_script("document.querySelectorAll('#scores ~ * details').forEach(d => d.open = true)")
    button = found(browser, "section:nth-of-type(1) thead button")[3]
    for order in ("descending", "ascending"):
        button.send_keys(Keys.ENTER)
        table = button.find_element("xpath", "./ancestor::table")
        assert button.find_element("xpath", "./..").get_attribute("aria-sort") == order
        shown = [
            float(row.find_elements("css selector", "th, td")[3].text.partition("\n")[0])
            for row in table.find_elements("css selector", "tbody tr")
        ]
        assert shown == sorted(shown, reverse=order == "descending")


# --- the view of the dialogues ---------------------------------------------------------------------------------------


def view(browser: Any) -> str:
    """All that the dialogues' part shows: texts, classes, and what the controls are set to."""
    script = """
    const part = [document.getElementById("explorer"), document.getElementById("dialogue")];
    const values = [...document.querySelectorAll("#explorer select, #explorer input, #dialogue input")]
    const set = values.map(e => [e.value, e.selectedIndex, e.checked].join());
    return part.map(e => e.innerHTML).join("") + set.join("\\n");
    """
    # Which element is a table's tab stop is no part of the view, nor is the choice that an option began with.
    return re.sub(r' (tabindex|selected|value|checked)="[^"]*"| class=""', "", browser.execute_script(script))


def test_cells_of_a_grid_open_turns(browser: Any, demo: str) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, f"{demo}#dialogue=DEMO0000003")
    for grid in found(browser, "#dialogue [role=grid]", 3):
        heads, *_ = cells(grid, "tr")
        browser.execute_script("arguments[0].scrollIntoView()", grid)
        grid.find_elements("css selector", "tbody tr:last-child td")[-1].click()
        shows(browser, "#dialogue .turn h4", f"Turn {heads[-1]}")
        assert f"turn={heads[-1]}" in address(browser)
        browser.execute_script("arguments[0].focus()", grid.find_elements("css selector", "thead th")[0])
        press(browser, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER)  # a cell of the second turn
        assert browser.switch_to.active_element.tag_name == "td"
        shows(browser, "#dialogue .turn h4", f"Turn {heads[2]}")
        assert [h.text for h in grid.find_elements("css selector", "thead .now")] == [heads[2]]
    quiet(browser, demo)


def test_an_address_restores_the_view_and_back_closes_a_dialogue(browser: Any, demo: str) -> None:
    opened(browser, demo)
    plain = view(browser)
    choose(browser, "Run", "forgetful")
    choose(browser, "beside", "eager")
    choose(browser, "with", "missed")
    control(browser, "search").send_keys("hotel")
    until(browser, lambda: "search=hotel" in address(browser))  # each letter lists the dialogues anew
    found(browser, "#explorer thead button")[2].click()
    chosen = listed(browser)[1]
    found(browser, "#explorer tbody a")[1].click()
    shows(browser, "#dialogue h3", f"Dialogue {chosen}")
    found(browser, "#dialogue [role=grid] tbody td")[1].click()
    found(browser, "#dialogue input")[1].click()  # also what is carried over and correct
    deep = view(browser)
    opened(browser, address(browser))
    assert view(browser) == deep
    found(browser, "#dialogue button")[2].click()
    shows(browser, "#dialogue h3")
    browser.back()
    shows(browser, "#dialogue h3", f"Dialogue {chosen}")
    assert view(browser) == deep

    opened(browser, demo)
    found(browser, "nav li a[href='#dialogues']")[0].click()
    first, second, *_ = listed(browser)
    found(browser, "#explorer tbody a")[0].click()
    shows(browser, "#dialogue h3", f"Dialogue {first}")
    found(browser, "#dialogue button")[1].click()
    shows(browser, "#dialogue h3", f"Dialogue {second}")
    browser.back()
    shows(browser, "#dialogue h3")
    assert view(browser) == plain
    browser.forward()
    shows(browser, "#dialogue h3", f"Dialogue {second}")
    found(browser, "nav li a")[0].click()  # a link to a chapter leaves the dialogue open, and leads to the chapter
    leads_there = "return scrollY < document.getElementById('dialogues').offsetTop - innerHeight"
    until(browser, lambda: browser.execute_script(leads_there))
    shows(browser, "#dialogue h3", f"Dialogue {second}")
    quiet(browser, demo)


@pytest.mark.parametrize(
    ("asked", "unknown", "rest"),
    [
        ("slot=hotel-nothing&errors=wrong&run=nobody", "slot “hotel-nothing”, run “nobody”", "errors=wrong"),
        ("dialogue=NONE%00&turn=1&errors=any", "dialogue “NONE\\x00”, turn “1”", "errors=any"),
        ("dialogue=DEMO0000003&turn=99&colour=%FF", "turn “99”, colour “�”", "dialogue=DEMO0000003"),
    ],
)
def test_what_an_address_names_in_vain_is_said_in_one_line(
    browser: Any, demo: str, asked: str, unknown: str, rest: str
) -> None:
    """And the view is that of the rest, whether a page is opened there or its address becomes that."""
    line, alert = f"The address asks for what is not in this report: {unknown}.", "#explorer [role=alert]"
    opened(browser, f"{demo}#{asked}")
    shows(browser, alert, line)
    shown = view(browser).replace(line, "")
    browser.execute_script("location.hash = arguments[0]", rest)
    shows(browser, alert, "")
    assert view(browser) == shown
    choose(browser, "with", "missed")
    shows(browser, alert, "")
    quiet(browser, demo)


def test_the_list_is_few_tab_stops_away(browser: Any, demo: str) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, demo)
    texts: list[str] = []
    while not texts or (len(texts) < 3 and "to the dialogues" not in texts[-1]):
        press(browser, Keys.TAB)
        texts.append(browser.switch_to.active_element.text)
    press(browser, Keys.ENTER)
    stops = len(texts)
    while not browser.execute_script("return document.activeElement.closest('#explorer .wide')"):
        press(browser, Keys.TAB)
        stops += 1
        assert stops <= 20
    per_table = browser.execute_script(
        "return [...document.querySelectorAll('main section .wide')].filter(e => !e.closest('#explorer')).map("
        "  e => [e, ...e.querySelectorAll('*')].filter(e => e.tabIndex === 0).length)"
    )
    assert max(per_table) == 1


@pytest.mark.usefixtures("undrawn")
def test_a_single_run_has_nothing_beside_it(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "one.html"
    path.write_text(dstbench.report({"eager": synthetic(30)["eager"]}, metrics="jga").to_html(), encoding="utf-8")
    opened(browser, path.as_uri())
    labels = [label.text.split("\n")[0] for label in found(browser, "#explorer label")]
    assert not [label for label in labels if label.startswith(("Run", "beside"))]
    assert "disagree" not in shown_text(browser, "#explorer")
    for preset in found(browser, "#explorer > p button[aria-pressed]"):
        preset.click()
        assert preset.get_attribute("aria-pressed") == "true"
    name = listed(browser)[0]
    found(browser, "#explorer tbody a")[0].click()
    shows(browser, "#dialogue h3", f"Dialogue {name}")
    found(browser, "#dialogue [role=grid]", 1)
    quiet(browser, path.as_uri())


def test_nothing_is_wider_than_the_window(browser: Any, demo: str) -> None:
    """Not with all folds open either; what is wide has a region of its own that scrolls."""
    try:
        for width in (390, 1024, 1440):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            if width == 390:  # styles alone make it fit: its scripts ask for no width
                opened(browser, f"{demo}#dialogue=DEMO0000003&turn=all&carried=shown")
                browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
            until(browser, partial(browser.execute_script, "return innerWidth === arguments[0]", width))
            wider = browser.execute_script(
                "return [...document.querySelectorAll('body *')].filter(e => !e.closest('.skip') &&"
                "  !e.parentElement.closest('.wide, .panels, nav ul') &&"
                "  e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 200))"
            )
            assert wider == []
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            found(browser, "#dialogue [role=grid]")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_table_is_copied_as_latex(browser: Any, demo: str) -> None:
    opened(browser, demo)
    browser.execute_script(
        "window.copied = [];"
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => window.copied.push(t)}})"
    )
    found(browser, "section:has(#scores) > .block .copies button")[0].click()
    (latex,) = browser.execute_script("return window.copied")
    board = dstbench.compare({name: synthetic(120)[name] for name in ORDER}, resamples=100).scores
    assert f"{100 * board.filter(metric='jga')['value'][0]:.2f}" in latex


def test_seven_runs_make_a_small_quick_page_that_begins_with_findings_and_scores(browser: Any, large: Path) -> None:
    assert large.stat().st_size < 4e6
    size = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Performance.enable", {})
    try:
        opened(browser, large.as_uri())
        measured = {m["name"]: m["value"] for m in browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
        assert measured["ThreadTime"] < 2  # seconds of the page's own thread; on an idle machine less than one
        lists(browser, "500 of 500")
        bottom = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
        assert browser.execute_script(bottom, ".findings") < 900
        assert browser.execute_script(bottom, "section:has(#scores) table") < 900
        assert browser.execute_script("return document.documentElement.scrollHeight") <= 6000
        quiet(browser, large.as_uri())
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
