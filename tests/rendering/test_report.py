"""Reports: the data behind them, what stands in the page, and that nothing of a user's becomes markup."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import polars as pl
import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.rendering.html import json_text
from dstbench.rendering.report import Report
from dstbench.scoring.error_classes import CLASSES
from tests import formats
from tests.contract.page import Page
from tests.corpora import EXAMPLE, States

pytestmark = [pytest.mark.looks, pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")]

#: What a page must take for text.
HOSTILE = [
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 1</script>",
    '" onmouseover="window.hit = 1',
    "' onfocus='window.hit = 1' autofocus='",
    "<img src=x onerror=window.hit=1>",
    "<!--",
    "]]>",
    "&lt;b&gt;",
    "a&b",
    "nul\0nul",
    "\u202eright to left",
    "$data ${title} {{title}}",
    "javascript:window.hit=1",
    "</title></style></textarea>",
]


def hostile_states() -> States:
    """Every hostile text as a value of gold and prediction, an id, a slot and an utterance."""
    states: States = []
    for number, text in enumerate(HOSTILE):
        for turn, pred in enumerate((text, HOSTILE[number - 1])):
            gold = {"hotel-name": text, f"hotel-{text}": text}
            said = {"user": text, "system": text}
            states.append(
                {"dialogue_id": f"{number} {text}", "turn": turn, "gold": gold, "pred": {"hotel-name": pred}, **said}
            )
    return states


def write_hostile(folder: Path) -> list[Path]:
    """Two runs of hostile states, with hostile names."""
    paths = [folder / name for name in ("<b>one<script>.jsonl", '"two" onclick=x.jsonl')]
    for path in paths:
        lines = [json.dumps(state) for state in hostile_states()]
        path.write_text("\n".join(lines), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def demo() -> Report:
    return dstbench.report(synthetic(60), most=20)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of hostile runs with all its drawings, which take most of the time of a page."""
    paths = write_hostile(tmp_path_factory.mktemp("hostile"))
    return dstbench.report([str(path) for path in paths], metrics="jga,fga").to_html()


# --- what is text stays text -----------------------------------------------------------------------------------------


def test_a_page_of_hostile_runs_has_only_its_own_elements(hostile: str) -> None:
    page = Page(hostile)
    assert len([*page.root.all("script")]) == 2
    assert len([*page.root.all("style")]) == 1
    assert len([*page.root.all("svg")]) > 10
    for node in page.root.all(""):
        assert node.tag not in {"img", "b", "textarea", "iframe", "link", "object", "base", "form"}
        assert not [key for key in node.attributes if key.startswith("on") or key in ("style", "src", "autofocus")], (
            node
        )
        assert node.attributes.get("href", "#").startswith("#")
    assert set(HOSTILE) <= set(page.data["values"])
    assert page.data["runs"] == ["<b>one<script>", '"two" onclick=x']
    assert {text for turn in page.data["said"]["user"] for text in turn} == set(HOSTILE)
    assert "\0" not in hostile
    assert "\u202e" not in hostile.replace(json_text(page.data), "")


