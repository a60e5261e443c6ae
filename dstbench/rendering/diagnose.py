"""Diagnoses, traits and correlations as text, Markdown, LaTeX, CSV or JSON.

Text, Markdown and LaTeX show shares in percent, with runs side by side in tables that have room for it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.associations import POOLED
from dstbench.analysis.conclusion import conclusion
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of
from dstbench.rendering.differences import difference_sections, differences_in_words, rows_taken
from dstbench.rendering.latex import PaperTable, cell
from dstbench.rendering.ratings import about_tests, finding, rated_sections, rated_table, shown_run
from dstbench.rendering.tables import (
    UNDEFINED,
    Page,
    apart,
    brackets,
    counts,
    escape_lines,
    interval_text,
    paper_table,
    pivoted,
    render_page,
    renderer,
    share_text,
    side_by_side,
    signature_lines,
    texts,
    three_decimals,
    value_text,
)
from dstbench.scoring.timing import TIMING
from dstbench.typing import TableFormat

if TYPE_CHECKING:
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits

# The rates of kinds of errors, each with the slots that it is a share of.
_ERROR_RATES: Final = (("missed", "gold"), ("wrong", "gold"), ("over", "predicted"), ("over", "inactive"))
# The range of a bin.
_BIN: Final = pl.format("{} to {}", pl.col("low").round(3), pl.col("high").round(3))


# --- diagnoses --------------------------------------------------------------------------------------------------------


def diagnosis_page(diagnosis: Diagnosis) -> Page:
    """Where runs fail: dialogues that fail, their first failures, JGA by turn and length, and errors by class."""
    few = diagnosis.runs["few_slots"].item(0)
    runs = diagnosis.runs.select(
        "run",
        *texts("dialogues", "turns", "failing"),
        share_text(pl.col("failing") / pl.col("dialogues"), "% failing"),
        *texts("recovered", **{f"< {few} gold slots": "with_few_slots"}),
        share_text("share_with_few_slots", f"% < {few}"),
    )
    failures = diagnosis.first_failures.select("run", _BIN.alias("t/n"), *texts("dialogues"))
    slots = diagnosis.gold_slots.select("run", pl.col("n_gold_max").alias("slots"), *texts("dialogues")).sort(
        "slots", maintain_order=True
    )
    classes = diagnosis.errors.select(
        "run", "class", "kind", *texts("n"), *(share_text(name) for name in ("of_gold", "of_predicted", "of_inactive"))
    )
    sections = [
        ("Dialogues; failing: the last turn is wrong; recovered: of these, right again in between", runs),
        (
            "First wrong turn t of n: number of dialogues that fail (Kim et al. 2022, Fig 1)",
            _by_run(failures, "t/n", "dialogues"),
        ),
        (
            "Largest number of gold slots in a turn: number of dialogues (Kim et al. 2022, Fig 2)",
            _by_run(slots, "slots", "dialogues"),
        ),
        ("JGA by turn, in percent", _scores_by_run(diagnosis.by_turn, "turn")),
        ("JGA by number of turns, in percent", _scores_by_run(diagnosis.by_length, "length")),
        ("Slots of turns by class; in percent of gold slots, of predicted slots, of slots not in gold", classes),
        (
            "Timing of errors; late: missed slots whose value is predicted later; early: over-predicted slots whose "
            "value is gold's next one",
            _timing(diagnosis.timing, "run"),
        ),
        ("By domain: slots of turns, and percent by kind of error", _rates(diagnosis.errors_by_domain, "domain")),
        ("By slot", _rates(diagnosis.errors_by_slot, "slot")),
        ("Timing by slot", _timing(diagnosis.timing_by_slot, "run", "slot")),
    ]
    signatures = signature_lines(diagnosis.runs.with_columns(metric=pl.lit("jga")))
    return Page(sections, signatures, paper=[_failures(diagnosis, signatures)])


_render_whole = renderer(diagnosis_page)


def render_diagnosis(diagnosis: Diagnosis, form: TableFormat, *, everything: bool = True) -> str:
    """A diagnosis in one of the formats; text begins with its conclusion.

    Args:
        diagnosis: What `dstbench.diagnose` returned.
        form: The format.
        everything: Whether text has all tables; otherwise it has those on failures, and the numbers of errors.
    """
    if form != "text":
        return _render_whole(diagnosis, form)
    page = diagnosis_page(diagnosis)
    sections, below = page.sections, page.below
    if not everything:
        errors = diagnosis.errors.filter(pl.col("kind") != "correct").select("run", "class", "n")
        sections = [*sections[:2], ("Slots of turns that are not right, by class", _by_run(errors, "class", "n"))]
        below = ["--all shows JGA by turn and length, errors by domain and slot, their shares and timing", *below]
    return f"{escape_lines(conclusion(diagnosis), form)}\n{render_page(Page(sections, below), form)}"


def _failures(diagnosis: Diagnosis, signatures: list[str]) -> PaperTable:
    """A row per run as a paper prints it: the dialogues that fail, and the slots that are wrong, by kind of error."""
    rates = (
        pl.col(f"of_{slots}").filter(pl.col("kind") == kind).sum().alias(kind)
        for kind, slots in _ERROR_RATES
        if slots != "inactive"
    )
    runs = diagnosis.runs
    table = runs.join(diagnosis.errors.group_by("run").agg(rates), on="run", how="left", maintain_order="left").select(
        "run",
        share_text(pl.col("failing") / pl.col("dialogues"), "Failing"),
        share_text(pl.when(pl.col("failing") > 0).then(pl.col("recovered") / pl.col("failing")), "Recovered"),
        *(share_text(kind, name_of(kind).partition(" ")[0]) for kind in ("missed", "wrong", "over")),
    )
    sizes = runs.select("turns", "dialogues").unique()
    turns, dialogues = sizes.row(0)
    over = f" {number_of(turns, 'turn')}, {number_of(dialogues, 'dialogue')}." if sizes.height == 1 else ""
    caption = (
        "Where runs fail, in percent: dialogues whose last turn is wrong; of these, those with a right turn after "
    )
    caption += f"the first wrong one; slots of gold that are missed or wrong; predicted slots not in gold.{over}"
    without = diagnosis.errors.filter(pl.col("n") > 0, kind="no-prediction").select("run", "n")
    notes = [f"{run}: {number_of(turns, 'turn')} without a prediction" for run, turns in without.iter_rows()]
    return PaperTable(table, caption, "tab:diagnose", [*notes, *signatures], (), {"run": "Run"})


def _by_run(table: pl.DataFrame, index: str, values: str) -> pl.DataFrame:
    """A table with a column per run; a dash if a run has no row."""
    return pivoted(table, "run", index, values).select(pl.all().cast(pl.String).fill_null(UNDEFINED))


def _scores_by_run(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """A table with two columns per run: scores, and the number of dialogues of each score."""
    shown = rows.sort(by, maintain_order=True).select("run", by, *texts("dialogues"), share_text("value"))
    sizes = _by_run(shown, by, "dialogues").drop(by)
    scores = _by_run(shown, by, "value")
    titles = apart(pl.Series([f"n of {run}" for run in sizes.columns], dtype=pl.String), scores.columns)
    return scores.hstack(sizes.rename(dict(zip(sizes.columns, titles, strict=True))))


def _rates(errors: pl.DataFrame, by: str) -> pl.DataFrame:
    """A row per run and group: the numbers of slots, and the share of them with each kind of error."""
    rates = (
        share_text(
            pl.when(pl.col(slots).first() > 0).then(pl.col(f"of_{slots}").filter(pl.col("kind") == kind).sum()),
            f"{kind} of_{slots}",
        )
        for kind, slots in _ERROR_RATES
    )
    sizes = pl.col("gold", "predicted", "inactive").first().cast(pl.String)
    return errors.drop_nulls(by).group_by("run", by, maintain_order=True).agg(sizes, *rates)


def _timing(errors: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """A row per run (and slot): missed and over-predicted slots, and those of them that are late or early."""
    columns = [
        column
        for kind, timed in TIMING.items()
        for column in (*texts(kind, timed), share_text(f"{timed}_share", f"% {timed}"))
    ]
    return errors.select(*keys, *columns)


# --- traits -----------------------------------------------------------------------------------------------------------


def traits_page(traits: Traits) -> Page:
    """Mean scores by trait, correlations, and dialogues on which metrics disagree; not the table of all dialogues."""
    counted = counts(traits.signatures)
    sections = [
        (
            f"Mean scores by {trait}, over dialogues in which both are defined; n: number of dialogues",
            _binned(bins, counted),
        )
        for (trait,), bins in traits.bins.group_by("trait", maintain_order=True)
    ]
    sections += [*_matrices(traits.correlations), *difference_sections(traits.differences)]
    lists = [_disagreements(traits.disagreements, counted)]
    if traits.dialogues["run"].n_unique() > 1:
        lists = [_disagreements(traits.pooled_disagreements, counted, ", of all runs"), *lists]
    sections += [section for listed in lists for section in listed]
    below = [
        "shares in percent; --format csv or json lists every dialogue",
        *_about_intervals(traits.correlations, traits.differences),
    ]
    below += signature_lines(traits.signatures)
    paper = [paper_table(*section, "traits", below) for section in lists[0]]
    return Page(sections, below, paper=paper or [_trait_table(traits, below[1:])])


render_traits = renderer(traits_page, lambda traits: differences_in_words(traits.differences))


def _disagreements(rows: pl.DataFrame, counted: Collection[str], of: str = "") -> list[tuple[str, pl.DataFrame]]:
    """A table per direction: the dialogues on which two metrics differ most; `of` says among which dialogues."""
    sections = []
    for (higher, lower), dialogues in rows.group_by("higher", "lower", maintain_order=True):
        shown = dialogues.select(
            "run",
            *texts("place"),
            "dialogue",
            value_text("high", is_count=higher in counted),
            value_text("low", is_count=lower in counted),
            *texts("turns", "mistakes"),
        )
        sections.append((f"Dialogues that {higher} scores highest above {lower}{of}", shown))
    return sections


def _trait_table(traits: Traits, notes: list[str]) -> PaperTable:
    """A row per run: the correlation of each metric with each trait."""
    names = traits.bins["trait"].unique(maintain_order=True).to_list()
    pairs = traits.correlations.filter(pl.col("first").is_in(names), ~pl.col("second").is_in(names))
    both = pairs.select("first", "second").unique(maintain_order=True).iter_rows()
    heads = {f"{score} {trait}": f"{name_of(score)}, {name_of(trait)}" for trait, score in both}
    cells = pairs.select("run", pl.format("{} {}", "second", "first").alias("pair"), _with_interval())
    sizes = pairs.select("run", pl.col("n").cast(pl.String)).unique(maintain_order=True)
    table = pivoted(cells, "pair", "run", "cell")
    if sizes["run"].is_unique().all():
        table = side_by_side([table, sizes], on="run")
    caption = (
        "Pearson correlations over dialogues of scores with traits of their mistakes, with "
        f"{_percent(pairs)} intervals; n: number of dialogues."
    )
    return PaperTable(table, caption, "tab:traits", notes, (), {**heads, "run": "Run"})


def _with_interval() -> pl.Expr:
    """Correlations with their intervals, as cells."""
    return cell(three_decimals("r"), "cell", small=brackets(three_decimals))


def _binned(bins: pl.DataFrame, counted: Collection[str]) -> pl.DataFrame:
    """A row per run and bin: the mean of each metric, and the number of its dialogues."""
    metrics = bins["metric"].unique(maintain_order=True).to_list()
    means = (value_text(f"value_{metric}", is_count=metric in counted).alias(metric) for metric in metrics)
    sizes = texts(**{f"n of {metric}": f"dialogues_{metric}" for metric in metrics})
    table = pivoted(bins, "metric", ["run", "low", "high"], ["value", "dialogues"])
    return table.select("run", _BIN.alias("bin"), *means, *sizes)


# --- correlations -----------------------------------------------------------------------------------------------------


def correlations_page(correlations: Correlations) -> Page:
    """Ratings and differences of correlations, if they were asked for, with their tests; and a matrix per run."""
    tests, matrix = correlations.tests, correlations.matrix
    sections = difference_sections(correlations.differences, tests)
    paper = [paper_table(*section, "correlate") for section in sections]
    has_ratings = correlations.rated.height > 0
    if has_ratings:
        matrix = matrix.filter(run=shown_run(correlations))
        sections = [*rated_sections(correlations), *sections]
    below = _about_intervals(matrix, correlations.differences, correlations.rated_differences) + (
        about_tests(correlations) if has_ratings else []
    )
    if correlations.differences.height > 1:
        below.append("p of differences are two-sided, and not adjusted for their number")
    below += signature_lines(correlations.signatures)
    if has_ratings:
        paper = [rated_table(correlations)]
    paper = [table._replace(notes=[*table.notes, *below]) for table in paper] or [_matrix_table(matrix, below)]
    return Page([*sections, *_matrices(matrix)], below, paper=paper)


def _about_correlations(correlations: Correlations) -> list[str]:
    """The conclusions from ratings and differences."""
    lines = finding(correlations) if correlations.rated.height else []
    return lines + differences_in_words(correlations.differences)


render_correlations = renderer(correlations_page, _about_correlations)


def _matrices(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Per run, correlations below the diagonal, intervals above; and their numbers of rows, if these are unequal."""
    sections = []
    for (run, _), pairs in rows.group_by("run", "rows", maintain_order=True):
        r, limits, sizes = (
            {(first, second): text for first, second, text in pairs.select("first", "second", column).iter_rows()}
            for column in (
                three_decimals("r"),
                interval_text(three_decimals).alias("limits"),
                pl.col("n").cast(pl.String),
            )
        )
        same = len(set(sizes.values())) == 1
        n = f", n = {pairs['n'][0]:,}" if same else ""
        title = f"{run}: correlations{rows_taken(pairs)}{n}; above the diagonal their {_percent(pairs)} intervals"
        sections.append((title, _triangles(r, limits)))
        if not same:
            sections.append((f"{run}: number of rows", _triangles(sizes, {})))
    return sections


