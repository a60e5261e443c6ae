"""The metrics once more, as slow and as plain as can be: loops over dictionaries, each from its own definition.

It shares no code with the engine, and one metric shares next to nothing with another: each goes back to the states
and follows the words of its paper. States are lists of ``{"dialogue_id", "turn", "gold", "pred"}``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp
from typing import Any

State = dict[str, str]
Counts = dict[str, int]
ABSENT = ("none", "")


@dataclass
class Turn:
    """A turn, its states without what means "absent", and what its dialogue said before."""

    dialogue: str
    turn: int
    gold: State
    pred: State
    before: Turn | None
    #: Every slot listed so far, with its value now: "none" for one that is gone. For GCA as released.
    gold_named: State = field(default_factory=dict)
    pred_named: State = field(default_factory=dict)

    @property
    def right(self) -> bool:
        return self.gold == self.pred


def turns(states: list[dict[str, Any]], only: str | None = None) -> list[Turn]:
    """Every turn, in order; with `only`, its states restricted to the slots that start with it."""
    dialogues: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for state in states:
        dialogues[state["dialogue_id"]].append(state)
    found: list[Turn] = []
    for name in sorted(dialogues):
        before = None
        for state in sorted(dialogues[name], key=lambda s: s["turn"]):
            gold = {s: v for s, v in state["gold"].items() if only is None or s.startswith(only)}
            pred = {s: v for s, v in state["pred"].items() if only is None or s.startswith(only)}
            turn = Turn(name, state["turn"], _present(gold), _present(pred), before)
            turn.gold_named = _named(before.gold_named if before else {}, gold, turn.gold)
            turn.pred_named = _named(before.pred_named if before else {}, pred, turn.pred)
            found.append(turn)
            before = turn
    return found


def _present(state: State) -> State:
    return {slot: value for slot, value in state.items() if value not in ABSENT}


def _named(before: State, listed: State, present: State) -> State:
    return {slot: present.get(slot, "none") for slot in [*before, *listed]}


# --- counts of one turn --------------------------------------------------------------------------------------------


def n_correct(t: Turn) -> int:
    return len([slot for slot in t.gold if slot in t.pred and t.pred[slot] == t.gold[slot]])


def n_union(t: Turn) -> int:
    return len(set(t.gold) | set(t.pred))


def n_wrong(t: Turn) -> int:
    return len([slot for slot in t.gold if slot in t.pred and t.pred[slot] != t.gold[slot]])


def n_missed(t: Turn) -> int:
    return len([slot for slot in t.gold if slot not in t.pred])


def n_over(t: Turn) -> int:
    return len([slot for slot in t.pred if slot not in t.gold])


# --- metrics of the state ------------------------------------------------------------------------------------------


def jga(ts: list[Turn]) -> float | None:
    return _mean([1.0 if t.gold == t.pred else 0.0 for t in ts])


def sa(ts: list[Turn], T: int) -> float | None:
    return _mean([(T - n_missed(t) - n_wrong(t) - n_over(t)) / T for t in ts])


def rsa(ts: list[Turn], empty: float | None = 0.0) -> float | None:
    """(T* − M − W) / T*, with T* the distinct slots of both states, M those missed, W those wrongly predicted."""
    values = []
    for t in ts:
        slots = set(t.gold) | set(t.pred)
        missed = {slot for slot in t.gold if slot not in t.pred}
        wrong = {slot for slot in t.pred if (slot, t.pred[slot]) not in t.gold.items()}
        if slots or empty is not None:
            values.append((len(slots) - len(missed) - len(wrong)) / len(slots) if slots else empty or 0.0)
    return _mean(values)


def aga(ts: list[Turn], empty: float | None = None) -> float | None:
    """Per turn with a gold slot, the share of gold pairs that are predicted.

    A turn without one has `empty` if nothing is predicted, else 0; None: it is left out.
    """
    values = []
    for t in ts:
        gold, pred = set(t.gold.items()), set(t.pred.items())
        if gold:
            values.append(len(gold & pred) / len(gold))
        elif empty is not None:
            values.append(0.0 if pred else empty)
    return _mean(values)


def iaga(ts: list[Turn]) -> float | None:
    total, divisor = 0.0, 0
    for t in ts:
        gold, pred = set(t.gold.items()), set(t.pred.items())
        if gold | pred:
            total += len(gold & pred) / len(gold | pred)
        if gold:
            divisor += 1
    return total / divisor if divisor else None


# --- precision, recall, F1 -----------------------------------------------------------------------------------------


def _prf(tp: int, fn: int, fp: int) -> tuple[float, float, float]:
    """Precision, recall, F1 with TRADE's rules for empty states."""
    if tp + fn == 0:
        return (1.0, 1.0, 1.0) if tp + fp == 0 else (0.0, 0.0, 0.0)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn)
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _pair_counts(t: Turn) -> tuple[int, int, int]:
    tp = fn = fp = 0
    for pair in t.gold.items():
        if pair in t.pred.items():
            tp += 1
        else:
            fn += 1
    for pair in t.pred.items():
        if pair not in t.gold.items():
            fp += 1
    return tp, fn, fp


