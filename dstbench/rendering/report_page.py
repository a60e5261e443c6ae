"""A report as Markdown, or as one HTML file, with dialogues to look at.

The HTML file shows its tables and figures without its script, and the dialogues with it. It requests nothing from the
network: its content security policy forbids that, and allows one script and one style by their hashes. No text of a
user becomes markup: the template escapes it here, and in the browser the script only sets text, as the policy (trusted
types) requires.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dstbench.metrics.registry import name_of
from dstbench.rendering.html import json_text, markup, rendered
from dstbench.rendering.latex import PaperTable, latex_page
from dstbench.rendering.tables import draw, escape_lines
from dstbench.rendering.views import OwnLines

if TYPE_CHECKING:
    import polars as pl

    from dstbench.rendering.charts.forms import Chart

# Tables with more rows are folded.
_LONGEST_TABLE: Final = 40
# The parts of the script, and those that show dialogues, in their order.
_SCRIPTS: Final = ("page.js", "copy.js")
_EXPLORER: Final = ("address.js", "list.js", "dialogue.js")


@dataclass(frozen=True)
class Block:
    """A figure, a table of texts, or a figure with the table of its numbers.

    Attributes:
        title: What it shows.
        table: The table, if there is one.
        chart: The figure, if there is one.
        folded: Whether it is hidden until the reader opens it; tables of figures and long tables always are.
        badged: Whether runs have their warnings beside their names.
        paper: The table as a paper prints it; None: as it is.
    """

    title: str
    table: pl.DataFrame | None = None
    chart: Chart | None = None
    folded: bool = False
    badged: bool = False
    paper: PaperTable | None = None


@dataclass(frozen=True)
class Chapter:
    """A part of a report.

    Attributes:
        name: Its name in links.
        title: Its title.
        lead: What it shows, in a sentence or two.
        blocks: Its tables and figures.
        below: Lines below them.
    """

    name: str
    title: str
    lead: str
    blocks: list[Block]
    below: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Front:
    """What a report begins and ends with.

    Attributes:
        title: Its title.
        note: A paragraph of the author's; empty: none.
        facts: What the report is about, in a few words each.
        findings: Sentences, each with the name of the chapter that has its evidence.
        badges: For each run, the warnings that its scores need: short and long texts.
        notes: What a reader should know about the data.
        glossary: Words and their meanings.
    """

    title: str
    note: str
    facts: Sequence[str]
    findings: Sequence[tuple[str, str]]
    badges: Mapping[str, Sequence[tuple[str, str]]]
    notes: Sequence[str]
    glossary: Mapping[str, str]


def render_markdown(front: Front, chapters: Sequence[Chapter]) -> str:
    """The findings and the chapters' tables as Markdown."""
    parts = [f"# {escape_lines([front.title], 'md')}", escape_lines([OwnLines(front.note)], "md") if front.note else ""]
    parts.append("".join(f"- {escape_lines([text], 'md')}" for text, _ in front.findings))
    for chapter in chapters:
        parts.append(f"## {chapter.title}\n\n{chapter.lead}\n")
        parts += [
            f"### {escape_lines([block.title], 'md')}\n{draw(block.table, 'md')}"
            for block in chapter.blocks
            if block.table is not None
        ]
        parts.append(escape_lines(chapter.below, "md"))
    if front.notes:
        parts.append("## Notes\n\n" + "".join(f"- {escape_lines([note], 'md')}" for note in front.notes))
    return "\n".join(part for part in parts if part)


def render_html(front: Front, chapters: Sequence[Chapter], explorer: tuple[str, dict[str, Any]] | None) -> str:
    """A report as an HTML document."""
    from dstbench.rendering.charts.draw import LIGHT, draw_on_page  # Altair: only where something is drawn

    titles = {chapter.name: chapter.title for chapter in chapters} | {"glossary": "Glossary"}
    titles |= ({"dialogues": "Dialogues"} if explorer else {}) | ({"notes": "Notes"} if front.notes else {})
    style, script = f"{LIGHT}\n{_file('page.css')}", _file(*_SCRIPTS, *(_EXPLORER if explorer else ()))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        f"trusted-types 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    return rendered(
        "page.html",
        front=front,
        chapters={chapter.name: chapter for chapter in chapters},
        titles={name: titles[name] for name in _ORDER if name in titles},
        dialogues=explorer[0] if explorer else "",
        data=json_text(None if explorer is None else _with_names(explorer[1])),
        policy=markup(policy),
        style=markup(style),
        script=markup(script),
        drawn=draw_on_page,
        latex=lambda block: latex_page([block.paper or PaperTable(block.table, f"{block.title}.", "tab:report")]),
        longest_table=_LONGEST_TABLE,
    )


#: The order of chapters: what matters most comes first.
_ORDER: Final = ("scores", "slots", "errors", "dialogues", "conventions", "metrics", "papers", "notes", "glossary")


def render_frame(page: str, title: str) -> str:
    """A document as an element for a notebook, isolated from it: without scripts, forms or access to the notebook."""
    return rendered("frame.html", page=page, title=title)


def _with_names(content: dict[str, Any]) -> dict[str, Any]:
    """Dialogues (`explorer.Explorer`) with the names of their metrics and traits."""
    return {**content, "names": {name: name_of(name) for name in (*content["metrics"], *content["traits"])}}


@cache
def _file(*names: str) -> str:
    return "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
