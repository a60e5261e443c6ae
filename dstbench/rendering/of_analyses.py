"""How diagnoses, traits, correlations, and judgements of metrics are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis import findings as sentences
from dstbench.analysis.associations import JACKKNIFE, POOLED
from dstbench.analysis.findings import conclusion, percent
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.of_runs import units_of
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.views import Layout, View, plain, text_of
from dstbench.schema import analysis as schema
from dstbench.schema.core import SCORES, Table

if TYPE_CHECKING:
    from dstbench.analysis.compare_metrics import MetricComparison
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.sensitivity import Sensitivity
    from dstbench.analysis.traits import Traits

# The rates of kinds of errors, each with the slots that it is a share of.
_ERROR_RATES: Final = (("missed", "gold"), ("wrong", "gold"), ("over", "predicted"), ("over", "inactive"))
_TIMED: Final = {
    "missed": "{missed}", "late": "{late}", "% late": "{late_share}",
    "over": "{over}", "early": "{early}", "% early": "{early_share}",
}  # fmt: skip
# The interval of Zou, which may differ from p in whether there is a difference.
_ZOU: Final = {"by Zou (2007)": "{zou_low} to {zou_high}{zou_differs}"}
_TEST: Final = ("test", "statistic", "df", "p")
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
    classes, n = plain("n", "of_gold", "of_predicted", "of_inactive"), {"{}": "{dialogues}"}
    early = "early: over-predicted slots whose value is gold's next one"
    views = [
        View("Dialogues; failing: the last turn is wrong; recovered: of these, right again in between",
             runs, schema.FAILURES, ["run"], of_runs),
        View("First wrong turn t of n: number of dialogues that fail (Kim et al. 2022, Fig 1)",
             failures, None, ["t/n"], n, "run"),
        View("Largest number of gold slots in a turn: number of dialogues (Kim et al. 2022, Fig 2)",
             slots, None, ["slots"], n, "run"),
        _by("JGA by turn, in percent", diagnosis.by_turn, "turn"),
        _by("JGA by number of turns, in percent", diagnosis.by_length, "length"),
        View("Slots of turns by class; in percent of gold slots, of predicted slots, of slots not in gold",
             diagnosis.errors, schema.ERRORS, ["run", "class", "kind"], classes),
        View(f"Timing of errors; late: missed slots whose value is predicted later; {early}",
             diagnosis.timing, schema.TIMING, ["run"], _TIMED),
        _rates("By domain: slots of turns, and percent by kind of error", diagnosis.errors_by_domain, "domain"),
        _rates("By slot", diagnosis.errors_by_slot, "slot"),
        View("Timing by slot", diagnosis.timing_by_slot, schema.TIMING, ["run", "slot"], _TIMED),
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
    cells = {"{}": "{value}", "n of {}": "{dialogues}"}
    return View(title, rows.sort(by, maintain_order=True), SCORES, [by], cells, "run")


def _failures(diagnosis: Diagnosis, runs: pl.DataFrame) -> View:
    """A row per run as a paper prints it: the dialogues that fail, and the slots that are wrong, by kind of error."""
    rates = (pl.col(f"of_{slots}").filter(kind=kind).sum().alias(kind) for kind, slots in _ERROR_RATES[:3])
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
    return View("", rows.with_columns(recovered=recovered), schema.FAILURES, ["run"], cells, caption=caption)


def _rates(title: str, errors: pl.DataFrame, by: str) -> View:
    """A row per run and group: the numbers of slots, and the share of them with each kind of error."""
    shares = (
        pl.when(pl.col(slots).first() > 0).then(pl.col(f"of_{slots}").filter(kind=kind).sum()).alias(f"{kind}_{slots}")
        for kind, slots in _ERROR_RATES
    )
    sizes = pl.col("gold", "predicted", "inactive").first()
    rows = errors.drop_nulls(by).group_by("run", by, maintain_order=True).agg(sizes, *shares)
    cells = plain("gold", "predicted", "inactive")
    cells |= {f"{kind} of_{slots}": f"{{{kind}_{slots}:share}}" for kind, slots in _ERROR_RATES}
    return View(title, rows, schema.ERRORS, ["run", by], cells)


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
        given.insert(0, View(title, traits.given, schema.CORRELATIONS, ["run", "first"], _R, "second"))
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
    keys = ["run", "place", "dialogue"]
    return View("{}", rows.with_columns(title), schema.DISAGREEMENTS, keys, cells, split="title", caption=caption)


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
    return View("", rows, schema.CORRELATIONS, keys, _R, "pair", caption=caption, heads={**heads, "n": "n"})


def correlations(correlations: Correlations) -> Layout:
    """Ratings and differences of correlations, if they were asked for, with their tests; and a matrix per run."""
    tests, matrix = correlations.tests, correlations.matrix
    views = _differences(correlations.differences, tests)
    paper, findings = views, sentences.differences(correlations.differences)
    has_ratings = correlations.rated.height > 0
    if has_ratings:
        matrix = matrix.filter(run=sentences.shown_run(correlations))
        rated = _rated(correlations)
        of = sentences.over(*rated[0].rows.select(pl.col("n", "dialogues").max(), pl.col("per").first()).row(0))
        caption = f"Correlations with people's ratings of {of}, with {percent(matrix['level'][0])} intervals."
        views, paper = [*rated, *views], [rated[0]._replace(keys=["metric"], caption=caption)]
        findings = [*sentences.best_by_ratings(correlations), *findings]
    notes = _about_intervals(matrix, correlations.differences, correlations.rated_differences)
    notes += _about_tests(correlations) if has_ratings else []
    if correlations.differences.height > 1:
        notes.append("p of differences are two-sided, adjusted by Holm for their number")
    matrices, table = _matrices(matrix), _matrix_table(matrix)
    of = f"{table.rows['run'][0]}: correlations over {table.rows['per'][0]}s"
    first = [*views]
    if len(matrices) > 1 or not views:
        first.append(View(of, square(table.rows, schema.CORRELATIONS, "{r}", "")))
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
        views.append(View(title, square(pairs, schema.CORRELATIONS, "{r}", "{low} to {high}")))
        if not same:
            views.append(View(f"{run}: number of rows", square(pairs, schema.CORRELATIONS, "{n}", "")))
    return views


def square(pairs: pl.DataFrame, table: Table, below: str, above: str, corner: str = "") -> pl.DataFrame:
    """A square table of the pairs of `first` and `second`: a text of each below the diagonal, and one above it."""
    names = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    cells = [
        pairs.select(row="second", column="first", text=text_of(below, table)),
        pairs.select(row="first", column="second", text=text_of(above, table) if above else pl.lit("")),
        pl.DataFrame({"row": names, "column": names, "text": [""] * len(names)}),
    ]
    wide = pl.concat(cells).pivot("column", on_columns=names, index="row", values="text")
    return wide.sort(pl.col("row").cast(pl.Enum(names))).rename({"row": corner}).fill_null("")


def _matrix_table(matrix: pl.DataFrame) -> View:
    """Correlations over turns or dialogues, of all runs together if there are several."""
    run = POOLED if POOLED in matrix["run"] else matrix["run"][0]
    pairs = matrix.filter(run=run)
    sizes = pairs["n"].unique().sort()
    n = f"{sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
    of, level = " of all runs" if run == POOLED else "", percent(pairs["level"][0])
    caption = f"Pearson correlations over {pairs['per'][0]}s{of}, with {level} intervals; n = {n}."
    return View("", pairs, schema.CORRELATIONS, ["second"], _R, "first", caption=caption, heads={"second": ""})


def _differences(rows: pl.DataFrame, tests: pl.DataFrame | None = None) -> list[View]:
    """Differences with interval and p over dialogues and Zou's interval; tests."""
    if rows.is_empty():
        return []
    n = pl.when(pl.col("n_first") != pl.col("n_second")).then(pl.format("{} and {}", "n_first", "n_second"))
    rows = rows.with_columns(n=n.otherwise(pl.col("n_first").cast(pl.String)), zou_differs=sentences.ZOU_DIFFERS)
    cells = {"r first": "{r_first}", "r second": "{r_second}", "difference": "{difference}", "n": "{n}"}
    uncertain = {f"{percent(rows['level'][0])} interval": "{low} to {high}", "p, adjusted": "{p_adjusted}"}
    uncertain |= {} if rows["zou_low"].is_null().all() else _ZOU
    title, table = f"Differences of correlations{sentences.rows_taken(rows)}", schema.CORRELATION_DIFFERENCES
    parts = {title: {**cells, **uncertain}}
    if rows.select("first", "second").n_unique() > 1:
        parts = {title: cells, "Differences of correlations: intervals and p": uncertain}
    views = [_compared(title, rows, table, part) for title, part in parts.items()]
    if tests is not None and tests.height:
        title, tested = "Classical tests of these differences, which assume normal data", plain(*_TEST)
        views.append(_compared(title, tests, schema.CORRELATION_TESTS, tested))
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
    views = [View(title, rows, schema.RATED, ["metric", *size], {"{}": "{value} [{low}, {high}]"}, "coefficient")]
    best = sentences.best_metric(correlations)
    parts = [] if best is None else [sentences.leads(correlations, name, best) for name in _COEFFICIENTS]
    if parts and (others := pl.concat(parts)).height:
        zou = {} if others["zou_low"].is_null().all() else _ZOU
        cells = {"coefficient": "{coefficient}", "difference": "{difference}", f"{level} interval": "{low} to {high}",
                 "p, adjusted": "{p_adjusted}", **zou, **plain(*size)}  # fmt: skip
        named = pl.col("coefficient").replace(_COEFFICIENTS)
        others = others.with_columns(named, zou_differs=sentences.ZOU_DIFFERS).rename({"other": "than"})
        title = f"{run}: {best} less others, where both are defined; p adjusted by Holm, for each coefficient"
        views.append(View(title, others, schema.RATED_DIFFERENCES, ["than"], cells))
    tested = correlations.rated_differences.filter(pl.col("test") != JACKKNIFE, run=run, coefficient="pearson")
    if tested.height:
        title = f"{run}: classical tests of Pearson's r, which assume normal data"
        views.append(View(title, tested, schema.RATED_DIFFERENCES, ["metric", "other"], plain(*_TEST)))
    if rated["run"].n_unique() > 1:
        pearson = rated.filter(coefficient="pearson")
        views.append(
            View("Pearson's r with the ratings, by run", pearson, schema.RATED, ["metric"], {"{}": "{value}"}, "run")
        )
    return views


