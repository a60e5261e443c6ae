"""Scores as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from dstbench.errors import UsageError, number_of
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.latex import PaperTable, cell, is_best, latex_page
from dstbench.rendering.tables import (
    IS_COUNT,
    UNDEFINED,
    best_in_bold,
    counts,
    draw,
    escape_lines,
    pivoted,
    render_rows,
    share_text,
    side_by_side,
    signature_lines,
    texts,
    value_text,
)
from dstbench.rendering.text_tables import NO_STYLES
from dstbench.schema.core import SCORES
from dstbench.typing import TableFormat

# The column of scores with exact matching, beside fuzzy ones.
_EXACT: Final = "exact"
# The titles of columns of JGA in tables by slot.
_SLOT_TITLES: Final = {"jga": "accuracy (jga)", f"jga {_EXACT}": f"accuracy (jga) {_EXACT}"}
# The first cell of a row of standard errors.
_ERROR: Final = "±"
# Whether a score has a standard error; it is unknown where all dialogues are alike.
_HAS_ERROR: Final = ~IS_COUNT & pl.col("value").is_not_null() & (pl.col("dialogues") > 1)
# The title of the runs that are in no group.
_NO_GROUP: Final = "other runs"


def render_scores(
    scores: pl.DataFrame, form: TableFormat, groups: Mapping[str, str] | None = None, gold: Sequence[str] = ()
) -> str:
    """Score rows in one of the formats.

    Args:
        scores: What `dstbench.score` returns.
        form: ``json`` (one object, whose `scores` are the rows) and ``csv`` have the rows as they are: shares as
            fractions; null, in CSV empty, if undefined. The other formats have a column per metric, with shares in
            percent; runs are ordered by the first metric, with the standard errors below each, and the signature is
            below the table.
        groups: Titles of groups of runs, each with the names or patterns of its runs, comma-separated. ``text``, ``md``
            and ``latex`` show the groups in this order, and then the runs that are in none.
        gold: Lines about public gold, which these three formats show below the table.

    Raises:
        UsageError: Scores are not by run alone; a pattern fits no run; a run is in two groups.
    """
    names = scores["run"].unique(maintain_order=True).to_list()
    titles = titles_of(groups, names, _groups(scores)) if groups else {}
    if form in ("json", "csv"):
        return render_rows(scores, "scores", form)
    if form == "latex":
        return latex_page([score_table(scores, titles, gold)])
    table, units = wide(scores, titles), "values in percent, counts as they are"
    if table.select((pl.first().str.strip_chars_start() == _ERROR).any()).item():
        units += f"; {_ERROR} one standard error over dialogues{_about_unknown(scores)}"
    if sizes := _sizes(scores):  # one line below says it for all rows
        table, units = table.drop("turns", "dialogues"), f"{units}; {sizes}"
    below = [units, *_about_parts(scores), *gold, *signature_lines(scores)]
    is_value = pl.col("run").str.strip_chars_start() != _ERROR
    shares = [name for name in dict.fromkeys(scores.filter(~IS_COUNT)["metric"]) if name in table.columns]
    shares = [name for name in shares if sign_of(name) == 1]
    best = best_in_bold(table.select(pl.when(is_value).then(pl.col(*shares))), shares) if shares else NO_STYLES
    return draw(table, form, best) + ("\n" if form == "md" else "") + escape_lines(below, form)


def titles_of(groups: Mapping[str, str], names: Sequence[str], by: Sequence[str]) -> dict[str, str]:
    """The title of each run's group, in the order of the groups.

    Args:
        groups: See `render_scores`.
        names: The runs.
        by: What scores are grouped by.

    Raises:
        UsageError: See `render_scores`.
    """
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


def _sizes(scores: pl.DataFrame) -> str | None:
    """How many turns and dialogues are scored; None if that differs between rows."""
    return sizes_of(scores) if scores.select("turns", "dialogues").n_unique() == 1 else None


def _about_unknown(scores: pl.DataFrame, mark: str = UNDEFINED) -> str:
    """Why a score has no standard error, where one has none."""
    unknown = scores.filter(_HAS_ERROR, pl.col("se").is_null())["metric"].n_unique()
    return f" ({mark}: unknown, as all dialogues are alike)" if unknown else ""


def _about_parts(scores: pl.DataFrame) -> list[str]:
    """Which turns count by slot or by domain."""
    if "slot" in scores.columns:
        return ["by slot: every scored turn counts; a slot in neither gold nor prediction is correct"]
    rule = "|".join(["domain-turns:either", "domain-turns:frames", "unit:frame"])
    if "domain" not in scores.columns or scores["signature"].str.contains(rule).all():
        return []
    return [
        "by domain: a turn counts if gold has a slot of the domain; predictions of the domain in other turns are not "
        "scored (--domain-turns either)"
    ]


def sizes_of(scores: pl.DataFrame, between: str = ", ") -> str:
    """The turns and dialogues of the first row, in words; under profiles that score each domain of a turn, frames."""
    turns, dialogues = scores.select("turns", "dialogues").row(0)
    is_frames = scores["signature"].str.contains("|unit:frame|", literal=True).all() and "slot" not in scores.columns
    return f"{number_of(turns, 'frame' if is_frames else 'turn')}{between}{number_of(dialogues, 'dialogue')}"


def wide(scores: pl.DataFrame, titles: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Score rows as a table of texts: a row per run and group, a column per metric.

    Args:
        scores: What `dstbench.score` returns.
        titles: The title of each run's group; runs are then below the titles.
    """
    by, sizes = _groups(scores), ["turns", "dialogues"]
    scores = _with_exact(scores)
    counted, metrics = counts(scores), scores["metric"].unique(maintain_order=True).to_list()
    table = pivoted(scores, "metric", [*by, *sizes], "value")
    if by == ["run"]:
        table = pl.DataFrame({"run": _in_order(scores, titles or {})}).join(table, on="run", maintain_order="left")
    shown = table.select(
        *texts(*by), *(number_text(metric, is_count=metric in counted) for metric in metrics), *texts(*sizes)
    )
    if "slot" in by:
        shown = shown.rename(_SLOT_TITLES, strict=False)
    if by == ["run"] and scores.select(_HAS_ERROR.any()).item():
        shown = _with_errors(shown, scores)
    return _below_titles(shown, titles) if titles else shown


