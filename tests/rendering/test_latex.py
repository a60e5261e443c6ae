"""Tables as LaTeX: golden text, marks, captions, escapes; compiled where there is a TeX, and parsed anyhow."""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.demo import synthetic
from dstbench.errors import DstbenchWarning, visible
from dstbench.io.escape import latex_text
from dstbench.rendering.latex import PaperTable, cell, latex_page
from dstbench.rendering.tables import render
from dstbench.rendering.terminal import Screen, laid_out_for
from dstbench.rendering.views import Layout, View
from tests import formats
from tests.commands import ok

HOSTILE = r"\input{x} {%$&#_^~<|>`'[*-- ,, é"
RUNS = {**synthetic(10), HOSTILE: synthetic(10)["eager"]}
LONG = [
    *("W" * 70, "t5_base_multiwoz21_seed_1_epoch_20_checkpoint_best_of_all_really", "x" * 30),
    *("run with many words " * 4, "{" * 20, "a-b-c", "Ünïcode", "%", "[", "--"),
]

#: Compiled with pdfTeX of TeX Live 2022 (Debian 12), and looked at.
GOLDEN = r"""% \usepackage{booktabs,graphicx,siunitx}

\begin{table}[t]
\centering\footnotesize\sisetup{detect-all,group-digits=false}\protected\def\best{\bfseries}
\resizebox*{!}{\ifdim\totalheight>.7\textheight.7\textheight\else\totalheight\fi}{%
\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
\begin{tabular}{lS[table-format=3.2]S[table-format=1.0]S[table-format=1.0]}
\toprule
Domain & {JGA} & {Turns} & {Dialogues} \\
\midrule
hotel & 100.00 & 2 & 1 \\
train & 0.00 & 1 & 1 \\
\bottomrule
\end{tabular}}}
\par\smallskip{\scriptsize\raggedright by domain: a turn counts if gold has a slot of the domain; predictions of the domain in other turns are not scored; signature: \texttt{SIGNATURE}.\par}
\caption{JGA (\%) by domain.}
\label{tab:score-domain}
\end{table}
"""  # noqa: E501 (one line of LaTeX)


