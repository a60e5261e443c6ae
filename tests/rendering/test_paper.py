"""The files for a paper: sentences say what was computed and no more, what they cite is there, pdfTeX takes them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.rendering.report import Report
from dstbench.typing import Missing
from tests.rendering.test_latex import ACL, HOSTILE, has_tex, typeset

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")


def seven(dialogues: int = 40) -> Report:
    """A report on seven runs, two of them equal, one with a name full of commands."""
    runs = synthetic(dialogues)
    twice = {f"{name} again": run for name, run in runs.items()}
    return dstbench.report({**runs, **twice, HOSTILE: runs["eager"]}, metrics="jga,fga,f1", most=1)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {
        name: text.decode("latin-1" if name.endswith("pdf") else "utf-8") for name, text in seven(12).to_paper().items()
    }


@pytest.mark.again
def test_what_is_cited_is_listed_and_nothing_else(files: dict[str, str]) -> None:
    cited = {key for keys in re.findall(r"\\cite\w+\{(.*?)\}", files["methods.tex"]) for key in keys.split(",")}
    assert cited == set(re.findall(r"^@\w+\{(.*),$", files["references.bib"], re.MULTILINE))
    assert cited == {
        "dstbench",
        "kim-etal-2022",
        "dey-etal-2022",
        "wu-etal-2019",
        "wilson-1927",
        "noreen-1989",
        "holm-1979",
    }
    assert "cited = " not in files["references.bib"]
    for name in ("methods.tex", "figures.tex", "table.tex", "references.bib"):
        bare = re.sub(r"\\[{}]", "", files[name])
        assert bare.count("{") == bare.count("}"), name
    drawn = {name for name in files if name.endswith(".pdf")}
    assert {f"{name}" for name in re.findall(r"includegraphics\{(.*?)\}", files["figures.tex"])} == drawn
    labels = [label for name in ("table.tex", "figures.tex") for label in re.findall(r"\\label\{(.*?)\}", files[name])]
    assert len({*labels}) == len(labels)
    assert {*re.findall(r"\\ref\{(.*?)\}", files["methods.tex"])} <= {*labels}


@pytest.mark.again
def test_no_more_is_claimed_than_the_tests_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of runs that are equal, none is said to be better; and a difference beyond chance is."""
    monkeypatch.setattr("dstbench.rendering.charts.draw.draw_figure", lambda *_: b"")  # sentences alone are asked for
    runs = synthetic(60)
    alike = {"a": runs["eager"], "b": runs["eager"]}
    text = dstbench.report(alike, metrics="jga", most=1).to_paper()["methods.tex"].decode()
    assert "a and b have the same JGA" in text
    assert "significantly better" not in text
    assert "does not show that there is none" in text
    page = dstbench.report({name: runs[name] for name in ("careful", "forgetful")}, metrics="jga", most=1)
    assert page.leaderboard.differences["significant"].all()
    text = page.to_paper()["methods.tex"].decode()
    assert "careful has the highest JGA" in text
    assert "significantly better than forgetful" in text
    assert "does not show" not in text


@pytest.mark.again
def test_a_single_run_and_other_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dstbench.rendering.charts.draw.draw_figure", lambda *_: b"")  # sentences alone are asked for
    alone = dstbench.report({"eager": synthetic(20)["eager"]}, metrics="jga", most=1, profile="trade")
    text = alone.to_paper()["methods.tex"].decode()
    assert "1 run (eager)" in text
    assert r"\citealp{wu-etal-2019}: gold's labels fixed" in text
    assert "significant" not in text
    seeds = {f"{name}{number}": run for name, run in synthetic(8).items() for number in range(3)}
    models = {name: f"{name}*" for name in synthetic(1)}
    page = dstbench.report(seeds, metrics="jga", most=1, models=models, adjust="none")
    text = page.to_paper()["methods.tex"].decode()
    assert r"by Welch's~\citep{welch-1947} t over their runs" in text
    assert "No p is adjusted" in text
    assert "holm" not in text


@pytest.mark.tex
@pytest.mark.skipif(
    not has_tex("natbib.sty") or shutil.which("bibtex") is None,
    reason="no pdflatex with natbib and BibTeX here: parsed only",
)
def test_seven_runs_compile_without_a_warning(here: Path) -> None:
    Path("paper").mkdir()
    for name, content in seven().to_paper().items():
        (Path("paper") / name).write_bytes(content)
    preamble = ACL.replace(r"\begin{document}", "\\usepackage{natbib}\n\\begin{document}")
    parts = "".join(f"\\input{{paper/{name}}}\n" for name in ("methods", "table", "figures"))
    body = parts + "\\bibliographystyle{plainnat}\\bibliography{paper/references}\n"
    typeset(preamble, body)
    bibtex = subprocess.run(["bibtex", "all"], capture_output=True, text=True, check=True)  # noqa: S607
    assert "arning" not in bibtex.stdout
    typeset(preamble, body)
    said = typeset(preamble, body)
    assert not re.findall(r"^.*(?:[Ww]arning|Overfull|undefined|too large).*$", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("wrong", "A turn without a prediction counts as wrong."),
        pytest.param("empty", "A turn without a prediction counts as an empty state.", marks=pytest.mark.again),
        pytest.param("intersect", "Turns without a prediction are left out.", marks=pytest.mark.again),
    ],
)
def test_methods_say_how_turns_without_a_prediction_count(
    missing: Missing, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dstbench.rendering.charts.draw.draw_figure", lambda *_: b"")  # sentences alone are asked for
    states = [{"dialogue_id": f"D{n}", "turn": 0, "gold": {"hotel-area": "north"}} for n in range(4)]
    preds = [{"dialogue_id": f"D{n}", "turn": 0, "pred": {"hotel-area": "north"}} for n in range(3)]
    other = dstbench.profile("trade", multi="any")
    page = dstbench.report({"a": preds, "b": preds}, gold=states, missing=missing, metrics="jga", most=1, profile=other)
    text = page.to_paper()["methods.tex"].decode()
    assert sentence in text
    assert r"trade@faithful.1+ (\citealp{wu-etal-2019}: gold's labels fixed" in " ".join(text.split())
