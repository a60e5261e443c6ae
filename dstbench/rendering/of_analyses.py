"""How diagnoses, traits, correlations, judgements of metrics, and costs of errors are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.analysis import findings as sentences
from dstbench.analysis.correlate import JACKKNIFE, POOLED
from dstbench.analysis.findings import Ratings
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.of_runs import units_of
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.views import Layout, View, level_of, lines, plain, text_of
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
_TIMED: Final = plain("missed", "late", **{"% late": "late_share", "over": "over", "early": "early",
                                           "% early": "early_share"})  # fmt: skip
# The interval of Zou, which may differ from p in whether there is a difference.
_ZOU: Final = {"by Zou (2007)": "{zou_low} to {zou_high}{zou_differs}"}
_TEST: Final = plain("test", "statistic", "df", "p")
_R: Final = {"{}": "{r} [{low}, {high}]"}
_BIN: Final = pl.format("{} to {}", pl.col("low").round(3), pl.col("high").round(3))


def diagnosis(diagnosis: Diagnosis) -> Layout:
    """Where runs fail: dialogues that fail, their first failures, JGA by turn and length, and errors by class."""
    few, failing = diagnosis.runs["few_slots"].item(0), pl.col("failing")
    runs = diagnosis.runs.with_columns(failing_share=failing / pl.col("dialogues"))
    of_runs = plain("dialogues", "turns", "failing") | {
        "% failing": "{failing_share:share}", "recovered": "{recovered}", f"< {few} gold slots": "{with_few_slots}",
        f"% < {few}": "{share_with_few_slots}",
    }  # fmt: skip
    slots = diagnosis.gold_slots.rename({"n_gold_max": "slots"}).sort("slots", maintain_order=True)
    n, by_run = {"{}": "{dialogues}"}, {"{}": "{value}", "n of {}": "{dialogues}"}
    early = "early: over-predicted slots whose value is gold's next one"
    views = [
        View("Dialogues; failing: the last turn is wrong; recovered: of these, right again in between",
             runs, schema.FAILURES, ["run"], of_runs),
        View("First wrong turn t of n: number of dialogues that fail (Kim et al. 2022, Fig 1)",
             diagnosis.first_failures.with_columns(_BIN.alias("t/n")), None, ["t/n"], n, "run"),
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
    # A row per run as a paper prints it: the dialogues that fail, and the slots that are wrong, by kind of error.
    rates = (pl.col(f"of_{slots}").filter(kind=kind).sum().alias(kind) for kind, slots in _ERROR_RATES[:3])
    shares = runs.join(diagnosis.errors.group_by("run").agg(rates), on="run", how="left", maintain_order="left")
    shares = shares.with_columns(recovered=pl.when(failing > 0).then(pl.col("recovered") / failing))
    cells = {"Failing": "{failing_share:share}", "Recovered": "{recovered:share}"}
    cells |= {name_of(kind).partition(" ")[0]: f"{{{kind}:share}}" for kind, _ in _ERROR_RATES[:3]}
    (turns, dialogues), *others = runs.select("turns", "dialogues").unique().iter_rows()
    caption = (
        "Where runs fail, in percent: dialogues whose last turn is wrong; of these, those with a right turn after the "
        "first wrong one; slots of gold that are missed or wrong; predicted slots not in gold."
    )
    caption += "" if others else f" {number_of(turns, 'turn')}, {number_of(dialogues, 'dialogue')}."
    paper = View("", shares, schema.FAILURES, ["run"], cells, caption=caption)
    title = "% of dialogues that fail (their last turn is wrong) and, of these, recovered in between; % of slots wrong"
    first = paper._replace(title=title, cells={f"% {name.lower()}": text for name, text in cells.items()})
    without = diagnosis.errors.filter(pl.col("n") > 0, kind="no-prediction").select("run", "n")
    return Layout(
        views, (), sentences.conclusion(diagnosis), "diagnose", [paper], None, [first],
        [f"{run}: {number_of(turns, 'turn')} without a prediction" for run, turns in without.iter_rows()],
        signature_lines(diagnosis.runs.with_columns(metric=pl.lit("jga"))),
        "first failures, JGA by turn and length, errors by class, domain and slot, timing",
    )  # fmt: skip


def _rates(title: str, errors: pl.DataFrame, by: str) -> View:
    """A row per run and group: the numbers of slots, and the share of them with each kind of error."""
    sizes, shares = ("gold", "predicted", "inactive"), {
        f"{kind}_{slots}": pl.when(pl.col(slots).first() > 0).then(pl.col(f"of_{slots}").filter(kind=kind).sum())
        for kind, slots in _ERROR_RATES
    }  # fmt: skip
    rows = errors.drop_nulls(by).group_by("run", by, maintain_order=True).agg(pl.col(sizes).first(), **shares)
    cells = plain(*sizes) | {name.replace("_", " of_"): f"{{{name}:share}}" for name in shares}
    return View(title, rows, schema.ERRORS, ["run", by], cells)


def traits(traits: Traits) -> Layout:
    """Mean scores by trait, correlations, and dialogues on which metrics disagree; not the table of all dialogues."""
    units = traits.signatures.select("metric", "unit").unique()
    bins = traits.bins.join(units, on="metric", maintain_order="left").with_columns(bin=_BIN)
    cells = {"{}": "{value:score}", "n of {}": "{dialogues}"}
    means = View("Mean scores by {}, over dialogues in which both are defined; n: number of dialogues", bins, None,
                 ["run", "bin"], cells, "metric", split="trait")  # fmt: skip
    among = {"": traits.disagreements}
    if traits.dialogues["run"].n_unique() > 1:
        among = {", of all runs": traits.pooled_disagreements, **among}
    lists = [_disagreements(rows, units, of) for of, rows in among.items() if rows.height]
    given = "Given mistakes and turns: "
    views = [
        means, *_matrices(traits.correlations), *_differences(traits.differences),
        View(f"{given}correlations, and {level_of(traits.given)} intervals", traits.given, schema.CORRELATIONS,
             ["run", "first"], _R, "second"),
        *(view._replace(title=f"{given}{view.title[0].lower()}{view.title[1:]}")
          for view in _differences(traits.given_differences)),
        *lists,
    ]  # fmt: skip
    whole = _trait_table(traits, traits.correlations)
    first, over, differences = whole, "over dialogues", traits.differences
    if traits.given.height:
        first, over = _trait_table(traits, traits.given), "given the dialogue's mistakes and turns"
        differences = traits.given_differences
    about = lines(
        ("shares in %; --format csv or json lists every dialogue", True),
        *_about_intervals(traits.correlations, traits.differences),
        ("p of differences are two-sided, adjusted by Holm for those of a table", traits.differences.height > 1),
    )
    signatures = signature_lines(traits.signatures)
    return Layout(
        views, (), sentences.differences(differences), "traits", lists[:1] or [whole],
        [*about[not lists :], *signatures],
        [first._replace(title=f"Correlations of scores with traits, {over}", cells={"{}": "{r}"})], about, signatures,
        "mean scores by trait, intervals, dialogues on which metrics disagree",
    )  # fmt: skip


def _disagreements(rows: pl.DataFrame, units: pl.DataFrame, of: str) -> View:
    """A table per direction: the dialogues on which two metrics differ most; `of` says among which dialogues."""
    title = pl.format(f"Dialogues that {{}} scores highest above {{}}{of}", "higher", "lower").alias("title")
    for side, metric in (("high", "higher"), ("low", "lower")):
        rows = rows.join(units.rename({"metric": metric}), on=metric, maintain_order="left")
        rows = rows.with_columns(text_of(f"{{{side}:score}}").alias(side)).drop("unit")
    cells = {name: f"{{{name}:text}}" for name in ("high", "low", "turns", "mistakes")}
    return View("{}", rows.with_columns(title), schema.DISAGREEMENTS, ["run", "place", "dialogue"], cells,
                split="title", caption=f"Dialogues on which two metrics differ most{of}.")  # fmt: skip


def _trait_table(traits: Traits, correlations: pl.DataFrame) -> View:
    """A row per run: the correlation of each metric with each trait."""
    first, second = (pl.col(name).is_in(traits.bins["trait"].unique().to_list()) for name in ("first", "second"))
    pairs = correlations.filter(first, ~second).with_columns(pair=pl.format("{} {}", "second", "first"))
    heads = {pair: f"{name_of(score)}, {name_of(trait)}"
             for pair, trait, score in pairs["pair", "first", "second"].rows()}  # fmt: skip
    is_same = pairs.group_by("run").agg(pl.col("n").min() == pl.col("n").max())["n"].all()
    what = f"scores with traits of their mistakes, with {level_of(pairs)} intervals"
    caption = f"Pearson correlations over dialogues of {what}; n: number of dialogues."
    keys = ["run", "n"] if is_same else ["run"]
    return View("", pairs, schema.CORRELATIONS, keys, _R, "pair", caption=caption, heads={**heads, "n": "n"})


def correlations(correlations: Correlations) -> Layout:
    """Ratings and differences of correlations, if they were asked for, with their tests; and a matrix per run."""
    matrix, first = correlations.matrix, _differences(correlations.differences, correlations.tests)
    paper, findings, tests = first, sentences.differences(correlations.differences), list[Any]()
    if correlations.rated.height:
        ratings = Ratings(correlations)
        matrix, rated = matrix.filter(run=ratings.run), _rated(correlations, ratings)
        of = sentences.over(*rated[0].rows.select(pl.col("n", "dialogues").max(), pl.col("per").first()).row(0))
        caption = f"Correlations with people's ratings of {of}, with {level_of(matrix)} intervals."
        first, paper = [*rated, *first], [rated[0]._replace(keys=["metric"], caption=caption)]
        findings = [*sentences.best_by_ratings(correlations), *findings]
        tested = ratings.differences.filter(coefficient="pearson").drop_nulls("p").height
        adjusted = f", adjusted by Holm's method for {tested} differences," if tested > 1 else ""
        tests = [
            "intervals of rank correlations by linearised standard errors, dialogues as clusters",
            ("p: two-sided, of Pearson's r over dialogues, of the others from these standard errors", tested),
            (f"by more than chance: p{adjusted} is at most {1 - correlations.rated['level'][0]:.2g}", tested),
            ("--format csv or json has every run's", correlations.rated["run"].n_unique() > 1),
        ]
    matrices = _matrices(matrix)
    # Correlations over turns or dialogues, of all runs together if there are several.
    run = POOLED if POOLED in matrix["run"] else matrix["run"][0]
    pairs = matrix.filter(run=run)
    n = " to ".join(f"{size:,}" for size in dict.fromkeys(pairs["n"].sort().gather([0, -1])))
    per = f"{pairs['per'][0]}s"
    caption = f"Pearson correlations over {per}{' of all runs' * (run == POOLED)}, with {level_of(pairs)} intervals"
    table = View("", pairs, schema.CORRELATIONS, ["second"], _R, "first", caption=f"{caption}; n = {n}.",
                 heads={"second": ""})  # fmt: skip
    views = [*first, *matrices]
    if len(matrices) > 1 or not first:
        first = [*first, View(f"{run}: correlations over {per}", square(pairs, schema.CORRELATIONS, "{r}", ""))]
    about = lines(
        *_about_intervals(matrix, correlations.differences, correlations.rated_differences), *tests,
        ("p of differences are two-sided, adjusted by Holm for their number", correlations.differences.height > 1),
    )  # fmt: skip
    return Layout(views, (), findings or sentences.most_alike(pairs), "correlate", paper or [table], None, first,
                  about, signature_lines(correlations.signatures), "intervals, correlations of each run")  # fmt: skip


def _matrices(rows: pl.DataFrame) -> list[View]:
    """Per run, correlations below the diagonal, intervals above; and their numbers of rows, if these are unequal."""
    views = []
    for (run, _), pairs in rows.group_by("run", "rows", maintain_order=True):
        n = f", n = {pairs['n'][0]:,}" if pairs["n"].n_unique() == 1 else ""
        title = (
            f"{run}: correlations{sentences.rows_taken(pairs)}{n}; above the diagonal their {level_of(pairs)} intervals"
        )
        views.append(View(title, square(pairs, schema.CORRELATIONS, "{r}", "{low} to {high}")))
        views += [] if n else [View(f"{run}: number of rows", square(pairs, schema.CORRELATIONS, "{n}", ""))]
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


def _differences(rows: pl.DataFrame, tests: pl.DataFrame | None = None) -> list[View]:
    """Differences with interval and p over dialogues and Zou's interval; tests."""
    if rows.is_empty():
        return []
    n = pl.when(pl.col("n_first") != pl.col("n_second")).then(pl.format("{} and {}", "n_first", "n_second"))
    rows = rows.with_columns(n=n.otherwise(pl.col("n_first").cast(pl.String)), zou_differs=sentences.ZOU_DIFFERS)
    cells = {"r first": "{r_first}", "r second": "{r_second}", "difference": "{difference}", "n": "{n}"}
    uncertain = {f"{level_of(rows)} interval": "{low} to {high}", "p, adjusted": "{p_adjusted}"}
    uncertain |= {} if rows["zou_low"].is_null().all() else _ZOU
    parts = {f"Differences of correlations{sentences.rows_taken(rows)}": {**cells, **uncertain}}
    if rows.select("first", "second").n_unique() > 1:
        parts = {next(iter(parts)): cells, "Differences of correlations: intervals and p": uncertain}
    views = [_compared(title, rows, schema.CORRELATION_DIFFERENCES, part) for title, part in parts.items()]
    if tests is not None and tests.height:
        title = "Classical tests of these differences, which assume normal data"
        views.append(_compared(title, tests, schema.CORRELATION_TESTS, _TEST))
    return views


