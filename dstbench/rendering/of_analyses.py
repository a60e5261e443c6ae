"""How diagnoses, traits, correlations and judgements of metrics are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.associations import JACKKNIFE, POOLED
from dstbench.analysis.findings import conclusion
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of
from dstbench.rendering import sentences
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.views import Layout, View, percent, text_of
from dstbench.schema.analysis import (
    CORRELATION_DIFFERENCES,
    CORRELATION_TESTS,
    CORRELATIONS,
    DISAGREEMENTS,
    ERRORS,
    FAILURES,
    RATED,
    RATED_DIFFERENCES,
    TIMING,
)
from dstbench.schema.core import SCORES, Table

if TYPE_CHECKING:
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits

# The rates of kinds of errors, each with the slots that it is a share of.
_ERROR_RATES: Final = (("missed", "gold"), ("wrong", "gold"), ("over", "predicted"), ("over", "inactive"))
_TIMED: Final = {
    "missed": "{missed}", "late": "{late}", "% late": "{late_share}",
    "over": "{over}", "early": "{early}", "% early": "{early_share}",
}  # fmt: skip
_R: Final = {"{}": "{r} [{low}, {high}]"}


# --- diagnoses --------------------------------------------------------------------------------------------------------


def diagnosis(diagnosis: Diagnosis) -> Layout:
    """Where runs fail: dialogues that fail, their first failures, JGA by turn and length, and errors by class."""
    few = diagnosis.runs["few_slots"].item(0)
    runs = diagnosis.runs.with_columns(failing_share=pl.col("failing") / pl.col("dialogues"))
    of_runs = {
        "dialogues": "{dialogues}", "turns": "{turns}", "failing": "{failing}", "% failing": "{failing_share:share}",
        "recovered": "{recovered}", f"< {few} gold slots": "{with_few_slots}", f"% < {few}": "{share_with_few_slots}",
    }  # fmt: skip
    bins = pl.format("{} to {}", pl.col("low").round(3), pl.col("high").round(3))
    failures = diagnosis.first_failures.with_columns(bins.alias("t/n"))
    slots = diagnosis.gold_slots.rename({"n_gold_max": "slots"}).sort("slots", maintain_order=True)
    classes = {"n": "{n}", "of_gold": "{of_gold}", "of_predicted": "{of_predicted}", "of_inactive": "{of_inactive}"}
    n = {"{}": "{dialogues}"}
    early = (
        "late: missed slots whose value is predicted later; early: over-predicted slots whose value is gold's next one"
    )
    views = [
        View("Dialogues; failing: the last turn is wrong; recovered: of these, right again in between",
             runs, FAILURES, ["run"], of_runs),
        View("First wrong turn t of n: number of dialogues that fail (Kim et al. 2022, Fig 1)",
             failures, None, ["t/n"], n, "run"),
        View("Largest number of gold slots in a turn: number of dialogues (Kim et al. 2022, Fig 2)",
             slots, None, ["slots"], n, "run"),
        _by("JGA by turn, in percent", diagnosis.by_turn, "turn"),
        _by("JGA by number of turns, in percent", diagnosis.by_length, "length"),
        View("Slots of turns by class; in percent of gold slots, of predicted slots, of slots not in gold",
             diagnosis.errors, ERRORS, ["run", "class", "kind"], classes),
        View(f"Timing of errors; {early}", diagnosis.timing, TIMING, ["run"], _TIMED),
        _rates("By domain: slots of turns, and percent by kind of error", diagnosis.errors_by_domain, "domain"),
        _rates("By slot", diagnosis.errors_by_slot, "slot"),
        View("Timing by slot", diagnosis.timing_by_slot, TIMING, ["run", "slot"], _TIMED),
    ]  # fmt: skip
    signatures = signature_lines(diagnosis.runs.with_columns(metric=pl.lit("jga")))
    without = diagnosis.errors.filter(pl.col("n") > 0, kind="no-prediction").select("run", "n")
    notes = [f"{run}: {number_of(turns, 'turn')} without a prediction" for run, turns in without.iter_rows()]
    paper = _failures(diagnosis, runs)
    title = "% of dialogues that fail (their last turn is wrong) and, of these, recovered in between; % of slots wrong"
    heads = {f"% {name.lower()}": text for name, text in paper.cells.items()}
    rest = "first failures, JGA by turn and length, errors by class, domain and slot, timing"
    return Layout(
        views, (), conclusion(diagnosis), "diagnose", [paper], [*notes, *signatures],
        [paper._replace(title=title, cells=heads)], signatures=signatures, rest=rest,
    )  # fmt: skip


def _by(title: str, rows: pl.DataFrame, by: str) -> View:
    """Scores of runs side by side, and the number of dialogues of each score."""
    return View(
        title, rows.sort(by, maintain_order=True), SCORES, [by], {"{}": "{value}", "n of {}": "{dialogues}"}, "run"
    )


def _failures(diagnosis: Diagnosis, runs: pl.DataFrame) -> View:
    """A row per run as a paper prints it: the dialogues that fail, and the slots that are wrong, by kind of error."""
    rates = (
        pl.col(f"of_{slots}").filter(kind=kind).sum().alias(kind) for kind, slots in _ERROR_RATES if slots != "inactive"
    )
    recovered = pl.when(pl.col("failing") > 0).then(pl.col("recovered") / pl.col("failing"))
    rows = runs.join(diagnosis.errors.group_by("run").agg(rates), on="run", how="left", maintain_order="left")
    cells = {"Failing": "{failing_share:share}", "Recovered": "{recovered:share}"}
    cells |= {name_of(kind).partition(" ")[0]: f"{{{kind}:share}}" for kind in ("missed", "wrong", "over")}
    sizes = runs.select("turns", "dialogues").unique()
    turns, dialogues = sizes.row(0)
    of = f" {number_of(turns, 'turn')}, {number_of(dialogues, 'dialogue')}." if sizes.height == 1 else ""
    caption = (
        "Where runs fail, in percent: dialogues whose last turn is wrong; of these, those with a right turn after the "
        f"first wrong one; slots of gold that are missed or wrong; predicted slots not in gold.{of}"
    )
    return View("", rows.with_columns(recovered=recovered), FAILURES, ["run"], cells, caption=caption)


def _rates(title: str, errors: pl.DataFrame, by: str) -> View:
    """A row per run and group: the numbers of slots, and the share of them with each kind of error."""
    shares = (
        pl.when(pl.col(slots).first() > 0).then(pl.col(f"of_{slots}").filter(kind=kind).sum()).alias(f"{kind}_{slots}")
        for kind, slots in _ERROR_RATES
    )
    sizes = pl.col("gold", "predicted", "inactive").first()
    rows = errors.drop_nulls(by).group_by("run", by, maintain_order=True).agg(sizes, *shares)
    cells = {slots: f"{{{slots}}}" for slots in ("gold", "predicted", "inactive")}
    cells |= {f"{kind} of_{slots}": f"{{{kind}_{slots}:share}}" for kind, slots in _ERROR_RATES}
    return View(title, rows, ERRORS, ["run", by], cells)


# --- traits and correlations ------------------------------------------------------------------------------------------


def traits(traits: Traits) -> Layout:
    """Mean scores by trait, correlations, and dialogues on which metrics disagree; not the table of all dialogues."""
    units = traits.signatures.select("metric", "unit").unique()
    low, high = (pl.col(name).round(3) for name in ("low", "high"))
    bins = traits.bins.join(units, on="metric", maintain_order="left").with_columns(
        bin=pl.format("{} to {}", low, high)
    )
    title = "Mean scores by {}, over dialogues in which both are defined; n: number of dialogues"
    cells = {"{}": "{value:score}", "n of {}": "{dialogues}"}
    means = View(title, bins, None, ["run", "bin"], cells, "metric", split="trait")
    lists = [_disagreements(traits.disagreements, units)]
    if traits.dialogues["run"].n_unique() > 1:
        lists = [_disagreements(traits.pooled_disagreements, units, ", of all runs"), *lists]
    lists = [view for view in lists if view.rows.height]
    about, signatures = _about_intervals(traits.correlations, traits.differences), signature_lines(traits.signatures)
    if traits.differences.height > 1:
        about.append("p of differences are two-sided, adjusted by Holm for those of a table")
    notes = ["shares in %; --format csv or json lists every dialogue", *about]
    given = [view._replace(title=f"Given mistakes and turns: {view.title[0].lower()}{view.title[1:]}")
             for view in _differences(traits.given_differences)]  # fmt: skip
    table = _trait_table(traits, traits.correlations)
    what = "Correlations of scores with traits, over dialogues"
    first = table._replace(title=what, cells={"{}": "{r}"})
    if traits.given.height:
        title = f"Given mistakes and turns: correlations, and {percent(traits.given['level'][0])} intervals"
        given.insert(0, View(title, traits.given, CORRELATIONS, ["run", "first"], _R, "second"))
        title = "Correlations of scores with traits, given the dialogue's mistakes and turns"
        first = _trait_table(traits, traits.given)._replace(title=title, cells={"{}": "{r}"})
    views = [means, *_matrices(traits.correlations), *_differences(traits.differences), *given, *lists]
    found = sentences.differences(traits.given_differences if traits.given.height else traits.differences)
    return Layout(
        views, (), found, "traits", lists[:1] or [table], [*(notes if lists else about), *signatures], [first], notes,
        signatures, "mean scores by trait, intervals, dialogues on which metrics disagree",
    )  # fmt: skip


def _disagreements(rows: pl.DataFrame, units: pl.DataFrame, of: str = "") -> View:
    """A table per direction: the dialogues on which two metrics differ most; `of` says among which dialogues."""
    title = pl.format(f"Dialogues that {{}} scores highest above {{}}{of}", "higher", "lower").alias("title")
    for side, metric in (("high", "higher"), ("low", "lower")):
        of_metric = units.rename({"metric": metric})
        shown = text_of(f"{{{side}:score}}").alias(side)
        rows = rows.join(of_metric, on=metric, maintain_order="left").with_columns(shown).drop("unit")
    cells = {name: f"{{{name}:text}}" for name in ("high", "low", "turns", "mistakes")}
    caption = f"Dialogues on which two metrics differ most{of}."
    return View(
        "{}",
        rows.with_columns(title),
        DISAGREEMENTS,
        ["run", "place", "dialogue"],
        cells,
        split="title",
        caption=caption,
    )


def _trait_table(traits: Traits, correlations: pl.DataFrame) -> View:
    """A row per run: the correlation of each metric with each trait."""
    names = traits.bins["trait"].unique(maintain_order=True).to_list()
    pairs = correlations.filter(pl.col("first").is_in(names), ~pl.col("second").is_in(names))
    both = pairs.select("first", "second").unique(maintain_order=True).iter_rows()
    heads = {f"{score} {trait}": f"{name_of(score)}, {name_of(trait)}" for trait, score in both}
    n = pl.col("n").min() == pl.col("n").max()
    keys = ["run", "n"] if pairs.group_by("run").agg(n)["n"].all() else ["run"]
    caption = (
        "Pearson correlations over dialogues of scores with traits of their mistakes, with "
        f"{percent(pairs['level'][0])} intervals; n: number of dialogues."
    )
    rows = pairs.with_columns(pair=pl.format("{} {}", "second", "first"))
    return View("", rows, CORRELATIONS, keys, _R, "pair", caption=caption, heads={**heads, "n": "n"})


def correlations(correlations: Correlations) -> Layout:
    """Ratings and differences of correlations, if they were asked for, with their tests; and a matrix per run."""
    tests, matrix = correlations.tests, correlations.matrix
    views = _differences(correlations.differences, tests)
    paper, findings = views, sentences.differences(correlations.differences)
    has_ratings = correlations.rated.height > 0
    if has_ratings:
        matrix = matrix.filter(run=sentences.shown_run(correlations))
        rated = _rated(correlations)
        views, paper = [*rated, *views], [_rated_table(correlations, rated[0])]
        findings = [*sentences.best_by_ratings(correlations), *findings]
    notes = _about_intervals(matrix, correlations.differences, correlations.rated_differences)
    notes += _about_tests(correlations) if has_ratings else []
    if correlations.differences.height > 1:
        notes.append("p of differences are two-sided, adjusted by Holm for their number")
    matrices, table = _matrices(matrix), _matrix_table(matrix)
    of = f"{table.rows['run'][0]}: correlations over {table.rows['per'][0]}s"
    first = [*views, View(of, square(table.rows, CORRELATIONS, "{r}", ""))] if len(matrices) > 1 or not views else views
    return Layout(
        [*views, *matrices], (), findings or sentences.most_alike(table.rows), "correlate", paper or [table], None,
        first, notes, signature_lines(correlations.signatures), "intervals, correlations of each run",
    )  # fmt: skip


def _matrices(rows: pl.DataFrame) -> list[View]:
    """Per run, correlations below the diagonal, intervals above; and their numbers of rows, if these are unequal."""
    views = []
    for (run, _), pairs in rows.group_by("run", "rows", maintain_order=True):
        same = pairs["n"].n_unique() == 1
        n = f", n = {pairs['n'][0]:,}" if same else ""
        level = percent(pairs["level"][0])
        title = f"{run}: correlations{sentences.rows_taken(pairs)}{n}; above the diagonal their {level} intervals"
        views.append(View(title, square(pairs, CORRELATIONS, "{r}", "{low} to {high}")))
        if not same:
            views.append(View(f"{run}: number of rows", square(pairs, CORRELATIONS, "{n}", "")))
    return views


def square(pairs: pl.DataFrame, table: Table, below: str, above: str, corner: str = "") -> pl.DataFrame:
    """A square table of the pairs of `first` and `second`: a text of each below the diagonal, and one above it."""
    first, second = pl.col("first"), pl.col("second")
    names = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    empty = pl.lit("")
    sides = ((second, first, text_of(below, table)), (first, second, text_of(above, table) if above else empty))
    cells = [pairs.select(row=row, column=column, text=text) for row, column, text in sides]
    cells.append(pl.DataFrame({"row": names, "column": names, "text": [""] * len(names)}))
    wide = pl.concat(cells).pivot("column", on_columns=names, index="row", values="text")
    ordered = wide.sort(pl.col("row").replace_strict(names, range(len(names)), return_dtype=pl.Int64))
    return ordered.rename({"row": corner}).fill_null("")


def _matrix_table(matrix: pl.DataFrame) -> View:
    """Correlations over turns or dialogues, of all runs together if there are several."""
    run = POOLED if POOLED in matrix["run"] else matrix["run"][0]
    pairs = matrix.filter(run=run)
    sizes = pairs["n"].unique().sort()
    n = f"{sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
    of, level = " of all runs" if run == POOLED else "", percent(pairs["level"][0])
    caption = f"Pearson correlations over {pairs['per'][0]}s{of}, with {level} intervals; n = {n}."
    return View("", pairs, CORRELATIONS, ["second"], _R, "first", caption=caption, heads={"second": ""})


def _differences(rows: pl.DataFrame, tests: pl.DataFrame | None = None) -> list[View]:
    """Differences with interval and p over dialogues and Zou's interval; tests."""
    if rows.is_empty():
        return []
    n = pl.when(pl.col("n_first") != pl.col("n_second")).then(pl.format("{} and {}", "n_first", "n_second"))
    rows = rows.with_columns(n=n.otherwise(pl.col("n_first").cast(pl.String)), zou_differs=sentences.ZOU_DIFFERS)
    cells = {"r first": "{r_first}", "r second": "{r_second}", "difference": "{difference}", "n": "{n}"}
    uncertain = {
        f"{percent(rows['level'][0])} interval": "{low} to {high}",
        "p, adjusted": "{p_adjusted}",
        **_zou(rows),
    }
    title, table = f"Differences of correlations{sentences.rows_taken(rows)}", CORRELATION_DIFFERENCES
    if rows.select("first", "second").n_unique() > 1:
        views = [_compared(title, rows, table, cells),
                 _compared("Differences of correlations: intervals and p", rows, table, uncertain)]  # fmt: skip
    else:
        views = [_compared(title, rows, table, {**cells, **uncertain})]
    if tests is not None and tests.height:
        tested = {"test": "{test}", "statistic": "{statistic}", "df": "{df}", "p": "{p}"}
        title = "Classical tests of these differences, which assume normal data"
        views.append(_compared(title, tests, CORRELATION_TESTS, tested))
    return views