def macro(ts: list[Turn], which: int) -> float | None:
    return _mean([_prf(*_pair_counts(t))[which] for t in ts])


def micro(ts: list[Turn], which: int) -> float:
    counts = [_pair_counts(t) for t in ts]
    return _prf(*(sum(count[i] for count in counts) for i in range(3)))[which]


def refpydst_f1(ts: list[Turn]) -> float | None:
    """F1 per turn where a wrong value is a missing pair only, and two empty states have 0."""
    values = []
    for t in ts:
        tp, fn, fp = n_correct(t), n_missed(t) + n_wrong(t), n_over(t)
        values.append(2 * tp / (2 * tp + fn + fp) if tp else 0.0)
    return _mean(values)


# --- flexible goal accuracy ----------------------------------------------------------------------------------------


def local_error(t: Turn) -> bool:
    """A wrong turn that is the first, follows a right one, or brings a new pair that is wrong."""
    gold, pred = set(t.gold.items()), set(t.pred.items())
    if gold == pred:
        return False
    if t.before is None:
        return True
    gold_before, pred_before = set(t.before.gold.items()), set(t.before.pred.items())
    if gold_before == pred_before:
        return True
    return not (gold - gold_before <= pred and pred - pred_before <= gold)


def error_age(t: Turn) -> int | None:
    """Turns since the latest local error, for a wrong turn that is none itself."""
    if t.right or local_error(t):
        return None
    source = t.before
    while source is not None and not local_error(source):
        source = source.before
    assert source is not None
    return t.turn - source.turn


def fga(ts: list[Turn], lam: float = 0.5) -> float | None:
    values = []
    for t in ts:
        age = error_age(t)
        values.append(1.0 if t.right else 0.0 if age is None else 1 - exp(-lam * age))
    return _mean(values)


def tla(ts: list[Turn]) -> float | None:
    return _mean([0.0 if local_error(t) else 1.0 for t in ts])


# --- granular change accuracy --------------------------------------------------------------------------------------


Events = list[tuple[str, str]]


def released(t: Turn) -> Events:
    """The changes of a turn as the authors' code counts them: C, W, M or O, and the slot."""
    events: Events = []
    g_old, p_old = (t.before.gold_named, t.before.pred_named) if t.before else ({}, {})
    g, p = t.gold_named, t.pred_named
    for slot in {**g, **p}:
        counted = None
        if slot in g and (slot not in g_old or g_old[slot] != g[slot]):
            if slot not in p:
                counted = "C" if g[slot] == "none" else "M"
            elif g[slot] == p[slot]:
                counted = "C"
            elif g[slot] == "none":
                counted = "O"
            else:
                counted = "W"
            events.append((counted, slot))
        if slot in p and (slot not in p_old or p_old[slot] != p[slot]):
            if slot not in g:
                events.append(("C" if p[slot] == "none" else "O", slot))
            elif p[slot] == g[slot] and counted != "C":
                events.append(("C", slot))
            elif p[slot] == "none":
                events.append(("M", slot))
            elif p[slot] != g[slot] and counted != "W":
                events.append(("W", slot))
    return events


def paper(t: Turn) -> Events:
    """The changes of a turn as Algorithm 1 counts them, its slips mended."""
    events: Events = []
    g_old, p_old = (t.before.gold, t.before.pred) if t.before else ({}, {})
    correct, wrong = set(), set()
    for slot, value in t.gold.items():
        if (slot, value) in g_old.items():
            continue
        if slot not in t.pred:
            events.append(("M", slot))
        elif t.pred[slot] != value:
            events.append(("W", slot))
            wrong.add(slot)
        else:
            events.append(("C", slot))
            correct.add(slot)
    for slot, value in t.pred.items():
        if (slot, value) in p_old.items():
            continue
        if slot not in t.gold:
            events.append(("O", slot))
        elif t.gold[slot] != value and slot not in wrong:
            events.append(("W", slot))
        elif t.gold[slot] == value and slot not in correct:
            events.append(("C", slot))
    return events


