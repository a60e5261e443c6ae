"""A report as files of a paper: its main table and figures, how they were made, in sentences, and what these cite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench._version import __version__
from dstbench.analysis.check import GOLD
from dstbench.analysis.compare import pairs_text
from dstbench.analysis.findings import best_run, listed, verdicts
from dstbench.conventions.profiles import PROFILES
from dstbench.errors import number_of, percent
from dstbench.io.escape import latex_text
from dstbench.metrics.registry import find_metric, name_of
from dstbench.rendering.html import rendered
from dstbench.rendering.latex import latex_page, noted
from dstbench.rendering.of_runs import best_first, sizes_of
from dstbench.rendering.tables import layout_of, signature_lines
from dstbench.signature import parse

if TYPE_CHECKING:
    from dstbench.rendering.report import Report

_SOURCES: Final = Path(__file__).with_name("references.bib")


def paper_files(page: Report, folder: str) -> dict[str, bytes]:
    """Files by name, ready to be input from the folder in which `folder` lies, or from `folder` itself."""
    from dstbench.rendering.charts.draw import draw_figure, is_wide, specification
    from dstbench.rendering.charts.runs import leaderboard_charts

    figures, drawn = [], {}
    for name, chart in leaderboard_charts(page.leaderboard).items():
        spec = specification(chart)
        figures.append((name, latex_text(str(spec["title"])), is_wide(spec)))
        drawn[f"{name}.pdf"] = draw_figure(chart, "pdf").replace(b"%PDF-1.7", b"%PDF-1.5", 1)  # as pdfTeX asks
    (scored, *others), references = _cited(_methods(page))
    signed = rf"\footnote{{\raggedright {noted(signature_lines(page.leaderboard.scores))}.\par}}"
    texts = {
        "table.tex": latex_page(layout_of(page.leaderboard).for_paper),
        "figures.tex": rendered("figures.tex", figures=figures, folder=folder),
        "methods.tex": "\n\n".join([scored + signed, *others, r"All scores are in Table~\ref{tab:compare}."]) + "\n",
        "references.bib": references,
    }
    return {name: text.encode() for name, text in texts.items()} | drawn


def _cited(paragraphs: Iterable[str]) -> tuple[list[str], str]:
    """Paragraphs as LaTeX, and the entries of ``references.bib`` they cite: those whose `cited` has their words."""
    entries = {
        re.split("[{,]", entry)[1]: entry for entry in re.split(r"\n\n(?=@)", _SOURCES.read_text("utf-8").strip())
    }
    words = {key: re.findall(r"cited = \{(.*)\}", entry)[0].split("; ") for key, entry in entries.items()}
    keys = {term: key for key, terms in words.items() for term in terms}
    terms = "|".join(map(re.escape, sorted(keys, key=len, reverse=True)))
    used: set[str] = set()

    def cited(term: str) -> str:
        key, is_first = keys[term], keys[term] not in used
        used.add(key)
        if re.search(r" \d{4}$", term):
            return rf"\citealp{{{key}}}"
        return _prose(term) + rf"~\citep{{{key}}}" * is_first

    texts = []
    for paragraph in paragraphs:
        parts = re.split(rf"(?<!\w)({terms})(?!\w)", paragraph)
        texts.append("".join(cited(part) if place % 2 else _prose(part) for place, part in enumerate(parts)))
    return texts, "\n\n".join(re.sub(r",\n  cited = .*", "", entries[key]) for key in sorted(used)) + "\n"


def _prose(text: str) -> str:
    return latex_text(text, most=len(text)).replace(r"\textquotesingle{}", "'")


def _methods(page: Report) -> Iterator[str]:
    """Paragraphs: what was scored, by what, how runs were compared, and what the tests show, and no more."""
    leaderboard = page.leaderboard
    scores, design, differences = best_first(leaderboard.scores), leaderboard.design, leaderboard.differences
    runs, metrics = (scores[column].unique(maintain_order=True).to_list() for column in ("run", "metric"))
    texts = page.checks.filter(pl.col("status") != "warn", check=GOLD)["found"].to_list()
    is_public_gold = len(texts) == len(runs) and len(set(texts)) == 1
    settings = [parse(signature).settings for signature in scores["signature"].unique(maintain_order=True)]
    profile, tested = settings[0]["profile"], differences.drop_nulls("p")
    classes = {metric: find_metric(metric.partition(":")[0]) for metric in metrics}
    named = [f"{kind.title} ({name_of(metric)}; {kind.source})" for metric, kind in classes.items() if kind]
    said = [verdict.partition(": ") for verdict in verdicts(leaderboard)]
    best, close = best_run(leaderboard), differences.filter("may_flip").group_by("metric", maintain_order=True)
    text = rendered(
        "methods.txt",
        **design.row(0, named=True) | {"level": percent(design["level"][0]), "alpha": percent(1 - design["level"][0])},
        best=best.text if best is not None and len(runs) > 1 else "",
        number=number_of(len(runs), "run"),
        runs=listed(runs, len(runs)),
        sizes=sizes_of(scores, " of "),
        gold=re.sub(r"\([\d,]+ dialogues; ", "(", texts[0]) if is_public_gold else "gold whose hash the signature has",
        missing=dict.fromkeys(one["missing"] for one in settings),
        version=__version__,
        profile=profile,
        title={c.name: c.title for c in PROFILES.values()}.get(profile.removesuffix("+"), "").replace("`", ""),
        metrics=listed(named, len(named)),
        several=len(named) > 1,
        models=leaderboard.models.height,
        drawn=max(tested["resamples"].drop_nulls(), default=0),
        differences=listed([f"{number:,}" for number in sorted({*tested["m"].drop_nulls()})] or [""]),
        verdicts=[(name_of(metric), re.sub(": (.*)", r" (\1)", rest)) for metric, _, rest in said],
        all_significant=differences["significant"].fill_null(value=False).all(),
        close=[(name_of(str(metric)), pairs_text(rows)) for (metric,), rows in close],
    )
    yield from (" ".join(part.split()) for part in text.split("\n\n") if part.strip())