def _compared(title: str, rows: pl.DataFrame, table: Table, cells: dict[str, str]) -> View:
    """A table of compared correlations, without columns that say the same in all rows: the title has them."""
    first, second = (pl.format("r({})", pl.col(name).str.replace(",", ", ")) for name in ("first", "second"))
    run = pl.when(pl.col("run") == pl.col("other_run")).then("run").otherwise(pl.format("{} - {}", "run", "other_run"))
    of = pl.when(pl.col("first") == pl.col("second")).then(first).otherwise(pl.format("{} - {}", first, second))
    rows, shown = rows.with_columns(run=run, of=of), {"of": "{of}", **cells}
    if rows["of"].n_unique() == 1 and " - " in rows["of"][0]:
        heads = dict(zip(("r first", "r second"), rows["of"][0].split(" - "), strict=True))
        shown = {heads.get(name, name): text for name, text in shown.items()}
    for name, words in {"of": ": {}", "n": "; n = {}", "test": "; {}", "df": ", df = {}"}.items():
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


def _rated(correlations: Correlations, ratings: Ratings) -> list[View]:
    """Each metric's correlations with the ratings, and the differences between the best metric and each other one."""
    coefficients = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}
    run, rated, differences = ratings.run, correlations.rated, correlations.rated_differences
    named = pl.col("coefficient").replace(coefficients)
    rows = rated.filter(run=run).with_columns(named)
    level, sizes = level_of(rows), rows.select("n", "dialogues", "per").unique()
    size = [] if sizes.height == 1 else ["n"]
    n = f"n: rated {rows['per'][0]}s" if size else f"n = {sentences.over(*sizes.row(0))}"
    others = differences.clear() if ratings.best is None else ratings.leads()
    others = others.with_columns(named, zou_differs=sentences.ZOU_DIFFERS).rename({"other": "than"})
    others = others.sort(pl.col("coefficient").cast(pl.Enum([*coefficients.values()])), maintain_order=True)
    cells = {**plain("coefficient", "difference"), f"{level} interval": "{low} to {high}",
             "p, adjusted": "{p_adjusted}"}  # fmt: skip
    cells |= {**({} if others["zou_low"].is_null().all() else _ZOU), **plain(*size)}
    return [
        View(f"{run}: correlations with the ratings, with {level} intervals; {n}", rows, schema.RATED,
             ["metric", *size], {"{}": "{value} [{low}, {high}]"}, "coefficient"),
        View(f"{run}: {ratings.best} less others, where both are defined; p adjusted by Holm, for each coefficient",
             others, schema.RATED_DIFFERENCES, ["than"], cells),
        View(f"{run}: classical tests of Pearson's r, which assume normal data",
             differences.filter(pl.col("test") != JACKKNIFE, run=run, coefficient="pearson"),
             schema.RATED_DIFFERENCES, ["metric", "other"], _TEST),
        View("Pearson's r with the ratings, by run",
             rated.filter(pl.col("run").n_unique() > 1, coefficient="pearson"),
             schema.RATED, ["metric"], {"{}": "{value}"}, "run"),
    ]  # fmt: skip