def _about_tests(correlations: Correlations) -> list[str]:
    """How the intervals and tests of agreement were computed."""
    lines = ["intervals of rank correlations by linearised standard errors, dialogues as clusters"]
    tests = sentences.rated_differences(correlations, "pearson").drop_nulls("p")
    if tests.height:
        lines.append("p: two-sided, of Pearson's r over dialogues, of the others from these standard errors")
        of = f", adjusted by Holm's method for {tests.height} differences," if tests.height > 1 else ""
        lines.append(f"by more than chance: p{of} is at most {1 - tests['level'][0]:.2g}")
    return [*lines, "--format csv or json has every run's"] if correlations.rated["run"].n_unique() > 1 else lines


def _pairs_of_all(compared: MetricComparison) -> int | None:
    """The number of pairs of runs that are tested, if it is the same by all metrics; None if there is none."""
    pairs = compared.power["pairs"].unique()
    return pairs.item() or None if len(pairs) == 1 else None


_MOST_METRICS: Final = 10
_MEASURES: Final = {"somers_d": "Somers' d", "soft_accuracy": "soft accuracy"}


def metric_comparison(compared: MetricComparison) -> Layout:
    """Spread and pairs told apart, a matrix of tau, the metrics whose orders agree least, and correlations."""
    runs, pairs = compared.scores["run"].n_unique(), _pairs_of_all(compared)
    spread = _spread(compared, pairs)
    title = f"Metrics over {number_of(runs, 'run')}" + (f", {number_of(pairs, 'pair')}" if pairs else "")
    judged, spread = _orders(compared), spread._replace(title=title)
    views = [*judged, spread]
    if compared.agreement.height:
        title = "Kendall's tau of two metrics' orders; above the diagonal the pairs of runs that they reverse"
        turned = pl.when(pl.col("tau").is_not_null()).then("reversed")
        taus = compared.agreement.with_columns(reversed=turned)
        views += [
            View(title, square(taus, schema.RANK_AGREEMENT, "{tau}", "{reversed}", "metric")),
            *_least_alike(compared),
        ]
    if compared.dependence.height:
        title = (
            f"Correlations of dialogues' scores with traits, and {percent(compared.dependence['level'][0])} intervals"
        )
        given = compared.dependence.drop("r", "low", "high").rename(
            {"partial": "r", "partial_low": "low", "partial_high": "high"}
        )
        same = "The same given the dialogue's numbers of mistakes and turns"
        for heading, rows in ((title, compared.dependence), (same, given)):
            views.append(View(heading, rows, schema.DEPENDENCE, ["metric"], {"{}": "{r} [{low}, {high}]"}, "trait"))
    about, signatures = _about_spread(compared), signature_lines(compared.scores.drop_nulls("signature"))
    notes = [*about, *_about_orders(compared)]
    caption = f"Metrics over {number_of(runs, 'run')} (%): mean and standard deviation over runs, and range."
    if "apart" in spread.cells:
        caption += f" Apart: {f'of {pairs:,} ' if pairs else ''}pairs of runs, those that the metric tells apart."
    of_runs = ("runs", "mean", "sd", "lowest", "highest", "range")
    cells = {"mean": "{mean} ±{sd}", "range": "{range}"}
    cells |= {title: text for title, text in spread.cells.items() if title not in of_runs}
    heads = {name: name.capitalize() for name in cells if name != "sd/se"}
    paper = spread._replace(cells=cells, caption=caption, heads=heads)
    findings = [*sentences.which_metric(compared), *sentences.metrics_apart(compared)]
    parts = {"agreement of orders": compared.agreement.height, "correlations with traits": compared.dependence.height}
    rest = ", ".join([*(words for words, rows in parts.items() if rows), "how all was computed"])
    short = {name: text for name, text in spread.cells.items() if name not in ("lowest", "highest")}
    first = [spread._replace(cells=short)] if compared.reliability.is_empty() else [_in_short(compared, spread)]
    return Layout(
        views, about[:1], findings, "compare-metrics", [paper], [*about, *signatures], first, notes[1:], signatures,
        rest,
    )  # fmt: skip


