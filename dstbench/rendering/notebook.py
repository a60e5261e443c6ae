"""Results as notebooks show them: the conclusions, then the tables, the first one open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench import audit
from dstbench.analysis.compare import Leaderboard
from dstbench.analysis.compare_metrics import MetricComparison
from dstbench.analysis.conclusion import conclusion
from dstbench.analysis.correlate import Correlations
from dstbench.analysis.diagnose import Diagnosis
from dstbench.analysis.sensitivity import Sensitivity
from dstbench.analysis.traits import Traits
from dstbench.errors import shortened
from dstbench.readers.states import Side
from dstbench.rendering import compare_metrics, ratings, sensitivity
from dstbench.rendering.audit import bias_page, differences_page, seen_in_training, version_scores_page
from dstbench.rendering.audit_words import (
    agreement_page,
    contradictions_page,
    inconsistency_page,
    memorisation_page,
    replacement_page,
    review_page,
)
from dstbench.rendering.compare import leaderboard_page, verdicts
from dstbench.rendering.compare_metrics import metrics_page
from dstbench.rendering.diagnose import correlations_page, diagnosis_page, traits_page
from dstbench.rendering.html import rendered
from dstbench.rendering.sensitivity import sensitivity_page
from dstbench.rendering.tables import UNDEFINED, Page

# The rows of a table that are shown.
_MOST_ROWS: Final = 25
# How many of a table that is shown as it is, such as a long table.
_FEW_ROWS: Final = 10
# Characters of a cell or of an attribute's value.
_LONGEST: Final = 200


class _View(NamedTuple):
    """How a record is shown: its page, and the sentences with its conclusions."""

    page: Callable[[Any], Page]
    finding: Callable[[Any], Sequence[str]] | None = None


_VIEWS: Final[Mapping[type, _View]] = {
    Leaderboard: _View(leaderboard_page, verdicts),
    Diagnosis: _View(diagnosis_page, conclusion),
    Traits: _View(traits_page),
    Correlations: _View(correlations_page, lambda record: ratings.finding(record) if record.rated.height else []),
    MetricComparison: _View(metrics_page, compare_metrics.finding),
    Sensitivity: _View(sensitivity_page, sensitivity.conclusion),
    audit.Bias: _View(bias_page, seen_in_training),
    audit.Differences: _View(differences_page),
    audit.VersionScores: _View(version_scores_page),
    audit.Inconsistency: _View(inconsistency_page),
    audit.Review: _View(review_page),
    audit.Agreement: _View(agreement_page),
    audit.Replacement: _View(replacement_page),
    audit.Memorisation: _View(memorisation_page),
    audit.Contradictions: _View(contradictions_page),
}


def as_html(record: Any) -> str:
    """A record as an element for a notebook."""
    view = _VIEWS.get(type(record))
    if view is None:
        return _shown(*_as_it_is(record))
    page = view.page(record)
    finding = [] if view.finding is None else list(view.finding(record))
    return _shown(finding, page.sections, [line for line in page.below if line not in finding])


def _shown(finding: Sequence[str], sections: Sequence[tuple[str, pl.DataFrame]], below: Sequence[str]) -> str:
    """Sentences, tables of texts, of which all but the first are folded, and lines on how they were computed."""
    tables = []
    for title, rows in sections:
        more = f" (the first {_MOST_ROWS} of {rows.height:,})" if rows.height > _MOST_ROWS else ""
        tables.append((title, title + more, rows.head(_MOST_ROWS).with_columns(pl.all().fill_null(UNDEFINED))))
    return rendered("notebook.html", finding=finding, tables=tables, below=below)


def _as_it_is(record: Any) -> tuple[list[str], list[tuple[str, pl.DataFrame]], list[str]]:
    """Any other record: its small attributes in a table, and the beginnings of its frames."""
    frames = []
    values: list[tuple[str, str]] = []
    for name, value in _attributes(record):
        if isinstance(value, pl.DataFrame):
            texts = value.head(_FEW_ROWS).select(pl.all().cast(pl.String))
            more = ", the first of them" if value.height > _FEW_ROWS else ""
            frames.append((f"{name}: {value.height:,} rows{more}", texts))
        elif value is not None:
            shown = f"rows of {', '.join(value.collect_schema())}" if isinstance(value, pl.LazyFrame) else str(value)
            values.append((name, shortened(shown, _LONGEST)))
    listed = pl.DataFrame(values, schema={"attribute": pl.String, "value": pl.String}, orient="row")
    return [], [(type(record).__name__, listed), *frames], []


def _attributes(record: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of a record by name, and those of records in it: ``gold.turns``."""
    for name in getattr(record, "_fields", None) or [field.name for field in fields(record)]:
        value = getattr(record, name)
        if isinstance(value, Side):
            yield from ((f"{name}.{inner}", of_side) for inner, of_side in _attributes(value))
        else:
            yield name, value