def total(ts: list[Turn], counting: Callable[[Turn], Events] = released) -> Counts:
    """C, W, M, O of turns."""
    kinds = [kind for t in ts for kind, _ in counting(t)]
    return {kind: kinds.count(kind) for kind in "CWMO"}


def gca(ts: list[Turn], counting: Callable[[Turn], Events] = released, alpha: float = 10 / 11) -> float | None:
    return _gca(**total(ts, counting), alpha=alpha)


def _gca(C: float, W: float, M: float, O: float, alpha: float = 10 / 11) -> float | None:  # noqa: E741
    P, G = C + W + O, C + W + M
    if P + G == 0:
        return None
    if C == 0:
        return 0.0
    VP, VR, LP, LR = C / P, C / G, (C + W) / P, (C + W) / G
    return (P + G) / (P * alpha / VP + G * alpha / VR + P * (1 - alpha) / LP + G * (1 - alpha) / LR)


def gca_parts(ts: list[Turn], counting: Callable[[Turn], Events] = released) -> dict[str, float | None]:
    """VP, VR, LP, LR."""
    C, W, M, O = total(ts, counting).values()  # noqa: E741
    P, G = C + W + O, C + W + M
    return {
        "gca-vp": C / P if P else None,
        "gca-vr": C / G if G else None,
        "gca-lp": (C + W) / P if P else None,
        "gca-lr": (C + W) / G if G else None,
    }


# --- partial credit ------------------------------------------------------------------------------------------------

Similarity = Callable[[str, str], float]


def equality(gold: str, pred: str) -> float:
    return 1.0 if gold == pred else 0.0


def soft_rsa(ts: list[Turn], similarity: Similarity = equality) -> float | None:
    values = []
    for t in ts:
        slots = set(t.gold) | set(t.pred)
        credit = sum(similarity(t.gold[slot], t.pred[slot]) for slot in slots if slot in t.gold and slot in t.pred)
        values.append(credit / len(slots) if slots else 0.0)
    return _mean(values)


def soft_gca(
    ts: list[Turn], counting: Callable[[Turn], Events] = released, similarity: Similarity = equality
) -> float | None:
    """GCA where what is compared counts its similarity in C, and the rest in W."""
    C = W = 0.0
    counts = total(ts, counting)
    for t in ts:
        for kind, slot in counting(t):
            gold, pred = t.gold.get(slot), t.pred.get(slot)
            if kind in "CW":
                credit = similarity(gold, pred) if gold and pred else float(gold == pred)
                C, W = C + credit, W + 1 - credit
    return _gca(C, W, counts["M"], counts["O"])


# --- all of them ---------------------------------------------------------------------------------------------------


def default_metrics(ts: list[Turn], T: int) -> dict[str, float | None]:
    """The metrics that the engine computes by default."""
    return {
        "jga": jga(ts),
        f"sa:T={T}": sa(ts, T),
        "rsa": rsa(ts),
        "aga": aga(ts),
        "f1": macro(ts, 2),
        "fga": fga(ts),
        "gca": gca(ts),
        "tla": tla(ts),
    }


def all_metrics(ts: list[Turn], T: int) -> dict[str, float | None]:
    """Every metric of the engine, by its notation."""
    return {
        **default_metrics(ts, T),
        "iaga": iaga(ts),
        "rsa:empty=1": rsa(ts, 1.0),
        "rsa:empty=skip": rsa(ts, None),
        "aga:empty=1": aga(ts, 1.0),
        "f1:empty=0:wrong=missed": refpydst_f1(ts),
        "soft-jga": jga(ts),
        "soft-aga": aga(ts),
        "soft-rsa": soft_rsa(ts),
        "soft-gca": soft_gca(ts),
        "soft-gca:counting=paper": soft_gca(ts, paper),
        **gca_parts(ts),
        **{f"{name}:counting=paper": value for name, value in gca_parts(ts, paper).items()},
        "fga:lam=0.25": fga(ts, 0.25),
        "gca:counting=paper": gca(ts, paper),
        "gca:alpha=0.5": gca(ts, alpha=0.5),
        "precision": macro(ts, 0),
        "recall": macro(ts, 1),
        "precision:avg=micro": micro(ts, 0),
        "recall:avg=micro": micro(ts, 1),
        "f1:avg=micro": micro(ts, 2),
        "correct": sum(n_correct(t) for t in ts),
        "wrong": sum(n_wrong(t) for t in ts),
        "missed": sum(n_missed(t) for t in ts),
        "over": sum(n_over(t) for t in ts),
        "error-turns": sum(1 for t in ts if not t.right),
    }


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


