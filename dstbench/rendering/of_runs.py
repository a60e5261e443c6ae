"""How scores, comparisons, sweeps and checks of runs are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.analysis import findings as sentences
from dstbench.analysis.findings import highest, percent
from dstbench.errors import UsageError, number_of
from dstbench.metrics.registry import name_of, parse
from dstbench.rendering.tables import render, signature_lines
from dstbench.rendering.text_tables import UNDEFINED
from dstbench.rendering.views import EXACT, IS_COUNT, Layout, View, filled, pivoted, plain, sign
from dstbench.schema import analysis as schema
from dstbench.schema.core import SCORES
from dstbench.typing import TableFormat

if TYPE_CHECKING:
    from dstbench.analysis.changes import Changes
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.reconcile import Reconciliation

    Design = Mapping[str, Any]

# Whether a score has a standard error; it is unknown where all dialogues are alike.
_HAS_ERROR: Final = ~IS_COUNT & pl.col("value").is_not_null() & (pl.col("dialogues") > 1)
_NO_GROUP: Final = "other runs"  # the title of the runs that are in no group
# What JGA is by slot.
_OF_SLOTS: Final = {"jga": "accuracy (jga)", f"jga {EXACT}": f"accuracy (jga) {EXACT}"}


def scores(
    frames: Mapping[str, pl.DataFrame],
    groups: Mapping[str, str] | None = None,
    gold: Sequence[str] = (),
    along: str | None = None,
) -> Layout:
    """Scores with their standard errors, a column per metric."""
    rows = frames["scores"]
    by = [name for name in rows.columns if name not in (*SCORES.columns, EXACT, along) or name == "run"]
    is_same, of_runs = rows.select("turns", "dialogues").n_unique() == 1, by == ["run"]
    titles = titles_of(groups, rows["run"].unique(maintain_order=True).to_list(), by) if groups else {}
    shown = _with_exact(rows)
    if of_runs and not along:  # in the order of the groups, those of a group by the first metric, the highest first
        group = pl.col("run").replace_strict(titles, default=None, return_dtype=pl.String)
        order = pl.col("group").cast(pl.Enum(list(dict.fromkeys(titles.values()))))
        shown = by_first_metric(shown.with_columns(group=group)).sort(order, nulls_last=True, maintain_order=True)
    if "slot" in by:
        shown = shown.with_columns(pl.col("metric").replace(_OF_SLOTS))
    sizes = {} if is_same else {"turns": "{turns}", "dialogues": "{dialogues}"}
    cells = {"{}": "{value} ±{se}" if of_runs else "{value}"}
    keys, best = [*by, *([along] if along else [])], ["metric"] if of_runs else None
    view = View("", shown, SCORES, keys, cells, "metric", sizes, best=best)
    caption, paper = named(rows), view
    if of_runs:
        if rows["se"].is_not_null().any():
            caption += f"; ± one standard error over dialogues{_about_unknown(rows)}"
    else:
        caption += f" by {' and '.join(by[1:])}"
        paper = view._replace(keys=by[1:])
        if rows["run"].n_unique() > 1:
            paper = paper._replace(split="run")
            if rows["metric"].n_unique() == 1 and EXACT not in rows.columns:
                paper = paper._replace(split=None, wide="run", beside={}, best=by[1:])
    over = f" over {sizes_of(rows)}" if is_same else ""
    caption = f"{named(rows)}{over}{caption.removeprefix(named(rows))}"
    if titles:
        view = view._replace(title="{}", split="group", rest=_NO_GROUP)
        paper = view._replace(underlined=["metric", "group"])
        caption += ". Bold: the best of all; underlined: the best of each group"
    units = units_of(rows)
    if of_runs and rows.select(_HAS_ERROR.any()).item():
        units += f"; ± one standard error over dialogues{_about_unknown(rows)}"
    size = f"; {sizes_of(rows)}" if is_same else ""
    below, signatures = [*_about_parts(rows), *gold], signature_lines(rows)
    paper = paper._replace(caption=f"{caption}.")
    label = "-".join(["score", *by[1:]])
    findings = highest(rows) if of_runs and not titles else []
    notes = [f"{units}{size}", *below]
    return Layout([view], notes, findings, label, [paper], [*below, *signatures], signatures=signatures)


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


def by_first_metric(rows: pl.DataFrame, of: str = "run") -> pl.DataFrame:
    """Rows of scores by the first metric, the highest first."""
    first = pl.col("value").filter(pl.col("metric") == rows["metric"][0]).first().over(of)
    return rows.sort(first, descending=True, nulls_last=True, maintain_order=True)


def best_first(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The rows of a metric, the best first: the highest, or the lowest of a metric of errors; undefined ones last."""
    of_metric = rows.filter(metric=metric)
    merit = sign(of_metric).fill_null(1) * pl.col("value")
    return of_metric.sort(merit, descending=True, nulls_last=True, maintain_order=True)


