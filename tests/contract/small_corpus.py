"""A small invented corpus, for tests that compare every number: gold, three trackers, a later gold, ratings."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, Final

_SLOTS: Final = {
    "hotel-area": ("north", "south", "east"), "hotel-stars": ("2", "3", "4"),
    "hotel-name": ("drowsy otter", "sea lodge"),
    "train-day": ("monday", "friday"), "train-departure": ("tilby", "wexmoor"), "taxi-leaveat": ("09:15", "17:00"),
}  # fmt: skip
#: Of 100 values: how many a run misses, gets wrong; of 100 turns: in how many it invents one. By name, another order.
_TRACKERS: Final = {"keen": (19, 11, 25), "steady": (2, 4, 5), "hasty": (7, 5, 12)}


def _turns(dialogues: int) -> list[dict[str, Any]]:
    random, turns = Random(3), []  # noqa: S311 (no secrets)
    for number in range(dialogues):
        gold: dict[str, str] = {}
        for turn in range(3 + number % 4):
            for slot in random.sample([*_SLOTS], 1 + (turn + number) % 2):
                gold[slot] = random.choice(_SLOTS[slot]) + ("|other" if random.random() < 0.1 else "")
            turns.append({"dialogue_id": f"D{number:02}", "turn": turn, "gold": dict(gold)})
    return turns


def write(folder: Path) -> None:
    """Three runs with gold, and other files."""
    gold = _turns(24)
    for name, (missed, wrong, invented) in _TRACKERS.items():
        random, lines = Random(name), []  # noqa: S311 (no secrets)
        for row in gold:
            pred = {}
            for slot, value in row["gold"].items():
                chance = random.randrange(100)
                if chance >= missed:
                    spoilt = f"{value}s" if chance % 2 else "nowhere"
                    pred[slot] = spoilt if chance < missed + wrong else value
            if random.randrange(100) < invented:
                pred["restaurant-food"] = "vegan"
            lines.append(json.dumps({**row, "pred": pred}))
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for number, row in enumerate(gold):  # a later version
        slot = [*row["gold"]][number % len(row["gold"])]
        if number % 5 == 1:
            row["gold"]["restaurant-food"] = "thai"
        elif number % 7 == 2:
            del row["gold"][slot]
        elif number % 3 == 0:
            row["gold"][slot] = row["gold"][slot].upper() if number % 2 else _SLOTS[slot][number % 2]
    (folder / "later.jsonl").write_text("\n".join(map(json.dumps, gold)), encoding="utf-8")
    ratings = [f"{name},D{n:02},{1 + (n * 7 + len(name)) % 5}" for name in _TRACKERS for n in range(24)]
    (folder / "sizes.csv").write_text("run,size\nkeen,3\nsteady,1\nhasty,2\n", encoding="utf-8")
    (folder / "orders.csv").write_text("run,size\nkeen,1\nsteady,2\nhasty,3\n", encoding="utf-8")
    (folder / "ratings.csv").write_text("\n".join(["run,dialogue,rating", *ratings]), encoding="utf-8")
