"""A report on runs over the same gold: all analyses in one result, as HTML, Markdown, LaTeX, JSON and charts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import reduce
from typing import TYPE_CHECKING, Final, Unpack

import polars as pl

from dstbench.analysis.check import check
from dstbench.analysis.compare import Design, Leaderboard, index_of, resample, seeds_of
from dstbench.analysis.correlate import Correlations, correlate
from dstbench.analysis.diagnose import Diagnosis, diagnose
from dstbench.analysis.dialogue_sums import pair_up
from dstbench.analysis.findings import Finding, findings
from dstbench.analysis.sensitivity import Sensitivity, sensitivity
from dstbench.analysis.show import Explorer, explore, said_in
from dstbench.analysis.sweep import sweep
from dstbench.analysis.traits import PROTOCOLS, Traits, traits
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, warn
from dstbench.io.escape import json_text
from dstbench.metrics import DEFAULT, Metric, parse_all
from dstbench.readers.contexts import contexts
from dstbench.rendering.chapters import TITLE, render_html, render_markdown
from dstbench.rendering.html import rendered
from dstbench.rendering.latex import latex_page
from dstbench.rendering.of_runs import best_first
from dstbench.rendering.tables import as_rows, layout_of
from dstbench.runs.align import over_common_turns
from dstbench.runs.open import Data, Reading, parts_to_open
from dstbench.runs.run import Run
from dstbench.scoring.score import score
from dstbench.scoring.validation import open_under
from dstbench.typing import Adjustment

if TYPE_CHECKING:
    from dstbench.rendering.charts.chart import Chart

# The attributes that are no rows.
_NOT_ROWS: Final = ("explorer", "title", "note")
# To see what errors cost, so many changes of gold are drawn in each dialogue, and each is scored with six kinds of
# errors; that would take too long for more dialogues than the second number.
_CHANGES: Final = 3
_MOST_COSTED: Final = 20_000
_LONGEST_PATH: Final = 4096  # a longer text cannot be a path
# The metrics that are drawn by turn, if the report has them.
_BY_TURN: Final = ("jga", "sa", "rsa", "aga", "f1")


@dataclass(frozen=True)
class Report:
    """A report on runs over the same gold; the runs are in the order of the leaderboard.

    Attributes:
        leaderboard: Scores with intervals, differences and tests.
        by_domain: Score rows by domain.
        by_slot: Score rows by slot.
        by_turn: Score rows by turn.
        diagnosis: Where runs fail.
        traits: Traits of dialogues, with their scores.
        correlations: Correlations of metrics, over turns.
        sweep: Score rows under every profile that suits the runs.
        costs: What one error costs under each metric (three changes of each dialogue are drawn); None: gold has no
            change that could be predicted wrongly.
        checks: What `dstbench.check` says of the runs.
        findings: What is most interesting in all of these, in sentences.
        explorer: The most telling dialogues.
        notes: The warnings of all analyses.
        title: Title of the report.
        note: A paragraph of the author's; empty: none.
    """

    leaderboard: Leaderboard
    by_domain: pl.DataFrame
    by_slot: pl.DataFrame
    by_turn: pl.DataFrame
    diagnosis: Diagnosis
    traits: Traits
    correlations: Correlations
    sweep: pl.DataFrame
    costs: Sensitivity | None
    checks: pl.DataFrame
    findings: list[Finding]
    explorer: Explorer
    notes: list[str]
    title: str
    note: str

    def to_html(self) -> str:
        """One HTML document, which needs neither other files nor the network."""
        return render_html(self)

    def to_markdown(self) -> str:
        """The findings and all tables, without the dialogues."""
        return render_markdown(self)

    def to_latex(self) -> str:
        """The leaderboard, its differences, the scores by domain and the traits as LaTeX, for a paper."""
        layouts = [layout_of(self.leaderboard)]
        if self.leaderboard.differences.height:
            layouts.append(layout_of(self.leaderboard, pairs=True))
        layouts += [layout_of({"scores": self.by_domain}), layout_of(self.traits)]
        return latex_page(table for layout in layouts for table in layout.for_paper)

    def to_paper(self, folder: str = "paper") -> dict[str, bytes]:
        """Files for a paper, in LaTeX.

        Args:
            folder: The name of the folder that they will be in, from which the paper inputs them.

        Returns:
            The content of each by its name: ``table.tex``, ``methods.tex``, ``references.bib``, ``figures.tex``, PDFs.
        """
        from dstbench.rendering.paper import paper_files  # Altair: only where something is drawn

        return paper_files(self, folder)

    def to_json(self) -> str:
        """One JSON object with a key per attribute except `explorer`: its rows, or the rows of each of its frames."""
        frames = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NOT_ROWS}
        rows = {name: None if frame is None else as_rows(frame) for name, frame in frames.items()}
        return json_text({**rows, "findings": [asdict(finding) for finding in self.findings]}, allow_nan=False)

    @property
    def charts(self) -> dict[str, Chart]:
        """The figures, as charts of Altair, which a notebook draws, by name."""
        from dstbench.rendering.charts import runs  # Altair: only where something is drawn

        by = {"domain": self.by_domain, "slot": self.by_slot}
        by = {name: scores for name, scores in by.items() if not (scores["unit"] == "count").all()}
        return {
            **runs.leaderboard_charts(self.leaderboard),
            **{f"{name}s": runs.heat_map(scores, name) for name, scores in by.items()},
            **runs.sweep_charts(self.sweep),
            **({} if self.costs is None else runs.sensitivity_charts(self.costs)),
            **runs.diagnosis_charts(self.diagnosis),
            "scores_by_turn": runs.scores_along(self.by_turn, "turn"),
            **runs.trait_charts(self.traits),
            **runs.correlation_charts(self.correlations),
        }

    def _repr_html_(self) -> str:
        """The page for a notebook: without dialogues, and isolated from the notebook."""
        return rendered("frame.html", page=render_html(self, dialogues=False), title=self.title)


def report(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    context: str | Sequence[str] | None = None,
    most: int = 500,
    models: Mapping[str, str | Sequence[str]] | None = None,
    baseline: str | None = None,
    seed: int = 0,
    level: float = 0.95,
    adjust: Adjustment = "holm",
    title: str = TITLE,
    note: str = "",
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Report:
    """Report on runs over one gold: findings, scores, slots, errors, dialogues, conventions, figures of the papers.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation; the runs are ordered by the first one; None: the default metrics.
        context: File or folder with the utterances; None: the files of gold and runs. In Python, also several.
        most: Largest number of dialogues on the page; the most telling ones are taken. See `explorer.choose`.
        models: Runs of one model (its seeds), by name or pattern: t5=t5_*. See `dstbench.compare`.
        baseline: Compare every other run (or model) to this one only. None: all pairs.
        seed: Random seed of the intervals and tests.
        level: Confidence level of the intervals; tests use 1 - level.
        adjust: How p-values are adjusted for the number of differences of a metric.
        title: Title of the report.
        note: A paragraph of your own, below the title.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used; runs do not have the same turns and gold; there are fewer than two
            dialogues; a run holds no states; a metric, model, baseline or profile is unknown.

    >>> from dstbench.demo import synthetic
    >>> page = report(synthetic(100), metrics="jga", most=5)
    >>> page.explorer.content["runs"], len(page.explorer.content["dialogues"])
    (['careful', 'eager', 'forgetful'], 5)
    """
    if most < 1:
        raise UsageError(f"most={most} dialogues cannot be shown", hint="1 or more")
    design = Design(seed=seed, level=level, adjust=adjust)
    convention, chosen = as_convention(profile), parse_all(metrics or DEFAULT)
    names = [name for name, _ in parts_to_open(data, **reading)]
    seeds = None if models is None else seeds_of(models, names)
    versus = None if baseline is None else list(seeds or names)[index_of(baseline, data, names, seeds)]
    said = None if context is None else contexts(context, reading.get("split"))
    notes: dict[str, list[str]] = {}
    with _noting(notes, pass_on=True):
        runs = over_common_turns(open_under(convention, data, **reading))
        for run in runs:
            run.need_states("reports")
        order = best_first(score(runs, metrics=chosen[:1], profile=convention))["run"].to_list()
        runs = sorted(runs, key=lambda run: order.index(run.name))
        paired = pair_up(runs, chosen, convention)
        resolved = paired.metrics  # parameters that depend on slots are the same for all runs
        one, other = contrasted = parse_all(PROTOCOLS["plain"][0])  # FGA and GCA
        by_turn = [metric for metric in resolved if metric.name in _BY_TURN] or resolved[:1]
        seeds = None if models is None else seeds_of(models, order)
        index = None if versus is None else list(seeds or order).index(versus)
        leaderboard = resample(paired, design, models=seeds, baseline=index)
        by_domain = score(runs, metrics=resolved, by="domain", profile=convention)
        by_slot = score(runs, by="slot", profile=convention)
        scores_by_turn = score(runs, metrics=by_turn, by="turn", profile=convention)
        diagnosis = diagnose(runs, profile=convention)
        others = [metric for metric in resolved if metric not in contrasted]
        dialogue_traits = traits(runs, metrics=[*contrasted, *others], profile=convention)
        explorer = explore(
            runs, dialogue_traits.dialogues, resolved, convention, said=said_in(runs) if said is None else said,
            contrasted=(str(one), str(other)), most=most,
        )  # fmt: skip
    with _noting({}, pass_on=False):  # the report does not show intervals of correlations
        correlated = [*resolved, *(metric for metric in contrasted if metric not in resolved)]
        correlations = correlate(runs, metrics=correlated, per="turn", profile=convention)
        checks = check(runs, profile=convention)
    costs = _costs(runs[0], resolved, convention, design, notes)
    with _noting(notes, pass_on=False):
        swept = sweep(runs, metrics=resolved[:1])
    texts = [f"{', '.join(places)}: {text}" if places else text for text, places in notes.items()]
    folders = _folders(data, context, reading.get("gold"), convention.labels, convention.typos)
    return Report(
        leaderboard, by_domain, by_slot, scores_by_turn, diagnosis, dialogue_traits, correlations, swept, costs, checks,
        findings(leaderboard, swept, diagnosis, checks), explorer,
        [reduce(lambda text, folder: text.replace(folder, ""), folders, text) for text in texts],
        title, note,
    )  # fmt: skip


def _costs(
    run: Run, metrics: Sequence[Metric], convention: Convention, design: Design, notes: dict[str, list[str]]
) -> Sensitivity | None:
    """What one error costs under the metrics, on the gold that the runs share; None, with a note, if unknown."""
    scores, why = [metric for metric in metrics if not metric.is_count], "only counts are asked for"
    dialogues = run.meta["coverage"]["dialogues"]
    if dialogues > _MOST_COSTED:
        why = f"there are {dialogues:,} dialogues; dstbench sensitivity shows it for any number"
    elif scores:
        of_gold: dict[str, list[str]] = {}
        try:
            with _noting(of_gold, pass_on=False):
                return sensitivity(
                    {"gold": run}, gold_only=True, metrics=scores, sample=_CHANGES, seed=design.seed,
                    level=design.level, profile=convention,
                )  # fmt: skip
        except DstbenchError as error:
            why = error.what
        finally:  # what is noted of runs already need not be noted of their gold as well
            notes |= {text: places for text, places in of_gold.items() if text not in notes}
    notes[f"what one error costs is not shown: {why}"] = []
    return None


def _folders(*paths: object) -> list[str]:
    """The folders of the files that a report is made from, the longest first; readers of the page need not see them."""
    several = (path.values() if isinstance(path, Mapping) else path if isinstance(path, list | tuple) else [path]
               for path in paths)  # fmt: skip
    texts = [one for part in several for one in part if isinstance(one, str) and len(one) < _LONGEST_PATH]
    folders = {folder for one in texts for folder in (f"{one.rstrip('/')}/", one[: one.rfind("/") + 1])}
    return sorted(folders - {"", "/"}, key=len, reverse=True)


@contextmanager
def _noting(notes: dict[str, list[str]], *, pass_on: bool) -> Iterator[None]:
    """Add dstbench's warnings to notes: their texts, each with the files or runs that it is about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DstbenchWarning)
        yield
    for warning in caught:
        if not isinstance(message := warning.message, DstbenchWarning):
            warnings.warn(message, warning.category, stacklevel=4)
            continue
        place = [place] if (place := message.file or message.run) else []
        if message.text not in notes or not set(place) <= set(notes[message.text]):
            notes.setdefault(message.text, []).extend(place)
            if pass_on:
                warn(message)