def _in_short(compared: MetricComparison, spread: View) -> View:
    """A row per metric: how it orders runs of a known order, how reliably, and what it tells apart."""
    rows, cells = spread.rows.join(compared.reliability.select("metric", "swap_rate"), on="metric"), dict[str, str]()
    if compared.validity.height:
        tau = compared.validity.filter(measure="tau").select("metric", "value", "low", "high")
        soft = compared.validity.filter(measure="soft_accuracy").select("metric", soft="value")
        rows = rows.join(tau, on="metric", maintain_order="left").join(soft, on="metric", maintain_order="left")
        along = compared.validity["along"][0]
        cells = {f"tau along {along}": "{value:r} [{low:r}, {high:r}]", "soft accuracy": "{soft:share}"}
    cells |= {"swap rate": "{swap_rate:share}"} | ({} if cells else {"mean": "{mean}", "sd": "{sd}"})
    cells |= {name: text for name, text in spread.cells.items() if name in ("sd/se", "apart")}
    return spread._replace(rows=rows, cells=cells)


def _orders(compared: MetricComparison) -> list[View]:
    """How metrics order runs of a known order, and how reliably they order runs."""
    views = []
    if compared.validity.height:
        along, level = compared.validity["along"][0], percent(compared.validity["level"][0])
        title = f"Agreement with the order along {along}, and {level} intervals"
        rows = compared.validity.with_columns(pl.col("measure").replace(_MEASURES))
        views.append(View(title, rows, schema.VALIDITY, ["metric"], {"{}": "{value} [{low}, {high}]"}, "measure"))
    if compared.reliability.height:
        level = percent(compared.reliability["level"][0])
        title = f"Reliability: pairs of runs that random halves of dialogues order otherwise (%), and {level} intervals"
        cells = {"swap rate": "{swap_rate} [{low:share}, {high:share}]"}
        cells |= {"tau of halves": "{tau_halves}", "tau of all": "{tau_full}"}
        views.append(View(title, compared.reliability, schema.RELIABILITY, ["metric"], cells))
    if compared.sizes.height:
        title = "Pairs of runs that so many dialogues, drawn at random, order as all do (%)"
        views.append(View(title, compared.sizes, schema.SAMPLE_SIZES, ["metric"], {"{}": "{alike}"}, "dialogues"))
    return views


