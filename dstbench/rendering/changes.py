"""What a new checkpoint fixed and broke, as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.analysis.changes import GROUPS, Changes
from dstbench.rendering.tables import UNDEFINED, Page, p_text, renderer, texts

# How many groups of a kind text shows, unless asked for all.
_MOST: Final = 6
_TITLES: Final = {
    "slot": "by slot",
    "domain": "by domain",
    "class": "by class of the error that went or came",
    "turn": "by turn",
}


def finding(changes: Changes) -> list[str]:
    """What was fixed and broken, and whether it may be chance."""
    turns, values = changes.totals.rows(named=True)
    if not values["fixed"] + values["broken"]:
        return ["nothing changed: every value is as right or wrong as before"]
    lines = [f"{_said(turns, 'turn')}; {_said(values, 'value')}"]
    for by in ("slot", "domain"):
        sure = changes.groups.filter("significant", by=by)
        for words, groups in (("better", sure.filter(pl.col("net") > 0)), ("worse", sure.filter(pl.col("net") < 0))):
            if groups.height:
                listed = ", ".join(f"{name} ({net:+d})" for name, net in groups.head(3).select("group", "net").rows())
                more = f" and {groups.height - 3} more" if groups.height > 3 else ""
                lines.append(f"{words} by {by}, beyond chance: {listed}{more}")
    return lines


def _said(total: dict[str, object], what: str) -> str:
    fixed, broken, net = (int(str(total[name])) for name in ("fixed", "broken", "net"))
    counts = f"{_number_of(fixed, what)} fixed, {broken:,} broken"
    if not net:
        return f"{counts}: as many right as before"
    chance = "more than chance" if total["significant"] else "which may be chance"
    return f"{counts}: {abs(net):,} {'more' if net > 0 else 'fewer'} right, {chance}"


def _number_of(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def changes_page(changes: Changes, *, everything: bool = True) -> Page:
    """The totals, the groups and the dialogues to read."""
    counts = texts("fixed", "broken", "net", **{"dialogues better": "better", "dialogues worse": "worse"})
    marks = pl.when("significant").then(pl.lit("*")).otherwise(pl.lit("")).alias("*")
    sections = [("turns and values", changes.totals.select("of", *counts, p_text("p"), marks))]
    for by in GROUPS if everything else GROUPS[:1]:
        groups = changes.groups.filter(by=by)
        if groups.height:
            shown = groups if everything else groups.head(_MOST)
            more = f", the first {_MOST} of {groups.height}" if shown.height < groups.height else ""
            names = pl.col("group").fill_null(UNDEFINED).alias(by)
            sections.append((f"values {_TITLES[by]}{more}", shown.select(names, *counts, p_text("p"), marks)))
    if changes.dialogues.height:
        columns = {f"{of} {what}": f"{of}_{what}" for of in ("turns", "values") for what in ("fixed", "broken")}
        sections.append(("dialogues to read first", changes.dialogues.select("dialogue", *texts(**columns))))
    hidden = [] if everything else [f"values by {', '.join(GROUPS[1:])}: --all"]
    below = [
        *hidden,
        "* significant; p: whole dialogues swapped between the runs at random, of groups adjusted after Holm",
        "read one: dstbench show BEFORE DIALOGUE --against AFTER",
    ]
    return Page(sections, below, "diff")


#: Changes in any format (see `tables.renderer`).
render_changes: Final = renderer(changes_page, finding)
