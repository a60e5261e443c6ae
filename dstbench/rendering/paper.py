"""A report as files of a paper: its main table and figures, how they were made, in sentences, and what these cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench._version import __version__
from dstbench.analysis.check import GOLD
from dstbench.analysis.sentences import listed
from dstbench.analysis.verdicts import pairs_text
from dstbench.conventions.profiles import PROFILES
from dstbench.errors import number_of
from dstbench.io.escape import latex_text
from dstbench.metrics.registry import find_metric, name_of
from dstbench.rendering.latex import latex_page, noted
from dstbench.rendering.of_runs import beaten
from dstbench.rendering.of_scores import by_first_metric, sizes_of
from dstbench.rendering.sentences import verdicts
from dstbench.rendering.tables import layout_of, signature_lines
from dstbench.rendering.views import percent
from dstbench.signature import parse

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.metrics import Metric
    from dstbench.rendering.report import Report

_SOURCES: Final = Path(__file__).with_name("references.bib")
_MISSING: Final = {
    "error": "Every turn has a prediction.",
    "wrong": "A turn without a prediction counts as wrong.",
    "empty": "A turn without a prediction counts as an empty state.",
    "intersect": "Turns without a prediction are left out.",
}
_ADJUSTED: Final = {
    "holm": "by Holm's method", "hochberg": "by Hochberg's method", "bonferroni": "by Bonferroni's method",
    "bh": "by the method of Benjamini and Hochberg", "by": "by the method of Benjamini and Yekutieli",
    "max-t": "by the largest difference of each resample (max-t)",
}  # fmt: skip
# Figures have page groups, of which pdfTeX warns where a page has two; they make no difference here.
_FIGURES: Final = r"""%% \usepackage{graphicx}
\graphicspath{{./}{%s/}}
\ifdefined\pdfsuppresswarningpagegroup\pdfsuppresswarningpagegroup=1\fi
"""
_FIGURE: Final = r"""\begin{figure%(wide)s}[t]
\centering\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{\includegraphics{%(name)s.pdf}}
\caption{%(title)s.}
\label{fig:%(name)s}
\end{figure%(wide)s}
"""


def paper_files(page: Report, folder: str) -> dict[str, bytes]:
    """Files by name, ready to be input from the folder in which `folder` lies, or from `folder` itself."""
    from dstbench.rendering.charts.draw import draw_figure, is_wide, specification
    from dstbench.rendering.charts.runs import leaderboard_charts

    charts = leaderboard_charts(page.leaderboard)
    figures = [_FIGURES % folder]
    for name, chart in charts.items():
        title, wide = latex_text(str(specification(chart)["title"])), "*" * is_wide(specification(chart))
        figures.append(_FIGURE % {"name": name, "title": title, "wide": wide})
    sources = _Sources()
    scored, *others = [sources.cited(" ".join(sentences)) for sentences in _methods(page)]
    signed = rf"\footnote{{\raggedright {noted(signature_lines(page.leaderboard.scores))}.\par}}"
    texts = {
        "table.tex": latex_page(layout_of(page.leaderboard).for_paper),
        "figures.tex": "\n".join(figures),
        "methods.tex": "\n\n".join([scored + signed, *others, r"All scores are in Table~\ref{tab:compare}."]) + "\n",
        "references.bib": sources.used(),
    }
    drawn = {f"{name}.pdf": draw_figure(chart, "pdf") for name, chart in charts.items()}
    drawn = {name: content.replace(b"%PDF-1.7", b"%PDF-1.5", 1) for name, content in drawn.items()}  # as pdfTeX asks
    return {name: text.encode() for name, text in texts.items()} | drawn


class _Sources:
    """The entries of ``references.bib``, each with the words that cite it (`cited`, which BibTeX ignores)."""

    def __init__(self) -> None:
        entries = re.split(r"\n\n(?=@)", _SOURCES.read_text(encoding="utf-8").strip())
        self._entries = {re.split("[{,]", entry)[1]: entry for entry in entries}
        self._keys = {
            term: key
            for key, entry in self._entries.items()
            for term in re.findall(r"cited = \{(.*)\}", entry)[0].split("; ")
        }
        self._used: list[str] = []

    def cited(self, text: str) -> str:
        """A text as LaTeX: names with a year become citations; other words are followed by one, the first time."""
        terms = "|".join(map(re.escape, sorted(self._keys, key=len, reverse=True)))
        parts = re.split(rf"(?<!\w)({terms})(?!\w)", text)
        return "".join(self._cite(part) if place % 2 else _prose(part) for place, part in enumerate(parts))

    def _cite(self, term: str) -> str:
        key = self._keys[term]
        is_first = key not in self._used
        self._used += [key] * is_first
        if re.search(r" \d{4}$", term):
            return rf"\citealp{{{key}}}"
        return _prose(term) + rf"~\citep{{{key}}}" * is_first

    def used(self) -> str:
        """The entries that were cited."""
        return "\n\n".join(re.sub(r",\n  cited = .*", "", self._entries[key]) for key in sorted(self._used)) + "\n"


def _prose(text: str) -> str:
    return latex_text(text).replace(r"\textquotesingle{}", "'")


def _methods(page: Report) -> Iterator[list[str]]:
    """Paragraphs of sentences: what was scored, by what, how runs were compared, and what that shows."""
    leaderboard = page.leaderboard
    scores = by_first_metric(leaderboard.scores)
    runs, metrics = (scores[column].unique(maintain_order=True).to_list() for column in ("run", "metric"))
    golds = page.checks.filter(check=GOLD)
    texts = golds.filter(golds["status"] != "warn")["found"].to_list()
    known = len(texts) == len(runs) and len(set(texts)) == 1
    gold = re.sub(r"\([\d,]+ dialogues; ", "(", texts[0]) if known else "gold whose hash the signature has"
    settings = [parse(signature).settings for signature in scores["signature"].unique(maintain_order=True)]
    profile = settings[0]["profile"]
    title = {c.name: c.title for c in PROFILES.values()}.get(profile.removesuffix("+"))
    yield [
        f"We score {number_of(len(runs), 'run')} ({listed(runs, len(runs))}) on {sizes_of(scores, ' of ')} of {gold}.",
        *dict.fromkeys(
            _MISSING.get(one["missing"], f"Turns without a prediction: {one['missing']}.") for one in settings
        ),
        f"Scores are computed by version {__version__} of dstbench under its convention {profile}"
        f"{f' ({title})' if title else ''}{', with other choices, which the signature names' * profile.endswith('+')}."
    ]  # fmt: skip
    named = [f"{cls.title} ({name_of(text)}; {cls.source})" for text in metrics if (cls := _class_of(text))]
    yield [f"The metrics are {listed(named, len(named))}.", *_statistics(leaderboard)]
    if claims := [*_claims(leaderboard)]:
        yield claims


def _class_of(metric: str) -> type[Metric] | None:
    return find_metric(metric.partition(":")[0])


def _statistics(leaderboard: Leaderboard) -> Iterator[str]:
    """How intervals and p were computed."""
    design, differences = leaderboard.design.row(0, named=True), leaderboard.differences
    alpha, tested = percent(1 - design["level"]), differences.drop_nulls("p")
    yield (
        "Turns of a dialogue depend on each other, so whole dialogues are the units of all intervals and tests. "
        f"Intervals of scores are Wilson's, at {percent(design['level'])}, with the effective number of dialogues."
    )
    if tested.is_empty():
        return
    if leaderboard.models.is_empty():
        drawn = max(tested["resamples"].drop_nulls(), default=0)
        more = f", and {drawn:,} times where p is close to {alpha}" if drawn > design["resamples"] else ""
        yield (
            "Differences between runs are tested by approximate randomisation, on two sides: whole dialogues are "
            f"swapped between two runs at random, {design['resamples']:,} times{more} (seed {design['seed']})."
        )
    else:
        yield (
            "Differences between models are tested on two sides by Welch's t over their runs, with the variance of "
            "dialogues."
        )
    numbers = listed([f"{number:,}" for number in sorted({*tested["m"].drop_nulls()})])
    if design["adjustment"] == "none":
        yield f"No p is adjusted for the number of differences; one is called significant if p is at most {alpha}."
    else:
        how = _ADJUSTED[design["adjustment"]]
        yield (
            f"In each metric, p is adjusted for its {numbers} differences {how}, and a difference is called "
            f"significant if this p is at most {alpha}; p is not adjusted for the number of metrics."
        )


def _claims(leaderboard: Leaderboard) -> Iterator[str]:
    """What the tests show, and no more: of the best in the first metric, then of all pairs in each."""
    name = "run" if leaderboard.models.is_empty() else "model"
    rows = by_first_metric(leaderboard.scores if name == "run" else leaderboard.models, name).rename({name: "run"})
    rows = rows.filter(metric=rows["metric"][0]).drop_nulls("value")
    if rows.height > 1 and rows["unit"][0] == "share":
        best, value, low, high = rows.select("run", *(100 * rows[end] for end in ("value", "low", "high"))).row(0)
        metric, level = rows["metric"][0], percent(leaderboard.design["level"][0])
        below = beaten(leaderboard.differences, rows.select("run", other="run")).filter(metric=metric, run=best)
        others = below["other"].explode().to_list()
        those = "every other" if len(others) == rows.height - 1 else listed(others or ["any other"], rows.height)
        highest = f"highest {name_of(metric)}, {value:.2f} % ({level} interval {low:.2f} to {high:.2f})"
        if len(equal := rows.filter(pl.col("value") == pl.col("value").first())["run"].to_list()) > 1:
            yield f"{listed(equal, rows.height)} have the same and {highest}."
        else:
            better = f"{'' if others else 'not '}significantly better than that of {those}"
            yield f"{best} has the {highest}; it is {better}."
    for verdict in verdicts(leaderboard):
        metric, _, text = verdict.partition(": ")
        text, _, pairs = text.partition(": ")
        yield f"In {name_of(metric)}, {text}{f' ({pairs})' if pairs else ''}."
    if not leaderboard.differences["significant"].fill_null(value=False).all():
        yield "That a difference is not significant does not show that there is none."
    for (metric,), rows in leaderboard.differences.filter("may_flip").group_by("metric", maintain_order=True):
        yield (
            f"In {name_of(str(metric))}, p of {pairs_text(rows)} is so close to the level that another seed may give "
            "the other verdict."
        )
