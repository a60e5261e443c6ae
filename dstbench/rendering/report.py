"""Everything about runs over one gold in one record, to be sent: as a page, as Markdown, as data, as charts."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Unpack

import polars as pl

from dstbench._version import __version__
from dstbench.analysis.compare import Design, Leaderboard, resample
from dstbench.analysis.correlate import CORRELATED, Correlations, correlate
from dstbench.analysis.diagnose import Diagnosis, diagnose
from dstbench.analysis.explorer import MOST, Explorer, explore
from dstbench.analysis.paired import pair_up
from dstbench.analysis.show import said_in
from dstbench.analysis.sweep import sweep
from dstbench.analysis.traits import PROTOCOLS, Traits, traits
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchWarning, UsageError
from dstbench.metrics import Metric, parse_all
from dstbench.readers.contexts import contexts
from dstbench.rendering.charts import (
    Chart,
    correlation_charts,
    diagnosis_charts,
    leaderboard_charts,
    scores_by_turn,
    trait_charts,
)
from dstbench.rendering.compare import leaderboard_page, render_leaderboard
from dstbench.rendering.diagnose import correlations_page, diagnosis_page, render_traits, traits_page
from dstbench.rendering.page import Block, Chapter, render_frame, render_html, render_markdown
from dstbench.rendering.svg import heat_maps, histograms, intervals, lines, ranked
from dstbench.rendering.tables import (
    IS_COUNT,
    render_object,
    render_scores,
    signature_lines,
    sweep_page,
    value_text,
    wide,
)
from dstbench.runs.open import Data, Reading
from dstbench.scoring.scope import open_under
from dstbench.scoring.score import score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits
    from dstbench.rendering.page import Chapter

_TITLE: Final = "Dialogue state tracking: report"
#: The metrics that are drawn by turn, if they are asked for.
_BY_TURN: Final = ("jga", "sa", "rsa", "aga", "f1")


@dataclass(frozen=True)
class Report:
    """All about runs over one gold.

    Attributes:
        leaderboard: Scores with intervals, differences and tests.
        by_domain: Score rows by domain.
        by_slot: Score rows by slot.
        by_turn: Score rows by turn.
        diagnosis: Where runs fail.
        traits: Traits of dialogues beside their scores.
        correlations: Of metrics, over turns.
        sweep: Score rows under every profile that suits the runs.
        explorer: The most telling dialogues.
        notes: What is to be known of the data: the warnings of all that was computed.
    """

    leaderboard: Leaderboard
    by_domain: pl.DataFrame
    by_slot: pl.DataFrame
    by_turn: pl.DataFrame
    diagnosis: Diagnosis
    traits: Traits
    correlations: Correlations
    sweep: pl.DataFrame
    explorer: Explorer
    notes: list[str]

    def to_html(self) -> str:
        """One HTML document, which needs nothing else and asks the network for nothing."""
        return self._page((self.explorer.title, self.explorer.content))

    def to_markdown(self) -> str:
        """All tables, without the dialogues."""
        return render_markdown(_TITLE, self._chapters(), self.notes)

    def to_latex(self) -> str:
        """The leaderboard, the scores by domain and the traits as LaTeX, for a paper."""
        return "\n".join(
            [
                render_leaderboard(self.leaderboard, "latex"),
                render_scores(self.by_domain, "latex"),
                render_traits(self.traits, "latex"),
            ]
        )

    def to_json(self) -> str:
        """One JSON object: a key per attribute but `explorer`, each with its rows, or with its frames' rows."""
        return render_object({f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.name != "explorer"})

    @property
    def charts(self) -> dict[str, Chart]:
        """The figures as Vega-Lite specifications, by name."""
        return {
            **leaderboard_charts(self.leaderboard),
            **diagnosis_charts(self.diagnosis),
            "scores_by_turn": scores_by_turn(self.by_turn),
            **trait_charts(self.traits),
            **correlation_charts(self.correlations),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: the page without its dialogues, shut off from the notebook."""
        return render_frame(self._page(None), _TITLE)

    def _page(self, explorer: tuple[str, dict[str, Any]] | None) -> str:
        row = self.leaderboard.scores.row(0, named=True)
        facts = [
            ("Runs", ", ".join(self.leaderboard.scores["run"].unique(maintain_order=True))),
            ("Dialogues", f"{row['dialogues']:,}"),
            ("Frames" if "|unit:frame|" in row["signature"] else "Turns", f"{row['turns']:,}"),
            ("Made by", f"dstbench {__version__}"),
        ]
        return render_html(_TITLE, facts, self._chapters(), self.notes, explorer)

    def _chapters(self) -> list[Chapter]:
        return [
            leaderboard_chapter(self.leaderboard),
            parts_chapter(self.by_domain, self.by_slot),
            *diagnosis_chapters(self.diagnosis, self.by_turn),
            traits_chapter(self.traits),
            correlations_chapter(self.correlations),
            sweep_chapter(self.sweep),
        ]


def report(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    context: str | Sequence[str] | None = None,
    most: int = MOST,
    seed: int = 0,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Report:
    """All about runs over one gold: leaderboard, parts, failures, errors, traits, correlations, conventions, dialogues.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation, the first of which orders the runs; None: the usual ones.
        context: Files that say what was said; None: the files of gold and of the runs, where they do.
        most: How many dialogues can be looked at, at most; those are taken that tell most (`explorer.choose`).
        seed: What the draws of intervals and tests come from.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used; runs do not have the same turns and gold; there are fewer than two
            dialogues; a run holds no states; a metric or profile is unknown.

    >>> from dstbench.demo import synthetic
    >>> found = report(synthetic(20), most=5)
    >>> found.explorer.content["runs"], len(found.explorer.content["dialogues"])
    (['careful', 'forgetful', 'eager'], 5)
    """
    if most < 1:
        raise UsageError(f"most={most} dialogues cannot be looked at", hint="at least one")
    design = Design(seed=seed)
    convention = as_convention(profile)
    chosen = parse_all(metrics or CORRELATED)
    said = None if context is None else contexts(context, reading.get("split"))
    notes: list[str] = []
    with _noting(notes, say=True):
        runs = open_under(convention, data, **reading)
        for run in runs:
            run.need_states("reports")
        paired = pair_up(runs, chosen, convention)
        resolved = paired.metrics  # what depends on slots is the same for all runs
        apart = parse_all(PROTOCOLS["plain"][0])
        pair = str(apart[0]), str(apart[1])
        # Of a single metric there would be no correlation.
        correlated = [*resolved, *(metric for metric in apart if str(metric) not in map(str, resolved))]
        by_turn = [metric for metric in resolved if metric.name in _BY_TURN] or resolved[:1]
        leaderboard = resample(paired, design)
        of_domains = score(runs, metrics=resolved, by="domain", profile=convention)
        of_slots = score(runs, by="slot", profile=convention)
        of_turns = score(runs, metrics=by_turn, by="turn", profile=convention)
        diagnosis = diagnose(runs, profile=convention)
        others = [metric for metric in resolved if str(metric) not in pair]
        of_dialogues = traits(runs, metrics=[*apart, *others], profile=convention)
        said = said_in(runs) if said is None else said
        explorer = explore(runs, of_dialogues.dialogues, resolved, convention, said=said, apart=pair, most=most)
    with _noting([], say=False):  # no interval over turns is shown
        correlations = correlate(runs, metrics=correlated, per="turn", profile=convention)
    with _noting(notes, say=False):
        swept = sweep(runs, metrics=resolved[:1])
    return Report(
        leaderboard=leaderboard,
        by_domain=of_domains,
        by_slot=of_slots,
        by_turn=of_turns,
        diagnosis=diagnosis,
        traits=of_dialogues,
        correlations=correlations,
        sweep=swept,
        explorer=explorer,
        notes=notes,
    )


@contextmanager
def _noting(notes: list[str], *, say: bool) -> Iterator[None]:
    """Take down what is warned of, each once, and `say` it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DstbenchWarning)
        yield
    for warning in caught:
        if not issubclass(warning.category, DstbenchWarning):
            warnings.warn(warning.message, warning.category, stacklevel=4)
        elif (text := str(warning.message)) not in notes:
            notes.append(text)
            if say:
                warnings.warn(text, DstbenchWarning, stacklevel=4)


