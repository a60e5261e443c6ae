"""The report's page, taken apart: the one place in the contract that knows its HTML and how its data are laid out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Final

from tests.contract import shown
from tests.contract.shown import Row, Shows, Table, View, number, value

_VOID: Final = frozenset({"meta", "input", "br", "wbr"})
#: Metrics of the contract's reports, and their names on the page.
NAMES: Final = {
    "jga": "JGA", "fga": "FGA", "gca": "GCA", "rsa": "RSA", "wrong": "Wrong slots", "over": "Over-predicted slots",
    "missed": "Missed slots", "precision:avg=micro": "Precision", "recall:avg=micro": "Recall",
    "f1:avg=micro": "F1",
}  # fmt: skip
COUNTS: Final = ("wrong", "over", "missed")
TRAITS: Final = {"tail orientation": "to_mean", "non-uniformity": "nu_paper"}


@dataclass
class Node:
    """An element."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str, class_: str = "") -> Iterator[Node]:
        """The elements within, of a tag, and with a class."""
        for child in self.children:
            if isinstance(child, Node):
                if child.tag == tag and class_ in ["", *child.attributes.get("class", "").split()]:
                    yield child
                yield from child.all(tag, class_)

    def text(self, *without: str) -> str:
        """The text within, but for that of elements of these tags."""
        parts = (c if isinstance(c, str) else "" if c.tag in without else c.text(*without) for c in self.children)
        return "".join(parts)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {key: text or "" for key, text in attrs})
        self.open[-1].children.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


class Page:
    """A page: its root and its chapters, by their names in links."""

    def __init__(self, text: str) -> None:
        parser = _Parser()
        parser.feed(text)
        parser.close()
        (self.root,) = parser.open
        self.chapters = {next(part.all("h2")).attributes["id"]: part for part in self.root.all("section")}
        (data,) = (node for node in self.root.all("script") if node.attributes.get("id") == "data")
        self.data: dict[str, Any] = json.loads(data.text())

    def findings(self) -> list[tuple[str, str]]:
        """Sentences, each with the chapter that it leads to; empty: none."""
        items = [
            *self.root.all("p", "headline"),
            *(li for ul in self.root.all("ul", "findings") for li in ul.all("li")),
        ]
        return [(item.text("a").strip(), "".join(a.attributes["href"][1:] for a in item.all("a"))) for item in items]

    def tables(self, chapter: str | None = None) -> list[Table]:
        """The tables of a chapter, or of all."""
        parts = [self.chapters[chapter]] if chapter else self.chapters.values()
        return [_table(node) for part in parts for node in part.all("table")]


def _table(node: Node) -> Table:
    """A table; an interval that stands small beside its value is put in brackets, as in text."""
    rows = []
    for row in next(node.all("tbody")).all("tr"):
        cells = []
        for cell in row.children:
            assert isinstance(cell, Node)
            interval = re.sub(r"^ (.*)\N{EN DASH}(.*)$", r" (\1 to \2)", "".join(s.text() for s in cell.all("small")))
            text = cell.text("small", "span").strip()
            cells.append(text + interval)
        rows.append(tuple(cells))
    title, columns = next(node.all("caption")).text(), tuple(cell.text() for cell in next(node.all("tr")).all("th"))
    return Table(f"{title} of one run" if columns[0] == "metric" and title == "Scores" else title, columns, tuple(rows))


# --- what tables show ------------------------------------------------------------------------------------------------

_OF_COMMAND: Final = {name: shown.VIEWS[name] for name in ("compare", "diagnose", "traits", "sensitivity", "score")}


def _of(command: str, *titles: str, **changes: Any) -> list[View]:
    """The views of a command's tables, of which only those with these titles are on the page."""
    views = [view for view in shown.VIEWS[command] if any(view.title.startswith(title) for title in titles)]
    assert len(views) >= len(titles)
    return [view._replace(**changes, table=f"{command}:{view.table}") for view in views]


