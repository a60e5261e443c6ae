"""Sanity checks of runs as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.analysis.sentences import listed
from dstbench.rendering.tables import UNDEFINED, Page, pivoted, render_page, render_rows
from dstbench.typing import TableFormat

# The colours of outcomes, in a terminal.
_COLOURS: Final = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def render_checks(checks: pl.DataFrame, form: TableFormat, *, everything: bool = True) -> str:
    """What `dstbench.check` returns, in one of the formats.

    Args:
        checks: (run, check, status, found).
        form: The format. Text of several runs begins with the outcomes, a column per run, in colours on a terminal.
        everything: Whether text of several runs explains all outcomes, not only failures and warnings.
    """
    if form != "text" or checks["run"].n_unique() < 2:
        return render_rows(checks, "checks", form, {"status": _colours(checks["status"])})
    outcomes = pivoted(checks, "run", "check", "status").fill_null(UNDEFINED)
    sections = [("Outcomes", outcomes)]
    styles = {"Outcomes": {run: _colours(outcomes[run]) for run in outcomes.columns[1:]}}
    doubts = checks if everything else checks.filter(pl.col("status").is_in(["fail", "warn"]))
    for check in outcomes["check"]:
        of_check = doubts.filter(check=check).select("run", "status", "found")
        if of_check.height:
            sections.append((check, of_check))
            styles[check] = {"status": _colours(of_check["status"])}
    below = [] if everything else ["below the outcomes: failures and warnings; all that was found: --all"]
    return render_page(Page(sections, below, styles=styles), form)


def failed(checks: pl.DataFrame) -> str | None:
    """Which checks fail, in a line, with the runs if there are several; None: none does.

    >>> rows = [("a", "coverage", "fail"), ("b", "coverage", "fail"), ("b", "slots", "ok")]
    >>> failed(pl.DataFrame(rows, schema=["run", "check", "status"], orient="row"))
    '1 check fails: coverage (a and b)'
    """
    failures = checks.filter(status="fail").group_by("check", maintain_order=True).agg("run")
    if failures.is_empty():
        return None
    several = checks["run"].n_unique() > 1
    named = [f"{check} ({listed(runs)})" if several else check for check, runs in failures.iter_rows()]
    return f"{len(named)} check{'s fail' if len(named) > 1 else ' fails'}: {', '.join(named)}"


def _colours(statuses: pl.Series) -> list[str]:
    return [_COLOURS.get(status, "") for status in statuses]