def _plain(value: Any) -> Any:
    """Frames, and records of frames, as rows."""
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    return value if isinstance(value, list) else {f.name: _plain(getattr(value, f.name)) for f in fields(value)}


# --- chapters ---------------------------------------------------------------------------------------------------------


def leaderboard_chapter(found: Leaderboard) -> Chapter:
    """Scores with intervals, and which are significantly better than which."""
    ((title, standings), *others), below = leaderboard_page(found)
    metrics = found.scores["metric"].unique(maintain_order=True).to_list()
    lead = "Each run's scores, with their intervals. "
    marks = []
    if found.differences.height:
        lead += f"The order, and which runs are significantly better than which, is by {metrics[0]}."
        marks = [_better_than(standings["run"].to_list(), found, metrics[0])]
    places = pl.int_range(1, pl.len() + 1).cast(pl.String).alias("place")
    # A cell breaks before its interval, not in it.
    limits = [pl.nth(2 * number + 2).str.replace_all(" ", "\N{NO-BREAK SPACE}") for number in range(len(metrics))]
    scores = [pl.format("{} ({})", metric, limit).alias(metric) for metric, limit in zip(metrics, limits, strict=True)]
    numbers = found.scores.select(
        "run", "metric", *(value_text(name, is_count=IS_COUNT) for name in ("value", "low", "high"))
    )
    blocks = [
        Block(title, standings.select(places, "run", *marks, *scores)),
        Block("Scores and intervals, by metric", numbers, intervals(found.scores)),
        *(Block(name, table, folded=number > 0) for number, (name, table) in enumerate(others)),
    ]
    return Chapter("scores", "Leaderboard", lead, blocks, below)