def _with_exact(scores: pl.DataFrame) -> pl.DataFrame:
    """Score rows with those of exact matching, without errors, as metrics of their own, each after the fuzzy one."""
    if _EXACT not in scores.columns:
        return scores
    metrics = scores["metric"].unique(maintain_order=True).to_list()
    exact = scores.with_columns(pl.format(f"{{}} {_EXACT}", "metric").alias("metric"), value=pl.col(_EXACT), se=None)
    order = [name for metric in metrics for name in (metric, f"{metric} {_EXACT}")]
    return pl.concat([scores, exact]).sort(pl.col("metric").cast(pl.Enum(order)), maintain_order=True)


def _in_order(scores: pl.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """The runs, group by group; those of a group by the first metric, the highest first."""
    of_first = scores.filter(metric=scores["metric"][0])
    runs = of_first.sort("value", descending=True, nulls_last=True, maintain_order=True)["run"].to_list()
    places = {title: place for place, title in enumerate(dict.fromkeys(titles.values()))}
    return sorted(runs, key=lambda run: places.get(titles.get(run, ""), len(places)))


def _below_titles(shown: pl.DataFrame, titles: Mapping[str, str]) -> pl.DataFrame:
    """The table with a row above each group, its title; standard errors stay below their run."""
    title = pl.col("run").replace_strict(titles, default=_NO_GROUP)
    of_group = shown.with_columns(pl.when(pl.col("run") != _ERROR).then(title).forward_fill().alias("title"))
    parts = [
        frame
        for (name,), rows in of_group.group_by("title", maintain_order=True)
        for frame in (pl.DataFrame({"run": [name]}), rows.drop("title").with_columns(run="  " + pl.col("run")))
    ]
    return pl.concat(parts, how="diagonal").select(shown.columns).fill_null("")


def _groups(scores: pl.DataFrame) -> list[str]:
    """The columns that scores are grouped by, the run first."""
    return [name for name in scores.columns if name not in (*SCORES.columns, _EXACT) or name == "run"]


def _with_errors(shown: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The table with a second row per run, its standard errors."""
    values = shown.with_row_index("line")
    known = ~pl.col("metric").str.ends_with(f" {_EXACT}")  # a standard error is that of the score beside it
    errors = pivoted(scores.filter(_HAS_ERROR, known), "metric", "run", "se")
    errors = errors.with_columns(share_text(name) for name in errors.columns[1:])
    below = values.select("line", "run").join(errors, on="run").with_columns(run=pl.lit(_ERROR))
    both = pl.concat([values, below], how="diagonal").sort("line", maintain_order=True).drop("line")
    return both.with_columns(pl.all().fill_null(""))


# --- for a paper ------------------------------------------------------------------------------------------------------


def score_table(scores: pl.DataFrame, titles: Mapping[str, str] | None = None, gold: Sequence[str] = ()) -> PaperTable:
    """Scores as a paper prints them: a row per run, or per domain, slot, …; the best are bold.

    Args:
        scores: What `dstbench.score` returns.
        titles: The title of each run's group, in whose order the groups are; the best of each is underlined.
        gold: Lines about public gold, to show below the table.
    """
    titles, others = titles or {}, [name for name in _groups(scores) if name != "run"]
    caption = f"{named(scores)}{' by ' + ' and '.join(others) if others else ''}"
    caption += f" over {sizes}" if (sizes := _sizes(scores)) else ""
    groups: list[str | None] = []
    if others:
        table, groups = _parts(scores, others)
    else:
        order = _in_order(scores, titles)
        table = _by_run(scores, order, titles)
        groups = [titles.get(run) for run in order] if titles else []
        if scores["se"].is_not_null().any():
            caption += f"; ± one standard error over dialogues{_about_unknown(scores, 'without')}"
    caption += ". Bold: the best of all; underlined: the best of each group." if titles else "."
    label = "-".join(["tab:score", *others])
    below = [*_about_parts(scores), *gold, *signature_lines(scores)]
    return PaperTable(table, caption, label, below, groups, heads_of(scores))


def _by_run(scores: pl.DataFrame, order: list[str], titles: Mapping[str, str]) -> pl.DataFrame:
    """A row per run, with its standard errors."""
    title = pl.col("run").replace_strict(titles, default=None, return_dtype=pl.String)
    rows = with_texts(_with_exact(scores)).with_columns(title=title)
    error = pl.when(pl.col("se").is_not_null()).then(pl.format("±{}", value_text("se"))).otherwise(pl.lit(""))
    underlined = is_best("metric", "title") & pl.col("title").is_not_null()
    cells = rows.select(
        "run", "metric", cell(pl.col("text"), "cell", small=error, bold=is_best("metric"), underlined=underlined)
    )
    sizes = [] if _sizes(scores) else [scores.select("run", *texts("turns", "dialogues")).unique("run")]
    return side_by_side([pl.DataFrame({"run": order}), pivoted(cells, "metric", "run", "cell"), *sizes], on="run")


def _parts(scores: pl.DataFrame, others: list[str]) -> tuple[pl.DataFrame, list[str | None]]:
    """A row per domain, slot, …; with one metric, runs are columns, else groups of rows, whose titles are returned."""
    rows = with_texts(scores)
    runs_fit = rows["run"].n_unique() > 1 and not set(rows["run"]) & set(others)  # as names of columns
    if runs_fit and rows["metric"].n_unique() == 1 and _EXACT not in rows.columns:
        cells = rows.select(*others, "run", cell(pl.col("text"), "cell", bold=is_best(*others)))
        return pivoted(cells, "run", others, "cell").with_columns(texts(*others)), []
    table = wide(scores)
    groups = table["run"].to_list() if rows["run"].n_unique() > 1 else []
    return table.drop("run"), groups


def named(scores: pl.DataFrame) -> str:
    """What the scores are, with their unit."""
    one = scores["metric"].n_unique() == 1
    units = scores["unit"].unique()
    unit = " (shares in %)" if len(units) > 1 else " (%)" if "share" in units else ""
    return f"{name_of(scores['metric'][0]) if one else 'Scores'}{unit}"


def best_first(scores: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The rows of a metric, the best first: the highest, or the lowest of a metric of errors; undefined ones last."""
    return scores.filter(metric=metric).sort(
        "value", descending=sign_of(metric) != -1, nulls_last=True, maintain_order=True
    )


def sign(rows: pl.DataFrame) -> pl.Expr:
    """1 for rows of a metric whose higher scores are the better ones, -1 for the others, null if that is unknown."""
    signs = {metric: sign_of(metric.removesuffix(f" {_EXACT}")) for metric in rows["metric"].unique()}
    return pl.col("metric").replace_strict(signs, default=None, return_dtype=pl.Float64).cast(pl.Float64)


def with_texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Score rows with columns `text` and `merit`, see `is_best`."""
    whole = pl.col("value").cast(pl.Int64, strict=False).cast(pl.String).fill_null(UNDEFINED)
    return rows.with_columns(
        pl.when(IS_COUNT).then(whole).otherwise(share_text("value")).alias("text"), merit=sign(rows) * pl.col("value")
    )


def heads_of(rows: pl.DataFrame) -> dict[str, str]:
    """The heads of columns, those of exact matching too."""
    names = {metric: name_of(metric) for metric in rows["metric"].unique()}
    others = {name: name.capitalize() for name in ("run", *_groups(rows), "turns", "dialogues")}
    return {**others, **names, **{f"{metric} {_EXACT}": f"{name}, {_EXACT}" for metric, name in names.items()}}


def number_text(metric: str, *, is_count: bool) -> pl.Expr:
    """A column of scores as texts: shares in percent, counts as whole numbers."""
    return (
        pl.col(metric).cast(pl.Int64).cast(pl.String).fill_null(UNDEFINED) if is_count else share_text(metric, metric)
    )