def _spread(compared: MetricComparison, pairs: int | None) -> View:
    """A row per metric: spread, signal to noise, and the pairs that it tells apart."""
    runs = ["runs"] if compared.spread["runs"].n_unique() > 1 else []  # else the title has their number
    cells = plain(*runs, "mean", "sd", "lowest", "highest", "range")
    if compared.spread["signal_to_noise"].count():
        cells["sd/se"] = "{signal_to_noise}"
    rows, adjustment = compared.spread, "none"
    if compared.power["pairs"].sum():
        apart = (pl.when(pl.col(name.replace("apart", "power")).is_not_null()).then(name).alias(name)
                 for name in ("apart", "apart_adjusted"))  # fmt: skip
        power = compared.power.select("metric", "pairs", *apart, "median_detectable")
        rows = rows.join(power, on="metric", how="left", maintain_order="left")
        adjustment = compared.power["adjustment"][0]
        cells |= {} if pairs else {"pairs": "{pairs}"}
        cells |= {"apart": "{apart}"} | ({} if adjustment == "none" else {adjustment: "{apart_adjusted}"})
        cells["detectable"] = "{median_detectable}"
    table = Table("", "", **{**schema.POWER.columns, **schema.SPREAD.columns})
    return View("", rows, table, ["metric"], cells)


