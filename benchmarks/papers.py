"""The values that papers and their authors' code print, beside what dstbench gives now.

Purpose: to show anyone who doubts dstbench every printed value that can be recomputed from the data at hand, and why a
few of them differ.

Steps: computes each line of `LINES` and prints them as a Markdown table: a row per line, and one for each value that
differs; with --all, a row for every value, with two digits more than are printed. --write puts the table into
dstbench/cli/topics/papers.md, between its two marks.

Caveats: equal means equal to the digits printed. A value that differs must say why, and no other value may (a test
checks this; another checks that the topic has the current table). Values of predictions that are not at hand have no
line.

To add values, add a `Line` (source, what, a way to measure; see `benchmarks/measured.py`) and run with --write.

Usage: python -m benchmarks.papers [DATA] [--all | --write]
    DATA (else DSTBENCH_DATA, else ../shared/data) holds, from the GCA authors' repository, predictions/gca_t5_train,
    predictions/gca_samples, predictions/trippy and the released scores as published/*.json; and test.tsv of
    MultiWOZ 2.0 (as SUMBT has it) and 2.1 (as STAR has it) in multiwoz20 and multiwoz21.
"""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measured import (
    ROOT,
    Line,
    design_effect,
    empty_scores,
    few_gold_slots,
    find_data,
    gca_of,
    independent,
    measure,
    nonoverlapping,
    overlapping,
    released,
    right_turns,
    scored,
    sizes,
    spread,
    together,
    trait,
    worked,
)
from dstbench.errors import DstbenchError
from dstbench.io.atomic import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmarks.measured import Measure, Value

TOPIC: Final = ROOT / "dstbench" / "cli" / "topics" / "papers.md"
BEGIN: Final = "<!-- python -m benchmarks.papers --write -->"
END: Final = "<!-- end of the table -->"
#: A row shows at most so many values; of more, it shows their number.
_SHOWN: Final = 5

# --- what is printed ---------------------------------------------------------------------------------------------

_KIM: Final = "Kim et al. 2022"
_GCA: Final = "Aksu & Chen 2024"
_TABLE_1_METRICS: Final = ("JGA", "SA", "F1", "RSA")
_TABLE_1: Final = {
    "Transformer-DST": (0.5446, 0.9748, 0.9229, 0.8759),
    "TripPy": (0.6131, 0.9707, 0.8573, 0.8432),
    "SOM-DST": (0.5242, 0.9735, 0.9179, 0.8695),
    "Simple-TOD": (0.5605, 0.9761, 0.9276, 0.8797),
    "SAVN": (0.5357, 0.9749, 0.9246, 0.8769),
    "TRADE": (0.4939, 0.9700, 0.9033, 0.8520),
    "COMER": (0.4879, 0.9652, 0.8800, 0.8250),
    "DST-STAR": (0.5483, 0.9754, 0.9253, 0.8780),
    "L4P4K2-DSGraph": (0.5178, 0.9690, 0.9189, 0.8570),
    "SUMBT": (0.4699, 0.9666, 0.8934, 0.8380),
}
_SAMPLES: Final = "predictions/gca_samples"
_TRIPPY: Final = "predictions/trippy/trippy_result.json"
_ON_TRIPPY: Final = {"jga": "24.54", "sa:T=30": "92.15", "rsa": "63.22", "aga": "66.27", "gca": "63.75"}
_HYPHEN: Final = "the script cuts `slot-value` at the last hyphen, and some values have one"
_ZERO_SHOT: Final = "predictions/gca_t5_train/zeroshot_restaurant.json"
_APART: Final = "T5DST zero-shot, scored independently"


def _zero_shot(printed: Mapping[str, str], profile: str = "verbatim", **choices: Any) -> Measure:
    return scored(_ZERO_SHOT, printed, profile, **choices)


