"""How scores, comparisons, sweeps, checks and single dialogues of runs are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.analysis import findings as sentences
from dstbench.analysis.findings import highest
from dstbench.errors import UsageError, number_of, percent
from dstbench.io.escape import plain_text
from dstbench.metrics.registry import name_of, parse, sign_of
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.text_tables import UNDEFINED
from dstbench.rendering.views import EXACT, IS_COUNT, Layout, OwnLines, View, lines, plain, sign, text_of
from dstbench.schema import analysis as schema
from dstbench.schema.core import SCORES
from dstbench.signature import parse as parse_signature

if TYPE_CHECKING:
    from dstbench.analysis.changes import Changes
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.reconcile import Reconciliation
    from dstbench.analysis.show import Walkthrough, Worst

    Design = Mapping[str, Any]

_NO_GROUP: Final = "other runs"  # the title of the runs that are in no group


def scores(
    frames: Mapping[str, pl.DataFrame],
    groups: Mapping[str, str] | None = None,
    gold: Sequence[str] = (),
    along: str | None = None,
) -> Layout:
    """Scores with their standard errors, a column per metric."""
    rows = shown = frames["scores"]
    by = [name for name in rows.columns if name not in (*SCORES.columns, EXACT, along) or name == "run"]
    is_same, of_runs = rows.select("turns", "dialogues").n_unique() == 1, by == ["run"]
    titles = titles_of(groups, rows["run"].unique(maintain_order=True).to_list(), by) if groups else {}
    if of_runs and not along:  # in the order of the groups, those of a group by the first metric
        group = pl.col("run").replace_strict(titles, default=None, return_dtype=pl.String)
        order = pl.col("group").cast(pl.Enum(list(dict.fromkeys(titles.values()))))
        shown = best_first(shown.with_columns(group=group)).sort(order, nulls_last=True, maintain_order=True)
    if "slot" in by:
        shown = shown.with_columns(pl.col("metric").replace({"jga": "accuracy (jga)"}))
    cells = {"{}": "{value} ±{se}" if of_runs else "{value}"}
    cells |= {f"{{}} {EXACT}": f"{{{EXACT}:score}}"} if EXACT in rows.columns else {}
    view = View("", shown, SCORES, [*by, *([along] if along else [])], cells, "metric",
                {} if is_same else plain("turns", "dialogues"), best=["metric"] if of_runs else None)  # fmt: skip
    # A score has a standard error unless it is a count, undefined, or of one dialogue; or all dialogues are alike.
    has_error = rows.filter(~IS_COUNT, pl.col("value").is_not_null(), pl.col("dialogues") > 1)
    unknown = " (without: unknown, as all dialogues are alike)" if has_error["se"].null_count() else ""
    errors = f"; ± one standard error over dialogues{unknown}" if of_runs and has_error.height else ""
    caption = f"{named(rows)}{f' over {sizes_of(rows)}' if is_same else ''}"
    caption += (errors if rows["se"].count() else "") if of_runs else f" by {' and '.join(by[1:])}"
    paper = view if of_runs else view._replace(keys=by[1:])
    if not of_runs and rows["run"].n_unique() > 1:
        paper = paper._replace(split="run")
        if rows["metric"].n_unique() == 1 and EXACT not in rows.columns:
            paper = paper._replace(split=None, wide="run", beside={}, best=by[1:])
    if titles:
        view = view._replace(title="{}", split="group", rest=_NO_GROUP)
        paper = view._replace(underlined=["metric", "group"])
        caption += ". Bold: the best of all; underlined: the best of each group"
    own_turns = rows["signature"].str.contains("domain-turns:(either|frames|dialogue)|unit:frame").all()
    signatures, below = signature_lines(rows), lines(
        ("by slot: every scored turn counts; a slot in neither gold nor prediction is correct", "slot" in by),
        ("by domain: a turn counts if gold has a slot of the domain; predictions of the domain in other turns are not "
         "scored (--domain-turns either)", "domain" in by and "slot" not in by and not own_turns), *gold,
    )  # fmt: skip
    notes = [f"{units_of(rows)}{errors}{f'; {sizes_of(rows)}' if is_same else ''}", *below]
    found = highest(rows) if of_runs and not titles else []
    return Layout([view], notes, found, "-".join(["score", *by[1:]]), [paper._replace(caption=f"{caption}.")],
                  [*below, *signatures], signatures=signatures)  # fmt: skip


def pairs(frames: Mapping[str, pl.DataFrame]) -> Layout:
    """Pairs of values, in text in quotes, so that a space at the end can be seen."""
    rows = frames["pairs"].select(pl.all().cast(pl.String).fill_null(UNDEFINED))
    quoted = rows.with_columns(pl.format("'{}'", name).alias(name) for name in ("gold", "pred"))
    return Layout([View("", quoted)], label="pairs", paper=[View("", rows, caption="Pairs.")])


def titles_of(groups: Mapping[str, str], names: Sequence[str], by: Sequence[str]) -> dict[str, str]:
    """The title of each run's group, in the order of the groups."""
    from dstbench.analysis.compare import runs_called  # not before: it needs the modules of statistics

    if list(by) != ["run"]:
        raise UsageError("--group takes scores by run", hint="omit --by")
    titles: dict[str, str] = {}
    for title, patterns in groups.items():
        for run in dict.fromkeys(names[index] for index in runs_called(patterns, names, f"--group {title!r}")):
            if run in titles:
                raise UsageError(f"run {run!r} is in two groups: {titles[run]!r} and {title!r}")
            titles[run] = title
    return titles