@cache
def pages(names: int | None) -> dict[str, str]:
    """What each command prints of so many runs with `LONG` names; None: of `RUNS`."""
    tracked = list(synthetic(12).values())
    data = RUNS if names is None else {name: tracked[n % 3] for n, name in enumerate(LONG[:names])}
    runs = {run.name: run for run in dstbench.open_runs(data)}  # whose rows are laid out once for all tables
    found = {
        "score": render({"scores": dstbench.score(runs)}, "latex"),
        "parts": render({"scores": dstbench.score(runs, metrics="jga,f1", by="domain")}, "latex"),
        "beside": render({"scores": dstbench.score(runs, metrics="jga", by="domain")}, "latex"),
        "diagnose": render(dstbench.diagnose(runs), "latex"),
        "traits": render(dstbench.traits(runs), "latex"),
        "correlate": render(dstbench.correlate(runs), "latex"),
        "sensitivity": render(dstbench.sensitivity(next(iter(runs.values()))), "latex"),
        "sweep": render({"sweep": dstbench.sweep(runs, profiles=["verbatim", "trade", "sgd-mwz"])}, "latex"),
        "rows": render({"rows": pl.DataFrame({"gold": [HOSTILE], "n": [-1]})}, "latex"),
    }
    if len(runs) == 1:
        return found
    many = dstbench.compare(runs, metrics="jga,sa,rsa,missed,fga:lam=0.25", resamples=200, adjust="none")
    of_models = dstbench.compare(runs, models={"a": list(runs)[0], "b": list(runs)[1]}, resamples=200)  # noqa: RUF015
    rated = dstbench.score(runs, metrics="jga", by="dialogue").select(
        "run", "dialogue", rating=pl.int_range(pl.len()) % 5
    )
    return found | {
        "ratings": render(dstbench.correlate(runs, ratings=rated), "latex"),
        "compare": render(dstbench.compare(runs, resamples=200), "latex"),
        "many": render(many, "latex"),
        "models": render(of_models, "latex"),
        "pairs": render(many, "latex", pairs=True),
        "metrics": render(dstbench.compare_metrics(runs, resamples=200), "latex"),
        "disagree": render(dstbench.traits(runs, disagree=["jga", "gca"]), "latex"),
        "versus": render(dstbench.correlate(runs, differences=["jga,fga,gca"]), "latex"),
        # Tables that are here already, over each other.
        **({"report": dstbench.report(runs, metrics="jga,f1", most=1).to_latex()} if names is None else {}),
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
        lines = [line for line in body.splitlines() if line.endswith(r" \\")]
        rows = [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines]
        found.append((caption, re.sub(r"(?<=p)\{.*?\}|@\{.*?\}|\[.*?\]", "", columns), rows))
    return found


def test_golden(here: Path) -> None:
    Path("my_model.json").write_text(formats.gtpr())
    page = ok("score", "my_model.json", "-m", "jga", "--by", "domain", "--format", "latex")
    (signature,) = re.findall(r"\\texttt\{(.*)\}\.\\par", page)
    assert page.replace(signature, "SIGNATURE") == GOLDEN
    readable = signature.replace(r"\allowbreak{}", "").replace(r"\textbar{}", "|")
    assert re.fullmatch(r"jga\|profile:verbatim\.1\|missing:error\|by:domain\|gold:\w{8}\|d:1\|t:2\|v:.*", readable)


def test_equal_scores_are_bold_both_and_a_single_one_is_not() -> None:
    corpus = synthetic(10)
    page = render({"scores": dstbench.score({"a": corpus["eager"], "b": corpus["eager"]}, metrics="jga")}, "latex")
    assert page.count(r"\best ") == 2
    assert r"\best " not in render({"scores": dstbench.score({"a": corpus["eager"]})}, "latex")


@cache
def scored() -> pl.DataFrame:
    return dstbench.score(synthetic(20), metrics="jga")


@given(st.lists(st.sampled_from(["one", "two", None]), min_size=3, max_size=3))
def test_groups_order_runs_and_the_best_of_each_is_underlined(titles: list[str | None]) -> None:
    scores = scored()
    names = scores["run"].to_list()
    groups: dict[str, str] = {
        str(title): ",".join(name for name, own in zip(names, titles, strict=True) if own == title)
        for title in ("one", "two")
        if title in titles
    }
    ((_, _, rows),) = tables(render({"scores": scores}, "latex", groups=groups))
    values = {row["run"]: row["value"] for row in scores.to_dicts()}
    of_run = dict(zip(names, titles, strict=True))
    expected = [
        name
        for title in [*groups, None]
        for name in sorted((n for n in names if of_run[n] == title), key=lambda n: -values[n])
    ]
    shown = {row[0]: row[1] for row in rows[1:] if len(row) > 1}
    assert list(shown) == expected
    for name, number in shown.items():
        of_group = [values[other] for other in names if of_run[other] == of_run[name]]
        is_best = len(of_group) > 1 and values[name] == max(of_group) and of_run[name] is not None and bool(groups)
        assert (r"\underline" in number) == is_best
        assert (r"\best " in number) == (values[name] == max(values.values()))
    lines = render({"scores": scores}, "text", groups=groups).splitlines()
    words = [line.split()[0] for line in lines if line.startswith(" ")]  # above the table is what was found
    assert [word for word in words if word in names] == expected


def test_labels(here: Path) -> None:
    Path("my_model.json").write_text(formats.gtpr())
    assert r"\label{tab:score}" in ok("score", "my_model.json", "--format", "latex")
    assert r"\label{tab:mine}" in ok("score", "my_model.json", "--format", "latex", "--label", "tab:mine")
    table = PaperTable(pl.DataFrame({"a": ["x"]}), r"\label{no}", "tab:a")
    page = latex_page([table, table])
    assert re.findall(r"^\\label\{(.*)\}", page, re.MULTILINE) == ["tab:a", "tab:a-2"]
    with laid_out_for(Screen(label="b")):
        page = latex_page(Layout([], paper=[View("A", pl.DataFrame({"a": ["x"]}))] * 2).for_paper)
    assert re.findall(r"^\\label\{(.*)\}", page, re.MULTILINE) == ["b", "b-2"]


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
        rf"{known}|\\[{{}}$&#_%]|\$\\(?:rightarrow|infty|lambda|alpha)\$|\{{[\[\]*]\}}|(?<=[-,])\{{\}}",
        "",
        latex_text(text),
    )
    assert not set(rest) & set("\\{}$&#_%^~<>|\"`'[]*")


#: Every kind of number, with every mark.
MARKED = pl.DataFrame(
    {
        "text": ["45.60", "-1.50", "102.33", "-", "7.00"],
        "bold": [True, False, True, False, False],
        "underlined": [True, True, False, False, False],
        "p": ["<0.001", "0.0199", "1", "-", ""],
        "n": ["12", "-7372", "100000", "-", "3"],
        "mixed": ["12", "1e20", "0.5", "inf", "-"],
    }
).select(
    *(cell(pl.col(name), f"of {name}", bold=pl.col("bold"), underlined=pl.col("underlined")) for name in ("text", "n")),
    *("p", "n", cell(pl.col("mixed"), "odd")),
)