def _with_exact(rows: pl.DataFrame) -> pl.DataFrame:
    """Score rows with those of exact matching, without errors, as metrics of their own, each after the fuzzy one."""
    if EXACT not in rows.columns:
        return rows
    metrics = rows["metric"].unique(maintain_order=True).to_list()
    exact = rows.with_columns(pl.format(f"{{}} {EXACT}", "metric").alias("metric"), value=pl.col(EXACT), se=None)
    order = [name for metric in metrics for name in (metric, f"{metric} {EXACT}")]
    return pl.concat([rows, exact]).sort(pl.col("metric").cast(pl.Enum(order)), maintain_order=True)


def _about_unknown(rows: pl.DataFrame) -> str:
    """Why a score has no standard error, where one has none."""
    unknown = rows.filter(_HAS_ERROR, pl.col("se").is_null())["metric"].n_unique()
    return " (without: unknown, as all dialogues are alike)" if unknown else ""


def _about_parts(rows: pl.DataFrame) -> list[str]:
    """Which turns count by slot or by domain."""
    if "slot" in rows.columns:
        return ["by slot: every scored turn counts; a slot in neither gold nor prediction is correct"]
    rule = "|".join(["domain-turns:either", "domain-turns:frames", "unit:frame"])
    if "domain" not in rows.columns or rows["signature"].str.contains(rule).all():
        return []
    return [
        "by domain: a turn counts if gold has a slot of the domain; predictions of the domain in other turns are not "
        "scored (--domain-turns either)"
    ]


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


# The colours of outcomes, in a terminal.
_COLOURS: Final = {"ok": "green", "warn": "yellow", "fail": "bold red"}


# --- comparisons ------------------------------------------------------------------------------------------------------


def leaderboard(leaderboard: Leaderboard, *, pairs: bool = False) -> Layout:
    """Scores with intervals, of runs and of models, and a table of differences per metric."""
    from dstbench.analysis.significance import FEWEST_SEEDS, doubts  # not before: it needs the modules of statistics

    design, differences = leaderboard.design.row(0, named=True), leaderboard.differences
    level, alpha = percent(design["level"]), percent(1 - design["level"])
    sizes = sizes_of(leaderboard.scores)
    doubtful = doubts(differences, design["resamples"], design["level"])
    about = ["intervals of scores: Wilson's, with the effective number of units (dialogues)"]
    if min(leaderboard.models["runs"], default=FEWEST_SEEDS) < FEWEST_SEEDS:
        about.append(f"models with fewer than {FEWEST_SEEDS} runs are not tested; one of a single run has its interval")
    tests, signatures = _about_tests(leaderboard, design), signature_lines(leaderboard.scores)
    how = [*about, *tests]
    if differences.height:
        adjusted = "" if design["adjustment"] == "none" else "adjusted "
        wins = ["wins, losses: dialogues in which run scores higher, lower"] if leaderboard.models.is_empty() else []
        how += [*wins, f"detectable: the difference that the {adjusted}test detects with 80 % power"]

    interval = {"{}": "{value}", f"{level} of {{}}": "{low} to {high}"}
    runs = by_first_metric(leaderboard.scores)
    views = [
        View(f"Scores and {level} intervals", runs, schema.STANDINGS, ["run"], interval, "metric", best=["metric"])
    ]
    if leaderboard.models.height:
        title = f"Models: mean and standard deviation over n runs, and {level} intervals of the mean"
        models = by_first_metric(leaderboard.models, "model")
        cells = {"{}": "{value}", "sd of {}": "{sd}", f"{level} of {{}}": "{low} to {high}"}
        views.append(View(title, models.with_columns(n="runs"), schema.MODELS, ["model", "n"], cells, "metric"))

    noun = "run" if leaderboard.models.is_empty() else "model"
    of_noun = " (means and standard deviations over runs)" if noun == "model" else ""
    of_noun += f" over {sizes_of(leaderboard.scores, ' of ')}"
    paper_notes = [*doubtful, *about, *tests, *signatures]
    compared = _pairs(leaderboard, design, level)
    star = f"; *: significant at {alpha}" if differences["significant"].count() else ""
    caption = f"Differences in {named(differences)} between {noun}s{of_noun}, with {level} intervals{star}."
    printed = compared._replace(
        caption=caption, cells={title: text for title, text in compared.cells.items() if title != "detectable"}
    )
    label, paper = "compare", _standings(leaderboard, design, noun, of_noun)
    if pairs and differences.height:
        label, paper = "pairs", printed
    shown = [*([] if pairs else views), *([compared] if differences.height else [])]
    first = shown if pairs else [_in_short(_standings(leaderboard, design, noun, of_noun), leaderboard, level, alpha)]
    best = sentences.best_run(leaderboard) if leaderboard.differences.height else None
    found = [*([best.text.removesuffix(".")] if best else []), *sentences.verdicts(leaderboard)]
    return Layout(
        shown, [*doubtful, f"{units_of(leaderboard.scores)}; {sizes}"], found, label, [paper], paper_notes, first, how,
        signatures,
        "how intervals and p were computed" if pairs else "the differences, how p was computed (or --pairs)",
    )  # fmt: skip