def test_its_policy_names_its_script_and_style_and_nothing_else(hostile: str) -> None:
    metas = (meta.attributes for meta in Page(hostile).root.all("meta"))
    (policy,) = (meta["content"] for meta in metas if meta.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    for name, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        (text,) = re.findall(pattern, hostile, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert not re.findall(r"(?:https?:)?//[a-z]", hostile.replace("https://vega.github.io", ""))


# --- the dialogues ---------------------------------------------------------------------------------------------------


def test_what_was_said_comes_from_gold_or_runs_or_where_it_is_said_to_be(here: Path) -> None:
    states = [{**state, "user": f"said {state['turn']}"} for state in EXAMPLE]
    bare = [{**state, "dialogue_id": name} for name in ("MUL7001", "MUL7002") for state in EXAMPLE]
    spoken = [{**state, "dialogue_id": name} for name in ("MUL7001", "MUL7002") for state in states]
    for name, lines_ in (("bare.jsonl", bare), ("spoken.jsonl", spoken)):
        Path(name).write_text("\n".join(json.dumps(line) for line in lines_))
    assert dstbench.report("bare.jsonl", metrics="jga").explorer.content["said"] is None
    for found in (
        dstbench.report("spoken.jsonl", metrics="jga"),
        dstbench.report("bare.jsonl", metrics="jga", gold="spoken.jsonl"),
        dstbench.report("bare.jsonl", metrics="jga", context="spoken.jsonl"),
    ):
        assert found.explorer.content["said"]["user"] == [["said 0", "said 1"]] * 2


# --- tables and figures ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("undrawn")
def test_title_and_note_are_the_author_s_and_paths_are_nobody_s(here: Path) -> None:
    folder = here / "home" / "me"
    folder.mkdir(parents=True)
    paths = [str(folder / name) for name in ("a.jsonl", "b.jsonl")]
    for path in paths:
        unknown = [{**s, "pred": {**s["pred"], "hotel-color": "red"}, "dialogue_id": n} for n in "AB" for s in EXAMPLE]
        Path(path).write_text("\n".join(map(json.dumps, unknown)))
    found = dstbench.report(paths, metrics="jga", title="Mine <1>", note="What I did.", most=1)
    page = found.to_html()
    assert any("a.jsonl" in note for note in found.notes)
    assert str(folder) not in page
    assert str(folder) not in found.to_markdown() + found.to_json()
    assert "<h1>Mine &lt;1&gt;</h1>" in page
    assert "What I did." in page
    assert "# Mine" in found.to_markdown()


def test_nothing_is_drawn_of_nothing() -> None:
    states = [{**s, "pred": s["gold"], "dialogue_id": name} for name in "AB" for s in EXAMPLE]
    found = dstbench.report(states, metrics="jga,gca")
    assert "<svg" in found.to_html()  # no failure, no error, no trait


# --- the record ------------------------------------------------------------------------------------------------------


def test_no_line_ends_within_a_number_and_its_unit(demo: Report) -> None:
    (headline,) = Page(demo.to_html()).root.all("p", "headline")
    whole = [part.text() for part in headline.all("span", "whole")]
    assert whole == re.findall(r"[\d.]+ %|\bp [=<] [\d.]+", headline.text())
    assert len(whole) > 1


@pytest.mark.usefixtures("undrawn")
def test_a_notebook_shows_it_shut_off(demo: Report) -> None:
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)"[^>]* sandbox=""[^>]*></iframe>', demo._repr_html_().strip())
    assert frame is not None
    inner = html.unescape(frame[1])
    assert "Domains and slots" in inner
    assert Page(inner).data is None


@pytest.mark.usefixtures("undrawn")
def test_what_is_warned_of_is_noted_once(here: Path) -> None:
    lines_ = [{**state, "dialogue_id": name} for name in ("MUL7001", "MUL7002") for state in EXAMPLE]
    lines_ = [{**line, "gold": {**line["gold"], "hotel-area": "west|north"}} for line in lines_]
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        found = dstbench.report(lines_, metrics="jga")
    (note,) = (note for note in found.notes if "alternatives" in note)
    # Python names parameters, pages options.
    said = [one.message.args[0] for one in caught if isinstance(one.message, dstbench.DstbenchWarning)]
    assert said.count(note) == 1
    assert note in found.to_markdown()
    assert note in html.unescape(found.to_html())


def test_why_no_cost_of_errors_is_shown_is_said(demo: Report) -> None:
    examples = [{**state, "dialogue_id": name} for name in ("MUL7001", "MUL7002") for state in EXAMPLE]
    single = [{**EXAMPLE[0], "dialogue_id": name} for name in ("MUL7001", "MUL7002")]  # dialogues of one turn
    for states, metrics, why in ((single, "jga", "one turn"), (examples, "missed", "only counts are asked for")):
        found = dstbench.report(states, metrics=metrics, most=1)
        assert found.costs is None
        (note,) = (note for note in found.notes if note.startswith("what one error costs is not shown: "))
        assert why in note
        assert note in found.to_markdown()
    assert demo.costs is not None
    assert not any("costs" in note for note in demo.notes)


def test_the_convention_is_that_of_every_part() -> None:
    states = [
        {**s, "pred": {k: v.upper() for k, v in s["pred"].items()}, "dialogue_id": n} for n in "AB" for s in EXAMPLE
    ]
    found = dstbench.report(states, profile="star", metrics="jga")
    for frame in (found.leaderboard.scores, found.by_domain, found.by_slot, found.by_turn, found.diagnosis.runs):
        assert frame["signature"].str.contains("profile:star", literal=True).all()
    classes = {number for numbers in found.explorer.content["of_runs"][0]["pred"]["class"] for number in numbers}
    assert list(CLASSES).index("correct") in classes


def test_runs_that_no_report_can_be_made_of(here: Path) -> None:
    with pytest.raises(dstbench.DstbenchError, match="fewer than two dialogues"):
        dstbench.report(EXAMPLE)
    with pytest.raises(dstbench.UsageError, match="most=0"):
        dstbench.report(synthetic(5), most=0)
    Path("marks.json").write_text(formats.fga_trippy())
    with pytest.raises(dstbench.UsageError, match="holds no states"):
        dstbench.report("marks.json")
    corpus = synthetic(5)
    other = corpus["eager"].with_columns(pl.col("gold").replace("yes", "no"))
    with pytest.raises(dstbench.DstbenchError, match="its gold is not that of"):
        dstbench.report({"careful": corpus["careful"], "other": other})


# --- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def two(here: Path) -> Path:
    corpus = synthetic(12)
    for name in ("careful", "eager"):
        corpus[name].write_parquet(here / f"{name}.parquet")
    return here