def test_marked_numbers_are_numbers_for_siunitx() -> None:
    page = latex_page([PaperTable(MARKED, "Title.", "tab:a")])
    formats_of = re.findall(r"S\[table-format=(.*?)\]", page)
    assert formats_of == ["-3.2", "-6.0", "1.4", "-6.0", "2.1"]
    ((_, columns, (_, *rows)),) = tables(page)
    assert columns == "SSSSS"
    assert rows == [
        [
            r"\best 45.60\llap{\underline{\hphantom{45.60}}}", r"\best 12\llap{\underline{\hphantom{12}}}",
            r"\llap{\textless}0.001", "12", "12",
        ],
        [
            r"-1.50\llap{\underline{\hphantom{\textminus{}1.50}}}",
            r"-7372\llap{\underline{\hphantom{\textminus{}7372}}}", "0.0199", "-7372", "{1e20}",
        ],
        [r"\best 102.33", r"\best 100000", "1", "100000", "0.5"],
        ["{--}", "{--}", "{--}", "{--}", "{inf}"],
        ["7.00", "3", "{}", "3", "{--}"],
    ]  # fmt: skip


def test_what_siunitx_would_change_or_refuse_is_text() -> None:
    table = pl.DataFrame({"id": ["007", "1"], "size": ["1,234", "5"], "small": ["1e-05", "2"], "of": ["1 (2.5)", "-"]})
    ((_, columns, rows),) = tables(latex_page([PaperTable(table, "Title.", "tab:a")]))
    assert (columns, rows[1]) == ("rrlr", ["007", "1,234", "1e-05", "1 (2.5)"])


def has_tex(*more: str) -> bool:
    """Whether there is a pdfTeX with all that the tables and ACL's style need, and with more files."""
    if shutil.which("pdflatex") is None:
        return False
    needed = ["kpsewhich", "booktabs.sty", "graphicx.sty", "siunitx.sty", "mathptmx.sty", "ptmr8t.tfm", *more]
    return subprocess.run(needed, capture_output=True, check=False).returncode == 0  # noqa: S603 (our own)


#: As ACL's style sets a page: two columns of 219 pt in a width of 455 pt, Times, 11 pt.
ACL = r"""\documentclass[11pt,twocolumn]{article}
\usepackage[T1]{fontenc}\usepackage{mathptmx,booktabs,graphicx}\usepackage{siunitx}
\setlength{\textwidth}{455pt}\setlength{\columnsep}{17pt}\setlength{\textheight}{700pt}
\setlength{\topmargin}{-50pt}\setlength{\oddsidemargin}{0pt}
\begin{document}
"""


def typeset(preamble: str, body: str) -> str:
    """What pdfTeX says while it makes all.pdf."""
    Path("all.tex").write_text(f"{preamble}{body}\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="latin-1")  # noqa: S603 (our own)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@pytest.mark.tex
@pytest.mark.skipif(not has_tex(), reason="no pdflatex with booktabs, siunitx and Times here: parsed only")
@pytest.mark.parametrize("names", [None, 1, 7, 10], ids=str)
def test_it_compiles_and_fits_the_columns_of_acl(names: int | None, here: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DstbenchWarning)
        body = "\\clearpage\n".join(pages(names).values())
    assert not re.findall(r"^(?:Overfull .*|.*too large for page.*)$", typeset(ACL, body), re.MULTILINE)


@pytest.mark.tex
@pytest.mark.skipif(not has_tex() or shutil.which("pdftotext") is None, reason="no pdflatex or no pdftotext here")
@pytest.mark.parametrize("version", ["", "=v2"])
def test_points_are_below_each_other_and_lines_exactly_below_their_numbers(version: str, here: Path) -> None:
    if version and not has_tex("siunitx-v2.sty"):
        pytest.skip("only one version of siunitx here")
    preamble = ACL.replace("{siunitx}", f"{{siunitx}}[{version}]")
    typeset(rf"\pdfcompresslevel=0 {preamble}", latex_page([PaperTable(MARKED, "Title.", "tab:a")]))
    command = ["pdftotext", "-bbox", "all.pdf", "-"]
    words = subprocess.run(command, capture_output=True, check=True).stdout.decode()  # noqa: S603 (our own)
    found = re.findall(r'xMin="(.*?)" .* xMax="(.*?)" .*>(.*)</word>', words)
    edges = {text: (float(left), float(right)) for left, right, text in found}
    rights = [edges[text][1] for text in ("45.60", "−1.50", "102.33", "7.00")]  # noqa: RUF001 (a minus sign)
    assert max(rights) - min(rights) < 0.1, "in Times, bold digits are as wide as others"
    drawn = re.findall(rb"1 0 0 1 (\S+) \S+ cm\n\[\]0 d 0 J \S+ w 0 0 m (\S+) 0 l S", Path("all.pdf").read_bytes())
    lines = [(float(left), float(left) + float(width)) for left, width in drawn]
    for text in ("45.60", "−1.50"):  # noqa: RUF001 (a minus sign)
        assert pytest.approx(edges[text], abs=0.05) in lines, text