def best_first(rows: pl.DataFrame, of: str = "run") -> pl.DataFrame:
    """Rows of scores by the first metric, the best first: the highest, or the fewest errors; undefined ones last."""
    if rows.is_empty():
        return rows
    merit = (sign(rows).fill_null(1) * pl.col("value")).filter(pl.col("metric") == rows["metric"][0]).first().over(of)
    return rows.sort(merit, descending=True, nulls_last=True, maintain_order=True)


def sizes_of(rows: pl.DataFrame, between: str = ", ") -> str:
    """The turns and dialogues of the first row, in words; under profiles that score each domain of a turn, frames."""
    turns, dialogues = rows.select("turns", "dialogues").row(0)
    is_frames = rows["signature"].str.contains("|unit:frame|", literal=True).all() and "slot" not in rows.columns
    return f"{number_of(turns, 'frame' if is_frames else 'turn')}{between}{number_of(dialogues, 'dialogue')}"


def units_of(rows: pl.DataFrame) -> str:
    """The units of a table's numbers, in words."""
    units = {*rows["unit"]}
    return "counts" if units == {"count"} else "scores in %" + ", counts as they are" * ("count" in units)


def named(rows: pl.DataFrame) -> str:
    """What the scores are, with their unit."""
    units = rows["unit"].unique()
    unit = " (shares in %)" if len(units) > 1 else " (%)" if "share" in units else ""
    return f"{name_of(rows['metric'][0]) if rows['metric'].n_unique() == 1 else 'Scores'}{unit}"


