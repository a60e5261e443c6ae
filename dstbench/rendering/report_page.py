"""A report as Markdown, or as one HTML file, with dialogues to look at.

The HTML file shows its tables and figures without its script, and the dialogues with it. It requests nothing from the
network: its content security policy forbids that, and allows one script and one style by their hashes. No text of a
user becomes markup: `html.element` escapes it here, and in the browser the script only sets text, as the policy
(trusted types) requires.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

from dstbench.rendering.html import Markup, element, join, json_text, table
from dstbench.rendering.latex import PaperTable, latex_page
from dstbench.rendering.tables import OwnLines, draw, escape_lines
from dstbench.schema.names import name_of

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
    """A report as an HTML document.

    Args:
        front: What it begins and ends with.
        chapters: Its parts; the dialogues come before the conventions.
        explorer: Title and content of the dialogues (`explorer.Explorer`); None: without dialogues.
    """
    sections = {chapter.name: (chapter.title, _chapter(chapter, front)) for chapter in chapters}
    if explorer is not None:
        sections["dialogues"] = ("Dialogues", _dialogues(explorer[0]))
    if front.notes:
        sections["notes"] = ("Notes", [element("ul", *(element("li", note) for note in front.notes))])
    words = (part for word, text in front.glossary.items() for part in (element("dt", word), element("dd", text)))
    sections["glossary"] = ("Glossary", [element("dl", *words, class_="glossary")])
    order = [name for name in _ORDER if name in sections]
    from dstbench.rendering.charts.draw import LIGHT

    style, script = f"{LIGHT}\n{_file('page.css')}", _file(*_SCRIPTS, *(_EXPLORER if explorer else ()))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        f"trusted-types 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    return Template(_file("page.html")).substitute(
        policy=Markup(policy),
        style=style,
        script=script,
        title=join([front.title]),
        facts=join([" · ".join(front.facts)]),
        note=element("p", front.note, class_="lead") if front.note else "",
        findings=join(
            element("li", text, " ", element("a", sections[name][0], href=f"#{name}")) if name in sections
            else element("li", text)
            for text, name in front.findings
        ),
        links=join(element("li", element("a", sections[name][0], href=f"#{name}")) for name in order),
        sections=join(
            element("section", element("h2", sections[name][0], id=name), *sections[name][1]) for name in order
        ),
        data=json_text(None if explorer is None else _with_names(explorer[1])),
    )  # fmt: skip


#: The order of chapters: what matters most comes first.
_ORDER: Final = ("scores", "slots", "errors", "dialogues", "conventions", "metrics", "papers", "notes", "glossary")


def render_frame(page: str, title: str) -> str:
    """A document as an element for a notebook, isolated from it: without scripts, forms or access to the notebook."""
    return element("iframe", srcdoc=page, title=title, sandbox="", width="100%", height="640", class_="dstbench")


def _with_names(content: dict[str, Any]) -> dict[str, Any]:
    """Dialogues (`explorer.Explorer`) with the names of their metrics and traits."""
    return {**content, "names": {name: name_of(name) for name in (*content["metrics"], *content["traits"])}}


def _dialogues(title: str) -> list[Markup]:
    lead = f"Here are {title}. Choose one to see what was said and what each run predicts."
    off = "The script of this page shows the dialogues, but scripts are switched off."
    return [
        element("p", lead, class_="lead"),
        element("noscript", element("p", off)),
        element("div", id="explorer"),  # the script shows the dialogues here
        element("div", id="dialogue"),
    ]


def _chapter(chapter: Chapter, front: Front) -> list[Markup]:
    below = []
    for line in chapter.below:
        breakable = Markup("<wbr>|".join(join([part]) for part in line.split("|")))  # between the parts of a signature
        below.append(element("p", breakable, class_="signature" if line.startswith("signature") else "below"))
    blocks = [_block(block, front) for block in chapter.blocks]
    if len(below) > 1:
        below = [element("details", element("summary", "How these numbers were computed"), *below)]
    return [element("p", chapter.lead, class_="lead"), *blocks, *below]


def _block(block: Block, front: Front) -> Markup:
    parts = []
    if block.chart is not None:
        from dstbench.rendering.charts.draw import draw_on_page

        figure = element("div", draw_on_page(block.chart), class_="panels", tabindex="0", role="region",
                         aria_label=block.title)  # fmt: skip
        parts.append(figure)
    if block.table is not None:
        numbers = table(block.table, block.title, front.glossary, front.badges if block.badged else {})
        paper = block.paper or PaperTable(block.table, f"{block.title}.", "tab:report")
        latex = element("template", latex_page([paper]))
        if parts:
            numbers = element("details", element("summary", "The numbers"), numbers)
        parts += [numbers, latex]
    if block.folded or (block.table is not None and block.table.height > _LONGEST_TABLE):
        details = element("details", element("summary", block.title), *parts)
        return element("div", details, class_="folded")
    if block.chart is None:
        return element("div", *parts, class_="block")
    return element("figure", element("figcaption", str(block.chart.title)), *parts, class_="block")


@cache
def _file(*names: str) -> str:
    return "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
