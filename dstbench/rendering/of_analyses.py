"""How diagnoses, traits, correlations, judgements of metrics, and costs of errors are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis import findings as sentences
from dstbench.analysis.associations import JACKKNIFE, POOLED
from dstbench.analysis.findings import Ratings
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.of_runs import units_of
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.views import Layout, View, filled, level_of, lines, plain, text_of
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
_TEST: Final = plain("test", "statistic", "df", "p")
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
    n, by_run = {"{}": "{dialogues}"}, {"{}": "{value}", "n of {}": "{dialogues}"}
    early = "early: over-predicted slots whose value is gold's next one"
    views = [
        View("Dialogues; failing: the last turn is wrong; recovered: of these, right again in between",
             runs, schema.FAILURES, ["run"], of_runs),
        View("First wrong turn t of n: number of dialogues that fail (Kim et al. 2022, Fig 1)",
             failures, None, ["t/n"], n, "run"),
        View("Largest number of gold slots in a turn: number of dialogues (Kim et al. 2022, Fig 2)",
             slots, None, ["slots"], n, "run"),
        View("JGA by turn, in percent",
             diagnosis.by_turn.sort("turn", maintain_order=True), SCORES, ["turn"], by_run, "run"),
        View("JGA by number of turns, in percent",
             diagnosis.by_length.sort("length", maintain_order=True), SCORES, ["length"], by_run, "run"),
        View("Slots of turns by class; in percent of gold slots, of predicted slots, of slots not in gold",
             diagnosis.errors, schema.ERRORS, ["run", "class", "kind"],
             plain("n", "of_gold", "of_predicted", "of_inactive")),
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
    first = paper._replace(title=title, cells={f"% {name.lower()}": text for name, text in paper.cells.items()})
    rest = "first failures, JGA by turn and length, errors by class, domain and slot, timing"
    return Layout(views, (), sentences.conclusion(diagnosis), "diagnose", [paper], [*notes, *signatures], [first],
                  notes, signatures, rest)  # fmt: skip


def _failures(diagnosis: Diagnosis, runs: pl.DataFrame) -> View:
    """A row per run as a paper prints it: the dialogues that fail, and the slots that are wrong, by kind of error."""
    rates = (pl.col(f"of_{slots}").filter(kind=kind).sum().alias(kind) for kind, slots in _ERROR_RATES[:3])
    recovered = pl.when(pl.col("failing") > 0).then(pl.col("recovered") / pl.col("failing"))
    rows = runs.join(diagnosis.errors.group_by("run").agg(rates), on="run", how="left", maintain_order="left")
    cells = {"Failing": "{failing_share:share}", "Recovered": "{recovered:share}"}
    cells |= {name_of(kind).partition(" ")[0]: f"{{{kind}:share}}" for kind, _ in _ERROR_RATES[:3]}
    (turns, dialogues), *others = runs.select("turns", "dialogues").unique().iter_rows()
    caption = (
        "Where runs fail, in percent: dialogues whose last turn is wrong; of these, those with a right turn after the "
        "first wrong one; slots of gold that are missed or wrong; predicted slots not in gold."
    )
    caption += "" if others else f" {number_of(turns, 'turn')}, {number_of(dialogues, 'dialogue')}."
    return View("", rows.with_columns(recovered=recovered), schema.FAILURES, ["run"], cells, caption=caption)


def _rates(title: str, errors: pl.DataFrame, by: str) -> View:
    """A row per run and group: the numbers of slots, and the share of them with each kind of error."""
    shares = {
        f"{kind}_{slots}": pl.when(pl.col(slots).first() > 0).then(pl.col(f"of_{slots}").filter(kind=kind).sum())
        for kind, slots in _ERROR_RATES
    }
    sizes = "gold", "predicted", "inactive"
    rows = errors.drop_nulls(by).group_by("run", by, maintain_order=True).agg(pl.col(sizes).first(), **shares)
    cells = plain(*sizes) | {name.replace("_", " of_"): f"{{{name}:share}}" for name in shares}
    return View(title, rows, schema.ERRORS, ["run", by], cells)


# --- traits and correlations ------------------------------------------------------------------------------------------


def traits(traits: Traits) -> Layout:
    """Mean scores by trait, correlations, and dialogues on which metrics disagree; not the table of all dialogues."""
    units = traits.signatures.select("metric", "unit").unique()
    low, high = (pl.col(name).round(3) for name in ("low", "high"))
    bins = traits.bins.join(units, on="metric", maintain_order="left")
    title = "Mean scores by {}, over dialogues in which both are defined; n: number of dialogues"
    means = View(title, bins.with_columns(bin=pl.format("{} to {}", low, high)), None, ["run", "bin"],
                 {"{}": "{value:score}", "n of {}": "{dialogues}"}, "metric", split="trait")  # fmt: skip
    several = traits.dialogues["run"].n_unique() > 1
    lists = filled(
        [
            *([_disagreements(traits.pooled_disagreements, units, ", of all runs")] if several else []),
            _disagreements(traits.disagreements, units),
        ]
    )
    given = [view._replace(title=f"Given mistakes and turns: {view.title[0].lower()}{view.title[1:]}")
             for view in _differences(traits.given_differences)]  # fmt: skip
    title = f"Given mistakes and turns: correlations, and {level_of(traits.given)} intervals"
    of_given = View(title, traits.given, schema.CORRELATIONS, ["run", "first"], _R, "second")
    views = [means, *_matrices(traits.correlations), *_differences(traits.differences),
             *filled([of_given]), *given, *lists]  # fmt: skip
    has_given = traits.given.height > 0
    first = _trait_table(traits, traits.given if has_given else traits.correlations)
    over = "given the dialogue's mistakes and turns" if has_given else "over dialogues"
    about = lines(
        *_about_intervals(traits.correlations, traits.differences),
        ("p of differences are two-sided, adjusted by Holm for those of a table", traits.differences.height > 1),
    )
    notes = ["shares in %; --format csv or json lists every dialogue", *about]
    signatures = signature_lines(traits.signatures)
    return Layout(
        views, (), sentences.differences(traits.given_differences if has_given else traits.differences), "traits",
        lists[:1] or [_trait_table(traits, traits.correlations)], [*(notes if lists else about), *signatures],
        [first._replace(title=f"Correlations of scores with traits, {over}", cells={"{}": "{r}"})], notes, signatures,
        "mean scores by trait, intervals, dialogues on which metrics disagree",
    )  # fmt: skip


def _disagreements(rows: pl.DataFrame, units: pl.DataFrame, of: str = "") -> View:
    """A table per direction: the dialogues on which two metrics differ most; `of` says among which dialogues."""
    title = pl.format(f"Dialogues that {{}} scores highest above {{}}{of}", "higher", "lower").alias("title")
    for side, metric in (("high", "higher"), ("low", "lower")):
        rows = rows.join(units.rename({"metric": metric}), on=metric, maintain_order="left")
        rows = rows.with_columns(text_of(f"{{{side}:score}}").alias(side)).drop("unit")
    cells = {name: f"{{{name}:text}}" for name in ("high", "low", "turns", "mistakes")}
    caption = f"Dialogues on which two metrics differ most{of}."
    keys = ["run", "place", "dialogue"]
    return View("{}", rows.with_columns(title), schema.DISAGREEMENTS, keys, cells, split="title", caption=caption)


def _trait_table(traits: Traits, correlations: pl.DataFrame) -> View:
    """A row per run: the correlation of each metric with each trait."""
    is_trait = {name: pl.col(name).is_in(traits.bins["trait"].unique().to_list()) for name in ("first", "second")}
    pairs = correlations.filter(is_trait["first"], ~is_trait["second"])
    rows = pairs.with_columns(pair=pl.format("{} {}", "second", "first"))
    heads = {
        pair: f"{name_of(score)}, {name_of(trait)}" for pair, trait, score in rows["pair", "first", "second"].rows()
    }
    n = pl.col("n").min() == pl.col("n").max()
    keys = ["run", "n"] if pairs.group_by("run").agg(n)["n"].all() else ["run"]
    what = f"scores with traits of their mistakes, with {level_of(pairs)} intervals"
    caption = f"Pearson correlations over dialogues of {what}; n: number of dialogues."
    return View("", rows, schema.CORRELATIONS, keys, _R, "pair", caption=caption, heads={**heads, "n": "n"})


def correlations(correlations: Correlations) -> Layout:
    """Ratings and differences of correlations, if they were asked for, with their tests; and a matrix per run."""
    matrix, differences = correlations.matrix, _differences(correlations.differences, correlations.tests)
    paper, findings, tests = differences, sentences.differences(correlations.differences), list[str]()
    first = differences
    if correlations.rated.height:
        matrix = matrix.filter(run=Ratings(correlations).run)
        rated = _rated(correlations)
        of = sentences.over(*rated[0].rows.select(pl.col("n", "dialogues").max(), pl.col("per").first()).row(0))
        caption = f"Correlations with people's ratings of {of}, with {level_of(matrix)} intervals."
        first, paper = [*rated, *differences], [rated[0]._replace(keys=["metric"], caption=caption)]
        findings, tests = [*sentences.best_by_ratings(correlations), *findings], _about_tests(correlations)
    matrices, table = _matrices(matrix), _matrix_table(matrix)
    notes = lines(
        *_about_intervals(matrix, correlations.differences, correlations.rated_differences), *tests,
        ("p of differences are two-sided, adjusted by Holm for their number", correlations.differences.height > 1),
    )  # fmt: skip
    views = [*first, *matrices]
    if len(matrices) > 1 or not first:
        of = f"{table.rows['run'][0]}: correlations over {table.rows['per'][0]}s"
        first = [*first, View(of, square(table.rows, schema.CORRELATIONS, "{r}", ""))]
    return Layout(
        views, (), findings or sentences.most_alike(table.rows), "correlate", paper or [table], None, first, notes,
        signature_lines(correlations.signatures), "intervals, correlations of each run",
    )  # fmt: skip


def _matrices(rows: pl.DataFrame) -> list[View]:
    """Per run, correlations below the diagonal, intervals above; and their numbers of rows, if these are unequal."""
    views = []
    for (run, _), pairs in rows.group_by("run", "rows", maintain_order=True):
        same = pairs["n"].n_unique() == 1
        n = f", n = {pairs['n'][0]:,}" if same else ""
        of = f"{run}: correlations{sentences.rows_taken(pairs)}{n}"
        title = f"{of}; above the diagonal their {level_of(pairs)} intervals"
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
    n = " to ".join(f"{size:,}" for size in dict.fromkeys(pairs["n"].sort().gather([0, -1])))
    of = f"{pairs['per'][0]}s{' of all runs' if run == POOLED else ''}"
    caption = f"Pearson correlations over {of}, with {level_of(pairs)} intervals; n = {n}."
    return View("", pairs, schema.CORRELATIONS, ["second"], _R, "first", caption=caption, heads={"second": ""})


def _differences(rows: pl.DataFrame, tests: pl.DataFrame | None = None) -> list[View]:
    """Differences with interval and p over dialogues and Zou's interval; tests."""
    if rows.is_empty():
        return []
    n = pl.when(pl.col("n_first") != pl.col("n_second")).then(pl.format("{} and {}", "n_first", "n_second"))
    rows = rows.with_columns(n=n.otherwise(pl.col("n_first").cast(pl.String)), zou_differs=sentences.ZOU_DIFFERS)
    cells = {"r first": "{r_first}", "r second": "{r_second}", "difference": "{difference}", "n": "{n}"}
    uncertain = {f"{level_of(rows)} interval": "{low} to {high}", "p, adjusted": "{p_adjusted}"}
    uncertain |= {} if rows["zou_low"].is_null().all() else _ZOU
    title, table = f"Differences of correlations{sentences.rows_taken(rows)}", schema.CORRELATION_DIFFERENCES
    parts = {title: {**cells, **uncertain}}
    if rows.select("first", "second").n_unique() > 1:
        parts = {title: cells, "Differences of correlations: intervals and p": uncertain}
    views = [_compared(title, rows, table, part) for title, part in parts.items()]
    if tests is not None and tests.height:
        title = "Classical tests of these differences, which assume normal data"
        views.append(_compared(title, tests, schema.CORRELATION_TESTS, _TEST))
    return views


