"""A report on runs over one gold: all analyses in one result, as an HTML page, Markdown, LaTeX, JSON and charts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Final, Unpack

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
from dstbench.errors import DstbenchWarning, UsageError, warn
from dstbench.metrics import Metric, parse_all
from dstbench.readers.contexts import contexts
from dstbench.rendering import chapters, charts
from dstbench.rendering.compare import render_leaderboard
from dstbench.rendering.diagnose import render_traits
from dstbench.rendering.report_page import Chapter, render_frame, render_html, render_markdown
from dstbench.rendering.scores import render_scores, unit_of
from dstbench.rendering.tables import as_rows, render_object
from dstbench.runs.open import Data, Reading
from dstbench.scoring.scope import open_under
from dstbench.scoring.score import score

_TITLE: Final = "Dialogue state tracking: report"
# The metrics that are drawn by turn, if the report has them.
_BY_TURN: Final = ("jga", "sa", "rsa", "aga", "f1")


@dataclass(frozen=True)
class Report:
    """A report on runs over one gold.

    Attributes:
        leaderboard: Scores with intervals, differences and tests.
        by_domain: Score rows by domain.
        by_slot: Score rows by slot.
        by_turn: Score rows by turn.
        diagnosis: Where runs fail.
        traits: Traits of dialogues beside their scores.
        correlations: Correlations of metrics, over turns.
        sweep: Score rows under every profile that suits the runs.
        explorer: The most telling dialogues.
        notes: The warnings of all analyses.
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
        """One HTML document, which needs neither other files nor the network."""
        return self._page((self.explorer.title, self.explorer.content))

    def to_markdown(self) -> str:
        """All tables, without the dialogues."""
        return render_markdown(_TITLE, self._chapters(), self.notes)

    def to_latex(self) -> str:
        """The leaderboard, the scores by domain and the traits as LaTeX, for a paper."""
        parts = (
            render_leaderboard(self.leaderboard, "latex"),
            render_scores(self.by_domain, "latex"),
            render_traits(self.traits, "latex"),
        )
        return "\n".join(parts)

    def to_json(self) -> str:
        """One JSON object with a key per attribute except `explorer`: its rows, or the rows of each of its frames."""
        return render_object({f.name: as_rows(getattr(self, f.name)) for f in fields(self) if f.name != "explorer"})

    @property
    def charts(self) -> dict[str, charts.Chart]:
        """The figures as Vega-Lite specifications, by name."""
        return {
            **charts.leaderboard_charts(self.leaderboard),
            **charts.diagnosis_charts(self.diagnosis),
            "scores_by_turn": charts.scores_by_turn(self.by_turn),
            **charts.trait_charts(self.traits),
            **charts.correlation_charts(self.correlations),
        }

    def _repr_html_(self) -> str:
        """The page for a notebook: without dialogues, and isolated from the notebook."""
        return render_frame(self._page(None), _TITLE)

    def _page(self, explorer: tuple[str, dict[str, Any]] | None) -> str:
        scores = self.leaderboard.scores
        facts = [
            ("Runs", ", ".join(scores["run"].unique(maintain_order=True))),
            ("Dialogues", f"{scores['dialogues'][0]:,}"),
            (unit_of(scores).capitalize(), f"{scores['turns'][0]:,}"),
            ("Made by", f"dstbench {__version__}"),
        ]
        return render_html(_TITLE, facts, self._chapters(), self.notes, explorer)

    def _chapters(self) -> list[Chapter]:
        return [
            chapters.leaderboard_chapter(self.leaderboard),
            chapters.parts_chapter(self.by_domain, self.by_slot),
            *chapters.diagnosis_chapters(self.diagnosis, self.by_turn),
            chapters.traits_chapter(self.traits),
            chapters.correlations_chapter(self.correlations),
            chapters.sweep_chapter(self.sweep),
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
    """Report on runs over one gold: leaderboard, parts, failures, errors, traits, correlations, profiles, dialogues.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation; the runs are ordered by the first one; None: the default metrics.
        context: Files with the utterances; None: the files of the runs and of gold, if one of them has utterances.
        most: The largest number of dialogues on the page; the most telling ones are taken (`explorer.choose`).
        seed: Random seed of the intervals and tests.
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
        raise UsageError(f"most={most} dialogues cannot be shown", hint="1 or more")
    convention = as_convention(profile)
    said = None if context is None else contexts(context, reading.get("split"))
    notes: list[str] = []
    with _noting(notes, pass_on=True):
        runs = open_under(convention, data, **reading)
        for run in runs:
            run.need_states("reports")
        paired = pair_up(runs, parse_all(metrics or CORRELATED), convention)
        resolved = paired.metrics  # parameters that depend on slots are the same for all runs
        contrasted = parse_all(PROTOCOLS["plain"][0])  # FGA and GCA
        contrasted_names = str(contrasted[0]), str(contrasted[1])
        others = [metric for metric in resolved if str(metric) not in contrasted_names]
        drawn_by_turn = [metric for metric in resolved if metric.name in _BY_TURN] or resolved[:1]
        leaderboard = resample(paired, Design(seed=seed))
        by_domain = score(runs, metrics=resolved, by="domain", profile=convention)
        by_slot = score(runs, by="slot", profile=convention)
        by_turn = score(runs, metrics=drawn_by_turn, by="turn", profile=convention)
        diagnosis = diagnose(runs, profile=convention)
        of_dialogues = traits(runs, metrics=[*contrasted, *others], profile=convention)
        said = said_in(runs) if said is None else said
        rows = of_dialogues.dialogues
        explorer = explore(runs, rows, resolved, convention, said=said, contrasted=contrasted_names, most=most)
    with _noting([], pass_on=False):  # its warnings are about intervals over turns, which the report does not show
        resolved_names = [str(metric) for metric in resolved]
        correlated = [*resolved, *(metric for metric in contrasted if str(metric) not in resolved_names)]
        correlations = correlate(runs, metrics=correlated, per="turn", profile=convention)
    with _noting(notes, pass_on=False):
        swept = sweep(runs, metrics=resolved[:1])
    return Report(
        leaderboard, by_domain, by_slot, by_turn, diagnosis, of_dialogues, correlations, swept, explorer, notes
    )


@contextmanager
def _noting(notes: list[str], *, pass_on: bool) -> Iterator[None]:
    """Add the texts of dstbench's warnings to notes, each once; if `pass_on`, warn of them too. Pass on all others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DstbenchWarning)
        yield
    for warning in caught:
        if not isinstance(warning.message, DstbenchWarning):
            warnings.warn(warning.message, warning.category, stacklevel=4)
        elif (text := str(warning.message)) not in notes:
            notes.append(text)
            if pass_on:
                warn(warning.message)