_STANDING: Final = {
    r"no\.": number("place"),
    r"beats significantly": Shows(("better",)),
    r"(.+)": Shows(("value", "low", "high"), "unit", {"name": "{1}"}),
}
(_SCORES,) = shown.VIEWS["score"]
_SCORES = _SCORES._replace(cells={**_SCORES.cells, r"(.+)": shown.value("value", metric="{1}")})
_OF_COMMAND["score"] = [_SCORES]
#: The tables of a report, in the order of its page; truth has the rows of commands by `command:table`.
VIEWS: Final = [
    View("standings", r"Scores", {"run": "run"}, _STANDING),
    View("standings", r"Scores of one run", {"metric": "name"}, {
        r"(.+)": Shows(("value", "low", "high"), "unit", {"run": "{1}"}),
    }),
    View("models", r"Models: .*", {"model": "model"}, _STANDING),
    *_of("compare", "Differences", title=r"Differences in (?P<name>.+)"),
    _SCORES._replace(table="by_domain", title=r"Scores by domain, .*"),
    _SCORES._replace(table="by_slot", title=r"Scores by slot, .*"),
    _SCORES._replace(table="by_turn", title=r"Scores by turn, run by run"),
    View("sweep", r"\w+ under each profile, .*", {"profile": "profile"}, {r"(.+)": value("value", run="{1}")}),
    View("spread", r"Spread of the runs, in percent", {"metric": "metric"}, {
        r"(mean|sd|lowest|highest|range)": Shows(("{1}",), 100),
    }),
    View("correlations", r"Correlations of metrics over turns .*",
         {"run": "run", "first": "first", "second": "second"}, {r"(r|n)": number("{1}")}),
    View("bins", r"Mean scores by (?P<trait_name>[\w -]+), .*", {"run": "run", "bin": "low"}, {
        r"n of (.+)": number("dialogues", metric="{1}"),
        r"(.+)": value("value", metric="{1}"),
    }),
    *_of("traits", "(?P<run>", "Differences", "Given", every=False),
    *_of("sensitivity", r"(?P<kind>\w+): (?!"),
    View("sensitivity:bias", r"Blind spots.*", {"metric": "metric"}, {r"(.+)": shown.share("blind", kind="{1}")}),
    *_of("diagnose", "Dialogues", "First", "Largest", "JGA", "By ", "Slots of turns by class", "Timing"),
]  # fmt: skip


def prepared(parts: Mapping[str, Mapping[str, Sequence[Row]]]) -> dict[str, list[Row]]:
    """The rows that the page shows, of the JSON of commands."""
    rows = {
        f"{name}:{table}": part
        for name in ("compare", "diagnose", "traits", "sensitivity")
        if name in parts
        for table, part in shown.prepared(name, parts[name]).items()
    }
    models = parts["compare"]["models"]
    values = {(row.get("model", row.get("run")), row["metric"]): -row["value"]
              for row in models or parts["compare"]["scores"]}  # fmt: skip
    named = [row | {"name": NAMES[row["metric"]]} for row in rows["compare:differences"]]
    named.sort(key=lambda row: [values[row[key], row["metric"]] for key in ("run", "other")])
    rows["compare:differences"] = named
    rows["standings"] = _placed(parts["compare"]["scores"], "run", () if models else named)
    rows["models"] = _placed(models, "model", named)
    for name in ("by_domain", "by_slot", "by_turn"):
        rows[name] = [*parts[name]["scores"]]
    rows["sweep"], rows["correlations"] = [*parts["sweep"]["sweep"]], [*parts["correlate"]["matrix"]]
    names = {key: name for name, key in TRAITS.items()}
    rows["bins"] = [
        row | {"trait_name": names[row["trait"]], "unit": "count" if row["metric"] in COUNTS else "share"}
        for row in parts["traits"]["bins"]
    ]
    rows["timing"] = [
        {"run": row["run"], "of": of, "share": row[of.partition(",")[0] + "_share"]}
        for row in parts["diagnose"]["timing"] for of in ("late, of missed slots", "early, of over-predicted slots")
    ]  # fmt: skip
    rows["spread"] = []
    for metric in dict.fromkeys(row["metric"] for row in rows["standings"] if row["unit"] == "share"):
        of_runs = [row["value"] for row in rows["standings"] if row["metric"] == metric]
        mean, low, high = sum(of_runs) / len(of_runs), min(of_runs), max(of_runs)
        sd = (sum((v - mean) ** 2 for v in of_runs) / (len(of_runs) - 1)) ** 0.5 if len(of_runs) > 1 else None
        spread = {"mean": mean, "sd": sd, "lowest": low, "highest": high, "range": high - low}
        rows["spread"].append({"metric": metric, **spread})
    return rows


def _placed(scores: Sequence[Row], key: str, differences: Sequence[Row]) -> list[Row]:
    """Scores, with the place of each run by the first metric, and the places of the runs that it is better than."""
    if not scores:
        return []
    first = scores[0]["metric"]
    ranked = sorted((row for row in scores if row["metric"] == first), key=lambda row: -row["value"])
    places = {row[key]: at for at, row in enumerate(ranked, 1)}
    won = [row for row in differences if row["metric"] == first and row["significant"] and row["difference"] > 0]
    beaten = {name: sorted(places[row["other"]] for row in won if row["run"] == name) for name in places}
    return [
        row | {"name": NAMES[row["metric"]], "place": places[row[key]], "better": _spans(beaten[row[key]])}
        for row in sorted(scores, key=lambda row: places[row[key]])
    ]