# Columns that the title has if all rows have the same text, and how.
_IN_TITLE: Final = {"of": ": {}", "n": "; n = {}", "test": "; {}", "df": ", df = {}"}


def _compared(title: str, rows: pl.DataFrame, table: Table, cells: Mapping[str, str]) -> View:
    """A table of compared correlations, without columns that say the same in all rows: the title has them."""
    first, second = (pl.format("r({})", pl.col(name).str.replace(",", ", ")) for name in ("first", "second"))
    run = pl.when(pl.col("run") == pl.col("other_run")).then("run").otherwise(pl.format("{} - {}", "run", "other_run"))
    of = pl.when(pl.col("first") == pl.col("second")).then(first).otherwise(pl.format("{} - {}", first, second))
    rows = rows.with_columns(run=run, of=of)
    shown = {"of": "{of}", **cells}
    if rows["of"].n_unique() == 1 and " - " in rows["of"][0]:
        heads = dict(zip(("r first", "r second"), rows["of"][0].split(" - "), strict=True))
        shown = {heads.get(name, name): text for name, text in shown.items()}
    for name, words in _IN_TITLE.items():
        if name in shown and rows[name].n_unique() == 1:
            del shown[name]
            value = str(rows[name][0] or "")
            title += words.replace("{}", f"{int(value):,}" if value.isdecimal() else value) if value else ""
    return View(title, rows, table, ["run"], shown)


