"""A report as Markdown, or as one HTML file, with dialogues to look at.

The HTML file shows its tables and figures without its script, and the dialogues with it. It requests nothing from the
network: its content security policy forbids that, and allows one script and one style by their hashes. No text of a
user becomes markup: `html.element` escapes it here, and in the browser the script only sets text, as the policy
(trusted types) requires.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, Final

from dstbench.rendering.html import Markup, element, join, json_text, table
from dstbench.rendering.names import name_of
from dstbench.rendering.tables import draw, escape_lines

if TYPE_CHECKING:
    import polars as pl

# A table with more rows is folded.
_LONGEST_TABLE: Final = 40
# The parts of the script that show dialogues, in their order.
_EXPLORER: Final = ("address.js", "list.js", "dialogue.js")


@dataclass(frozen=True)
class Block:
    """A table of texts, and a figure of the same numbers.

    Attributes:
        title: What it shows.
        table: The table.
        figure: The figure, if there is one.
        lead: A sentence about it.
        folded: Whether the table is hidden until the reader opens it; long tables always are.
    """

    title: str
    table: pl.DataFrame
    figure: Markup | None = None
    lead: str = ""
    folded: bool = False


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


def render_markdown(title: str, chapters: Sequence[Chapter], notes: Sequence[str]) -> str:
    """The chapters' tables as Markdown."""
    parts = [f"# {title}\n"]
    for chapter in chapters:
        parts.append(f"## {chapter.title}\n\n{chapter.lead}\n")
        parts += [f"### {escape_lines([block.title], 'md')}\n{draw(block.table, 'md')}" for block in chapter.blocks]
        parts.append(escape_lines(chapter.below, "md"))
    if notes:
        parts.append("## Notes\n\n" + "".join(f"- {escape_lines([note], 'md')}" for note in notes))
    return "\n".join(part for part in parts if part)


def render_html(
    title: str,
    facts: Sequence[tuple[str, str]],
    chapters: Sequence[Chapter],
    notes: Sequence[str],
    explorer: tuple[str, dict[str, Any]] | None,
) -> str:
    """A report as an HTML document.

    Args:
        title: Its title.
        facts: What the report is about: names and values.
        chapters: Its parts.
        notes: What a reader should know about the data.
        explorer: Title and content of the dialogues (`explorer.Explorer`); None: without dialogues.
    """
    links = [(chapter.name, chapter.title) for chapter in chapters]
    sections = [_chapter(chapter) for chapter in chapters]
    if explorer is not None:
        links.append(("dialogues", "Dialogues"))
        lead = f"Here are {explorer[0]}. Choose one to see what was said and what each run predicts."
        off = "The script of this page shows the dialogues, but scripts are switched off."
        sections.append(
            _section(
                *links[-1],
                element("p", lead, class_="lead"),
                element("noscript", element("p", off)),
                element("div", id="explorer"),  # the script shows the dialogues here
                element("div", id="dialogue"),
            )
        )
    if notes:
        links.append(("notes", "Notes"))
        sections.append(_section(*links[-1], element("ul", *(element("li", note) for note in notes))))
    style, script = _file("page.css"), _file("page.js", *(_EXPLORER if explorer else ()))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        f"trusted-types 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    return Template(_file("page.html")).substitute(
        policy=Markup(policy),
        style=style,
        script=script,
        title=join([title]),
        facts=join(part for name, value in facts for part in (element("dt", name), element("dd", value))),
        links=join(element("li", element("a", text, href=f"#{name}")) for name, text in links),
        sections=join(sections),
        data=json_text(None if explorer is None else _with_names(explorer[1])),
    )


def render_frame(page: str, title: str) -> str:
    """A document as an element for a notebook, isolated from it: without scripts, forms or access to the notebook."""
    return element("iframe", srcdoc=page, title=title, sandbox="", width="100%", height="640", class_="dstbench")


def _with_names(content: dict[str, Any]) -> dict[str, Any]:
    """Dialogues (`explorer.Explorer`) with the names of their metrics and traits."""
    return {**content, "names": {name: name_of(name) for name in (*content["metrics"], *content["traits"])}}


def _section(name: str, title: str, *inside: Markup) -> Markup:
    return element("section", element("h2", title, id=name), *inside)


def _chapter(chapter: Chapter) -> Markup:
    lead = element("p", chapter.lead, class_="lead")
    below = []
    for line in chapter.below:
        breakable = Markup("<wbr>|".join(join([part]) for part in line.split("|")))  # between the parts of a signature
        below.append(element("p", breakable, class_="signature" if line.startswith("signature") else "below"))
    return _section(chapter.name, chapter.title, lead, *map(_block, chapter.blocks), *below)


def _block(block: Block) -> Markup:
    numbers = table(block.table, block.title)
    lead = [element("p", block.lead)] if block.lead else []
    if block.figure is not None:
        figure = element("div", block.figure, class_="panels")
        folded = element("details", element("summary", "The numbers"), numbers)
        return element("figure", element("figcaption", block.title), *lead, figure, folded, class_="block")
    if block.folded or block.table.height > _LONGEST_TABLE:
        details = element("details", element("summary", block.title), *lead, numbers)
        return element("div", details, class_="folded")
    return element("div", *lead, numbers, class_="block")


@cache
def _file(*names: str) -> str:
    return "\n".join((files("dstbench.rendering") / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
