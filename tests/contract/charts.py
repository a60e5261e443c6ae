"""Every chart of every command: which rows of the JSON it shows, and which column is where.

`CHARTS` has a row for each file that the command lines of `LINES` draw; `test_charts.py` compares rows and drawings.
What a chart computes from the JSON (bins, means, shares of a whole) is computed here once more, in plain Python.
"""

from __future__ import annotations

import json
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from statistics import NormalDist, fmean, quantiles, stdev
from typing import Any, Final, TypeAlias

from tests.contract import corpora, small_corpus

Rows: TypeAlias = list[dict[str, Any]]
Of: TypeAlias = Callable[[dict[str, Any]], Rows]

RUNS: Final = "small/keen.jsonl small/steady.jsonl small/hasty.jsonl"
#: Command lines, by what they are about; `CHARTS` says what each draws.
LINES: Final = {
    "score": f"score {RUNS} -m jga,fga",
    "score by slot": f"score {RUNS} -m jga,f1:avg=micro --by slot",
    "score by domain": f"score {RUNS} -m jga,recall:avg=micro --by domain",
    "score of one by slot": "score small/keen.jsonl --by slot",
    "score by turn": f"score {RUNS} -m jga,fga --by turn",
    "score along": f"score {RUNS} -m jga,gca,sa,wrong --along seed=seeds.csv",
    "score by length": f"score {RUNS} -m jga --by length",
    "score by n_gold": f"score {RUNS} -m gca --by n_gold",
    "compare": f"compare {RUNS} -m fga,jga --resamples 50",
    "compare by a count": f"compare {RUNS} -m missed --resamples 50",
    "compare models": f"compare {RUNS} -m jga,missed --resamples 50 --model b=steady,hasty --model a=keen",
    "compare-metrics": f"compare-metrics {RUNS} -m jga,aga,wrong --resamples 50",
    "correlate": f"correlate {RUNS} -m jga,fga,gca,missed",
    "diagnose": f"diagnose {RUNS}",
    "diagnose on two golds": "diagnose small/keen.jsonl steady.jsonl",
    "diagnose a little": "diagnose little.jsonl",
    "traits": f"traits {RUNS}",
    "traits at the edge of a bin": "traits edge.jsonl",
    "sensitivity": "sensitivity small/keen.jsonl -m jga,fga",
    "sweep": f"sweep {RUNS} small/twin.jsonl -m jga",
    "reconcile": "reconcile jga=40,fga=62 small/keen.jsonl --most 1",
    "audit bias": "audit bias small/keen.jsonl small/later.jsonl --sort entropy",
    "audit diff": "audit diff MULTIWOZ later.jsonl",
    "audit diff without splits": "audit diff small/keen.jsonl small/later.jsonl",
    "audit inconsistency": "audit inconsistency MULTIWOZ --support 2",
    "audit inconsistency without splits": "audit inconsistency gold.jsonl --support 2 --pairs 0",
    "audit memorisation": "audit memorisation keen.jsonl steady.jsonl --context gold.jsonl --train train.jsonl",
    "audit memorisation without training": "audit memorisation keen.jsonl --context gold.jsonl",
    "audit scores": "audit scores steady.jsonl keen.jsonl --version b=gold.jsonl --version a=later.jsonl "
                    "--profile verbatim",
    "report": f"report {RUNS} -m jga,fga --most 1",
}  # fmt: skip
#: Lines that only the second layer draws: others draw the same charts.
LATER: Final = (
    "report", "score by n_gold", "compare by a count", "diagnose a little", "audit diff without splits",
    "audit memorisation without training",
)  # fmt: skip
_NAMES: Final = {
    "jga": "JGA", "fga": "FGA", "gca": "GCA", "aga": "AGA", "missed": "Missed slots", "wrong": "Wrong slots",
    "sa": "SA", "f1:avg=micro": "F1", "precision:avg=micro": "Precision", "recall:avg=micro": "Recall",
}  # fmt: skip


