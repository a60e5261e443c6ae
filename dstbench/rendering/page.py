"""A report as one HTML file: chapters of tables and figures that need no script, and dialogues to look at.

The file asks the network for nothing, and its content policy forbids it; its one script and one style are allowed by
their hashes. Nothing of a user's becomes markup: here by `markup`, in the browser as the script only ever sets text, to
which the policy (trusted types) holds it.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, Final

from dstbench.rendering.html import Markup, element, join, json_text, table
from dstbench.rendering.tables import draw, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

# A table with more rows is unfolded only when it is asked for.
_LONGEST: Final = 40
_SIGNATURE: Final = "signature"


@dataclass(frozen=True)
class Block:
    """A table of texts, and the figure of the same numbers.

    Attributes:
        title: What it shows.
        table: The table.
        figure: The figure; None: there is none.
        lead: What is to be known of it.
        folded: Whether the table is only unfolded when it is asked for; a long one always is.
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
        parts += [f"### {lines([block.title], 'md')}\n{draw(block.table, 'md')}" for block in chapter.blocks]
        parts.append(lines(chapter.below, "md"))
    if notes:
        parts.append("## Notes\n\n" + "".join(f"- {lines([note], 'md')}" for note in notes))
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
        facts: What it is of: name and value.
        chapters: Its parts.
        notes: What is to be known of the data.
        explorer: Which dialogues can be looked at, and their data (`explorer.Explorer`); None: none.
    """
    links = [(chapter.name, chapter.title) for chapter in chapters]
    sections = [_section(chapter) for chapter in chapters]
    if explorer is not None:
        links.append(("dialogues", "Dialogues"))
        sections.append(_explorer(*explorer))
    if notes:
        links.append(("notes", "Notes"))
        listed = element("ul", *(element("li", note) for note in notes))
        sections.append(element("section", element("h2", "Notes", id="notes"), listed))
    style, script = _file("page.css"), _file("page.js")
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
        data=json_text(None if explorer is None else explorer[1]),
    )


def render_frame(page: str, title: str) -> str:
    """A document as an element that a notebook shows, shut off from it: no script, no form, no way to its page."""
    return element("iframe", srcdoc=page, title=title, sandbox="", width="100%", height="640", class_="dstbench")


def _section(chapter: Chapter) -> Markup:
    lines = [
        element("p", _breakable(line), class_=_SIGNATURE if line.startswith(_SIGNATURE) else "below")
        for line in chapter.below
    ]
    return element(
        "section",
        element("h2", chapter.title, id=chapter.name),
        element("p", chapter.lead, class_="lead"),
        *(_block(block) for block in chapter.blocks),
        *lines,
    )


def _block(block: Block) -> Markup:
    shown = table(block.table, block.title)
    lead = [element("p", block.lead)] if block.lead else []
    if block.figure is None:
        folded = block.folded or block.table.height > _LONGEST
        inner = element("details", element("summary", block.title), *lead, shown) if folded else join([*lead, shown])
        return element("div", inner, class_="folded" if folded else "block")
    caption = element("figcaption", block.title)
    numbers = element("details", element("summary", "The numbers"), shown)
    return element("figure", caption, *lead, element("div", block.figure, class_="panels"), numbers, class_="block")


def _explorer(told: str, content: dict[str, Any]) -> Markup:
    """The place of the dialogues, which the script fills."""
    without = element(
        "noscript", element("p", "The dialogues are shown by the script of this page, which is switched off.")
    )
    return element(
        "section",
        element("h2", "Dialogues", id="dialogues"),
        element("p", f"Here are {told}. Choose one to see what was said, and what each run made of it.", class_="lead"),
        without,
        element("div", id="explorer"),
        element("div", id="dialogue"),
    )


def _breakable(line: str) -> Markup:
    """A line that may break between the parts of a signature."""
    first, *rest = line.split("|")
    return join([first, *(part for piece in rest for part in (Markup("<wbr>"), f"|{piece}"))])


@cache
def _file(name: str) -> str:
    return (files("dstbench.rendering") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