def _matrix_table(matrix: pl.DataFrame, notes: list[str]) -> PaperTable:
    """Correlations over turns or dialogues, of all runs together if there are several."""
    run = POOLED if POOLED in matrix["run"] else matrix["run"][0]
    pairs = matrix.filter(run=run)
    sizes = pairs["n"].unique().sort()
    n = f"{sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
    of = " of all runs" if run == POOLED else ""
    cells = pairs.select("second", "first", _with_interval())
    names = dict.fromkeys([*pairs["first"], *pairs["second"]])
    table = pivoted(cells, "first", "second", "cell")
    heads = {name: name_of(name) for name in names} | {"second": ""}
    table = table.with_columns(pl.col("second").replace(heads))
    caption = f"Pearson correlations over {pairs['per'][0]}s{of}, with {_percent(pairs)} intervals; n = {n}."
    return PaperTable(table, caption, "tab:correlate", notes, (), heads)


def _triangles(below: dict[tuple[str, str], str], above: dict[tuple[str, str], str]) -> pl.DataFrame:
    """A square table with a text for each pair of names below the diagonal, and one above it."""
    names = list(dict.fromkeys(name for pair in below for name in pair))
    columns = {
        second: [below.get((second, first)) or above.get((first, second), "") for first in names] for second in names
    }
    return pl.DataFrame({"": names, **columns})


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


def _percent(rows: pl.DataFrame) -> str:
    return f"{100 * rows['level'].item(0):g} %"