def _about_intervals(matrix: pl.DataFrame, *differences: pl.DataFrame) -> list[str]:
    """How the intervals were computed."""
    whole = " with all its turns and runs" if matrix["fisher_low"].is_null().any() else ""
    what = "intervals and p" if any(rows.height for rows in differences) else "intervals"
    has_zou = any(rows["zou_low"].is_not_null().any() for rows in differences)
    return lines(
        f"{what} over dialogues: each is left out in turn{whole}",
        ("--format csv or json has Fisher's intervals, which assume normal data, too", matrix["fisher_low"].count()),
        ("Zou's intervals assume independent rows of normal data; where one differs, go by p", has_zou),
    )


# --- ratings ----------------------------------------------------------------------------------------------------------

_COEFFICIENTS: Final = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}


def _rated(correlations: Correlations) -> list[View]:
    """Each metric's correlations with the ratings, and the differences between the best metric and each other one."""
    ratings, rated = Ratings(correlations), correlations.rated
    run, best = ratings.run, ratings.best
    named = pl.col("coefficient").replace(_COEFFICIENTS)
    rows, differences = rated.filter(run=run), correlations.rated_differences
    level, sizes = level_of(rows), rows.select("n", "dialogues", "per").unique()
    size = [] if sizes.height == 1 else ["n"]
    n = f"n: rated {rows['per'][0]}s" if size else f"n = {sentences.over(*sizes.row(0))}"
    order = pl.col("coefficient").cast(pl.Enum([*_COEFFICIENTS.values()]))
    others = (differences.clear() if best is None else ratings.leads()).with_columns(
        named, zou_differs=sentences.ZOU_DIFFERS
    )
    others = others.sort(order, maintain_order=True).rename({"other": "than"})
    cells = {"coefficient": "{coefficient}", "difference": "{difference}", f"{level} interval": "{low} to {high}",
             "p, adjusted": "{p_adjusted}"}  # fmt: skip
    cells |= {**({} if others["zou_low"].is_null().all() else _ZOU), **plain(*size)}
    values = {"{}": "{value} [{low}, {high}]"}
    several = rated["run"].n_unique() > 1
    return filled([
        View(f"{run}: correlations with the ratings, with {level} intervals; {n}",
             rows.with_columns(named), schema.RATED, ["metric", *size], values, "coefficient"),
        View(f"{run}: {best} less others, where both are defined; p adjusted by Holm, for each coefficient",
             others, schema.RATED_DIFFERENCES, ["than"], cells),
        View(f"{run}: classical tests of Pearson's r, which assume normal data",
             differences.filter(pl.col("test") != JACKKNIFE, run=run, coefficient="pearson"),
             schema.RATED_DIFFERENCES, ["metric", "other"], _TEST),
        View("Pearson's r with the ratings, by run", rated.filter(several, coefficient="pearson"),
             schema.RATED, ["metric"], {"{}": "{value}"}, "run"),
    ])  # fmt: skip


