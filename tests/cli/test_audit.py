"""Audits on the command line: what they print in each format, the figures, and mistakes of users."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands import run, tables


def test_slots_are_sorted_as_asked(here: Path) -> None:
    """Alphabetically; the least even first, one value only last; or the most frequent first."""
    areas, days = "nnnss", "mt"
    lines = [
        *({"dialogue_id": f"A{n}", "turn": 0, "gold": {"hotel-area": area}} for n, area in enumerate(areas)),
        *({"dialogue_id": f"B{n}", "turn": 0, "gold": {"bus-day": day, "taxi-day": "m"}} for n, day in enumerate(days)),
        *({"dialogue_id": f"C{n}", "turn": 0, "gold": {"taxi-day": "m"}} for n in range(8)),
    ]
    Path("gold.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for sort, wanted in (
        ("slot", ["bus-day", "hotel-area", "taxi-day"]),
        ("entropy", ["hotel-area", "bus-day", "taxi-day"]),
        ("turns", ["taxi-day", "hotel-area", "bus-day"]),
    ):
        code, out, _ = run("audit", "bias", "gold.jsonl", "--sort", sort, "--all", "--charts", "charts")
        assert code == 0
        for table in list(tables(out).values())[:2]:
            assert list(dict.fromkeys(row[0] for row in table[1:])) == wanted
        chart = json.loads(Path("charts/bias.vl.json").read_text())
        assert chart["spec"]["layer"][0]["encoding"]["y"]["sort"] == wanted