def _spans(places: Sequence[int]) -> str | None:
    """Places, of which those that follow each other are written as from and to."""
    spans: list[list[int]] = []
    for at in places:
        if spans and spans[-1][1] == at - 1:
            spans[-1][1] = at
        else:
            spans.append([at, at])
    return ", ".join(f"{a}" if a == b else f"{a}\N{EN DASH}{b}" for a, b in spans) or None


# --- the dialogues ---------------------------------------------------------------------------------------------------

#: A turn's state: slot to gold, prediction and kind; the slot is empty where there is no prediction.
Shown = dict[str, tuple[str | None, str | None, str]]


def states(data: Mapping[str, Any], run: int, dialogue: int) -> list[Shown]:
    """What the page knows of the states of a run after each turn, by plain loops over their changes."""
    sides: list[list[dict[str, tuple[str | None, str]]]] = []
    for changes in (data["gold"], data["of_runs"][run]["pred"]):
        now, after = dict[str, tuple[str | None, str]](), []
        kinds = changes.get("class")
        for turn in range(len(data["turns"][dialogue])):
            now = {slot: cell for slot, cell in now.items() if slot}
            for at, when in enumerate(changes["turn"][dialogue]):
                if when == turn:
                    slot, code = changes["slot"][dialogue][at], changes["value"][dialogue][at]
                    text = data["values"][code] if code >= 0 else None
                    kind = data["classes"][kinds[dialogue][at]][1] if kinds and kinds[dialogue][at] >= 0 else ""
                    now[data["slots"][slot] if slot >= 0 else ""] = text, kind
            after.append(dict(now))
        sides.append(after)
    return [
        {
            slot: (gold.get(slot, (None, ""))[0], *pred.get(slot, (None, "")))
            for slot in gold | pred
            if gold.get(slot, (None, ""))[0] is not None or pred.get(slot, (None, ""))[1]
        }
        for gold, pred in zip(*sides, strict=True)
    ]


def true_states(golds: Sequence[Row], preds: Sequence[Row] | None = None) -> dict[str, dict[int, Shown]]:
    """The same of the turns of a file, or of one with gold and one with predictions: by dialogue and turn."""
    by_turn = {(t["dialogue_id"], t["turn"]): t["pred"] for t in preds or golds}
    known: dict[str, dict[int, Shown]] = {}
    for turn in golds:
        cells: Shown = {}
        gold, pred = turn["gold"], by_turn.get((turn["dialogue_id"], turn["turn"]))
        for slot in gold | (pred or {}):
            right, given = gold.get(slot), (pred or {}).get(slot)
            one, other = (None if text in ("none", "") else text for text in (right, given))
            if one is None and other is None:
                kind = ""
            elif one == other:
                kind = "correct"
            else:
                kind = "missed" if other is None else "over" if one is None else "wrong"
            if right is not None or kind:
                cells[slot] = right, given, kind
        if pred is None:
            cells[""] = None, f"no prediction for turn {turn['turn']}", "no-prediction"
        known.setdefault(turn["dialogue_id"], {})[turn["turn"]] = cells
    return known


def telling(rows: Sequence[Row], most: int) -> list[str]:
    """The dialogues that come first in one of four orders, by ids if equal; `rows` are of all runs' dialogues."""
    measures: dict[str, list[float]] = {}
    for name in dict.fromkeys(row["dialogue"] for row in rows):
        mine = [row for row in rows if row["dialogue"] == name]
        first = [row["jga"] for row in mine]
        contrast = [abs(row["fga"] - row["gca"]) for row in mine if None not in (row["fga"], row["gca"])]
        starts = [row["first_failure"] for row in mine if row["first_failure"] is not None]
        disagreement = max(first) - min(first)
        measures[name] = [disagreement, max(contrast, default=0), -min(starts, default=1),
                          max(row["mistakes"] for row in mine)]  # fmt: skip
    ranks = {
        name: min(sum(others[n] > own[n] for others in measures.values()) for n in range(4))
        for name, own in measures.items()
    }
    return sorted(sorted(ranks, key=lambda name: (ranks[name], name))[:most])


#: How the titles of the tables of each chapter begin.
CHAPTERS: Final = {
    "scores": ("Scores$|Scores of", "Models", "Differences in"),
    "slots": ("Scores by domain", "Scores by slot"),
    "errors": ("Timing", "Dialogues", "Slots of turns", "By "),
    "conventions": ("JGA under",),
    "metrics": (r"\w+: ", "Blind spots", "Spread"),
    "papers": (
        "First",
        "Largest",
        "JGA by",
        "Scores by turn",
        "Correlations",
        "Mean scores",
        r"\w+: correl",
        "Differences of",
        "Given mistakes and turns: ",
    ),
}