def metric_comparison(compared: MetricComparison) -> Layout:
    """Spread and pairs told apart, a matrix of tau, the metrics whose orders agree least, and correlations."""
    runs, sizes = number_of(compared.scores["run"].n_unique(), "run"), compared.power["pairs"].unique().to_list()
    pairs = sizes[0] if len(sizes) == 1 else 0  # the same by all metrics
    validity, reliability, dependence = compared.validity, compared.reliability, compared.dependence
    along, spread = next(iter(validity["along"]), ""), _spread(compared, runs, pairs)
    taus = compared.agreement.with_columns(reversed=pl.when(pl.col("tau").is_not_null()).then("reversed"))
    matrix = square(taus, schema.RANK_AGREEMENT, "{tau}", "{reversed}", "metric") if taus.height else taus
    # The pairs of metrics that reverse pairs of runs, those that agree least first.
    alike = taus.filter(pl.col("reversed") > 0).sort("tau", nulls_last=True, maintain_order=True)
    turned = [sentences.reversed_pairs(compared, *both) for both in alike.select("first", "second").iter_rows()]
    alike = alike.with_columns(pl.Series("turned", turned, pl.String), metrics=pl.format("{}, {}", "first", "second"))
    of_alike = {"tau": "{tau}", **({level_of(alike): "{low} to {high}"} if alike["level"].count() else {}),
                "reversed: better by the first/better by the second": "{turned}"}  # fmt: skip
    partial = {"partial": "r", "partial_low": "low", "partial_high": "high"}
    views = [
        View(f"Agreement with the order along {along}, and {level_of(validity)} intervals", validity.with_columns(
                 pl.col("measure").replace({"somers_d": "Somers' d", "soft_accuracy": "soft accuracy"})
             ), schema.VALIDITY, ["metric"], {"{}": "{value} [{low}, {high}]"}, "measure"),
        View("Reliability: pairs of runs that random halves of dialogues order otherwise (%), and "
             f"{level_of(reliability)} intervals", reliability, schema.RELIABILITY, ["metric"],
             {"swap rate": "{swap_rate} [{low:share}, {high:share}]", "tau of halves": "{tau_halves}",
              "tau of all": "{tau_full}"}),
        View("Pairs of runs that so many dialogues, drawn at random, order as all do (%)",
             compared.sizes, schema.SAMPLE_SIZES, ["metric"], {"{}": "{alike}"}, "dialogues"),
        spread,
        View("Kendall's tau of two metrics' orders; above the diagonal the pairs of runs that they reverse", matrix),
        View("Metrics that reverse pairs of runs, the least alike first", alike, schema.RANK_AGREEMENT, ["metrics"],
             of_alike).head(10),
        View(f"Correlations of dialogues' scores with traits, and {level_of(dependence)} intervals",
             dependence, schema.DEPENDENCE, ["metric"], _R, "trait"),
        View("The same given the dialogue's numbers of mistakes and turns",
             dependence.drop("r", "low", "high").rename(partial), schema.DEPENDENCE, ["metric"], _R, "trait"),
    ]  # fmt: skip
    caption = f"Metrics over {runs} (%): mean and standard deviation over runs, and range."
    if "apart" in spread.cells:
        caption += f" Apart: {f'of {pairs:,} ' if pairs else ''}pairs of runs, those that the metric tells apart."
    alone = ("runs", "mean", "sd", "lowest", "highest", "range")
    others = {title: text for title, text in spread.cells.items() if title not in alone}
    paper = spread._replace(cells={"mean": "{mean} ±{sd}", "range": "{range}", **others}, caption=caption)
    paper = paper._replace(heads={name: name.capitalize() for name in paper.cells if name != "sd/se"})
    # First the smallest table: how each metric orders runs of a known order, how reliably, and what it tells apart.
    rows, units, swaps, short = spread.rows, units_of(compared.scores), "", dict[str, str]()
    kept = [title for title in spread.cells if title not in ("lowest", "highest")]
    if reliability.height:
        rows = rows.join(reliability.select("metric", "swap_rate"), on="metric")
        kept, short = ["mean", "sd", "sd/se", "apart"], {"swap rate": "{swap_rate:share}"}
        swaps = "; swap rate: % of pairs that random halves order otherwise"
    if validity.height:
        tau = validity.filter(measure="tau").select("metric", "value", "low", "high")
        soft = validity.filter(measure="soft_accuracy").select("metric", soft="value")
        for measure in (tau, soft):
            rows = rows.join(measure, on="metric", maintain_order="left")
        short = {f"tau along {along}": "{value:r} [{low:r}, {high:r}]", "pairs right": "{soft:share}", **short}
        kept = ["sd/se", "apart"]
        swaps += f"; pairs right: % of pairs ordered as by {along}, each counted by how surely (soft accuracy)"
    short |= {title: text for title, text in spread.cells.items() if title in kept}
    said = [*sentences.which_metric(compared), *sentences.metrics_apart(compared)]
    about, signatures = _how_compared(compared), signature_lines(compared.scores.drop_nulls("signature"))
    rest = lines(("agreement of orders", taus.height), ("correlations with traits", dependence.height),
                 "how all was computed")  # fmt: skip
    return Layout(
        views, [units + swaps], said, "compare-metrics", [paper], [units, *about[0], *signatures],
        [spread._replace(rows=rows, cells=short)], [*about[0], *about[1]], signatures, ", ".join(rest),
    )  # fmt: skip