def _about_tests(correlations: Correlations) -> list[str]:
    """How the intervals and tests of agreement were computed."""
    tests = Ratings(correlations).differences.filter(coefficient="pearson").drop_nulls("p")
    of = f", adjusted by Holm's method for {tests.height} differences," if tests.height > 1 else ""
    alpha = 1 - correlations.rated["level"][0]
    return lines(
        "intervals of rank correlations by linearised standard errors, dialogues as clusters",
        ("p: two-sided, of Pearson's r over dialogues, of the others from these standard errors", tests.height),
        (f"by more than chance: p{of} is at most {alpha:.2g}", tests.height),
        ("--format csv or json has every run's", correlations.rated["run"].n_unique() > 1),
    )


# --- metrics ----------------------------------------------------------------------------------------------------------

_MOST_METRICS: Final = 10
_MEASURES: Final = {"somers_d": "Somers' d", "soft_accuracy": "soft accuracy"}


def metric_comparison(compared: MetricComparison) -> Layout:
    """Spread and pairs told apart, a matrix of tau, the metrics whose orders agree least, and correlations."""
    runs, sizes = compared.scores["run"].n_unique(), compared.power["pairs"].unique().to_list()
    pairs = sizes[0] if len(sizes) == 1 else 0  # the same by all metrics
    spread = _spread(compared, pairs)
    along = next(iter(compared.validity["along"]), "")
    taus = compared.agreement.with_columns(reversed=pl.when(pl.col("tau").is_not_null()).then("reversed"))
    matrix = square(taus, schema.RANK_AGREEMENT, "{tau}", "{reversed}", "metric") if taus.height else taus
    given = compared.dependence.drop("r", "low", "high").rename(
        {"partial": "r", "partial_low": "low", "partial_high": "high"}
    )
    of_traits = {"{}": "{r} [{low}, {high}]"}
    reliability = {"swap rate": "{swap_rate} [{low:share}, {high:share}]"}
    reliability |= {"tau of halves": "{tau_halves}", "tau of all": "{tau_full}"}
    views = filled([
        View(f"Agreement with the order along {along}, and {level_of(compared.validity)} intervals",
             compared.validity.with_columns(pl.col("measure").replace(_MEASURES)), schema.VALIDITY, ["metric"],
             {"{}": "{value} [{low}, {high}]"}, "measure"),
        View("Reliability: pairs of runs that random halves of dialogues order otherwise (%), and "
             f"{level_of(compared.reliability)} intervals",
             compared.reliability, schema.RELIABILITY, ["metric"], reliability),
        View("Pairs of runs that so many dialogues, drawn at random, order as all do (%)",
             compared.sizes, schema.SAMPLE_SIZES, ["metric"], {"{}": "{alike}"}, "dialogues"),
        spread,
        View("Kendall's tau of two metrics' orders; above the diagonal the pairs of runs that they reverse", matrix),
        _least_alike(compared),
        View(f"Correlations of dialogues' scores with traits, and {level_of(compared.dependence)} intervals",
             compared.dependence, schema.DEPENDENCE, ["metric"], of_traits, "trait"),
        View("The same given the dialogue's numbers of mistakes and turns",
             given, schema.DEPENDENCE, ["metric"], of_traits, "trait"),
    ])  # fmt: skip
    about, signatures = _about_spread(compared), signature_lines(compared.scores.drop_nulls("signature"))
    caption = f"Metrics over {number_of(runs, 'run')} (%): mean and standard deviation over runs, and range."
    if "apart" in spread.cells:
        caption += f" Apart: {f'of {pairs:,} ' if pairs else ''}pairs of runs, those that the metric tells apart."
    of_runs = ("runs", "mean", "sd", "lowest", "highest", "range")
    cells = {"mean": "{mean} ±{sd}", "range": "{range}"}
    cells |= {title: text for title, text in spread.cells.items() if title not in of_runs}
    heads = {name: name.capitalize() for name in cells if name != "sd/se"}
    paper = spread._replace(cells=cells, caption=caption, heads=heads)
    parts = {"agreement of orders": taus.height, "correlations with traits": compared.dependence.height}
    rest = ", ".join([*(words for words, rows in parts.items() if rows), "how all was computed"])
    short = {name: text for name, text in spread.cells.items() if name not in ("lowest", "highest")}
    first = _in_short(compared, spread) if compared.reliability.height else spread._replace(cells=short)
    return Layout(
        views, about[:1], [*sentences.which_metric(compared), *sentences.metrics_apart(compared)], "compare-metrics",
        [paper], [*about, *signatures], [first], [*about[1:], *_about_orders(compared)], signatures, rest,
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


def _spread(compared: MetricComparison, pairs: int) -> View:
    """A row per metric: spread, signal to noise, and the pairs that it tells apart."""
    runs = ["runs"] if compared.spread["runs"].n_unique() > 1 else []  # else the title has their number
    rows, cells = compared.spread, dict(plain(*runs, "mean", "sd", "lowest", "highest", "range"))
    if rows["signal_to_noise"].count():
        cells["sd/se"] = "{signal_to_noise}"
    if compared.power["pairs"].sum():
        apart = (pl.when(pl.col(name.replace("apart", "power")).is_not_null()).then(name).alias(name)
                 for name in ("apart", "apart_adjusted"))  # fmt: skip
        power = compared.power.select("metric", "pairs", *apart, "median_detectable")
        rows = rows.join(power, on="metric", how="left", maintain_order="left")
        adjustment = compared.power["adjustment"][0]
        cells |= ({} if pairs else {"pairs": "{pairs}"}) | {"apart": "{apart}"}
        cells |= {} if adjustment == "none" else {adjustment: "{apart_adjusted}"}
        cells["detectable"] = "{median_detectable}"
    number, of = number_of(compared.scores["run"].n_unique(), "run"), f", {number_of(pairs, 'pair')}" if pairs else ""
    table = Table("", "", **{**schema.POWER.columns, **schema.SPREAD.columns})
    return View(f"Metrics over {number}{of}", rows, table, ["metric"], cells)


def _least_alike(compared: MetricComparison) -> View:
    """The pairs of metrics that reverse pairs of runs, those that agree least first."""
    rows = compared.agreement.filter(pl.col("reversed") > 0).sort("tau", nulls_last=True, maintain_order=True)
    pairs = [sentences.reversed_pairs(compared, *both) for both in rows.select("first", "second").iter_rows()]
    rows = rows.with_columns(pl.Series("turned", pairs, pl.String), metrics=pl.format("{}, {}", "first", "second"))
    cells = {"tau": "{tau}", **({level_of(rows): "{low} to {high}"} if rows["level"].count() else {})}
    cells["reversed: better by the first/better by the second"] = "{turned}"
    title = "Metrics that reverse pairs of runs, the least alike first"
    return View(title, rows, schema.RANK_AGREEMENT, ["metrics"], cells).head(_MOST_METRICS)


def _about_spread(compared: MetricComparison) -> list[str]:
    """How spread and the pairs told apart were computed."""
    about = [units_of(compared.scores), "sd, range: over runs"]
    if compared.design.is_empty():
        return about
    design, power = compared.design.row(0, named=True), compared.power
    alpha, adjustment, has_pairs = f"{1 - design['level']:.4g}", design["adjustment"], power["pairs"].sum() > 0
    is_adjusted = has_pairs and adjustment != "none"
    untestable = power.filter(pl.col("untestable") > 0).select(pl.format("{} ({})", "metric", "untestable")).to_series()
    adjusted = "adjusted " if is_adjusted else ""
    return lines(
        *about,
        ("sd/se: sd over runs divided by the mean standard error of a paired difference over the root of 2",
         compared.spread["signal_to_noise"].count()),
        (f"apart: pairs of runs with p at most {alpha}; p: two-sided, {design['test']}", has_pairs),
        (f"{adjustment}: the same with p adjusted for the number of pairs", is_adjusted),
        (f"pairs whose {adjusted}p cannot reach {alpha} (resamples, dialogues): {', '.join(untestable)}",
         has_pairs and len(untestable)),
        (f"detectable: the difference that the {adjusted}test detects with 80 % power, median over the pairs",
         has_pairs),
        f"{design['resamples']:,} resamples of dialogues, seed {design['seed']}",
    )  # fmt: skip


def _about_orders(compared: MetricComparison) -> list[str]:
    """How the agreement of orders and the correlations were computed."""
    errors = [metric for metric in compared.spread["metric"] if sign_of(metric) == -1]
    lowest = f"; by {', '.join(errors)}, the lowest" if errors else ""
    halves = next(iter(compared.reliability["halves"]), 0)
    return lines(
        (f"orders: from the best run to the worst: the highest score first{lowest}", compared.agreement.height),
        ("correlations: Pearson's, over all runs' dialogues; for intervals, each is left out in all runs",
         compared.dependence.height),
        ("accuracy: pairs that have an order and are ordered so; soft: 1 less the one-sided p of this",
         compared.validity.height),
        (f"reliability: {halves:,} random halves; tau of all: between test sets as large (Spearman-Brown)", halves),
        ("other intervals: by resampling dialogues, tau's corrected for noise; none where few pairs are decided",
         compared.design.height),
        ("two metrics differ: p by resampling dialogues, adjusted by Holm for the pairs of metrics",
         compared.contests.height),
    )  # fmt: skip


# --- costs of errors --------------------------------------------------------------------------------------------------

_COSTS: Final = Table("", "", **{**schema.POSITION_BIAS.columns, **schema.ERROR_COSTS.columns})
# Where errors are, by their way.
_PLACES: Final = {"put in": "put into the run's own right values", "mended": "mended in the run (a gain)"}


def sensitivity(sensitivity: Sensitivity) -> Layout:
    """A table per kind of error that was made: mean loss of each metric by position, and its position bias."""
    costs, biases, errors = (
        frame.partition_by("way", as_dict=True, maintain_order=True)
        for frame in (sensitivity.own_costs, sensitivity.own_bias, sensitivity.own_errors)
    )
    own = [_losses(costs[way,], biases[way,], errors[way,], _PLACES[way]) for (way,) in costs]
    losses = _losses(sensitivity.costs, sensitivity.bias, sensitivity.errors)
    bias, level = biases.get(("put in",), sensitivity.bias), level_of(sensitivity.bias)
    what = "What one error put into the run's own right values costs" if own else "What one error costs"
    title = f"Blind spots: errors that change nothing (%){', of those put into the run' if own else ''}"
    blind = View(title, bias.filter(pl.col("errors") > 0), schema.POSITION_BIAS, ["metric"], {"{}": "{blind}"}, "kind")
    caption = (
        f"{what}, in points, by the position of the change in its dialogue, and the position bias with its {level}"
    )
    paper = (own[0] if own else losses)._replace(
        beside={"bias": "{bias} [{low}, {high}]"}, caption=f"{caption} interval.",
        heads={"metric": "", "bias": "Position bias"},
    )  # fmt: skip
    drawn = sensitivity.errors.row(0, named=True)
    changes = f"{number_of(drawn['changes'], 'change')} of gold"
    dialogues = number_of(max(sensitivity.bias["dialogues"].to_list()), "dialogue")
    sample = f"at most {drawn['sample']} errors of each kind in a dialogue, seed {drawn['seed']}"
    notes = lines(
        "loss in points, by the position t/(n - 1) of the change in a dialogue of n turns",
        "bias: how many points more an error costs in the last turn than in the first turn of the same",
        "dialogue (slope); losses by position are means over dialogues that differ in length, too",
        "relative: the bias divided by the mean loss; intervals over dialogues",
        f"{changes}; {dialogues}",
        (f"estimated from a sample: {sample}", sensitivity.is_sample),
    )
    title = f"{what}, in points, on average{'' if own else f' over {changes}'}"
    means = View(title, bias, schema.POSITION_BIAS, ["metric"], {"{}": "{loss}"}, "kind")
    return Layout(
        [*own, losses, blind], (), sentences.costs(sensitivity), "sensitivity", [paper], None, [means], notes,
        signature_lines(sensitivity.signatures), "costs by position, position bias with intervals, blind spots",
    )  # fmt: skip


def _losses(costs: pl.DataFrame, bias: pl.DataFrame, errors: pl.DataFrame, place: str = "") -> View:
    """A table per kind of error: mean loss of each metric by position, its position bias."""
    titles = {}
    for kind, number, possible in errors.filter(pl.col("errors") > 0).select("kind", "errors", "possible").iter_rows():
        drawn = f"drawn of {possible:,} " if number < possible else ""
        titles[kind] = f"{kind}: {place or sentences.ERRORS[kind][0]}; {number:,} {drawn}errors"
    of_metric = bias.select("kind", "metric", "bias", "low", "high", "relative")
    rows = costs.drop("low", "high").join(of_metric, on=["kind", "metric"], how="left", maintain_order="left")
    title = pl.col("kind").replace_strict(titles, return_dtype=pl.String)
    rows = rows.filter(pl.col("kind").is_in(titles.keys())).with_columns(title=title, bin=sentences.BIN)
    beside = {"bias": "{bias}", f"{level_of(bias)} interval": "{low} to {high}", "relative": "{relative}"}
    return View("{}", rows, _COSTS, ["metric"], {"{}": "{loss}"}, "bin", beside, "title")