def _better_than(order: list[str], found: Leaderboard, metric: str) -> pl.Series:
    """Of each run: the places of those that it is significantly better than."""
    beaten: dict[str, list[int]] = {run: [] for run in order}
    known = found.differences.filter(pl.col("significant").fill_null(False), metric=metric)
    for run, other, difference in known.select("run", "other", "difference").iter_rows():
        better, worse = (run, other) if difference > 0 else (other, run)
        beaten[better].append(order.index(worse) + 1)
    return pl.Series("better than places", [", ".join(map(str, sorted(places))) or "-" for places in beaten.values()])


def parts_chapter(by_domain: pl.DataFrame, by_slot: pl.DataFrame) -> Chapter:
    """Scores per domain and per slot."""
    blocks = [
        Block("Scores by domain, in percent", wide(by_domain)),
        Block("Scores by slot, in percent; counts as they are", wide(by_slot)),
    ]
    lead = (
        "By domain, states are restricted to the domain, and the turns count whose gold has a slot of it. By slot all "
        "turns count, and a slot that neither side has is right."
    )
    return Chapter(
        "parts", "Domains and slots", lead, blocks, signature_lines(pl.concat([by_domain, by_slot], how="diagonal"))
    )


def diagnosis_chapters(found: Diagnosis, by_turn: pl.DataFrame) -> list[Chapter]:
    """Where runs fail, and how: Kim et al. 2022, Figs 1 and 2, scores by turn, and kinds of errors."""
    tables, below = diagnosis_page(found)
    runs, failures, slots, turns, lengths, *errors = (Block(title, table) for title, table in tables)
    first = histograms(found.first_failures, "low", 0.1, "first wrong turn, as a share of the dialogue", "recovered")
    gold = found.gold_slots
    same = gold.group_by("run", maintain_order=True).agg(pl.struct("n_gold_max", "dialogues"))
    if same.select(pl.exclude("run")).to_series().n_unique() == 1:  # all runs have one gold
        gold = gold.filter(run=gold["run"][0]).with_columns(run=pl.lit("gold"))
    numbers = "turns of the dialogue"
    places = [
        runs,
        Block("First wrong turn of dialogues that fail (Kim et al. 2022, Fig 1)", failures.table, first,
              lead="Darker: those that are right again in between."),
        Block("Largest number of gold slots in a turn (Kim et al. 2022, Fig 2)", slots.table,
              histograms(gold, "n_gold_max", 1, "gold slots")),
        Block("JGA by turn", turns.table, lines(found.by_turn, "turn", "run", "turn")),
        Block("JGA by number of turns", lengths.table, lines(found.by_length, "length", "run", numbers)),
        Block("Scores by turn, run by run", wide(by_turn), lines(by_turn, "turn", "metric", "turn", panels="run")),
    ]  # fmt: skip
    lead = "A dialogue fails if its last turn is wrong; errors persist, so that when it first goes wrong says most."
    kinds = (
        "Every slot of every turn that gold or prediction has is in one class. Fresh: a value is new in this turn; "
        "stale: carried over from the turn before."
    )
    wrong = found.errors.filter((pl.col("kind") != "correct") & (pl.col("n") > 0))
    errors[0] = replace(errors[0], figure=ranked(wrong, "class", "n", "kind"))
    return [
        Chapter("failures", "Where runs fail", lead, places, below),
        Chapter("errors", "Kinds of errors", kinds, errors),
    ]