LINES: Final = (
    Line(f"{_KIM}, Table 3", "states A and B", worked(_KIM, "Table 3"), needs_data=False),
    Line(f"{_KIM}, Table A6", "PMUL4648, by turn", worked(_KIM, "Table A6"), needs_data=False),
    Line(
        f"{_KIM}, Tables A3 and A4",
        "JGA by turn, of states of our own that are right and wrong in the same turns",
        together(right_turns("001000", "kim2022"), right_turns("1111010", "kim2022")),
        "the paper's states are not available; JGA may rise again, as it does not depend on earlier turns",
        needs_data=False,
    ),
    Line(
        f"{_KIM}, Fig 4",
        "percent, over the ten models of its Table 1: ranges that its text names",
        spread(_TABLE_1_METRICS, _TABLE_1, {"range": {"SA": "1.09", "RSA": "5.47"}}),
        needs_data=False,
    ),
    Line(
        f"{_KIM}, Fig 4, computed independently",
        "percent, over the ten models of its Table 1: mean and standard deviation, which the figure draws",
        spread(
            _TABLE_1_METRICS,
            _TABLE_1,
            {
                "mean": {"JGA": "52.96", "SA": "97.16", "F1": "90.71", "RSA": "85.95"},
                "sd": {"JGA": "4.12", "SA": "0.39", "F1": "2.35", "RSA": "1.94"},
            },
        ),
        needs_data=False,
    ),
    Line(
        f"{_KIM}, Fig 2",
        "test dialogues of MultiWOZ 2.1 with fewer than 12 gold slots",
        few_gold_slots(12, "85"),
        "the paper says about 85 percent",
    ),
    Line(f"{_GCA}, Table 1", "predictions P¹ and P²", worked(_GCA, "Table 1"), needs_data=False),
    Line(
        f"{_GCA}, Table 3",
        "MUL1110",
        together(
            scored(f"{_SAMPLES}/sample_1.json", {"gca": "31.43", "fga:lam=0.75": "54.74"}, "gca2024"),
            trait(f"{_SAMPLES}/sample_1.json", "to_mean", "0.55", "5/9, cut and not rounded"),
        ),
        "54.74 is FGA at λ = 0.75, not 0.5",
    ),
    Line(
        f"{_GCA}, Table 4",
        "its dialogue",
        together(
            scored(
                f"{_SAMPLES}/sample_2.json",
                {"gca": "75", "fga": "26.38"},
                "gca2024",
                why={"fga": "no λ of theirs gives it; the score that they released for this file is the same as ours"},
            ),
            trait(
                f"{_SAMPLES}/sample_2.json",
                "to_mean",
                "0.36",
                "the mistakes are in turns 1 and 2 of turns 0 to 3; no variant of TO gives 0.36",
            ),
        ),
    ),
    Line(f"{_GCA}, released scores", "T5DST at eight training ratios, ten metrics", released("t5_train_*.json")),
    Line(f"{_GCA}, released scores", "T5DST zero-shot, ten metrics", released("t5_zeroshot_*.json")),
    Line(f"{_GCA}, released scores", "ten worked dialogues and probes, ten metrics", released("sample_*.json")),
    Line(
        f"{_GCA}, released script",
        "TripPy on MultiWOZ 2.1",
        scored(_TRIPPY, _ON_TRIPPY, "gca2024@faithful"),
    ),
    Line(
        f"{_GCA}, released script",
        "TripPy on MultiWOZ 2.1",
        scored(_TRIPPY, _ON_TRIPPY, "gca2024@fixed", why={"rsa": _HYPHEN}),
    ),
    Line(
        f"{_GCA}, released code",
        "GCA of correct/wrong/missed/over-predicted changes",
        gca_of(
            {
                (9, 2, 0, 0): "0.831933",
                (1, 10, 0, 0): "0.099099",
                (1, 1, 1, 1): "0.349206",
                (5, 0, 2, 1): "0.764706",
                (3, 2, 2, 1): "0.476138",
            }
        ),
        needs_data=False,
    ),
    Line(
        f"{_GCA}, notebook: cocor",
        "non-uniformity with FGA and GCA, r = 0.59 and 0.40 (0.69 between them), n = 1344: nine tests, two intervals",
        overlapping(
            (0.59, 0.40, 0.69),
            1344,
            tests={
                "pearson1898": "10.3209",
                "hotelling1940": "10.9449",
                "williams1959": "10.8870",
                "olkin1967": "10.3209",
                "dunn1969": "10.6202",
                "hendrickson1970": "10.9449",
                "steiger1980": "10.5331",
                "meng1992": "10.4837",
                "hittner2003": "10.5003",
            },
            intervals={"zou2007": "0.1543 0.2266", "meng1992": "0.2065 0.3015"},
        ),
        needs_data=False,
    ),
    Line(
        f"{_GCA}, notebook: cocor",
        "tail orientation with FGA and GCA, r = 0.08 and -0.05 (0.69 between them), n = 1344: the same",
        overlapping(
            (0.08, -0.05, 0.69),
            1344,
            tests={
                "pearson1898": "6.0898",
                "hotelling1940": "6.1309",
                "williams1959": "6.1309",
                "olkin1967": "6.0898",
                "dunn1969": "6.0659",
                "hendrickson1970": "6.1309",
                "steiger1980": "6.0552",
                "meng1992": "6.0444",
                "hittner2003": "6.0552",
            },
            intervals={"zou2007": "0.0880 0.1717", "meng1992": "0.0880 0.1724"},
        ),
        needs_data=False,
    ),
    Line(
        "Diedenhofen & Musch 2015: cocor's tests",
        "two correlations with a variable in common, with none, and of two samples",
        together(
            overlapping(
                (0.3, 0.4, 0.5),
                100,
                tests={
                    "williams1959": "-1.0767",
                    "dunn1969": "-1.0730",
                    "steiger1980": "-1.0718",
                    "hittner2003": "-1.0715",
                    "meng1992": "-1.0707",
                },
                intervals={},
            ),
            nonoverlapping((0.3, 0.4, 0.5, 0.8, 0.6, 0.7), 100, {"dunn1969": "-1.0723", "steiger1980": "-1.0744"}),
            independent((0.4, 100), (0.5, 100), {"fisher1925": "-0.875101"}),
        ),
        needs_data=False,
    ),
    Line(
        _APART,
        "as Qian et al. 2021: matching as in the paper, as in their code; dontcare; what a wrong value costs",
        together(
            _zero_shot({"jga": "24.89"}, match="levenshtein:above=0.9"),
            _zero_shot({"jga": "26.17"}, match="partial:least=0.9", fuzzy="all"),
            _zero_shot({"jga": "25.51"}, dontcare="drop"),
            _zero_shot({"sa:T=30": "94.52"}, wrong_costs="twice"),
        ),
        "with the repositories' own functions, where there are such",
    ),
    Line(
        _APART,
        "as mwzeval (Nekvinda & Dušek 2021): normalised, and matched fuzzily, and in full",
        together(
            _zero_shot({"jga": "24.89"}, "mwzeval", dontcare="keep", match="exact"),
            _zero_shot({"jga": "26.17"}, "mwzeval", dontcare="keep"),
            _zero_shot({"jga": "26.76"}, "mwzeval"),
        ),
    ),
    Line(
        _APART,
        "as SGD (Rastogi et al. 2020): product of similarities",
        _zero_shot({"soft-jga": "25.95"}, match="token-sort", fuzzy="all"),
    ),
    Line(
        _APART,
        "other treatments of dontcare, over-prediction, turns, empties, and T",
        together(
            _zero_shot({"jga": "25.48"}, dontcare="drop-gold"),
            _zero_shot({"jga": "24.92"}, dontcare="drop-pred"),
            _zero_shot({"jga": "32.00"}, dontcare="skip", over="free"),
            _zero_shot({"jga": "31.38"}, over="free"),
            _zero_shot({"jga": "14.69"}, turns="gold"),
            _zero_shot({"jga": "11.21"}, turns="last"),
            _zero_shot({"sa:T=7": "77.84", "sa:T=30": "94.83", "sa:T=35": "95.57"}),
            _zero_shot({"rsa": "49.23", "rsa:empty=1": "61.79", "rsa:empty=skip": "56.30"}),
            _zero_shot({"aga": "63.17", "recall:avg=micro": "61.09", "aga:empty=1": "65.58"}),
            _zero_shot({"f1": "71.20", "f1:empty=0:wrong=missed": "59.27", "f1:avg=micro": "69.95"}),
        ),
    ),
    Line(
        "T5DST zero-shot, bootstrapped independently",
        "design effect of JGA, dialogues against turns",
        design_effect(_ZERO_SHOT, "3.07", "from random resamples there, linearised here"),
    ),
    Line(
        "Counted independently",
        "test set of MultiWOZ 2.1 as TRADE prepares it (Wu et al. 2019)",
        sizes("multiwoz21", {"dialogues": "999", "turns": "7368"}),
    ),
    Line(
        "Counted independently",
        "its turns per domain by the rule of SOM-DST (Kim et al. 2020)",
        sizes(
            "multiwoz21", {"attraction": "2411", "hotel": "2579", "restaurant": "2828", "taxi": "630", "train": "2938"}
        ),
    ),
    Line(
        "Counted independently",
        "an empty prediction on the test sets of MultiWOZ 2.0 and 2.1",
        together(
            empty_scores("multiwoz20", {"jga": "1.60", "sa:T=35": "85.15"}),
            empty_scores("multiwoz21", {"jga": "1.53", "sa:T=30": "81.14"}),
        ),
    ),
)