def leaderboard(leaderboard: Leaderboard, *, pairs: bool = False) -> Layout:
    """Scores with intervals, of runs and of models, and a table of differences per metric.

    Args:
        pairs: Show the differences of pairs only: in LaTeX, a table of their own.
    """
    from dstbench.analysis.compare import FEWEST_SEEDS, doubts  # not before: it needs the modules of statistics

    design, differences, models = leaderboard.design.row(0, named=True), leaderboard.differences, leaderboard.models
    level, alpha, sizes = percent(design["level"]), percent(1 - design["level"]), sizes_of(leaderboard.scores)
    of_models, drawn = models.height > 0, max(differences["resamples"].drop_nulls(), default=0)
    adjusted = "" if design["adjustment"] == "none" else "adjusted "
    more = f" ({drawn:,} where p is close to {alpha})" if drawn > design["resamples"] else ""
    resamples = "" if of_models else f", {design['resamples']:,} resamples{more}, seed {design['seed']}"
    m = " to ".join(str(number) for number in dict.fromkeys([differences["m"].min(), differences["m"].max()]))
    doubtful = doubts(differences, design["resamples"], design["level"])
    signatures = signature_lines(leaderboard.scores)
    about = lines(
        "intervals of scores: Wilson's, with the effective number of units (dialogues)",
        (f"models with fewer than {FEWEST_SEEDS} runs are not tested; one of a single run has its interval",
         min(models["runs"], default=FEWEST_SEEDS) < FEWEST_SEEDS),
        (f"p: two-sided, {design['test']}{resamples}", differences.height),
        (f"intervals of differences: by the same test, so they exclude 0 exactly where p is at most {alpha}",
         differences.height),
        (f"p {design['adjustment']}: adjusted for the differences of a metric, m = {m}",
         differences.height and adjusted),
    )  # fmt: skip
    how = lines(
        *about,
        ("wins, losses: dialogues in which run scores higher, lower", differences.height and not of_models),
        (f"detectable: the difference that the {adjusted}test detects with 80 % power", differences.height),
    )
    value, interval = {"{}": "{value}"}, {f"{level} of {{}}": "{low} to {high}"}
    views = [
        View(f"Scores and {level} intervals", best_first(leaderboard.scores), schema.STANDINGS, ["run"],
             {**value, **interval}, "metric", best=["metric"]),
        View(f"Models: mean and standard deviation over n runs, and {level} intervals of the mean",
             best_first(models, "model").with_columns(n="runs"), schema.MODELS, ["model", "n"],
             {**value, "sd of {}": "{sd}", **interval}, "metric"),
    ]  # fmt: skip
    noun = "model" if of_models else "run"
    means = " (means and standard deviations over runs)" if of_models else ""
    over = f"{means} over {sizes_of(leaderboard.scores, ' of ')}"
    # A row per pair of runs or models; between models, no dialogues are counted.
    cells = {"difference": "{difference}", level: "{low} to {high}", "p": "{p}",
             **({f"p {design['adjustment']}": "{p_adjusted}"} if adjusted else {}), "*": "{significant}",
             **({} if of_models else plain("wins", "losses")), "detectable": "{detectable}"}  # fmt: skip
    rows = pl.concat([schema.RUN_DIFFERENCES.empty(), *sentences.in_order(leaderboard).values()])
    compared = View("Differences in {}", rows, schema.RUN_DIFFERENCES, ["run", "other"], cells, split="metric")
    standings = _standings(leaderboard, design, noun, over)
    star = f"; *: significant at {alpha}" if differences["significant"].count() else ""
    printed = compared._replace(
        caption=f"Differences in {named(differences)} between {noun}s{over}, with {level} intervals{star}.",
        cells={title: text for title, text in compared.cells.items() if title != "detectable"},
    )
    pairs_alone, shown = pairs and differences.height > 0, [*([] if pairs else views), compared]
    first = standings._replace(title=f"Scores and {level} intervals")
    if of_models:
        first = first._replace(title=f"Models: mean ± standard deviation over runs, and {level} intervals of the mean",
                               rows=first.rows.rename({"runs": "n"}), keys=[*first.keys, "n"])  # fmt: skip
    if " " in first.keys:
        first = first._replace(title=f"{first.title}; raised: whom one is significantly better than (at {alpha})")
    best = sentences.best_run(leaderboard) if differences.height else None
    found = [*([best.text.removesuffix(".")] if best else []), *sentences.verdicts(leaderboard)]
    return Layout(
        shown, [*doubtful, f"{units_of(leaderboard.scores)}; {sizes}"], found, "pairs" if pairs_alone else "compare",
        [printed if pairs_alone else standings], [*doubtful, *about, *signatures], shown if pairs else [first], how,
        signatures,
        "how intervals and p were computed" if pairs else "the differences, how p was computed (or --pairs)",
    )  # fmt: skip