def traits_chapter(found: Traits) -> Chapter:
    """Mean scores by tail orientation and non-uniformity: Aksu & Chen 2024, Fig 1."""
    tables, below = traits_page(found)
    bins = found.bins.with_columns(middle=((pl.col("low") + pl.col("high")) / 2).round(4))
    blocks: list[Block] = []
    for trait in bins["trait"].unique(maintain_order=True):
        title, texts = tables[len(blocks)]
        figure = lines(bins.filter(trait=trait), "middle", "metric", trait, panels="run")
        blocks.append(Block(f"{title} (Aksu & Chen 2024, Fig 1)", texts, figure))
    blocks += [Block(title, texts, folded=True) for title, texts in tables[len(blocks) :]]
    lead = (
        "Tail orientation (to_mean): how late in a dialogue its mistakes are. Non-uniformity (nu_paper): how unevenly "
        "they spread. A metric that goes with either rewards what is no quality of a tracker."
    )
    return Chapter("traits", "Traits of dialogues", lead, blocks, below)


def correlations_chapter(found: Correlations) -> Chapter:
    """Correlations over turns: Kim et al. 2022, Figs 3 and A1."""
    columns = ("run", "first", "second", "r", "n")
    texts = found.matrix.select(
        pl.col(name).round(3).cast(pl.String).fill_null("-") if name == "r" else pl.col(name).cast(pl.String)
        for name in columns
    )
    title = "Correlations of metrics over turns (Kim et al. 2022, Figs 3 and A1)"
    lead = (
        "Pearson's r. Turns of one dialogue are alike, so that no intervals are given here; see `dstbench correlate`."
    )
    below = correlations_page(found)[1]
    return Chapter(
        "correlations",
        "Correlations",
        lead,
        [Block(title, texts, heat_maps(found.matrix))],
        [line for line in below if line.startswith("signature")],
    )


def sweep_chapter(rows: pl.DataFrame) -> Chapter:
    """The same predictions under every convention that suits them."""
    lead = (
        "The same predictions, scored as other repositories score: what differs between lines is the convention alone."
    )
    return Chapter("conventions", "Conventions", lead, [Block(told, texts) for told, texts in sweep_page(rows)[0]])
