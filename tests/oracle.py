"""The metrics once more, as slow and as plain as can be: loops over dictionaries, straight from the definitions.

It shares no code with the engine. States are lists of ``{"dialogue_id", "turn", "gold", "pred"}``.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import exp
from typing import Any

State = dict[str, str]
ABSENT = ("none", "")


@dataclass
class Turn:
    """What the oracle knows of one turn."""

    dialogue: str
    turn: int
    n_gold: int = 0
    n_pred: int = 0
    n_correct: int = 0
    n_union: int = 0
    local_error: bool = False
    error_age: int | None = None
    released: dict[str, int] = field(default_factory=lambda: dict.fromkeys("CWMO", 0))
    paper: dict[str, int] = field(default_factory=lambda: dict.fromkeys("CWMO", 0))

    @property
    def right(self) -> bool:
        return self.n_correct == self.n_union


def present(state: State) -> State:
    """The slots of a state whose value does not mean "absent"."""
    return {slot: value for slot, value in state.items() if value not in ABSENT}


def turns(states: list[dict[str, Any]], only: str | None = None, *, paper: bool = True) -> list[Turn]:
    """Every turn's counts; with `only`, of the states restricted to the slots that start with it.

    Without `paper`, GCA's changes are counted in the released way alone.
    """
    dialogues: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for state in states:
        dialogues[state["dialogue_id"]].append(state)
    found = []
    for name in sorted(dialogues):
        found += _dialogue(name, sorted(dialogues[name], key=lambda s: s["turn"]), only, paper)
    return found


def _dialogue(name: str, states: list[dict[str, Any]], only: str | None, paper: bool) -> list[Turn]:
    found: list[Turn] = []
    g_before: State = {}
    p_before: State = {}
    g_named: State = {}  # every slot that gold has listed so far, with its value now ("none" if it is gone)
    p_named: State = {}
    last_local: int | None = None
    for state in states:
        gold = {s: v for s, v in state["gold"].items() if only is None or s.startswith(only)}
        pred = {s: v for s, v in state["pred"].items() if only is None or s.startswith(only)}
        g, p = present(gold), present(pred)
        turn = Turn(name, state["turn"], len(g), len(p))
        turn.n_correct = sum(1 for slot in g if p.get(slot) == g[slot])
        turn.n_union = len(g.keys() | p.keys())

        if not turn.right:
            new_gold = [slot for slot in g if g_before.get(slot) != g[slot]]
            new_pred = [slot for slot in p if p_before.get(slot) != p[slot]]
            new_wrong = any(p.get(slot) != g[slot] for slot in new_gold)
            new_wrong = new_wrong or any(g.get(slot) != p[slot] for slot in new_pred)
            turn.local_error = not found or found[-1].right or new_wrong
            if turn.local_error:
                last_local = turn.turn
            else:
                assert last_local is not None
                turn.error_age = turn.turn - last_local

        if paper:
            _paper(turn.paper, g_before, p_before, g, p)
        g_now = {slot: g.get(slot, "none") for slot in g_named.keys() | gold.keys()}
        p_now = {slot: p.get(slot, "none") for slot in p_named.keys() | pred.keys()}
        _released(turn.released, g_named, p_named, g_now, p_now)

        g_before, p_before, g_named, p_named = g, p, g_now, p_now
        found.append(turn)
    return found


def _released(counts: dict[str, int], g_old: State, p_old: State, g: State, p: State) -> None:
    for slot in g.keys() | p.keys():
        counted = set()
        if slot in g and (slot not in g_old or g_old[slot] != g[slot]):
            if slot not in p:
                kind = "C" if g[slot] == "none" else "M"
            elif g[slot] == p[slot]:
                kind = "C"
            elif g[slot] == "none":
                kind = "O"
            else:
                kind = "W"
            counts[kind] += 1
            counted.add(kind)
        if slot in p and (slot not in p_old or p_old[slot] != p[slot]):
            if slot not in g:
                counts["C" if p[slot] == "none" else "O"] += 1
            elif p[slot] == g[slot] and "C" not in counted:
                counts["C"] += 1
            elif p[slot] == "none":
                counts["M"] += 1
            elif p[slot] != g[slot] and "W" not in counted:
                counts["W"] += 1


def _paper(counts: dict[str, int], g_old: State, p_old: State, g: State, p: State) -> None:
    correct, wrong = set(), set()
    for slot in g:
        if g_old.get(slot) != g[slot]:
            if slot not in p:
                counts["M"] += 1
            elif p[slot] != g[slot]:
                counts["W"] += 1
                wrong.add(slot)
            else:
                counts["C"] += 1
                correct.add(slot)
    for slot in p:
        if p_old.get(slot) != p[slot]:
            if slot not in g:
                counts["O"] += 1
            elif g[slot] != p[slot] and slot not in wrong:
                counts["W"] += 1
            elif g[slot] == p[slot] and slot not in correct:
                counts["C"] += 1


def jga(ts: list[Turn]) -> float | None:
    return _mean([float(t.right) for t in ts])


def sa(ts: list[Turn], T: int) -> float | None:
    return _mean([(T - (t.n_union - t.n_correct)) / T for t in ts])


def rsa(ts: list[Turn]) -> float | None:
    return _mean([t.n_correct / t.n_union if t.n_union else 0.0 for t in ts])


def aga(ts: list[Turn]) -> float | None:
    return _mean([t.n_correct / t.n_gold for t in ts if t.n_gold])


def iaga(ts: list[Turn]) -> float | None:
    divisor = sum(1 for t in ts if t.n_gold)
    pairs = [(t.n_correct, t.n_gold + t.n_pred - t.n_correct) for t in ts]
    return sum(correct / union for correct, union in pairs if union) / divisor if divisor else None


def precision_recall_f1(correct: int, gold: int, pred: int) -> tuple[float, float, float]:
    if not gold:
        return (1.0, 1.0, 1.0) if not pred else (0.0, 0.0, 0.0)
    precision = correct / pred if pred else 0.0
    recall = correct / gold
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return precision, recall, f1


def macro(ts: list[Turn], which: int) -> float | None:
    return _mean([precision_recall_f1(t.n_correct, t.n_gold, t.n_pred)[which] for t in ts])


def micro(ts: list[Turn], which: int) -> float:
    sums = (sum(t.n_correct for t in ts), sum(t.n_gold for t in ts), sum(t.n_pred for t in ts))
    return precision_recall_f1(*sums)[which]


def fga(ts: list[Turn], lam: float = 0.5) -> float | None:
    def value(t: Turn) -> float:
        return 1.0 if t.right else 0.0 if t.error_age is None else 1 - exp(-lam * t.error_age)

    return _mean([value(t) for t in ts])


def tla(ts: list[Turn]) -> float | None:
    return _mean([float(not t.local_error) for t in ts])


def gca(ts: list[Turn], counting: str = "released", alpha: float = 10 / 11) -> float | None:
    counts = [t.released if counting == "released" else t.paper for t in ts]
    C, W, M, O = (sum(count[kind] for count in counts) for kind in "CWMO")  # noqa: E741
    P, G = C + W + O, C + W + M
    if P + G == 0:
        return None
    if C == 0:
        return 0.0
    VP, VR, LP, LR = C / P, C / G, (C + W) / P, (C + W) / G
    return (P + G) / (P * alpha / VP + G * alpha / VR + P * (1 - alpha) / LP + G * (1 - alpha) / LR)


def all_metrics(ts: list[Turn], T: int) -> dict[str, float | None]:
    """Every metric of the engine, by its notation."""
    found: dict[str, float | None] = {
        "jga": jga(ts),
        f"sa:T={T}": sa(ts, T),
        "rsa": rsa(ts),
        "aga": aga(ts),
        "iaga": iaga(ts),
        "fga": fga(ts),
        "fga:lam=0.25": fga(ts, 0.25),
        "tla": tla(ts),
        "gca": gca(ts),
        "gca:counting=paper": gca(ts, "paper"),
        "gca:alpha=0.5": gca(ts, alpha=0.5),
        "correct": sum(t.n_correct for t in ts),
        "wrong": sum(t.n_gold + t.n_pred - t.n_union - t.n_correct for t in ts),
        "missed": sum(t.n_union - t.n_pred for t in ts),
        "over": sum(t.n_union - t.n_gold for t in ts),
        "error-turns": sum(1 for t in ts if not t.right),
    }
    for which, name in enumerate(("precision", "recall", "f1")):
        found[name] = macro(ts, which)
        found[f"{name}:avg=micro"] = micro(ts, which)
    return found


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def default_metrics(ts: list[Turn], T: int) -> dict[str, float | None]:
    """The metrics that the engine computes by default: what a benchmark may compare."""
    return {
        "jga": jga(ts),
        "sa": sa(ts, T),
        "rsa": rsa(ts),
        "aga": aga(ts),
        "f1": macro(ts, 2),
        "fga": fga(ts),
        "gca": gca(ts),
        "tla": tla(ts),
    }
