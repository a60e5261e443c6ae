"""How a new checkpoint's changes, and the way from a published score to ours, are shown."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.analysis.changes import GROUPS, Changes
from dstbench.analysis.reconcile import Reconciliation
from dstbench.errors import number_of
from dstbench.metrics import parse
from dstbench.rendering.sentences import profiles_that_agree
from dstbench.rendering.views import Layout, View, text_of
from dstbench.schema.analysis import CHANGED_DIALOGUES, CHANGED_GROUPS, CHANGED_TOTALS, RECONCILED_STEPS

# How many groups of a kind text shows, unless asked for all.
_MOST_GROUPS: Final = 6
_TITLES: Final = {
    "slot": "by slot",
    "domain": "by domain",
    "class": "by class of the error that went or came",
    "turn": "by turn",
}


def what_changed(changes: Changes) -> list[str]:
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
    counts = f"{number_of(fixed, what)} fixed, {broken:,} broken"
    if not net:
        return f"{counts}: as many right as before"
    chance = "more than chance" if total["significant"] else "which may be chance"
    return f"{counts}: {abs(net):,} {'more' if net > 0 else 'fewer'} right, {chance}"


def changes(changes: Changes) -> Layout:
    """The totals, the groups and the dialogues to read."""
    if changes.dialogues.is_empty():
        return Layout([], findings=what_changed(changes), label="diff")
    cells = {name: f"{{{name}}}" for name in ("fixed", "broken", "net")}
    cells |= {"dialogues better": "{better}", "dialogues worse": "{worse}", "p": "{p}", "*": "{significant}"}
    views = [View("turns and values", changes.totals, CHANGED_TOTALS, ["of"], cells)]
    for by in GROUPS:
        groups = changes.groups.filter(by=by).drop("by").rename({"group": by})
        views.append(View(f"values {_TITLES[by]}", groups, CHANGED_GROUPS, [by], cells))
    counted = {f"{of} {what}": f"{{{of}_{what}}}" for of in ("turns", "values") for what in ("fixed", "broken")}
    views.append(View("dialogues to read first", changes.dialogues, CHANGED_DIALOGUES, ["dialogue"], counted))
    notes = [
        "* significant; p: whole dialogues swapped between the runs at random, of groups adjusted after Holm",
        "read them: the same command with --read",
    ]
    by_slot, rows = views[1], views[1].rows.height
    more = f", the first {_MOST_GROUPS} of {rows}" if rows > _MOST_GROUPS else ""
    first = [
        views[0],
        by_slot._replace(title=f"{by_slot.title}{more}", rows=by_slot.rows.head(_MOST_GROUPS)),
        views[-1],
    ]
    views, first = ([view for view in of if view.rows.height] for of in (views, first))
    rest = f"values by {', '.join(GROUPS[1:])}"
    return Layout(views, notes, what_changed(changes), "diff", first=first, rest=rest)


# --- published scores -------------------------------------------------------------------------------------------------

# How many sets of choices, and single choices, are shown.
_MOST: Final = 10
# How many single choices are named where nothing reaches the published scores.
_SUSPECTS: Final = 3


def way_to_published(result: Reconciliation) -> list[str]:
    """What makes the number, as far as it can be told, in two sentences."""
    start, best = result.steps.filter(step=0), result.sets.filter(choices=result.sets["choices"][0])
    wanted, ours = _listed(start, pl.col("target")), _listed(start, text_of("{value:score}"))
    tried, size = result.tried.row(-1, named=True), best["size"][0]
    chance = f"by chance, {_few(tried['by_chance'] or 0)} of these would reach it"
    if not best["reaches"][0]:
        gives, over = (_listed(best, text_of(cell)) for cell in ("{value:score}", "{off:score}"))
        nearest = f"the nearest, {gives}, needs {best['choices'][0]}" if size else "none is nearer"
        lines = [
            f"{wanted} is not reached from {ours} by any set of choices that was tried; {nearest}",
            f"what is left over: {over}; check first in the code that gave {wanted}: {'; '.join(_suspects(result))}",
        ]
    elif not size:
        lines = [f"{wanted} needs no other choice: here it is {ours}"]
    else:
        reached = f"{wanted} is reached from {ours} by"
        of = f"of the {_sets_of(size, tried['sets'])} that were tried"
        if tried["by_chance"] is None:
            needs = f"{size} choices of a published convention, {best['choices'][0]}"
            lines = [f"{reached} {needs}; of all sets of fewer choices that were tried, none reaches it"]
        elif tried["reached"] == 1:
            lines = [f"{reached} {best['choices'][0]} alone {of}; {chance}"]
        else:
            lines = [
                f"{reached} {tried['reached']:,} {of}, such as {best['choices'][0]}, so it "
                f"does not tell which was used; {chance}"
            ]
    return [*lines, *(line.partition(": ")[2] for line in profiles_that_agree(result.profiles))]


def _sets_of(size: int, number: int) -> str:
    """So many sets of so many choices, in words."""
    nouns = {1: "single choice", 2: "pair", 3: "three", 4: "four"}
    return number_of(number, nouns[size]) if size in nouns else f"{number_of(number, 'set')} of {size}"


def _listed(rows: pl.DataFrame, score: pl.Expr) -> str:
    """The metrics of some rows, each with its score."""
    return " and ".join(_with_unit(rows).select(pl.format("{} {}", "metric", score)).to_series())


def _few(expected: float) -> str:
    return f"{expected:.1f}" if expected >= 0.05 else "fewer than 0.1"


def _suspects(result: Reconciliation) -> list[str]:
    """What to check first: the choices that bring the first metric nearest to its score, then what was not given."""
    ours, off = result.steps.filter(step=0).select("value", "off").row(0)
    metric, published = result.steps["metric"][0], ours - off
    nearer = result.choices.filter(metric=metric).with_columns(off=(pl.col("value") - published).abs())
    nearer = nearer.filter(pl.col("off") < abs(off)).sort("off", maintain_order=True)
    first = nearer.unique("value", keep="first", maintain_order=True).head(_SUSPECTS)
    named = pl.format("{} ({} {})", "choice", "metric", text_of("{value:score}"))
    given = result.choices["choice"]
    further = [
        *(["which version of gold it had (--other-gold)"] if not given.str.starts_with("gold ").any() else []),
        *(["whether it accepted variants of values (--label-map)"] if "label-map" not in given else []),
        "which checkpoint and split it was",
    ]
    return [*_with_unit(first).select(named).to_series(), *further][:_SUSPECTS]


def _with_unit(rows: pl.DataFrame) -> pl.DataFrame:
    is_count = pl.col("metric").map_elements(lambda metric: parse(metric).is_count, pl.Boolean)
    return rows.with_columns(unit=pl.when(is_count).then(pl.lit("count")).otherwise(pl.lit("share")))


def reconciliation(result: Reconciliation) -> Layout:
    """The steps, the sets that reach the published scores, and what single choices change."""
    value, off = {"value": "{value:score}"}, {"from the published score": "{off:score}"}
    change, choice = {"change": "{change:score}"}, {"choice": "{choice}"}
    title = "from the score here to the published one, a choice at a time"
    steps = _with_unit(result.steps)
    views = [View(title, steps, RECONCILED_STEPS, ["step", "metric"], {**value, **change, **off, **choice})]
    number = result.sets["choices"].n_unique()
    if number > 1:
        metrics = result.sets["metric"].n_unique()
        reaches = result.sets["reaches"][0]
        title = "sets of choices that reach it" if reaches else "the nearest set of each number of choices"
        more = f", the first {_MOST} of {number:,}" if number > _MOST else ""
        sets = _with_unit(result.sets).head(_MOST * metrics)
        views.append(View(f"{title}{more}", sets, None, ["metric"], {**value, **off, "choices": "{choices}"}))
    moving = _with_unit(result.choices).filter(pl.col("change") != 0)
    if moving.height:
        more = f", the {_MOST} that change most" if moving.height > _MOST else ""
        cells = {**value, **change, **choice, "meaning": "{meaning}"}
        views.append(View(f"single choices{more}", moving.head(_MOST), None, ["metric"], cells))
    tried = ", ".join(
        _sets_of(size, sets)
        for size, sets in result.tried.filter(pl.col("size") > 0).select("size", "sets").iter_rows()
    )
    notes = [*([f"tried: {tried}"] if tried else []), "scores in %"]
    return Layout(views, notes, way_to_published(result), "reconcile")