# Columns that the title has if all rows have the same text, and how.
_IN_TITLE: Final = {"of": ": {}", "n": "; n = {}", "test": "; {}", "df": ", df = {}"}


def _compared(title: str, rows: pl.DataFrame, table: Table, cells: dict[str, str]) -> View:
    """A table of compared correlations, without columns that say the same in all rows: the title has them."""
    first, second = (pl.format("r({})", pl.col(name).str.replace(",", ", ")) for name in ("first", "second"))
    run = pl.when(pl.col("run") == pl.col("other_run")).then("run").otherwise(pl.format("{} - {}", "run", "other_run"))
    of = pl.when(pl.col("first") == pl.col("second")).then(first).otherwise(pl.format("{} - {}", first, second))
    rows = rows.with_columns(run=run, of=of)
    heads = {"r first": "r first", "r second": "r second"}
    if rows["of"].n_unique() == 1 and " - " in rows["of"][0]:
        heads = dict(zip(heads, rows["of"][0].split(" - "), strict=True))
    shown = {"of": "{of}", **{heads.get(name, name): text for name, text in cells.items()}}
    for name, words in _IN_TITLE.items():
        if name in shown and rows[name].n_unique() == 1:
            value = rows[name][0]
            if value is not None:
                number = str(value)
                title += words.replace("{}", f"{int(number):,}" if number.isdecimal() else number)
            del shown[name]
    return View(title, rows, table, ["run"], shown)