def _standings(leaderboard: Leaderboard, design: Design, noun: str, over: str) -> View:
    """Scores as a paper prints them, with the letters of the runs (models) that each is significantly better than."""
    table, sd = (schema.MODELS, "±{sd} ") if noun == "model" else (schema.STANDINGS, "")
    rows = best_first(leaderboard.models if noun == "model" else leaderboard.scores, noun)
    runs = rows[noun].unique(maintain_order=True)
    several = "" if len(runs) <= len(ascii_lowercase) else ","  # numbers, which need something between them
    letters = [str(n + 1) for n in range(len(runs))] if several else list(ascii_lowercase[: len(runs)])
    lettered = pl.DataFrame({"run": runs, " ": pl.Series(letters, dtype=pl.String)})
    better = beaten(leaderboard.differences, lettered).with_columns(raised=pl.col(" ").list.join(several)).drop(" ")
    lettered, better = (frame.rename({"run": noun}) for frame in (lettered, better))
    rows = rows.join(lettered, on=noun, maintain_order="left")
    rows = rows.join(better, on=["metric", noun], how="left", maintain_order="left")
    caption, keys = f"{named(rows)}{over}, with {percent(design['level'])} intervals.", [noun]
    if leaderboard.differences["significant"].count():
        keys, alpha = [" ", noun], percent(1 - design["level"])
        caption += f" Superscripts: the {noun}s that one is significantly better than (at {alpha})."
        if design["baseline"] is not None:
            (baseline,) = lettered.filter(pl.col(noun) == design["baseline"])[" "]
            caption += f" Only differences to {noun} {baseline} are tested."
    return View(
        "", rows, table, keys, {"{}": f"{{value}} {sd}[{{low}}, {{high}}]"}, "metric", raised="raised",
        best=["metric"], caption=f"{caption} Bold: the best.", heads={" ": ""},
    )  # fmt: skip


def beaten(differences: pl.DataFrame, marked: pl.DataFrame) -> pl.DataFrame:
    """Per metric and run, the runs that it is significantly better than."""
    is_better = pl.when(sign(differences) * pl.col("difference") > 0)
    better, worse = is_better.then("run").otherwise("other"), is_better.then("other").otherwise("run")
    return (
        differences.filter(pl.col("significant").fill_null(value=False), sign(differences).is_not_null())
        .select("metric", run=better, worse=worse)
        .join(marked.with_row_index("index"), left_on="worse", right_on="run")
        .sort("index")
        .group_by("metric", "run", maintain_order=True)
        .agg(pl.exclude("worse", "index"))
    )


def sweep(frames: Mapping[str, pl.DataFrame]) -> Layout:
    """The same predictions under several conventions: runs side by side, or of one run the metrics."""
    rows = frames["sweep"]
    metrics, runs = (rows[name].unique(maintain_order=True).to_list() for name in ("metric", "run"))
    several = len(runs) > 1
    caption = f"{named(rows)} of the same predictions under each convention." + " Bold: the best run." * several
    if several:
        mean = pl.col("value").mean().over("metric", "profile")
        order = pl.col("metric").cast(pl.Enum(metrics))
        ordered = rows.sort(order, mean, pl.col("run").cast(pl.Enum(runs)), descending=[False, True, False],
                            nulls_last=True, maintain_order=True)  # fmt: skip
        view = View("{}", profiles_alike(ordered, ["metric"]), schema.SWEEP, ["profile"], {"{}": "{value}"}, "run",
                    split="metric", best=["profile", "metric"])  # fmt: skip
        first = view._replace(rows=named_in_short(view.rows))
        about = [*sentences.spread_over_profiles(rows), "what changes between profiles: sweep a single run"]
        found, rest = sentences.order_over_profiles(rows), "the range of each run, the names of all profiles"
    else:
        title = f"{runs[0]}: the same predictions under {number_of(rows['profile'].n_unique(), 'convention')}"
        first = view = View(title, profiles_alike(rows, [], only_beside=True), schema.SWEEP, ["profile"],
                            {"{}": "{value}"}, "metric", {"changed from the line above": "{changed}"})  # fmt: skip
        about, found, rest = [], sentences.spread_over_profiles(rows), ""
    agreeing = sentences.profiles_that_agree(rows)
    paper = view._replace(beside={}, caption=caption, heads={"profile": "Convention"})
    return Layout([view], [], [*agreeing, *found], "sweep", [paper], agreeing, [first], about, rest=rest)


def profiles_alike(rows: pl.DataFrame, within: Sequence[str], *, only_beside: bool = False) -> pl.DataFrame:
    """Rows in which profiles with the same scores share a row; perhaps only those that are beside each other."""
    same = pl.struct("run", "metric", "value").implode().hash()
    scores = rows.group_by(*within, "profile", maintain_order=True).agg(same.first().alias("same"))
    scores = scores.with_columns(pl.col("same").rle_id() if only_beside else "same")
    alike = scores.group_by(*within, "same", maintain_order=True)
    named = alike.agg(pl.col("profile").first(), names=pl.col("profile").str.join(", "))
    shown = rows.join(named, on=[*within, "profile"], maintain_order="left")
    return shown.with_columns(profile="names").drop("names", "same")