def _in_short(standings: View, leaderboard: Leaderboard, level: str, alpha: str) -> View:
    """The standings as text shows them."""
    title = f"Scores and {level} intervals"
    if leaderboard.models.height:
        named_models = standings.rows.rename({"run": "model", "runs": "n"})
        standings = standings._replace(rows=named_models, keys=[*standings.keys[:-1], "model", "n"])
        title = f"Models: mean ± standard deviation over runs, and {level} intervals of the mean"
    if "letter" not in standings.keys:
        return standings._replace(title=title)
    title += f"; raised: whom one is significantly better than (at {alpha})"
    rows, (_, *keys) = standings.rows.rename({"letter": " "}), standings.keys
    return standings._replace(title=title, rows=rows, keys=[" ", *keys])


def _pairs(leaderboard: Leaderboard, design: Design, level: str) -> View:
    """A row per pair of runs or models; between models, no dialogues are counted."""
    adjusted = {} if design["adjustment"] == "none" else {f"p {design['adjustment']}": "{p_adjusted}"}
    of_runs = {"wins": "{wins}", "losses": "{losses}"} if leaderboard.models.is_empty() else {}
    cells = {"difference": "{difference}", level: "{low} to {high}", "p": "{p}", **adjusted, "*": "{significant}"}
    cells |= {**of_runs, "detectable": "{detectable}"}
    rows = pl.concat(
        [schema.RUN_DIFFERENCES.conform(leaderboard.differences).clear(), *sentences.in_order(leaderboard).values()]
    )
    return View("Differences in {}", rows, schema.RUN_DIFFERENCES, ["run", "other"], cells, split="metric")


def _about_tests(leaderboard: Leaderboard, design: Design) -> list[str]:
    """How p was computed."""
    differences = leaderboard.differences
    if differences.is_empty():
        return []
    alpha, drawn = percent(1 - design["level"]), max(differences["resamples"].drop_nulls(), default=0)
    more = f" ({drawn:,} where p is close to {alpha})" if drawn > design["resamples"] else ""
    of_runs = leaderboard.models.is_empty()
    resamples = f", {design['resamples']:,} resamples{more}, seed {design['seed']}" if of_runs else ""
    lines = [
        f"p: two-sided, {design['test']}{resamples}",
        f"intervals of differences: by the same test, so they exclude 0 exactly where p is at most {alpha}",
    ]
    if design["adjustment"] != "none":
        m = " to ".join(str(number) for number in dict.fromkeys([differences["m"].min(), differences["m"].max()]))
        lines.append(f"p {design['adjustment']}: adjusted for the differences of a metric, m = {m}")
    return lines


