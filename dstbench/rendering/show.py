"""One dialogue of one or several runs, turn by turn, to be read in a terminal.

What a slot is shows in its mark, so that colours only help.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.io.escape import plain_text
from dstbench.rendering.tables import counts, draw, render_frames, render_page, signature_lines, text_table, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dstbench.analysis.show import Walkthrough
    from dstbench.typing import TableFormat

#: Kind to its mark and its colour.
_MARKS: Final = {"correct": ("=", "green"), "missed": ("-", "yellow"), "wrong": ("x", "red"), "over": ("+", "magenta")}
_EVENTS: Final = ("correct", "wrong", "missed", "over")
_CARRIED: Final = "~"
_LEGEND: Final = f"= correct, - missed, x wrong, + over-predicted; {_CARRIED} as in the turn before"
_COUNTED: Final = "changes as the GCA authors' code counts them; scores in percent, counts as they are"
_UNSAID: Final = "what was said is not known; --context FILE says it"
_UNSCORED: Final = "not scored under this convention"
_NO_SLOT: Final = "(no prediction)"


def render_walkthrough(found: Walkthrough, form: TableFormat, *, width: int = 120, colour: bool = False) -> str:
    """A dialogue in one of the formats.

    Args:
        found: What `walk_through` gives.
        form: ``json`` and ``csv`` give the frames; the others a table of the dialogue's scores, then one per turn.
        width: Letters of a line, for what was said.
        colour: Whether the text may be coloured.
    """
    if form in ("json", "csv"):
        return render_frames(found, form)
    found, runs = _lettered(found)
    turns = pl.concat([found.changes["turn"], found.said["turn"]]).unique().sort().to_list()
    whole = found.scores.filter(pl.col("turn").is_null())
    title = f"{found.changes['dialogue'][0]}: {len(turns)} turn{'s' if len(turns) > 1 else ''}"
    overview = _side_by_side(
        whole, found.signatures, found.changes.group_by("run", maintain_order=True).agg(pl.col(_EVENTS).sum())
    )
    if len(runs) > 1:
        named = pl.Series("run", found.signatures["run"].unique(maintain_order=True))
        overview = overview.with_columns(pl.format("{}: {}", "run", named))
    signed = signature_lines(found.signatures)
    above = [_LEGEND, _COUNTED, *([_UNSAID] if found.said.is_empty() else [])]
    pages: list[tuple[str, Sequence[str], pl.DataFrame | None]] = [
        (f"turn {turn}", _told(found, turn), _slots(found.slots.filter(turn=turn), runs)) for turn in turns
    ]
    if form != "text":
        tables = [(_one_line(head, told), table) for head, told, table in pages if table is not None]
        return render_page([(title, overview), *tables], [*above, *signed], form)
    text = f"{plain_text(title)}\n\n{draw(overview, form)}" + "".join(f"{line}\n" for line in above)
    for head, told, table in pages:
        lines = [line for part in told for line in _wrapped(plain_text(part), width)]
        shown = (
            ("" if _UNSCORED in told else "  no slot\n")
            if table is None
            else textwrap.indent(_table(table, colour=colour).rstrip("\n"), "  ") + "\n"
        )
        text += f"\n{head}\n" + "".join(f"  {line}\n" for line in lines) + shown
    return text + "\n" + "".join(f"{plain_text(line)}\n" for line in signed)


def _lettered(found: Walkthrough) -> tuple[Walkthrough, list[str]]:
    """Several runs under letters, as names are too long to head columns; and what they are called now."""
    runs = found.changes["run"].unique(maintain_order=True).to_list()
    if len(runs) == 1:
        return found, runs
    letters = {run: chr(ord("A") + number) for number, run in enumerate(runs)}
    called = pl.col("run").replace_strict(letters, return_dtype=pl.String)
    parts = {name: getattr(found, name).with_columns(called) for name in ("slots", "changes", "scores")}
    return replace(found, **parts), list(letters.values())


def _side_by_side(scores: pl.DataFrame, signatures: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """A row per run: its scores, and its changes of state."""
    metrics = scores["metric"].unique(maintain_order=True).to_list()
    wide = scores.pivot(on="metric", on_columns=metrics, index="run", values="value", maintain_order=True)
    counted = changes.select(
        "run",
        *(pl.col(kind).cast(pl.String).alias(f"{kind} changes") for kind in _EVENTS),
    )
    return wide.select("run", *(value_text(name, is_count=name in counts(signatures)) for name in metrics)).join(
        counted, on="run", how="left", maintain_order="left"
    )


def _told(found: Walkthrough, turn: int) -> list[str]:
    """What was said in a turn, and how each run scores."""
    said = [
        f"{who}: {words}"
        for row in found.said.filter(turn=turn).select("system", "user").iter_rows(named=True)
        for who, words in row.items()
        if words is not None
    ]
    changes = found.changes.filter(turn=turn)
    scores = found.scores.filter(turn=turn)
    if scores.is_empty():
        return [*said, _UNSCORED]
    several = changes["run"].n_unique() > 1
    lines = []
    for row in _side_by_side(scores, found.signatures, changes).iter_rows(named=True):
        run = row.pop("run")
        events = [
            f"{number} {name.partition(' ')[0]}"
            for name, number in row.items()
            if name.endswith(" changes") and number != "0"
        ]
        values = ", ".join(f"{name} {value}" for name, value in row.items() if not name.endswith(" changes"))
        happened = f"changes: {', '.join(events)}" if events else "no change"
        lines.append(f"{f'{run}: ' if several else ''}{values}; {happened}")
    return [*said, *lines]


def _slots(slots: pl.DataFrame, runs: Sequence[str]) -> pl.DataFrame | None:
    """The slots of a turn: gold once, and per run its mark, prediction and class; None: there are none."""
    if slots.is_empty():
        return None
    shown = slots.select(
        "run",
        pl.col("slot").cast(pl.String).fill_null(_NO_SLOT),
        *(_value(name) for name in ("gold", "pred")),
        pl.col("class").cast(pl.String),
        mark=pl.col("kind").cast(pl.String).replace_strict({kind: mark for kind, (mark, _) in _MARKS.items()})
        + pl.when("carried").then(pl.lit(_CARRIED)).otherwise(pl.lit("")),
    )
    gold = pl.col("gold").unique(maintain_order=True).str.join(" / ")
    table = shown.group_by("slot", maintain_order=True).agg(gold).sort("slot")
    for number, run in enumerate(runs):
        names = {
            "mark": " " * (number + 1),
            "pred": f"predicted {run}" if len(runs) > 1 else "predicted",
            "class": f"class{' ' * number}",
        }
        part = shown.filter(run=run).select("slot", *(pl.col(name).alias(new) for name, new in names.items()))
        table = table.join(part, on="slot", how="left", maintain_order="left")
    marks = [" " * (number + 1) for number in range(len(runs))]
    order = [marks[0], "slot", "gold", *[name for name in table.columns if name not in (marks[0], "slot", "gold")]]
    return table.select(pl.col(order).fill_null(""))


def _value(name: str) -> pl.Expr:
    """A value as text; one that could be taken for none, or whose ends are not seen, in quotation marks."""
    value = pl.col(name).cast(pl.String)
    hidden = value.is_in(["", "-"]) | value.str.contains(r"^\s|\s$")
    mark = pl.col("slot").is_null()
    quoted = pl.when(hidden).then(pl.format("'{}'", value)).otherwise(value)
    return pl.when(mark).then(pl.lit("-")).otherwise(quoted).fill_null("-").alias(name)


def _table(table: pl.DataFrame, *, colour: bool) -> str:
    """The slots of a turn as text; a run's columns in the colour of its mark."""
    if not colour:
        return text_table(table)
    colours = dict(_MARKS.values())
    styles = []
    for row in table.iter_rows():
        style, looks = "", []
        for name, text in zip(table.columns, row, strict=True):
            if not name.strip():
                carried = "dim " if text.endswith(_CARRIED) else ""
                style = f"{carried}{colours[text[0]]}" if text else ""
            looks.append("" if name in ("slot", "gold") else style)
        styles.append(looks)
    return text_table(table, styles)


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, max(40, width - 4), subsequent_indent="    ", break_long_words=True) or [""]


def _one_line(head: str, told: Sequence[str]) -> str:
    return "; ".join([head, *told])