# --- kinds of errors -----------------------------------------------------------------------------------------------

SAYS_NOTHING = ("", "yes", "no", "true", "false", "free", "none", "dontcare")


def error_class(t: Turn, slot: str) -> str | None:
    """The class of a slot of a turn; None where neither state has it. Each rule asks in the words of its class."""
    gold, pred = t.gold.get(slot), t.pred.get(slot)
    gold_before = t.before.gold.get(slot) if t.before else None
    pred_before = t.before.pred.get(slot) if t.before else None
    if gold is None and pred is None:
        return None
    if gold == pred:
        return "correct"
    if pred is None:
        if gold != gold_before:
            return "missed-fresh"
        return "dropped" if pred_before == gold_before else "missed-stale"
    elsewhere = {s for s, value in t.gold.items() if s != slot and value == pred and pred not in SAYS_NOTHING}
    kind = "over" if gold is None else "wrong"
    if kind == "wrong" and gold_before == pred:
        return "not-updated"
    if kind == "over" and gold_before is not None:
        return "not-deleted"
    if elsewhere:
        same = [s for s in elsewhere if s.partition("-")[0] == slot.partition("-")[0]]
        return f"{kind}-swap-slot" if same else f"{kind}-swap-domain"
    return f"{kind}-stale" if (gold, pred) == (gold_before, pred_before) else f"{kind}-fresh"


def error_classes(ts: list[Turn]) -> dict[tuple[str, str], int]:
    """How often each slot is in each class."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for t in ts:
        for slot in {**t.gold, **t.pred}:
            name = error_class(t, slot)
            assert name is not None
            counts[slot, name] += 1
    return dict(counts)


def timing(ts: list[Turn], similar: Callable[[str, str], bool] = str.__eq__) -> dict[str, list[int]]:
    """Per slot: how often it is missed, of these late, over-predicted, of these early."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for t in ts:
        later = [u for u in ts if u.dialogue == t.dialogue and u.turn > t.turn]
        for slot in {**t.gold, **t.pred}:
            if slot not in t.pred:
                counts[slot][0] += 1
                for u in later:
                    if u.gold.get(slot) != t.gold[slot]:
                        break
                    if slot in u.pred and similar(t.gold[slot], u.pred[slot]):
                        counts[slot][1] += 1
                        break
            elif slot not in t.gold:
                counts[slot][2] += 1
                coming = [u.gold[slot] for u in later if slot in u.gold]
                counts[slot][3] += bool(coming) and similar(coming[0], t.pred[slot])
    return {slot: n for slot, n in counts.items() if n[0] or n[2]}


# --- dialogues -----------------------------------------------------------------------------------------------------


def tail_orientation(ts: list[Turn], variant: str) -> float | None:
    """Of one dialogue: where its mistakes are, each mistake by itself."""
    n = len(ts)
    places = [i for i, t in enumerate(ts) for _ in range(_mistakes(t))]
    if not places:
        return 0.0 if variant == "released" else None
    middle = sum(places) / len(places)
    if variant == "mean":
        return middle / (n - 1) if n > 1 else 0.0
    if variant == "sum":
        return sum(place - (n - 1) / 2 for place in places) / n
    return (middle - n / 2) / (n + 1)


def non_uniformity(ts: list[Turn], variant: str) -> float | None:
    """Of one dialogue: how unevenly its mistakes spread."""
    mistakes = [_mistakes(t) for t in ts]
    average = sum(mistakes) / len(mistakes)
    if variant == "paper":
        return sum((m - average) ** 2 for m in mistakes)
    return sum(abs(m - average) for m in mistakes) / average if average else 0.0


def _mistakes(t: Turn) -> int:
    return sum(kind != "C" for kind, _ in released(t))


def failure(ts: list[Turn]) -> tuple[int, bool] | None:
    """Of one dialogue whose last turn is wrong: the first wrong turn, and whether it recovered in between."""
    if ts[-1].right:
        return None
    first = next(i for i, t in enumerate(ts) if not t.right)
    return first, any(t.right for t in ts[first:])
