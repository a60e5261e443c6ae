"""One dialogue of one or several runs, turn by turn, for a terminal.

A mark shows the kind of each slot, so that colours are not needed.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.io.escape import plain_text
from dstbench.metrics.registry import sign_of
from dstbench.rendering.tables import (
    UNDEFINED,
    Page,
    counts,
    draw,
    escape_lines,
    paper_table,
    pivoted,
    render_frames,
    render_page,
    side_by_side,
    signature_lines,
    texts,
    value_text,
)
from dstbench.rendering.terminal import screen
from dstbench.rendering.text_tables import Styles, text_table
from dstbench.signature import parse
from dstbench.typing import TableFormat

if TYPE_CHECKING:
    from dstbench.analysis.show import Walkthrough, Worst

#: Kind of error to its mark and its colour.
_MARKS: Final = {
    "correct": ("=", "green"),
    "wrong": ("x", "red"),
    "missed": ("-", "yellow"),
    "over": ("+", "magenta"),
    "no-prediction": ("?", "red"),
}
_CHANGES: Final = ("correct", "wrong", "missed", "over")
_CARRIED: Final = "~"
_LEGEND: Final = f"= correct, - missed, x wrong, + over-predicted, ? no prediction; {_CARRIED} as in the turn before"
_UNITS: Final = "changes as the GCA authors' code counts them; scores in percent, counts as they are"
_NO_UTTERANCES: Final = "the utterances are not known: --context FILE names their file"
_UNSCORED: Final = "not scored under this convention"
_NO_SLOT: Final = "(no prediction)"
# Utterances are wrapped to lines of at most this many characters, also in a wider terminal.
_WIDEST: Final = 120


def render_walkthrough(walkthrough: Walkthrough, form: TableFormat) -> str:
    """A dialogue in one of the formats.

    Args:
        walkthrough: What `walk_through` returns.
        form: ``json`` and ``csv`` have the frames; the others have a table of the dialogue's scores, then one per turn.
    """
    if form in ("json", "csv"):
        return render_frames(walkthrough, form)
    width = min(screen().width or _WIDEST, _WIDEST)
    walkthrough, runs = _lettered(walkthrough)
    turns = pl.concat([walkthrough.changes["turn"], walkthrough.said["turn"]]).unique().sort().to_list()
    title = f"{walkthrough.changes['dialogue'][0]}: {len(turns)} turn{'s' if len(turns) > 1 else ''}"
    overview = _overview(walkthrough, runs)
    above = [_LEGEND, _UNITS, *([_NO_UTTERANCES] if walkthrough.said.is_empty() else [])]
    signatures = signature_lines(walkthrough.signatures)
    of_turns = [
        (f"turn {turn}", _events(walkthrough, turn), _slots(walkthrough.slots.filter(turn=turn), runs))
        for turn in turns
    ]
    if form != "text":
        tables = [("; ".join([head, *lines]), slots) for head, lines, slots in of_turns if slots.height]
        below = [*above, *signatures]
        paper = [paper_table(title, overview, "show", below), *(paper_table(*table, "show") for table in tables)]
        return render_page(Page([(title, overview), *tables], below, paper=paper), form)
    text = f"{escape_lines([title], form)}\n{draw(overview, form)}{escape_lines(above, form)}"
    for head, lines, slots in of_turns:
        wrapped = (textwrap.wrap(plain_text(line), width - 4, subsequent_indent="    ") or [""] for line in lines)
        shown = list(chain.from_iterable(wrapped))
        if slots.height:
            shown += text_table(slots, _styles(slots), indent=2).rstrip("\n").split("\n")
        elif _UNSCORED not in lines:
            shown.append("no slot")
        text += f"\n{head}\n" + "".join(f"  {line}\n" for line in shown)
    return text + "\n" + escape_lines(signatures, form)


def render_worst(worst: Worst, form: TableFormat) -> str:
    """The dialogues to look at first, in one of the formats.

    Args:
        worst: What `worst_dialogues` returns.
        form: ``json`` and ``csv`` have the frames.
    """
    if form in ("json", "csv"):
        return render_frames(worst, form)
    rows, runs = worst.dialogues, worst.signatures["run"].unique(maintain_order=True)
    metrics, counted = worst.signatures["metric"].unique(maintain_order=True).to_list(), counts(worst.signatures)
    shown = rows.select(
        *texts("dialogue", *(["run"] if len(runs) > 1 else []), "turns"),
        *(text.fill_null(UNDEFINED) for text in texts(**{"wrong turns": "wrong_turns", "first wrong": "first_wrong"})),
        *(value_text(name, is_count=name in counted) for name in metrics),
    )
    n, of = rows["dialogue"].n_unique(), int(parse(worst.signatures["signature"][0]).settings["d"])
    what = f"the lowest {metrics[0]}" if len(runs) == 1 else f"{metrics[0]} differs most"
    if sign_of(metrics[0]) == -1:
        what = what.replace("lowest", "highest")
    title = (
        f"{runs[0]}: {what} in {n:,} of {of:,} dialogues" if len(runs) == 1 else f"{what} in {n:,} of {of:,} dialogues"
    )
    below = [
        f"the same command with {rows['dialogue'][0]} shows that dialogue turn by turn",
        *signature_lines(worst.signatures),
    ]
    return render_page(Page([(title, shown)], below, "worst"), form)


def _lettered(walkthrough: Walkthrough) -> tuple[Walkthrough, list[str]]:
    """The walk-through and its runs' names; letters replace several runs' names, which are too long for titles."""
    runs = walkthrough.changes["run"].unique(maintain_order=True).to_list()
    if len(runs) == 1:
        return walkthrough, runs
    letters = [chr(ord("A") + number) for number in range(len(runs))]
    letter = pl.col("run").replace_strict(runs, letters, return_dtype=pl.String)
    frames = {name: getattr(walkthrough, name).with_columns(letter) for name in ("slots", "changes", "scores")}
    return replace(walkthrough, **frames), letters


def _overview(walkthrough: Walkthrough, runs: list[str]) -> pl.DataFrame:
    """The scores of the whole dialogue; each letter for a run is shown with the run's name."""
    changes = walkthrough.changes.group_by("run", maintain_order=True).agg(pl.col(*_CHANGES).sum())
    table = _scores(walkthrough.scores.filter(pl.col("turn").is_null()), changes, counts(walkthrough.signatures))
    names = walkthrough.signatures["run"].unique(maintain_order=True)
    return table if len(runs) == 1 else table.with_columns(pl.format("{}: {}", "run", names))