def write(folder: Path) -> None:
    """The corpora; one of them also as a folder of MultiWOZ, which has splits."""
    corpora.write(folder)
    for place in ("small", "MULTIWOZ"):
        (folder / place).mkdir()
    small_corpus.write(folder / "small")
    keen = (folder / "small/keen.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "small/twin.jsonl").write_text("\n".join(keen), encoding="utf-8")
    little = keen[: next(n for n, line in enumerate(keen) if '"D02"' in line)]
    (folder / "little.jsonl").write_text("\n".join(little), encoding="utf-8")
    dialogues = {}
    for name, turns in ((name, [*own]) for name, own in groupby(corpora.GOLD, key=lambda turn: turn["dialogue_id"])):
        log: Rows = []
        for turn, after in zip(turns, [*turns[1:], {}], strict=True):
            metadata: dict[str, Any] = defaultdict(lambda: {"semi": {}, "book": {"booked": []}})
            for slot, value in turn["gold"].items():
                domain, _, own_name = slot.partition("-")
                kind = "book" if own_name.startswith("book ") else "semi"
                metadata[domain][kind][own_name.removeprefix("book ")] = value
            log += [{"text": turn["user"], "metadata": {}}, {"text": after.get("system", ""), "metadata": metadata}]
        dialogues[f"{name}.json"] = {"goal": {}, "log": log}
    names = [*dialogues]
    files = {"data.json": json.dumps(dialogues), "testListFile.json": "\n".join(names[:6]),
             "valListFile.json": "\n".join(names[6:12])}  # fmt: skip
    # Four turns, the second wrong, 1/3 of the way; eleven, the fourth wrong: .3, exactly where a bin begins.
    edge = [{"dialogue_id": name, "turn": n, "gold": {"a-b": f"{n}"}, "pred": {"a-b": "x" if n == wrong else f"{n}"}}
            for name, turns, wrong in (("A", 4, 1), ("B", 11, 3)) for n in range(turns)]  # fmt: skip
    (folder / "edge.jsonl").write_text("\n".join(map(json.dumps, edge)), encoding="utf-8")
    for file, text in files.items():
        (folder / "MULTIWOZ" / file).write_text(text, encoding="utf-8")


def in_order(rows: Iterable[dict[str, Any]], key: str) -> list[str]:
    """The names of a column, each once."""
    return list(dict.fromkeys(row[key] for row in rows))


@dataclass(frozen=True)
class Marks:
    """Marks of one kind, one per row (lines and areas: one per name of the chart's colours).

    Attributes:
        kind: That of `drawn.Mark`; ``area``: of lines, those that enclose something.
        x: The column of their place, or those of both their ends.
        y: Likewise.
        text: The column of their text, or of (its value, its decimals, what follows).
        shade: The column of how dark they are.
        size: The column of how large they are.
        sign: The column each of whose names, or both of whose signs, have a colour of their own.
        of: Their rows, if these are not the chart's.
        near: Whether they only have to be at this place or above it, in the same order (names of lines).
    """

    kind: str
    x: str | tuple[str, str] = ""
    y: str | tuple[str, str] = ""
    text: str = ""
    shade: str = ""
    size: str = ""
    sign: str = ""
    of: Of | None = None
    near: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart; whatever has an order has that of the rows.

    Attributes:
        rows: What it shows of the JSON.
        marks: What is drawn of each row.
        panel: The column whose names have a panel each.
        colour: The column whose names have a colour each.
        order: The order of the names of a column, where it is not that of the rows.
        told: Columns that the mouse shows.
        beside: Whether bars of each colour lie below each other.
        own: Whether each panel has its own names on the vertical axis.
        below: What stands below, of its metric.
    """

    rows: Of
    marks: tuple[Marks, ...]
    panel: str = ""
    colour: str = ""
    order: dict[str, Callable[[Rows], list[str]]] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    beside: bool = False
    own: bool = False
    below: str = ""


def _of(key: str) -> Of:
    """The rows of a key, with the names of metrics."""
    return lambda result: [_named(row) for row in result[key] if row.get("value", 0) is not None]


def _named(row: dict[str, Any]) -> dict[str, Any]:
    names = {key: _NAMES.get(row[key], row[key]) for key in row if key in ("metric", "first", "second")}
    return {**row, "notation": row.get("metric"), **names, "0": 0}


# --- scores -----------------------------------------------------------------------------------------------------------


def _with_errors(result: dict[str, Any]) -> Rows:
    return [{**row, "low": row["value"] - row["se"], "high": row["value"] + row["se"]} for row in _of("scores")(result)]


def _in_percent(key: str) -> Of:
    """Rows with counts among them: shares are drawn in percent there."""

    def of(result: dict[str, Any]) -> Rows:
        rows = _of(key)(result)
        if all(row["unit"] == "share" for row in rows):
            return rows
        factor = {"share": 100, "count": 1}
        more = {"share": " (%)", "count": ""}
        return [{**row, **{end: row[end] * factor[row["unit"]] for end in ("value", "low", "high")},
                 "metric": row["metric"] + more[row["unit"]]} for row in rows]  # fmt: skip

    return of


def _intervals(of: Of, name: str = "run") -> Chart:
    def best_first(result: dict[str, Any]) -> Rows:
        """As in tables: by the first metric, which may be one of errors."""
        rows = of(result)
        sign = 1 if rows[0]["notation"] in ("missed", "wrong", "over") else -1
        places = {row[name]: sign * row["value"] for row in rows if row["notation"] == rows[0]["notation"]}
        return sorted(rows, key=lambda row: places[row[name]])

    ends = Marks("rule", ("low", "high"), name)
    marks = ends, Marks("point", "value", name)
    return Chart(best_first, marks, panel="metric", told=(name, "value"))


def _differences(metric: str = "") -> Chart:
    def of(result: dict[str, Any]) -> Rows:
        rows = [row for row in _of("differences")(result) if metric in ("", row["notation"])]
        for row in rows:
            row["points"] = row["difference"] * (100 if row["unit"] == "share" else 1)
            row["in_points"] = ", in points" if row["unit"] == "share" else ""
            row["text"] = (row["points"], 1, "*" if row["significant"] else "")
        return rows

    squares = Marks("rect", "other", "run", shade="points", sign="points"), Marks("text", "other", "run", text="text")
    below = "{metric}: row minus column{in_points}; * significant"
    return Chart(of, squares, told=("run", "other", "points"), below=below)


def _spread_of(result: dict[str, Any]) -> Rows:
    values = defaultdict(list)
    for row in _shares(result):
        values[row["metric"]].append(row["value"])
    return [{"metric": metric, "mean": fmean(of), "low": fmean(of) - stdev(of), "high": fmean(of) + stdev(of)}
            for metric, of in values.items()]  # fmt: skip


def _shares(result: dict[str, Any]) -> Rows:
    return [row for row in _of("scores")(result) if row["unit"] == "share"]


def _judged_of(result: dict[str, Any]) -> Rows:
    """Reliability (without a known order), and the correlation with when mistakes happen; of metrics with both."""
    swayed = {row["metric"]: row for row in result["dependence"] if row["trait"] == "to_mean"}
    rows = []
    for row in result["reliability"]:
        r = swayed[row["metric"]]
        ends = {
            "value": 1 - row["swap_rate"],
            "r": r["partial"],
            "r_low": r["partial_low"],
            "r_high": r["partial_high"],
        }
        if None not in (row["low"], *ends.values()):
            rows.append({**_named(row), **ends, "low": 1 - row["high"], "high": 1 - row["low"]})
    return rows


_JUDGED: Final = Chart(
    _judged_of,
    (Marks("rule", ("r_low", "r_high"), "value"), Marks("rect", "r", ("low", "high")), Marks("point", "r", "value")),
    colour="metric",
    told=("metric",),
)
_SPREAD: Final = Chart(
    _spread_of,
    (Marks("rule", ("low", "high"), "metric"), Marks("point", "mean", "metric"),
     Marks("rect", "value", "metric", of=_shares)),
    told=("metric",),
)  # fmt: skip


def _heat(by: str, column: str = "run") -> Chart:
    """Groups that gold has, the worst first: by F1, or else the first metric, which alone is shown of several runs."""

    def of(result: dict[str, Any]) -> Rows:
        rows = [{**row, "text": (100 * row["value"], 0, ""), "wrong": 1 - row["value"]} for row in _shares(result)]
        counts = [row for row in result["scores"] if row["metric"] in ("correct", "wrong", "missed")]
        in_gold = {row[by] for row in counts if row["value"]}
        judged = _judged(rows)
        return [row for row in rows if (row["metric"] == judged or column == "metric")
                and (row[by] in in_gold or not counts)]  # fmt: skip

    def worst_first(rows: Rows) -> list[str]:
        values = defaultdict(list)
        for row in rows:
            if row["metric"] == _judged(rows):
                values[row[by]].append(row["value"])
        return sorted(values, key=lambda group: (round(fmean(values[group]), 12), group))

    squares = Marks("rect", column, by, shade="wrong"), Marks("text", column, by, text="text")
    return Chart(of, squares, order={by: worst_first}, told=(column, by, "value"))


def _judged(rows: Rows) -> str:
    metrics = in_order(rows, "metric")
    return "F1" if "F1" in metrics else metrics[0]


def _lines(of: Of, x: str, y: str = "value", colour: str = "run", panel: str = "") -> Chart:
    return Chart(of, (Marks("line", x, y), Marks("point", x, y)), panel, colour, told=(x, y, colour))


def _apart_of(result: dict[str, Any]) -> Rows:
    """Shares along a number of the runs, and how far each is from GCA there."""
    rows = [{**row, "what": "Score"} for row in _of("scores")(result) if row["unit"] == "share"]
    gca = {row["seed"]: row["value"] for row in rows if row["metric"] == "GCA"}
    others = [row for row in rows if row["metric"] != "GCA"]
    far = "|GCA \N{MINUS SIGN} X|"
    return rows + [{**row, "what": far, "value": abs(gca[row["seed"]] - row["value"])} for row in others]


def _both_ways(key: str, value: str) -> Of:
    def of(result: dict[str, Any]) -> Rows:
        rows = [{"run": "", **row, "text": (row[value], 2, "")} for row in _of(key)(result)]
        rows += [{**row, "first": row["second"], "second": row["first"]} for row in rows]
        return sorted(rows, key=lambda row: row["run"] != "pooled")

    return of


def _matrix(key: str, value: str) -> Chart:
    def names(rows: Rows) -> list[str]:
        half = rows[: len(rows) // 2 // len({row["run"] for row in rows})]
        return list(dict.fromkeys([row["first"] for row in half] + [row["second"] for row in half]))

    squares = (
        Marks("rect", "first", "second", shade=value, sign=value),
        Marks("text", "first", "second", text="text"),
    )
    panel = "run" if key == "matrix" else ""
    return Chart(_both_ways(key, value), squares, panel, order={"first": names, "second": names},
                 told=("first", "second", value))  # fmt: skip


def _swept(result: dict[str, Any]) -> Rows:
    """Profiles under which all runs have the same scores share a place, the best on the left."""
    of_profile = defaultdict(list)
    rows = [row for row in _of("sweep")(result) if row["notation"] == result["sweep"][0]["metric"]]
    for row in rows:
        of_profile[row["profile"]].append(row["value"])
    alike = defaultdict(list)
    for profile, values in of_profile.items():
        alike[tuple(round(value, 9) for value in values)].append(profile)
    labels = {first: first + (f" +{len(more)}" if more else "") for first, *more in alike.values()}
    rows = [{**row, "label": labels[row["profile"]]} for row in rows if row["profile"] in labels]
    return sorted(rows, key=lambda row: (-round(fmean(of_profile[row["profile"]]), 12), row["label"]))


_SWEEP: Final = Chart(
    _swept, (Marks("point", "value", "label"),), colour="run",
    told=("label", "value", "run"),
)  # fmt: skip


def _steps_of(result: dict[str, Any]) -> Rows:
    """A row per step, and one for the published score; each begins where the one before ends."""
    rows: Rows = []
    for metric in in_order(result["steps"], "metric"):
        own = [row for row in _of("steps")(result) if row["metric"] == _NAMES[metric]]
        own = [{**row, "label": row["choice"] or "here"} for row in own]
        own.append({**own[-1], "label": "published", "value": own[-1]["value"] - own[-1]["off"]})
        rows += [{**row, "before": before["value"]} for row, before in zip(own, [own[0], *own], strict=False)]
    return rows


_STEPS: Final = Chart(_steps_of, (Marks("rect", ("before", "value"), "label"), Marks("point", "value", "label")),
                      "metric", told=("label", "value"))  # fmt: skip

# --- where runs fail --------------------------------------------------------------------------------------------------


def _stacked(rows: Rows, along: Iterable[str], by: str, value: str) -> Rows:
    """Rows with both ends of their bars, of which those of the same names begin where the one before ends."""
    ends: dict[tuple[str, ...], float] = defaultdict(int)
    names, keys = in_order(rows, by), [*along]
    for row in sorted(rows, key=lambda row: names.index(row[by])):
        place = tuple(row[key] for key in keys)
        row["from"], ends[place] = ends[place], ends[place] + row[value]
        row["to"] = ends[place]
    return rows


def _errors_of(result: dict[str, Any]) -> Rows:
    classes = in_order(result["errors"], "class")
    return [{**row, "place": classes.index(row["class"]), "0": 0} for row in result["errors"]
            if row["kind"] != "correct" and row["n"]]  # fmt: skip


def _classes(rows: Rows) -> list[str]:
    return [row["class"] for row in sorted({row["class"]: row for row in rows}.values(), key=lambda row: row["place"])]


def _timing_of(result: dict[str, Any]) -> Rows:
    kinds = {"late_share": "late, of missed slots", "early_share": "early, of over-predicted slots"}
    return [{"run": row["run"], "0": 0, "share": row[key], "timing": title}
            for key, title in kinds.items() for row in result["timing"]]  # fmt: skip


def _failures_of(result: dict[str, Any]) -> Rows:
    rows = []
    for row in result["first_failures"]:
        parts = {"right again later": row["recovered"], "never again": row["dialogues"] - row["recovered"]}
        rows += [{**row, "then": then, "n": n} for then, n in parts.items()]
    return _stacked(rows, ("run", "low"), "then", "n")


def _gold_of(result: dict[str, Any]) -> Rows:
    rows = [{**row, "0": 0} for row in result["gold_slots"]]
    of_run = {run: [(row["n_gold_max"], row["dialogues"]) for row in rows if row["run"] == run]
              for run in in_order(rows, "run")}  # fmt: skip
    first, *others = of_run
    rows = rows if any(of_run[run] != of_run[first] for run in others) else [r for r in rows if r["run"] == first]
    return [{**row, "slots": f"{row['n_gold_max']}"} for row in rows]


def _numbers(rows: Rows) -> list[str]:
    return sorted({row["slots"] for row in rows}, key=int)


def _by_turn(result: dict[str, Any]) -> Rows:
    """JGA by turn with Wilson's intervals: a turn is one of each dialogue."""
    rows, z2 = _of("by_turn")(result), NormalDist().inv_cdf(0.975) ** 2
    for row in rows:
        n, value = row["dialogues"], row["value"]
        half = (z2 * value * (1 - value) / n + z2 * z2 / (4 * n * n)) ** 0.5
        row |= {
            "low": (value + z2 / (2 * n) - half) / (1 + z2 / n),
            "high": (value + z2 / (2 * n) + half) / (1 + z2 / n),
        }
    return rows


_GOLD_LINES: Final = replace(_lines(_gold_of, "slots", "dialogues"), order={"slots": _numbers})
_DIAGNOSIS: Final = {
    "first_failures": Chart(_failures_of, (Marks("rect", ("low", "high"), ("from", "to")),), "run", "then",
                            told=("then", "n")),
    "gold_slots": Chart(_gold_of, (Marks("rect", "slots", ("0", "dialogues")),), told=("slots", "dialogues")),
    "by_turn": Chart(_by_turn, (Marks("area", "turn", ("low", "high")), Marks("line", "turn", "value"),
                                Marks("point", "turn", "value")), colour="run", told=("turn", "value", "run")),
    "by_length": _lines(_of("by_length"), "length"),
    "errors": Chart(_errors_of, (Marks("rect", ("0", "n"), "class"),), "run", "kind", {"class": _classes},
                    ("class", "n", "kind")),
    "timing": Chart(_timing_of, (Marks("rect", ("0", "share"), "run"),), "timing", told=("run", "share")),
}  # fmt: skip


def _bin_of(rows: Rows, value: float) -> tuple[float, float]:
    edges = sorted({(row["low"], row["high"]) for row in rows})
    return [edge for edge in edges if edge[0] - 1e-9 <= value][-1]


def _along(trait: str) -> Of:
    def of(result: dict[str, Any]) -> Rows:
        bins, found = [row for row in result["bins"] if row["trait"] == trait], []
        for row in map(_named, bins):
            scores = [d[row["notation"]] for d in result["dialogues"] if d["run"] == row["run"]
                      and d[trait] is not None and d[row["notation"]] is not None
                      and _bin_of(bins, d[trait])[0] == row["low"]]  # fmt: skip
            assert len(scores) == row["dialogues"]
            if scores:
                lower, _, upper = quantiles(scores, method="inclusive") if scores[1:] else 3 * scores
                found.append({**row, "middle": (row["low"] + row["high"]) / 2, "lower": lower, "upper": upper})
        return found

    return of


def _both_of(result: dict[str, Any]) -> Rows:
    traits = in_order(result["bins"], "trait")
    bins = {trait: [row for row in result["bins"] if row["trait"] == trait] for trait in traits}
    scores = defaultdict(list)
    for metric in in_order(result["bins"], "metric"):
        for dialogue in result["dialogues"]:
            if None not in (dialogue[metric], *(dialogue[trait] for trait in traits)):
                edges = (edge for trait in traits for edge in _bin_of(bins[trait], dialogue[trait]))
                scores[metric, *edges].append(dialogue[metric])
    names = ("metric", "left", "right", "bottom", "top")
    return [_named({**dict(zip(names, place, strict=True)), "mean": fmean(of)}) for place, of in scores.items()]


def _trait(trait: str) -> Chart:
    marks = (Marks("area", "middle", ("lower", "upper")), Marks("line", "middle", "value"),
             Marks("point", "middle", "value", size="dialogues"))  # fmt: skip
    return Chart(_along(trait), marks, "run", "metric", told=("middle", "metric"))


_TRAITS: Final = {
    "to_mean": _trait("to_mean"),
    "nu_paper": _trait("nu_paper"),
    "traits": Chart(_both_of, (Marks("rect", ("left", "right"), ("bottom", "top"), shade="mean"),), "metric",
                    told=("mean",)),
}  # fmt: skip


def _costs_of(result: dict[str, Any]) -> Rows:
    rows = [_named(row) for row in result["costs"] if row["loss"] is not None]
    return [{**row, "middle": (row["start"] + row["end"]) / 2} for row in rows]


def _ends_of(result: dict[str, Any]) -> Rows:
    rows = sorted(_costs_of(result), key=lambda row: row["middle"])
    return [*{(row["kind"], row["metric"]): row for row in rows}.values()]


_COST_LINES: Final = _lines(_costs_of, "middle", "loss", "metric", "kind")
_AT_ENDS: Final = Marks("text", "middle", "loss", text="metric", of=_ends_of, near=True)
_COSTS: Final = replace(_COST_LINES, marks=(*_COST_LINES.marks, _AT_ENDS))

# --- audits -----------------------------------------------------------------------------------------------------------


def _largest_first(panel: str = "", by: str = "") -> Callable[[Rows], list[str]]:
    """Slots by their longest bar; without `by`, of all its parts."""

    def order(rows: Rows) -> list[str]:
        bars: dict[tuple[str, ...], float] = defaultdict(float)
        for row in rows:
            bars[row["slot"], row.get(panel, ""), row.get(by, "")] += row["share"]
        longest = {slot: max(length for (of, *_), length in bars.items() if of == slot) for slot, *_ in bars}
        return sorted(longest, key=lambda slot: (-round(longest[slot], 9), slot))

    return order


def _bars(of: Of, by: str, panel: str = "", *, stacked: bool = True) -> Chart:
    ends = ("from", "to") if stacked else ("0", "share")
    order = {"slot": _largest_first(panel, "" if stacked else by)}
    return Chart(of, (Marks("rect", ends, "slot"),), panel, by, order, ("slot", "share", by), beside=not stacked)


def _evenness_of(result: dict[str, Any]) -> Rows:
    names = {"h1_h0": "H1/H0", "hinf_h0": "H∞/H0"}
    return [{**row, "measure": f"{name}, {row['counting']}", "even": row[key]}
            for key, name in names.items() for row in result["slots"]]  # fmt: skip


def _least_even_first(rows: Rows) -> list[str]:
    own = [row for row in rows if row["measure"] == rows[0]["measure"]]
    first = {row["slot"]: row["even"] for row in reversed(own)}
    return sorted(first, key=lambda slot: (first[slot] is None, first[slot] or 0, slot))


def _frequent_of(result: dict[str, Any]) -> Rows:
    counting = result["values"][0]["counting"]
    shares = {(r["slot"], r["value"], r["split"]): r["share"] for r in result["values"] if r["counting"] == counting}
    splits, rows = in_order(result["slots"], "split"), []
    some = {(row["slot"], row["split"]) for row in result["slots"] if row["n"]}
    for slot in _least_even_first(_evenness_of(result)):
        most = {v: max(shares.get((slot, v, s), 0) for s in splits) for of, v, _ in shares if of == slot}
        for value in sorted(most, key=lambda value: (-most[value], value))[:5]:
            rows += [{"slot": slot, "value": value, "split": s, "0": 0,
                      "share": shares.get((slot, value, s), 0) if (slot, s) in some else None}
                     for s in splits]  # fmt: skip
    return rows


def _changes_of(result: dict[str, Any]) -> Rows:
    turns = {row["split"]: row["turns"] for row in result["splits"] if row["domain"] is row["slot"] is None}
    turns["all"] = result["versions"][0]["turns"]
    rows = [row for row in result["splits"] if row["slot"]] + [{**row, "split": "all"} for row in result["slots"]]
    kinds = ("added", "changed", "moved_earlier", "moved_later", "removed", "respelled")
    parts = [{**row, "kind": kind.replace("_", " "), "share": row[kind] / turns[row["split"]]}
             for kind in kinds for row in rows if row[kind]]  # fmt: skip
    return _stacked(parts, ("split", "slot"), "kind", "share")


def _modified_of(result: dict[str, Any]) -> Rows:
    slots = [row for row in result["modified"] if row["slot"]]
    some = {row["slot"] for row in slots if row["dialogues"]}
    has_splits = any(row["split"] for row in slots)
    return [{**row, "split": row["split"] or "all", "0": 0} for row in slots
            if row["slot"] in some and bool(row["split"]) is has_splits and row["share"] is not None]  # fmt: skip


def _speakers_of(result: dict[str, Any]) -> Rows:
    rows = [{**row, "by": f"said by the {row['speaker']}"} for row in result["shares"] if row["share"] is not None]
    return _stacked(sorted(rows, key=lambda row: row["by"]), ("slot",), "by", "share")


def _pairs_of(result: dict[str, Any]) -> Rows:
    """The lines of the first three pairs, from top to bottom; no line has more than 58 letters."""
    rows = []
    for pair in result["pairs"][:3]:
        for side, title in (("missing", "not annotated"), ("annotated", "annotated")):
            gold, which = pair[f"{side}_gold"], f"{pair[f'{side}_dialogue']}, turn {pair[f'{side}_turn']}"
            lines = [f"{who}: {_marked(pair, side, who)}" for who in ("system", "user")]
            last = f"gold: {pair['slot']} = {gold}" if gold else "gold: nothing"
            texts = [("slot", pair["slot"])] if side == "missing" else []
            texts += [("said", text) for text in (which, *lines)] + [("gold", last)]
            rows += [{"side": title, "line": line, "part": part}
                     for part, text in texts for line in textwrap.wrap(text, 58)]  # fmt: skip
            rows += [{"side": title, "line": "", "part": "said"}] if side == "annotated" else []
    return rows


def _marked(pair: dict[str, Any], side: str, who: str) -> str:
    said, start, end = (pair[f"{side}_{key}"] for key in (who, "start", "end"))
    if said is None or pair["speaker"] != who or start is None:
        return said or "-"
    return f"{said[:start]}>>{said[start:end]}<<{said[end:]}"


def _ungrounded(known: bool) -> Of:
    def of(result: dict[str, Any]) -> Rows:
        sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        for row in result["slots"]:
            own = sums[row["run"], row["slot"]]
            for place, key in enumerate(("searched", "ungrounded", "in_train")):
                own[place] += row[key] or 0
        rows = []
        for name in ("in training", "not in training") if known else ("unknown",):
            for (run, slot), (searched, ungrounded, seen) in sums.items():
                n = {"in training": seen, "not in training": ungrounded - seen, "unknown": ungrounded}[name]
                rows += [{"run": run, "slot": slot, "value": name, "share": n / searched}] if n else []
        return _stacked(rows, ("run", "slot"), "value", "share")

    return of


def _versions_of(result: dict[str, Any]) -> Rows:
    return [{**row, "0": 0} for row in result["slots"]]


# --- the table --------------------------------------------------------------------------------------------------------

_MEASURES: Final = Chart(_evenness_of, (Marks("point", "even", "slot"),), "measure", "split",
                         {"slot": _least_even_first}, ("even", "slot", "split"))  # fmt: skip
_VALUES: Final = Chart(_frequent_of, (Marks("rect", ("0", "share"), "value"),), "slot", "split",
                       told=("value", "share", "split"), beside=True, own=True)  # fmt: skip
_PAIRS: Final = Chart(_pairs_of, (Marks("text", text="line", sign="part"),), "side")
_COMPARED: Final = {
    "scores": _intervals(_in_percent("scores")), "differences_jga": _differences("jga"),
    "differences_fga": _differences("fga"), "spread": _SPREAD,
}  # fmt: skip
#: Of each chart of a report: where its rows are in the JSON.
REPORTED: Final = {
    **dict.fromkeys(_COMPARED, "leaderboard"), **dict.fromkeys(_DIAGNOSIS, "diagnosis"),
    **dict.fromkeys(_TRAITS, "traits"), "correlations": "correlations", "sensitivity": "costs", "domains": "by_domain",
    "slots": "by_slot", "scores_by_turn": "by_turn", "conventions": "sweep",
}  # fmt: skip
CHARTS: Final[dict[str, dict[str, Chart]]] = {
    "score": {"scores": _intervals(_with_errors)},
    "score by slot": {"scores": _heat("slot")},
    "score by domain": {"scores": _heat("domain")},
    "score of one by slot": {"scores": _heat("slot", "metric")},
    "score by turn": {"scores": _lines(_of("scores"), "turn", colour="metric", panel="run")},
    "score along": {"along": _lines(_apart_of, "seed", colour="metric", panel="what")},
    "score by length": {"scores": _lines(_of("scores"), "length")},
    "score by n_gold": {"scores": _lines(_of("scores"), "n_gold")},
    "compare": _COMPARED,
    "compare by a count": {"scores": _intervals(_of("scores")), "differences": _differences()},
    "compare models": {
        "scores": _intervals(_in_percent("scores")), "models": _intervals(_in_percent("models"), "model"),
        "differences_jga": _differences("jga"), "differences_missed": _differences("missed"), "spread": _SPREAD,
    },
    "compare-metrics": {"spread": _SPREAD, "orders": _matrix("agreement", "tau"), "judged": _JUDGED},
    "correlate": {"correlations": _matrix("matrix", "r")},
    "diagnose": _DIAGNOSIS,
    "diagnose a little": _DIAGNOSIS,
    "diagnose on two golds": {**_DIAGNOSIS, "gold_slots": _GOLD_LINES},
    "traits": _TRAITS,
    "traits at the edge of a bin": _TRAITS,
    "sensitivity": {"sensitivity": _COSTS},
    "sweep": {"conventions": _SWEEP},
    "reconcile": {"steps": _STEPS},
    "audit bias": {"bias": _MEASURES, "values": _VALUES},
    "audit diff": {"differences": _bars(_changes_of, "kind", "split")},
    "audit diff without splits": {"differences": _bars(_changes_of, "kind", "split")},
    "audit inconsistency without splits": {
        "modified": _bars(_modified_of, "split", stacked=False), "speakers": _bars(_speakers_of, "by"),
    },
    "audit inconsistency": {
        "modified": _bars(_modified_of, "split", stacked=False), "speakers": _bars(_speakers_of, "by"), "pairs": _PAIRS,
    },
    "audit memorisation": {"memorised": _bars(_ungrounded(known=True), "value", "run")},
    "audit memorisation without training": {"memorised": _bars(_ungrounded(known=False), "value")},
    "audit scores": {"error_turns": _bars(_versions_of, "version", "model", stacked=False)},
    "report": {
        **_COMPARED, **_DIAGNOSIS, **_TRAITS, "domains": _heat("domain"), "slots": _heat("slot"),
        "conventions": _SWEEP, "sensitivity": _COSTS, "correlations": _matrix("matrix", "r"),
        "scores_by_turn": _lines(_of("scores"), "turn"),
    },
}  # fmt: skip