def _zou(rows: pl.DataFrame) -> dict[str, str]:
    """The column of Zou's intervals, if there are any; they may differ from p in whether there is a difference."""
    return {} if rows["zou_low"].is_null().all() else {"by Zou (2007)": "{zou_low} to {zou_high}{zou_differs}"}


def _about_intervals(matrix: pl.DataFrame, *differences: pl.DataFrame) -> list[str]:
    """How the intervals were computed."""
    whole = " with all its turns and runs" if matrix["fisher_low"].is_null().any() else ""
    what = "intervals and p" if any(rows.height for rows in differences) else "intervals"
    lines = [f"{what} over dialogues: each is left out in turn{whole}"]
    if matrix["fisher_low"].is_not_null().any():
        lines.append("--format csv or json has Fisher's intervals, which assume normal data, too")
    if any(rows["zou_low"].is_not_null().any() for rows in differences):
        lines.append("Zou's intervals assume independent rows of normal data; where one differs, go by p")
    return lines


# --- ratings ----------------------------------------------------------------------------------------------------------

_COEFFICIENTS: Final = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}


def _rated(correlations: Correlations) -> list[View]:
    """Each metric's correlations with the ratings, and the differences between the best metric and each other one."""
    run, rated = sentences.shown_run(correlations), correlations.rated
    rows = rated.filter(run=run).with_columns(pl.col("coefficient").replace(_COEFFICIENTS))
    level = percent(rows["level"][0])
    sizes = rows.select("n", "dialogues", "per").unique()
    same = sizes.height == 1
    n = f"n = {sentences.over(*sizes.row(0))}" if same else f"n: rated {rows['per'][0]}s"
    title = f"{run}: correlations with the ratings, with {level} intervals; {n}"
    size = [] if same else ["n"]
    views = [View(title, rows, RATED, ["metric", *size], {"{}": "{value} [{low}, {high}]"}, "coefficient")]
    best = sentences.best_metric(correlations, "pearson")
    parts = [] if best is None else [sentences.leads(correlations, name, best) for name in _COEFFICIENTS]
    if parts and (others := pl.concat(parts)).height:
        cells = {"coefficient": "{coefficient}", "difference": "{difference}", f"{level} interval": "{low} to {high}",
                 "p, adjusted": "{p_adjusted}", **_zou(others), **{name: f"{{{name}}}" for name in size}}  # fmt: skip
        named = pl.col("coefficient").replace(_COEFFICIENTS)
        others = others.with_columns(named, zou_differs=sentences.ZOU_DIFFERS).rename({"other": "than"})
        title = f"{run}: {best} less others, where both are defined; p adjusted by Holm, for each coefficient"
        views.append(View(title, others, RATED_DIFFERENCES, ["than"], cells))
    tested = correlations.rated_differences.filter(pl.col("test") != JACKKNIFE, run=run, coefficient="pearson")
    if tested.height:
        cells = {name: f"{{{name}}}" for name in ("test", "statistic", "df", "p")}
        title = f"{run}: classical tests of Pearson's r, which assume normal data"
        views.append(View(title, tested, RATED_DIFFERENCES, ["metric", "other"], cells))
    if rated["run"].n_unique() > 1:
        pearson = rated.filter(coefficient="pearson")
        views.append(View("Pearson's r with the ratings, by run", pearson, RATED, ["metric"], {"{}": "{value}"}, "run"))
    return views


def _rated_table(correlations: Correlations, rated: View) -> View:
    """A row per metric: its three correlations with the ratings."""
    of = sentences.over(*rated.rows.select(pl.col("n", "dialogues").max(), pl.col("per").first()).row(0))
    level = percent(rated.rows["level"][0])
    return rated._replace(
        keys=["metric"], caption=f"Correlations with people's ratings of {of}, with {level} intervals."
    )


def _about_tests(correlations: Correlations) -> list[str]:
    """How the intervals and tests of agreement were computed."""
    lines = ["intervals of rank correlations by linearised standard errors, dialogues as clusters"]
    tests = sentences.rated_differences(correlations, "pearson").drop_nulls("p")
    if tests.height:
        lines.append("p: two-sided, of Pearson's r over dialogues, of the others from these standard errors")
        of = f", adjusted by Holm's method for {tests.height} differences," if tests.height > 1 else ""
        lines.append(f"by more than chance: p{of} is at most {1 - tests['level'][0]:.2g}")
    return [*lines, "--format csv or json has every run's"] if correlations.rated["run"].n_unique() > 1 else lines