def _least_alike(compared: MetricComparison) -> list[View]:
    """The pairs of metrics that reverse pairs of runs, those that agree least first."""
    rows = compared.agreement.filter(pl.col("reversed") > 0).sort("tau", nulls_last=True, maintain_order=True)
    if rows.is_empty():
        return []
    shown = rows.head(_MOST_METRICS)
    pairs = [sentences.reversed_pairs(compared, *both) for both in shown.select("first", "second").iter_rows()]
    shown = shown.with_columns(pl.Series("turned", pairs, pl.String), metrics=pl.format("{}, {}", "first", "second"))
    level = {} if rows["level"][0] is None else {percent(rows["level"][0]): "{low} to {high}"}
    cells = {"tau": "{tau}", **level, "reversed: better by the first/better by the second": "{turned}"}
    of = f", {_MOST_METRICS} of {rows.height}" if rows.height > _MOST_METRICS else ""
    title = f"Metrics that reverse pairs of runs, the least alike first{of}"
    return [View(title, shown, schema.RANK_AGREEMENT, ["metrics"], cells)]


def _about_spread(compared: MetricComparison) -> list[str]:
    """How spread and the pairs told apart were computed."""
    lines = [units_of(compared.scores), "sd, range: over runs"]
    if compared.design.is_empty():
        return lines
    design, power = compared.design.row(0, named=True), compared.power
    if compared.spread["signal_to_noise"].count():
        lines.append("sd/se: sd over runs divided by the mean standard error of a paired difference over the root of 2")
    if power["pairs"].sum():
        alpha, is_adjusted = f"{1 - design['level']:.4g}", design["adjustment"] != "none"
        lines.append(f"apart: pairs of runs with p at most {alpha}; p: two-sided, {design['test']}")
        if is_adjusted:
            lines.append(f"{design['adjustment']}: the same with p adjusted for the number of pairs")
        if power["untestable"].sum():
            names = power.filter(pl.col("untestable") > 0).select(pl.format("{} ({})", "metric", "untestable"))
            p, pairs = "adjusted p" if is_adjusted else "p", ", ".join(names.to_series())
            lines.append(f"pairs whose {p} cannot reach {alpha} (resamples, dialogues): {pairs}")
        test = "adjusted test" if is_adjusted else "test"
        lines.append(f"detectable: the difference that the {test} detects with 80 % power, median over the pairs")
    return [*lines, f"{design['resamples']:,} resamples of dialogues, seed {design['seed']}"]


def _about_orders(compared: MetricComparison) -> list[str]:
    """How the agreement of orders and the correlations were computed."""
    lines = []
    if compared.agreement.height:
        errors = [metric for metric in compared.spread["metric"] if sign_of(metric) == -1]
        lowest = f"; by {', '.join(errors)}, the lowest" if errors else ""
        lines.append(f"orders: from the best run to the worst: the highest score first{lowest}")
    if compared.dependence.height:
        lines.append("correlations: Pearson's, over all runs' dialogues; for intervals, each is left out in all runs")
    if compared.validity.height:
        lines.append("accuracy: pairs that have an order and are ordered so; soft: 1 less the one-sided p of this")
    if compared.reliability.height:
        halves = f"{compared.reliability['halves'][0]:,}"
        lines.append(f"reliability: {halves} random halves; tau of all: between test sets as large (Spearman-Brown)")
    if compared.design.height:
        lines.append(
            "other intervals: by resampling dialogues, tau's corrected for noise; none where few pairs are decided"
        )
    if compared.contests.height:
        lines.append("two metrics differ: p by resampling dialogues, adjusted by Holm for the pairs of metrics")
    return lines