def _standings(leaderboard: Leaderboard, design: Design, noun: str, of_noun: str) -> View:
    """Scores as a paper prints them, with the letters of the runs (models) that each is significantly better than.

    The package ranx prints its comparisons in this way. A user's own metric has no marks: its lower scores may be
    better.
    """
    of_models, table = noun == "model", schema.MODELS if noun == "model" else schema.STANDINGS
    rows = leaderboard.models.rename({"model": "run"}) if of_models else leaderboard.scores
    rows = by_first_metric(rows)
    runs = rows["run"].unique(maintain_order=True)
    letters = ascii_lowercase if len(runs) <= len(ascii_lowercase) else [f"{n + 1}," for n in range(len(runs))]
    lettered = pl.DataFrame({"run": runs, "letter": pl.Series(list(letters[: len(runs)]), dtype=pl.String)})
    better = beaten(leaderboard.differences, lettered).select(
        "metric", "run", raised=pl.col("letter").list.join("").str.strip_chars_end(",")
    )
    lettered = lettered.with_columns(pl.col("letter").str.strip_chars_end(","))
    rows = rows.join(lettered, on="run", maintain_order="left")
    rows = rows.join(better, on=["metric", "run"], how="left", maintain_order="left")
    caption = f"{named(rows)}{of_noun}, with {percent(design['level'])} intervals."
    keys = ["run"]
    if leaderboard.differences["significant"].count():
        keys = ["letter", "run"]
        alpha = percent(1 - design["level"])
        caption += f" Superscripts: the {noun}s that one is significantly better than (at {alpha})."
        if design["baseline"] is not None:
            (baseline,) = lettered.filter(run=design["baseline"])["letter"]
            caption += f" Only differences to {noun} {baseline} are tested."
    small = "±{sd} [{low}, {high}]" if of_models else "[{low}, {high}]"
    return View(
        "", rows, table, keys, {"{}": f"{{value}} {small}"}, "metric", raised="raised", best=["metric"],
        caption=f"{caption} Bold: the best.", heads={"letter": "", "run": noun.capitalize()},
    )  # fmt: skip


def beaten(differences: pl.DataFrame, marked: pl.DataFrame) -> pl.DataFrame:
    """Per metric and run, the runs that it is significantly better than."""
    is_better = sign(differences) * pl.col("difference") > 0
    better, worse = (
        pl.when(is_better).then(one).otherwise(other) for one, other in (("run", "other"), ("other", "run"))
    )
    return (
        differences.filter(pl.col("significant").fill_null(value=False), sign(differences).is_not_null())
        .select("metric", run=better, worse=worse)
        .join(marked.with_row_index("index"), left_on="worse", right_on="run")
        .sort("index")
        .group_by("metric", "run", maintain_order=True)
        .agg(pl.exclude("worse", "index"))
    )


# --- sweeps and checks ------------------------------------------------------------------------------------------------


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
        view = View("{}", _alike(ordered, ["metric"]), schema.SWEEP, ["profile"], {"{}": "{value}"}, "run",
                    split="metric", best=["profile", "metric"])  # fmt: skip
        names = pl.col("profile").str.split(", ")  # of profiles with the same scores, of which the first is named
        more = pl.when(names.list.len() > 1).then(pl.format(" +{}", names.list.len() - 1)).otherwise(pl.lit(""))
        first = view._replace(rows=view.rows.with_columns(profile=names.list.first() + more))
        about = [*sentences.spread_over_profiles(rows), "what changes between profiles: sweep a single run"]
        found, rest = sentences.order_over_profiles(rows), "the range of each run, the names of all profiles"
    else:
        title = f"{runs[0]}: the same predictions under {number_of(rows['profile'].n_unique(), 'convention')}"
        view = View(
            title, _alike(rows, [], only_beside=True), schema.SWEEP, ["profile"], {"{}": "{value}"}, "metric",
            {"changed from the line above": "{changed}"},
        )  # fmt: skip
        first, about, found, rest = view, [], sentences.spread_over_profiles(rows), ""
    agreeing = sentences.profiles_that_agree(rows)
    paper = view._replace(beside={}, caption=caption, heads={"profile": "Convention"})
    return Layout([view], [], [*agreeing, *found], "sweep", [paper], agreeing, [first], about, rest=rest)


def render_sweep(rows: pl.DataFrame, form: TableFormat) -> str:
    """What `dstbench.sweep` returns, in a format."""
    return render({"sweep": rows}, form)


def _alike(rows: pl.DataFrame, within: Sequence[str], *, only_beside: bool = False) -> pl.DataFrame:
    """Rows in which profiles with the same scores share a row; perhaps only those that are beside each other."""
    same = pl.struct("run", "metric", "value").implode().hash()
    scores = rows.group_by(*within, "profile", maintain_order=True).agg(same.first().alias("same"))
    scores = scores.with_columns(pl.col("same").rle_id() if only_beside else "same")
    profile, same_line = pl.col("profile"), [*within, "same"]
    names = scores.select(
        *within, "profile", names=profile.str.join(", ").over(same_line),
        is_first=profile == profile.first().over(same_line),
    )  # fmt: skip
    alike = rows.join(names, on=[*within, "profile"], maintain_order="left").filter("is_first")
    return alike.with_columns(profile=pl.col("names"))