def named_in_short(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of `profiles_alike` with the first profile of each, and how many more share its row."""
    names = pl.col("profile").str.split(", ")
    more = pl.when(names.list.len() > 1).then(pl.format(" +{}", names.list.len() - 1)).otherwise(pl.lit(""))
    return rows.with_columns(profile=names.list.first() + more)


def checks(frames: Mapping[str, pl.DataFrame]) -> Layout:
    """Outcomes, of several runs in a column each, and what was found; first the checks that are not passed."""
    checked = frames["checks"]
    rows = checked.drop("short", "n", "jga", strict=False)
    if rows["run"].n_unique() < 2:
        view = View("", rows.select(pl.all().cast(pl.String)), styles=_coloured(rows, "status"), caption="Checks.")
        return Layout([view], label="checks")
    outcomes = View("", rows, None, ["check"], {"{}": "{status}"}, "run").marked()
    in_short, doubtful = sentences.checks_in_short(checked)
    views = [View("Outcomes", outcomes, styles=_coloured(outcomes, *outcomes.columns[1:]))]
    first = View("", doubtful.select("check", "status", "runs", "found"), styles=_coloured(doubtful, "status"))
    for (check,), of_check in rows.group_by("check", maintain_order=True):
        styles = _coloured(of_check, "status")
        views.append(View(str(check), of_check, None, ["run"], plain("status", "found"), styles=styles))
    rest = "what each check found in each run"
    return Layout(views, [], in_short, "checks", first=[first if doubtful.height else views[0]], rest=rest)


def _coloured(rows: pl.DataFrame, *columns: str) -> dict[str, list[str]]:
    """The colours of outcomes, in a terminal."""
    colours = {"ok": "green", "warn": "yellow", "fail": "bold red"}
    return {column: [colours.get(status, "") for status in rows[column]] for column in columns}


def changes(changes: Changes) -> Layout:
    """The totals, the groups and the dialogues to read."""
    if changes.dialogues.is_empty():
        return Layout([], findings=sentences.what_changed(changes), label="diff")
    better = {"dialogues better": "better", "dialogues worse": "worse", "p": "p", "*": "significant"}
    cells = plain("fixed", "broken", "net", **better)
    totals = View("turns and values", changes.totals, schema.CHANGED_TOTALS, ["of"], cells)
    titles = {"slot": "by slot", "domain": "by domain", "class": "by class of the error that went or came",
              "turn": "by turn"}  # fmt: skip
    groups = [
        View(f"values {title}", changes.groups.filter(by=by).drop("by").rename({"group": by}), schema.CHANGED_GROUPS,
             [by], cells)
        for by, title in titles.items()
    ]  # fmt: skip
    counted = {f"{of} {what}": f"{{{of}_{what}}}" for of in ("turns", "values") for what in ("fixed", "broken")}
    dialogues = View("dialogues to read first", changes.dialogues, schema.CHANGED_DIALOGUES, ["dialogue"], counted)
    notes = [
        "* significant; p: whole dialogues swapped between the runs at random, of groups adjusted after Holm",
        "read them: the same command with --read",
    ]
    first, rest = [totals, groups[0].head(6), dialogues], f"values by {', '.join([*titles][1:])}"
    views, found = [totals, *groups, dialogues], sentences.what_changed(changes)
    return Layout(views, notes, found, "diff", first=first, rest=rest)


def reconciliation(result: Reconciliation) -> Layout:
    """The steps, the sets that reach the published scores, and what single choices change."""
    off, change = {"from the published score": "{off:score}"}, {"value": "{value:score}", "change": "{change:score}"}
    most = 10  # sets of choices, and single choices, that are shown
    number, metrics = result.sets["choices"].n_unique(), result.sets["metric"].n_unique()
    reached = "sets of choices that reach it" if result.sets["reaches"][0] else "the nearest set of each size"
    is_count = pl.col("metric").map_elements(lambda metric: parse(metric).is_count, pl.Boolean)
    unit = pl.when(is_count).then(pl.lit("count")).otherwise(pl.lit("share")).alias("unit")
    steps, sets, choices = (rows.with_columns(unit) for rows in (result.steps, result.sets, result.choices))
    views = [
        View("from the score here to the published one, a choice at a time",
             steps, schema.RECONCILED_STEPS, ["step", "metric"], {**change, **off, **plain("choice")}),
        View(reached, sets if number > 1 else sets.clear(), None, ["metric"],
             {"value": "{value:score}", **off, **plain("choices")}).head(most * metrics, number),
        View("single choices, by how much they change", choices.filter(pl.col("change") != 0), None, ["metric"],
             {**change, **plain("choice", "meaning")}).head(most),
    ]  # fmt: skip
    sets_tried = result.tried.filter(pl.col("size") > 0).select("size", "sets").iter_rows()
    tried = ", ".join(sentences.sets_of(size, sets) for size, sets in sets_tried)
    notes = lines((f"tried: {tried}", tried), "scores in %")
    return Layout(views, notes, sentences.way_to_published(result), "reconcile")


# --- single dialogues, turn by turn -----------------------------------------------------------------------------------

# Kind of error to its mark and its colour.
_MARKS: Final = {"correct": "=", "wrong": "x", "missed": "-", "over": "+", "no-prediction": "?"}
_COLOURS: Final = {"correct": "green", "wrong": "red", "missed": "yellow", "over": "magenta", "no-prediction": "red"}
_CHANGES: Final = ("correct", "wrong", "missed", "over")
_CARRIED: Final = "~"


def walkthrough(walkthrough: Walkthrough) -> Layout:
    """Each dialogue's scores, then the slots of each turn below what is said in it; letters stand for several runs."""
    runs = walkthrough.changes["run"].unique(maintain_order=True).to_list()
    letters = [chr(ord("A") + number) for number in range(len(runs))] if len(runs) > 1 else runs
    letter = pl.col("run").replace_strict(runs, letters, return_dtype=pl.String)
    units = walkthrough.signatures.select("metric", "unit").unique()
    scores = walkthrough.scores.join(units, on="metric", maintain_order="left").with_columns(letter)
    slots, changes = (rows.with_columns(letter) for rows in (walkthrough.slots, walkthrough.changes))
    total = changes.group_by("dialogue", "run").agg(pl.col(*_CHANGES).sum())
    whole = scores.filter(pl.col("turn").is_null()).join(total, on=["dialogue", "run"], maintain_order="left")
    if len(runs) > 1:
        whole = whole.with_columns(pl.format("{}: {}", "run", pl.col("run").replace_strict(letters, runs)))
    cells, counts = {"{}": "{value:score}"}, {f"{of} changes": f"{{{of}}}" for of in _CHANGES}
    views, dialogues = list[View](), changes["dialogue"].unique(maintain_order=True)
    for dialogue in dialogues:
        said, changed = (rows.filter(dialogue=dialogue) for rows in (walkthrough.said, changes))
        turns = pl.concat([changed["turn"], said["turn"]]).unique().sort()
        title = f"{dialogue}: {number_of(len(turns), 'turn')}"
        views.append(View(title, whole.filter(dialogue=dialogue), None, ["run"], cells, "metric", counts))
        for turn in turns:
            spoken, *of_turn = (rows.filter(dialogue=dialogue, turn=turn) for rows in (said, slots, scores, changed))
            heads = [f"{speaker}: {words}" for row in spoken.select("system", "user").rows(named=True)
                     for speaker, words in row.items() if words is not None]  # fmt: skip
            views.append(_turn([f"turn {turn}", *heads], letters, of_turn))
    notes = lines(
        f"= correct, - missed, x wrong, + over-predicted, ? no prediction; {_CARRIED} as in the turn before",
        "changes as the GCA authors' code counts them; scores in %, counts as they are",
        ("the utterances are not known: --context FILE names their file", walkthrough.said.is_empty()),
    )
    signatures = signature_lines(walkthrough.signatures) if len(dialogues) == 1 else []
    return Layout(views, notes, (), "show", [view for view in views if view.rows.height], signatures=signatures)


def _turn(heads: list[str], runs: list[str], of_turn: Sequence[pl.DataFrame]) -> View:
    """The slots of a turn: gold, and for each run its mark (under a blank title), prediction and class, in colours."""
    slots, scores, changes = of_turn
    values = scores.with_columns(text=pl.format("{} {}", "metric", text_of("{value:score}")))
    by_run = values.group_by("run", maintain_order=True).agg(pl.col("text").str.join(", "))
    for run, text, *numbers in by_run.join(changes.select("run", *_CHANGES), on="run", maintain_order="left").rows():
        events = ", ".join(f"{number} {kind}" for number, kind in zip(numbers, _CHANGES, strict=True) if number)
        name = f"{run}: " if by_run.height > 1 else ""
        heads.append(f"{name}{text}; {f'changes: {events}' if events else 'no change'}")
    if scores.is_empty():
        heads.append("not scored under this convention")
    elif slots.is_empty():
        heads.append("no slot")
    kind, is_slot, shown = pl.col("kind").cast(pl.String), pl.col("slot").is_not_null(), []
    for side in ("gold", "pred"):  # a value is in quotation marks if it looks like none, or has spaces at its ends
        value = pl.col(side).cast(pl.String)
        unclear = value.is_in(["", UNDEFINED]) | value.str.contains(r"^\s|\s$")
        quoted = pl.when(unclear).then(pl.format("'{}'", value)).otherwise(value)
        shown.append(pl.when(is_slot).then(quoted).fill_null(UNDEFINED).alias(side))
    cells = slots.select(
        "run", pl.col("slot").cast(pl.String).fill_null("(no prediction)"), *shown, pl.col("class").cast(pl.String),
        mark=kind.replace_strict(_MARKS) + pl.when("carried").then(pl.lit(_CARRIED)).otherwise(pl.lit("")),
        style=pl.when("carried").then(pl.lit("dim ")).otherwise(pl.lit("")) + kind.replace_strict(_COLOURS),
    )  # fmt: skip
    table = cells.group_by("slot").agg(pl.col("gold").unique(maintain_order=True).str.join(" / ")).sort("slot")
    styles = dict[str, list[str]]()
    for number, run in enumerate(runs):
        predicted = f"predicted {run}" if len(runs) > 1 else "predicted"
        titles = {"mark": " " * (number + 1), "pred": predicted, "class": f"class{' ' * number}"}
        of_run = table.select("slot").join(cells.filter(run=run), on="slot", how="left", maintain_order="left")
        of_run = of_run.fill_null("")
        table = table.with_columns(of_run[name].alias(title) for name, title in titles.items())
        styles |= dict.fromkeys(titles.values(), of_run["style"].to_list())
    head = OwnLines("\n  ".join(map(plain_text, heads)))
    return View(head, table.select(" ", pl.exclude(" ")), styles=styles)


def worst(worst: Worst) -> Layout:
    """The dialogues to look at first."""
    rows, runs = worst.dialogues, worst.signatures["run"].unique(maintain_order=True)
    units, several = worst.signatures.select("metric", "unit").unique(maintain_order=True), len(runs) > 1
    first, titles = units["metric"][0], {"wrong_turns": "wrong turns", "first_wrong": "first wrong"}
    keys = ["dialogue", *(["run"] if several else []), "turns", *titles.values()]
    shown = rows.rename(titles).unpivot(units["metric"].to_list(), index=keys, variable_name="metric")
    shown = shown.join(units, on="metric", maintain_order="left")
    n, of = rows["dialogue"].n_unique(), int(parse_signature(worst.signatures["signature"][0]).settings["d"])
    extreme = "highest" if sign_of(first) == -1 else "lowest"
    what = f"{first} differs most" if several else f"{runs[0]}: the {extreme} {first}"
    title = f"{what} in {n:,} of {of:,} dialogues"
    hint = f"the same command with {rows['dialogue'][0]} shows that dialogue turn by turn"
    view = View(title, shown, None, keys, {"{}": "{value:score}"}, "metric")
    return Layout([view], [hint], (), "worst", signatures=signature_lines(worst.signatures))