# --- costs of errors --------------------------------------------------------------------------------------------------


_COSTS: Final = Table("", "", **{**schema.POSITION_BIAS.columns, **schema.ERROR_COSTS.columns})
# Where errors are, by their way.
_PLACES: Final = {"put in": "put into the run's own right values", "mended": "mended in the run (a gain)"}


def sensitivity(sensitivity: Sensitivity) -> Layout:
    """A table per kind of error that was made: mean loss of each metric by position, and its position bias."""
    level = percent(sensitivity.bias["level"].item(0))
    own = [frame.partition_by("way", as_dict=True, maintain_order=True) for frame in (
        sensitivity.own_costs, sensitivity.own_bias, sensitivity.own_errors)]  # fmt: skip
    costs, biases, errors = own
    views = [_losses(costs[way,], biases[way,], errors[way,], level, _PLACES[way]) for (way,) in costs]
    seen = biases.get(("put in",), sensitivity.bias).filter(pl.col("errors") > 0)
    title = "Blind spots: errors that change nothing (%)" + (", of those put into the run" if views else "")
    blind = View(title, seen, schema.POSITION_BIAS, ["metric"], {"{}": "{blind}"}, "kind")
    losses = _losses(sensitivity.costs, sensitivity.bias, sensitivity.errors, level)
    first = views[0] if views else losses
    what = "What one error put into the run's own right values costs" if views else "What one error costs"
    caption = f"{what}, in points, by the position of the change in its dialogue, and the position bias "
    paper = first._replace(
        beside={"bias": "{bias} [{low}, {high}]"},
        caption=f"{caption}with its {level} interval.",
        heads={"metric": "", "bias": "Position bias"},
    )
    drawn = sensitivity.errors.row(0, named=True)
    notes = [
        "loss in points, by the position t/(n - 1) of the change in a dialogue of n turns",
        "bias: how many points more an error costs in the last turn than in the first turn of the same",
        "dialogue (slope); losses by position are means over dialogues that differ in length, too",
        "relative: the bias divided by the mean loss; intervals over dialogues",
        f"{number_of(drawn['changes'], 'change')} of gold; "
        f"{number_of(max(sensitivity.bias['dialogues'].to_list()), 'dialogue')}",
    ]
    if sensitivity.is_sample:
        at_most = f"at most {drawn['sample']} errors of each kind in a dialogue, seed {drawn['seed']}"
        notes.append(f"estimated from a sample: {at_most}")
    title = f"{what}, in points, on average over {number_of(drawn['changes'], 'change')} of gold"
    title = f"{what}, in points, on average" if views else title
    first_bias = biases.get(("put in",), sensitivity.bias)
    means = View(title, first_bias, schema.POSITION_BIAS, ["metric"], {"{}": "{loss}"}, "kind")
    return Layout(
        [*views, losses, blind], (), sentences.costs(sensitivity), "sensitivity", [paper], None, [means], notes,
        signature_lines(sensitivity.signatures), "costs by position, position bias with intervals, blind spots",
    )  # fmt: skip


def _losses(costs: pl.DataFrame, bias: pl.DataFrame, errors: pl.DataFrame, level: str, place: str = "") -> View:
    """A table per kind of error: mean loss of each metric by position, its position bias."""
    titles = {}
    for kind, number, possible in errors.filter(pl.col("errors") > 0).select("kind", "errors", "possible").iter_rows():
        drawn = f"drawn of {possible:,} " if number < possible else ""
        titles[kind] = f"{kind}: {place or sentences.ERRORS[kind][0]}; {number:,} {drawn}errors"
    of_metric = bias.select("kind", "metric", "bias", "low", "high", "relative")
    rows = costs.drop("low", "high").join(of_metric, on=["kind", "metric"], how="left", maintain_order="left")
    rows = rows.filter(pl.col("kind").is_in(titles.keys())).with_columns(
        title=pl.col("kind").replace_strict(titles, return_dtype=pl.String), bin=sentences.BIN
    )
    beside = {"bias": "{bias}", f"{level} interval": "{low} to {high}", "relative": "{relative}"}
    return View("{}", rows, _COSTS, ["metric"], {"{}": "{loss}"}, "bin", beside, "title")
