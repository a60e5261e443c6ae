"""Tables as LaTeX: golden text, captions, escapes; compiled where there is a TeX, and parsed anyhow."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.demo import synthetic
from dstbench.io.escape import latex_text, visible
from dstbench.rendering.compare import render_leaderboard
from dstbench.rendering.diagnose import render_correlations, render_diagnosis, render_traits
from dstbench.rendering.latex import latex_page, latex_table
from dstbench.rendering.scores import render_scores, render_sweep
from dstbench.rendering.tables import render_rows
from tests import formats
from tests.commands import ok
from tests.corpora import EXAMPLE

HOSTILE = r"\input{x} {%$&#_^~<|>`'[*-- ,, é"
RUNS = {**synthetic(10), HOSTILE: synthetic(10)["eager"]}

#: Compiled with pdfTeX of TeX Live 2022 (Debian 12), and looked at.
GOLDEN = r"""% \usepackage{booktabs,graphicx}

\begin{table}[t]
\centering\footnotesize
\caption{Scores by domain: values in percent, counts as they are; signature: \texttt{jga\textbar{}\allowbreak{}profile:verbatim.1\textbar{}\allowbreak{}missing:error\textbar{}\allowbreak{}by:domain\textbar{}\allowbreak{}gold:GOLD\textbar{}\allowbreak{}d:1\textbar{}\allowbreak{}t:2\textbar{}\allowbreak{}v:VERSION}.}
\smallskip
\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
\begin{tabular}{llrrr}
\toprule
run & domain & jga & turns & dialogues \\
\midrule
my\_model & hotel & 100.00 & 2 & 1 \\
my\_model & train & 0.00 & 1 & 1 \\
\bottomrule
\end{tabular}}
\end{table}
"""  # noqa: E501


def pages() -> dict[str, str]:
    """What each command prints, with a run of a hostile name."""
    scores = dstbench.score(RUNS)
    two = dict(list(RUNS.items())[-2:])
    return {
        "score": render_scores(scores, "latex"),
        "compare": render_leaderboard(dstbench.compare(RUNS, resamples=200), "latex"),
        "models": render_leaderboard(
            dstbench.compare(RUNS, models={"a": "careful", "b": "eager"}, resamples=200), "latex"
        ),
        "diagnose": render_diagnosis(dstbench.diagnose(RUNS), "latex"),
        "traits": render_traits(dstbench.traits(two, disagree=["jga", "gca"]), "latex"),
        "correlate": render_correlations(dstbench.correlate(two), "latex"),
        "sweep": render_sweep(dstbench.sweep(two, profiles=["verbatim", "trade", "sgd-mwz"]), "latex"),
        "report": dstbench.report(two, most=1).to_latex(),
        "rows": render_rows(pl.DataFrame({"gold": [HOSTILE], "n": [-1]}), "rows", "latex"),
    }


def tables(page: str) -> list[tuple[str, str, list[list[str]]]]:
    """Caption, column types and rows (the head first) of each table; braces and environments are checked."""
    bare = re.sub(
        r"\\[\\{}%&]", lambda found: "\n" if found[0] == r"\\" else "", re.sub(r"^% .*$", "", page, flags=re.M)
    )
    assert bare.count("{") == bare.count("}")
    begun, ended = (sorted(re.findall(rf"\\{word}\{{(.*?)\}}", page)) for word in ("begin", "end"))
    assert begun == ended
    found = []
    for part in re.split(r"\\begin\{(?:table\*?|longtable)\}", page)[1:]:
        caption = (re.findall(r"^\\caption\{(.*)\}(?:\\\\)?$", part, re.M) or [""])[0]
        columns = (re.findall(r"\\begin\{tabular\}\{(.*)\}$", part, re.M) or re.findall(r"^\{(.*)\}$", part, re.M))[0]
        body = part[part.index("\\toprule") : part.index("\\bottomrule")]
        rows = [
            re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in body.splitlines() if line.endswith(r" \\")
        ]
        found.append((caption, re.sub(r"p\{.*?\}", "p", columns), rows))
    return found


def test_golden(here: Path) -> None:
    Path("my_model.json").write_text(formats.gtpr())
    page = ok("score", "my_model.json", "-m", "jga", "--by", "domain", "--format", "latex")
    page = re.sub(r"gold:\w{8}", "gold:GOLD", page).replace(f"v:{dstbench.__version__}", "v:VERSION")
    assert page == GOLDEN


@pytest.mark.filterwarnings("ignore:.* so few dialogues differ:dstbench.errors.DstbenchWarning")
def test_every_row_has_every_column_and_every_caption_its_signature() -> None:
    for name, page in pages().items():
        parts = tables(page)
        assert parts, name
        for caption, columns, rows in parts:
            assert {len(row) for row in rows} == {len(columns)}, (name, caption)
            assert ("signature" in caption) == (name not in ("sweep", "rows")), (name, caption)
            assert "-{}-format" not in caption


def test_captions_of_a_comparison_name_the_test_and_n() -> None:
    found = dstbench.compare(synthetic(10), resamples=100)
    scores, differences = tables(render_leaderboard(found, "latex"))
    for caption in (scores[0], differences[0]):
        assert "10 dialogues" in caption
        assert "100 bootstrap resamples" in caption
        assert "profile:verbatim.1" in caption
    assert "approximate randomisation" not in scores[0]
    assert "p: two-sided, approximate randomisation of dialogues, 100 resamples" in differences[0]
    assert "m = 3" in differences[0]


def test_what_users_write_is_text() -> None:
    assert latex_text(HOSTILE) == (
        r"\textbackslash{}input\{x\} \{\%\$\&\#\_\textasciicircum{}\textasciitilde{}\textless{}\textbar{}\textgreater{}"
        r"\textasciigrave{}\textquotesingle{}{[}{*}-{}- ,{}, é"
    )
    assert latex_text("H∞/H0 ± 1 →") == r"H$\infty$/H0 \textpm{} 1 $\rightarrow$"
    assert latex_text("a\nb\x00") == r"a\textbackslash{}nb\textbackslash{}x00"
    assert visible("a\nb\x9b", keep="\n") == "a\nb\\x9b"


@given(st.text())
def test_no_text_opens_a_command_of_its_own(text: str) -> None:
    known = r"\\text(?:backslash|asciicircum|asciitilde|less|greater|bar|asciigrave|quotesingle|pm)\{\}|\\char34\{\}"
    rest = re.sub(
        rf"{known}|\\[{{}}$&#_%]|\$\\(?:rightarrow|infty)\$|\{{[\[\]*]\}}|(?<=[-,])\{{\}}", "", latex_text(text)
    )
    assert not set(rest) & set("\\{}$&#_%^~<>|\"`'[]*")


def test_numbers_have_minus_signs_and_undefined_a_dash() -> None:
    table = pl.DataFrame({"run": ["a-b"], "d": ["-1.50"], "95 %": ["-2.00 to 1.00"], "p": ["-"]})
    (found,) = tables(latex_table(table, ["Title", "signature: jga|v:1"]))
    assert found[1:] == ("lrrr", [["run", "d", r"95 \%", "p"], ["a-b", "$-$1.50", "$-$2.00 to 1.00", "--"]])


def test_long_tables_go_on_and_wide_ones_over_both_columns() -> None:
    long = latex_page([(pl.DataFrame({"n": [str(n) for n in range(50)]}), ["Title"])])
    assert "longtable" in long.splitlines()[0]
    assert len(tables(long)[0][2]) == 51
    wide = latex_table(pl.DataFrame({"text": ["x" * 70]}), ["Title"])
    assert r"\begin{table*}" in wide
    assert tables(wide)[0][1] == "p"
    assert r"\begin{table}[t]" in latex_table(pl.DataFrame({"text": ["x"]}), ["Title"])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here: parsed only")
def test_it_compiles(here: Path) -> None:
    body = "\n".join(pages().values())
    Path("all.tex").write_text(
        r"\documentclass[twocolumn]{article}\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx,longtable}"
        rf"\begin{{document}}\onecolumn {body}\end{{document}}",
        encoding="utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="latin-1")  # noqa: S603 (our own)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_dialogue_of_the_example_is_a_table_too() -> None:
    assert render_rows(dstbench.scan(EXAMPLE).collect(), "long", "latex").count(r"\midrule") == 1
