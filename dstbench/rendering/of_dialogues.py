"""How one dialogue of one or several runs is shown, turn by turn; a mark shows the kind of each slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.errors import number_of
from dstbench.io.escape import plain_text
from dstbench.metrics.registry import sign_of
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.text_tables import UNDEFINED, Styles
from dstbench.rendering.views import Layout, OwnLines, View, filled, lines, pivoted, plain, text_of
from dstbench.signature import parse

if TYPE_CHECKING:
    from dstbench.analysis.show import Walkthrough, Worst

# Kind of error to its mark and its colour.
_MARKS: Final = {"correct": "=", "wrong": "x", "missed": "-", "over": "+", "no-prediction": "?"}
_COLOURS: Final = {"correct": "green", "wrong": "red", "missed": "yellow", "over": "magenta", "no-prediction": "red"}
_CHANGES: Final = ("correct", "wrong", "missed", "over")
_CARRIED: Final = "~"
_UNSCORED: Final = "not scored under this convention"


def walkthrough(walkthrough: Walkthrough) -> Layout:
    """Each dialogue's scores, then the slots of each turn below what is said in it; letters stand for several runs."""
    dialogues = walkthrough.changes["dialogue"].unique(maintain_order=True)
    views = [view for dialogue in dialogues for view in _dialogue(walkthrough, dialogue)]
    notes = lines(
        f"= correct, - missed, x wrong, + over-predicted, ? no prediction; {_CARRIED} as in the turn before",
        "changes as the GCA authors' code counts them; scores in %, counts as they are",
        ("the utterances are not known: --context FILE names their file", walkthrough.said.is_empty()),
    )
    signatures = signature_lines(walkthrough.signatures) if len(dialogues) == 1 else []
    return Layout(views, notes, (), "show", filled(views), signatures=signatures)


def _dialogue(walkthrough: Walkthrough, dialogue: str) -> list[View]:
    """The tables of one of its dialogues."""
    said, slots, changes, scores = (
        frame.filter(dialogue=dialogue)
        for frame in (walkthrough.said, walkthrough.slots, walkthrough.changes, walkthrough.scores)
    )
    names = changes["run"].unique(maintain_order=True).to_list()
    letters = [chr(ord("A") + number) for number in range(len(names))] if len(names) > 1 else names
    letter = pl.col("run").replace_strict(names, letters, return_dtype=pl.String)
    units = walkthrough.signatures.select("metric", "unit").unique()
    scores = scores.join(units, on="metric", maintain_order="left").with_columns(letter)
    slots, changes = slots.with_columns(letter), changes.with_columns(letter)
    turns = pl.concat([changes["turn"], said["turn"]]).unique().sort().to_list()

    whole = scores.filter(pl.col("turn").is_null()).with_columns(value=text_of("{value:score}"))
    total = changes.group_by("run", maintain_order=True).agg(pl.col(*_CHANGES).sum().cast(pl.String))
    total = total.rename({kind: f"{kind} changes" for kind in _CHANGES})
    overview = pivoted(whole, "metric", "run", "value").join(total, on="run", how="left", maintain_order="left")
    if len(names) > 1:
        overview = overview.with_columns(pl.format("{}: {}", "run", pl.Series(names)))
    views = [View(f"{changes['dialogue'][0]}: {number_of(len(turns), 'turn')}", overview)]
    for turn in turns:
        spoken = said.filter(turn=turn).select("system", "user").rows(named=True)
        heads = [f"{speaker}: {words}" for row in spoken for speaker, words in row.items() if words is not None]
        heads += _events(scores.filter(turn=turn), changes.filter(turn=turn))
        table, styles = _slots(slots.filter(turn=turn), letters)
        if table.is_empty() and _UNSCORED not in heads:
            heads.append("no slot")
        head = "\n  ".join([f"turn {turn}", *map(plain_text, heads)])
        views.append(View(OwnLines(head), table, styles=styles))
    return views