def _scores(scores: pl.DataFrame, changes: pl.DataFrame, counted: frozenset[str]) -> pl.DataFrame:
    """A row per run: its scores, and its numbers of changes of state."""
    wide = pivoted(scores, "metric", "run", "value")
    values = wide.select("run", *(value_text(name, is_count=name in counted) for name in wide.columns[1:]))
    return side_by_side(
        [values, changes.select("run", *texts(**{f"{kind} changes": kind for kind in _CHANGES}))], "run"
    )


def _events(walkthrough: Walkthrough, turn: int) -> list[str]:
    """Lines with the utterances of a turn and the scores of each run."""
    said = walkthrough.said.filter(turn=turn).select("system", "user").rows(named=True)
    lines = [f"{speaker}: {words}" for row in said for speaker, words in row.items() if words is not None]
    scores, changes = walkthrough.scores.filter(turn=turn), walkthrough.changes.filter(turn=turn)
    if scores.is_empty():
        return [*lines, _UNSCORED]
    table = _scores(scores, changes, counts(walkthrough.signatures))
    metrics = table.columns[1 : -len(_CHANGES)]
    for run, *cells in table.iter_rows():
        values = ", ".join(f"{name} {value}" for name, value in zip(metrics, cells, strict=False))
        numbers = zip(_CHANGES, cells[len(metrics) :], strict=True)
        events = ", ".join(f"{number} {kind}" for kind, number in numbers if number != "0")
        name = f"{run}: " if changes["run"].n_unique() > 1 else ""
        lines.append(f"{name}{values}; {f'changes: {events}' if events else 'no change'}")
    return lines


def _slots(slots: pl.DataFrame, runs: list[str]) -> pl.DataFrame:
    """The slots of a turn: gold, and for each run its mark (under a blank title), prediction and class."""
    marks = {kind: mark for kind, (mark, _) in _MARKS.items()}
    shown = slots.select(
        "run",
        pl.col("slot").cast(pl.String).fill_null(_NO_SLOT),
        *map(_value, ("gold", "pred")),
        pl.col("class").cast(pl.String),
        mark=pl.col("kind").cast(pl.String).replace_strict(marks)
        + pl.when("carried").then(pl.lit(_CARRIED)).otherwise(pl.lit("")),
    )
    gold = pl.col("gold").unique(maintain_order=True).str.join(" / ")
    columns = [shown.group_by("slot").agg(gold).sort("slot")]
    for number, run in enumerate(runs):
        predicted = f"predicted {run}" if len(runs) > 1 else "predicted"
        titles = {"mark": " " * (number + 1), "pred": predicted, "class": f"class{' ' * number}"}
        columns.append(shown.filter(run=run).select("slot", *texts(**{title: name for name, title in titles.items()})))
    return side_by_side(columns, on="slot").select(pl.col(" "), pl.exclude(" ")).fill_null("")


def _value(name: str) -> pl.Expr:
    """A value as text; in quotation marks if it looks like no value, or begins or ends with a space."""
    value = pl.col(name).cast(pl.String)
    unclear = value.is_in(["", UNDEFINED]) | value.str.contains(r"^\s|\s$")
    quoted = pl.when(unclear).then(pl.format("'{}'", value)).otherwise(value)
    return pl.when(pl.col("slot").is_not_null()).then(quoted).fill_null(UNDEFINED).alias(name)


def _styles(table: pl.DataFrame) -> Styles:
    """The colours of the slots of a turn: each run's columns have that of its mark."""
    colours = dict(_MARKS.values())
    styles: dict[str, list[str]] = {}
    mark: list[str] = []
    for cells in table:
        if not cells.name.strip():  # the mark, which the run's other columns follow
            mark = [f"{'dim ' * text.endswith(_CARRIED)}{colours[text[0]]}" if text else "" for text in cells]
        if cells.name not in ("slot", "gold"):
            styles[cells.name] = mark
    return styles