def checks(frames: Mapping[str, pl.DataFrame]) -> Layout:
    """Outcomes, of several runs in a column each, and what was found; first the checks that are not passed."""
    checked = frames["checks"]
    rows = checked.drop("short", "n", "jga", strict=False)
    if rows["run"].n_unique() < 2:
        view = View("", rows.select(pl.all().cast(pl.String)), styles=_coloured(rows, "status"), caption="Checks.")
        return Layout([view], label="checks")
    outcomes = pivoted(rows, "run", "check", "status").fill_null(UNDEFINED)
    views, found = (
        [View("Outcomes", outcomes, styles=_coloured(outcomes, *outcomes.columns[1:]))],
        plain("status", "found"),
    )
    for check in outcomes["check"]:
        of_check = rows.filter(check=check)
        views.append(View(check, of_check, None, ["run"], found, styles=_coloured(of_check, "status")))
    found_in_short, doubtful = sentences.checks_in_short(checked)
    first = View("", doubtful.select("check", "status", "runs", "found"), styles=_coloured(doubtful, "status"))
    rest = "what each check found in each run"
    return Layout(
        views,
        [],
        found_in_short,
        "checks",
        first=[first if doubtful.height else views[0]],
        rest=rest,
    )


def _coloured(rows: pl.DataFrame, *columns: str) -> dict[str, list[str]]:
    """The styles of outcomes."""
    return {column: [_COLOURS.get(status, "") for status in rows[column]] for column in columns}


# --- changes, and published scores ------------------------------------------------------------------------------------

# How many groups of a kind text shows, unless asked for all.
_MOST_GROUPS: Final = 6
_TITLES: Final = {
    "slot": "by slot",
    "domain": "by domain",
    "class": "by class of the error that went or came",
    "turn": "by turn",
}
_MOST: Final = 10  # how many sets of choices, and single choices, are shown


def changes(changes: Changes) -> Layout:
    """The totals, the groups and the dialogues to read."""
    if changes.dialogues.is_empty():
        return Layout([], findings=sentences.what_changed(changes), label="diff")
    named = {"dialogues better": "better", "dialogues worse": "worse", "p": "p", "*": "significant"}
    cells = plain("fixed", "broken", "net", **named)
    views = [View("turns and values", changes.totals, schema.CHANGED_TOTALS, ["of"], cells)]
    for by in _TITLES:
        groups = changes.groups.filter(by=by).drop("by").rename({"group": by})
        views.append(View(f"values {_TITLES[by]}", groups, schema.CHANGED_GROUPS, [by], cells))
    counted = {f"{of} {what}": f"{{{of}_{what}}}" for of in ("turns", "values") for what in ("fixed", "broken")}
    views.append(View("dialogues to read first", changes.dialogues, schema.CHANGED_DIALOGUES, ["dialogue"], counted))
    notes = [
        "* significant; p: whole dialogues swapped between the runs at random, of groups adjusted after Holm",
        "read them: the same command with --read",
    ]
    by_slot, rows = views[1], views[1].rows.height
    more = f", the first {_MOST_GROUPS} of {rows}" if rows > _MOST_GROUPS else ""
    slots = by_slot._replace(title=f"{by_slot.title}{more}", rows=by_slot.rows.head(_MOST_GROUPS))
    first = [views[0], slots, views[-1]]
    rest = f"values by {', '.join([*_TITLES][1:])}"
    return Layout(filled(views), notes, sentences.what_changed(changes), "diff", first=filled(first), rest=rest)


def reconciliation(result: Reconciliation) -> Layout:
    """The steps, the sets that reach the published scores, and what single choices change."""
    value, off = {"value": "{value:score}"}, {"from the published score": "{off:score}"}
    change, choice = {"change": "{change:score}"}, {"choice": "{choice}"}
    title = "from the score here to the published one, a choice at a time"
    steps = _with_unit(result.steps)
    views = [View(title, steps, schema.RECONCILED_STEPS, ["step", "metric"], {**value, **change, **off, **choice})]
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
    sets_tried = result.tried.filter(pl.col("size") > 0).select("size", "sets").iter_rows()
    tried = ", ".join(sentences.sets_of(size, sets) for size, sets in sets_tried)
    notes = [*([f"tried: {tried}"] if tried else []), "scores in %"]
    return Layout(views, notes, sentences.way_to_published(result), "reconcile")


def _with_unit(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of scores, with the unit of their metric."""
    is_count = pl.col("metric").map_elements(lambda metric: parse(metric).is_count, pl.Boolean)
    return rows.with_columns(unit=pl.when(is_count).then(pl.lit("count")).otherwise(pl.lit("share")))