def worst(worst: Worst) -> Layout:
    """The dialogues to look at first."""
    rows, runs = worst.dialogues, worst.signatures["run"].unique(maintain_order=True)
    units = dict(worst.signatures.select("metric", "unit").iter_rows())
    first = next(iter(units))
    several = len(runs) > 1
    cells = plain("dialogue", *(["run"] if several else []), "turns", **{
        "wrong turns": "wrong_turns", "first wrong": "first_wrong", **{name: str(at) for at, name in enumerate(units)},
    })  # fmt: skip
    shown = rows.with_columns(
        rows.select(value=name, unit=pl.lit(unit)).select(text_of("{value:score}").alias(str(at))).to_series()
        for at, (name, unit) in enumerate(units.items())
    )
    n, of = rows["dialogue"].n_unique(), int(parse(worst.signatures["signature"][0]).settings["d"])
    extreme = "highest" if sign_of(first) == -1 else "lowest"
    what = f"{first} differs most" if several else f"{runs[0]}: the {extreme} {first}"
    title = f"{what} in {n:,} of {of:,} dialogues"
    hint = f"the same command with {rows['dialogue'][0]} shows that dialogue turn by turn"
    return Layout([View(title, shown, cells=cells)], [hint], (), "worst", signatures=signature_lines(worst.signatures))


def _events(scores: pl.DataFrame, changes: pl.DataFrame) -> list[str]:
    """Lines with the scores and changes of each run in a turn."""
    if scores.is_empty():
        return [_UNSCORED]
    values = scores.with_columns(text=pl.format("{} {}", "metric", text_of("{value:score}")))
    by_run = values.group_by("run", maintain_order=True).agg(pl.col("text").str.join(", "))
    by_run = by_run.join(changes.select("run", *_CHANGES), on="run", maintain_order="left")
    of_runs = []
    for run, text, *numbers in by_run.iter_rows():
        events = ", ".join(f"{number} {kind}" for number, kind in zip(numbers, _CHANGES, strict=True) if number)
        name = f"{run}: " if by_run.height > 1 else ""
        of_runs.append(f"{name}{text}; {f'changes: {events}' if events else 'no change'}")
    return of_runs


def _slots(slots: pl.DataFrame, runs: list[str]) -> tuple[pl.DataFrame, Styles]:
    """The slots of a turn: gold, and for each run its mark (under a blank title), prediction and class; and colours."""
    kind = pl.col("kind").cast(pl.String)
    shown = slots.select(
        "run", pl.col("slot").cast(pl.String).fill_null("(no prediction)"), *map(_value, ("gold", "pred")),
        pl.col("class").cast(pl.String),
        mark=kind.replace_strict(_MARKS) + pl.when("carried").then(pl.lit(_CARRIED)).otherwise(pl.lit("")),
        style=pl.when("carried").then(pl.lit("dim ")).otherwise(pl.lit("")) + kind.replace_strict(_COLOURS),
    )  # fmt: skip
    gold = pl.col("gold").unique(maintain_order=True).str.join(" / ")
    table, styles = shown.group_by("slot").agg(gold).sort("slot"), dict[str, list[str]]()
    for number, run in enumerate(runs):
        predicted = f"predicted {run}" if len(runs) > 1 else "predicted"
        titles = {"mark": " " * (number + 1), "pred": predicted, "class": f"class{' ' * number}"}
        of_run = table.select("slot").join(shown.filter(run=run), on="slot", how="left", maintain_order="left")
        of_run = of_run.fill_null("")
        table = table.with_columns(of_run[name].alias(title) for name, title in titles.items())
        styles |= dict.fromkeys(titles.values(), of_run["style"].to_list())
    return table.select(" ", pl.exclude(" ")), styles


def _value(name: str) -> pl.Expr:
    """A value as text; in quotation marks if it looks like no value, or begins or ends with a space."""
    value = pl.col(name).cast(pl.String)
    unclear = value.is_in(["", UNDEFINED]) | value.str.contains(r"^\s|\s$")
    quoted = pl.when(unclear).then(pl.format("'{}'", value)).otherwise(value)
    return pl.when(pl.col("slot").is_not_null()).then(quoted).fill_null(UNDEFINED).alias(name)