# --- the table ---------------------------------------------------------------------------------------------------

_HEAD: Final = ("source", "what", "printed", "dstbench", "remark")


def table(data: Path, *, every: bool = False) -> str:
    """All lines as a Markdown table.

    Args:
        data: The folder of data.
        every: A row per value, not per line.
    """
    rows: list[tuple[str, ...]] = [_HEAD, ("---",) * len(_HEAD)]
    more = 2 if every else 0
    for line in LINES:
        values = measure(line, data)
        alike = [value for value in values if value.equal]
        if every:
            rows += [(line.source, line.what, _printed([value]), value.shown(more), line.remark) for value in alike]
        elif len(alike) > _SHOWN:
            unders = {value.under for value in alike}
            under = f" with `{unders.pop()}`" if len(unders) == 1 and "" not in unders else ""
            printed = f"{len(alike)} values{under}"
            rows.append((line.source, line.what, printed, f"all {len(alike)} equal", line.remark))
        elif alike:
            rows.append((line.source, line.what, _printed(alike), "equal", line.remark))
        others = [value for value in values if not value.equal]
        rows += [(line.source, line.what, _printed([value]), f"**{value.shown(more)}**", value.why) for value in others]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _printed(values: Iterable[Value]) -> str:
    """Values with their names, and the options that they take."""
    parts = []
    for under, group in groupby(values, lambda value: value.under):
        texts = ", ".join(f"{value.name} {value.printed}" for value in group)
        parts.append(f"{texts} with `{under}`" if under else texts)
    return "; ".join(parts)


def main(arguments: list[str] | None = None) -> None:
    """Print the table, or write it into the topic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="the folder of data")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--all", action="store_true", help="a row for every value")
    how.add_argument("--write", action="store_true", help="put the table into dstbench/cli/topics/papers.md")
    given = parser.parse_args(arguments)
    try:
        numbers = table(find_data(given.data), every=given.all)
        if not given.write:
            print(numbers, end="")
            return
        before, _, rest = TOPIC.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not end:
            sys.exit(f"{TOPIC}: it has no {BEGIN} with {END} after it")
        with replacing(TOPIC) as part:
            part.write_text(f"{before}{BEGIN}\n\n{numbers}\n{END}{after}", encoding="utf-8")
    except FileNotFoundError as error:
        parser.error(str(error))
    except DstbenchError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