def _spread(compared: MetricComparison, runs: str, pairs: int) -> View:
    """A row per metric: spread, signal to noise, and the pairs that it tells apart."""
    number = ["runs"] if compared.spread["runs"].n_unique() > 1 else []  # else the title has their number
    rows, cells = compared.spread, plain(*number, "mean", "sd", "lowest", "highest", "range")
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
    of = f", {number_of(pairs, 'pair')}" if pairs else ""
    table = Table(**{**schema.POWER.columns, **schema.SPREAD.columns})
    return View(f"Metrics over {runs}{of}", rows, table, ["metric"], cells)


def _how_compared(compared: MetricComparison) -> tuple[list[str], list[str]]:
    """How spread and the pairs told apart were computed; and orders, correlations and intervals."""
    power, errors = compared.power, [metric for metric in compared.spread["metric"] if sign_of(metric) == -1]
    design: dict[str, Any] = next(compared.design.iter_rows(named=True), {"level": 0, "adjustment": "none"})
    alpha, adjustment, has_pairs = f"{1 - design['level']:.4g}", design["adjustment"], power["pairs"].sum() > 0
    is_adjusted = has_pairs and adjustment != "none"
    untestable = power.filter(pl.col("untestable") > 0).select(pl.format("{} ({})", "metric", "untestable")).to_series()
    adjusted = "adjusted " if is_adjusted else ""
    lowest = f"; by {', '.join(errors)}, the lowest" if errors else ""
    halves, resamples = next(iter(compared.reliability["halves"]), 0), compared.design.height
    of_spread = lines(
        "sd, range: over runs",
        ("sd/se: sd over runs divided by the mean standard error of a paired difference over the root of 2",
         compared.spread["signal_to_noise"].count()),
        (f"apart: pairs of runs with p at most {alpha}; p: two-sided, {design.get('test')}", has_pairs),
        (f"{adjustment}: the same with p adjusted for the number of pairs", is_adjusted),
        (f"pairs whose {adjusted}p cannot reach {alpha} (resamples, dialogues): {', '.join(untestable)}",
         has_pairs and len(untestable)),
        (f"detectable: the difference that the {adjusted}test detects with 80 % power, median over the pairs",
         has_pairs),
        *[f"{one['resamples']:,} resamples of dialogues, seed {one['seed']}" for one in [design] if resamples],
    )  # fmt: skip
    return of_spread, lines(
        (f"orders: from the best run to the worst: the highest score first{lowest}", compared.agreement.height),
        ("correlations: Pearson's, over all runs' dialogues; for intervals, each is left out in all runs",
         compared.dependence.height),
        ("accuracy: pairs that have an order and are ordered so; soft: 1 less the one-sided p of this",
         compared.validity.height),
        (f"reliability: {halves:,} random halves; tau of all: between test sets as large (Spearman-Brown)", halves),
        ("other intervals: by resampling dialogues, tau's corrected for noise; none where few pairs are decided",
         resamples),
        ("two metrics differ: p by resampling dialogues, adjusted by Holm for the pairs of metrics",
         compared.contests.height),
    )  # fmt: skip


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
    blind = f"Blind spots: errors that change nothing (%){', of those put into the run' if own else ''}"
    caption = (
        f"{what}, in points, by the position of the change in its dialogue, and the position bias with its {level}"
    )
    paper = (own[0] if own else losses)._replace(
        beside={"bias": "{bias} [{low}, {high}]"}, caption=f"{caption} interval.",
        heads={"metric": "", "bias": "Position bias"},
    )  # fmt: skip
    drawn = sensitivity.errors.row(0, named=True)
    changes = f"{number_of(drawn['changes'], 'change')} of gold"
    sample = f"at most {drawn['sample']} errors of each kind in a dialogue, seed {drawn['seed']}"
    about = lines(
        "loss in points, by the position t/(n - 1) of the change in a dialogue of n turns",
        "bias: how many points more an error costs in the last turn than in the first turn of the same",
        "dialogue (slope); losses by position are means over dialogues that differ in length, too",
        "relative: the bias divided by the mean loss; intervals over dialogues",
        f"{changes}; {number_of(max(sensitivity.bias['dialogues'].to_list()), 'dialogue')}",
        (f"estimated from a sample: {sample}", sensitivity.is_sample),
    )
    by_kind = View(f"{what}, in points, on average{'' if own else f' over {changes}'}", bias, schema.POSITION_BIAS,
                   ["metric"], {"{}": "{loss}"}, "kind")  # fmt: skip
    spots = by_kind._replace(title=blind, rows=bias.filter(pl.col("errors") > 0), cells={"{}": "{blind}"})
    return Layout(
        [*own, losses, spots], (), sentences.costs(sensitivity), "sensitivity", [paper], None, [by_kind], about,
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
    table = Table(**{**schema.POSITION_BIAS.columns, **schema.ERROR_COSTS.columns})
    return View("{}", rows, table, ["metric"], {"{}": "{loss}"}, "bin", beside, "title")
