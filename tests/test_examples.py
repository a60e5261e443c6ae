"""What small functions give for examples: each line is a call, and what it gives."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from dstbench.conventions import mwzeval
from dstbench.conventions.choices import CHOICES, description
from dstbench.conventions.convention import Convention, absent_literals, from_text, why_unknown
from dstbench.conventions.matching import Matcher
from dstbench.conventions.normalise import alternatives, is_text, normaliser, spellings, tells_slot
from dstbench.conventions.slots import (
    are_multiwoz,
    canonical_dialogue,
    hint_at_dialogue,
    merged_spellings,
    slot_total,
    split_pair,
)
from dstbench.errors import did_you_mean, in_python, percent, visible
from dstbench.io.escape import csv_text, json_text, markdown_text
from dstbench.io.files import path_text
from dstbench.io.foreign import by_content, url
from dstbench.io.tables import separator_of
from dstbench.metrics.base import exact_sum
from dstbench.metrics.registry import name_of, sign_of

LOSE = "dontcare='lose' is none of keep, drop, drop-gold, drop-pred, skip"
EXAMPLES: list[tuple[Any, tuple[Any, ...], Any]] = [
    (percent, (0.95,), "95 %"),
    (visible, ("a\x1b[2Jb",), "a\\x1b[2Jb"),
    (did_you_mean, ("jgaa", ["jga", "sa", "fga"]), "did you mean jga or fga?"),
    (did_you_mean, ("mul484", ["MUL0484", "SNG01"]), "did you mean MUL0484?"),
    (in_python, ("omit --label-map; `compare --resamples 1000`",), "omit `labels`; `compare --resamples 1000`"),
    (csv_text, (pl.DataFrame({"value": ["=1+1", "-0.5", "a\x1b"]}),), "value\n'=1+1\n-0.5\na\\x1b\n"),
    (json_text, ({"\x9b": "é"},), '{\n "\\u009b": "é"\n}\n'),
    (markdown_text, ("a_b, *c* <b> ![x](http://y)",), "a_b, \\*c\\* &lt;b&gt; !\\[x\\](http:\\//y)"),
    (path_text, ("caf\udce9.json",), "caf\\udce9.json"),
    (path_text, ("café.json",), "café.json"),
    (url, ("https:/a.org/p",), ("a URL, which is not read", "download it and name the file: curl -LO https://a.org/p")),
    (separator_of, (b"sep=;\nid;turn\n",), (";", b"id;turn\n")),
    (lambda text: separator_of(text)[0], (b'id;"a,b,c";turn\n',), ";"),
    (lambda text: by_content(text).what[:10], (b"<!DOCTYPE html>",), "a web page"),  # type: ignore[union-attr]
    (sign_of, ("fga:lam=0.25",), 1),
    (sign_of, ("missed",), -1),
    (sign_of, ("polite",), None),
    (name_of, ("fga:lam=0.25",), "FGA (λ = 0.25)"),
    (name_of, ("to_mean",), "Tail orientation"),
    (name_of, ("polite",), "polite"),
    (description, (CHOICES["unit"],), "What a score is a mean over: turns, or the domains (services) of turns."),
    (why_unknown, ("multi", "any"), None),
    (why_unknown, ("dontcare", "lose"), LOSE),
    (from_text, ("gold_steps", "case, space"), ("case", "space")),
    (from_text, ("gold_steps", "-"), ()),
    (from_text, ("unit", "turn"), "turn"),
    (absent_literals, (Convention(none="drop-gold"), "pred"), frozenset()),
    *((normaliser(["times"]), ("train-leaveat", value), clock) for value, clock in (
        ("5:05 pm", "17:05"), ("12:30 am", "00:30"), ("12 pm", "12:00"), ("1705", "17:05"),
    )),
    (spellings, ("train-leaveat", "17:05"), ["17:05", "5:05 pm", "5:05pm", "1705"]),
    (spellings, ("hotel-area", "centre"), ["centre", "center"]),
    (spellings, ("hotel-stars", "4"), ["4", "four"]),
    (alternatives, ("cheap|moderate",), ["cheap", "moderate"]),
    (alternatives, ("",), [""]),
    *((tells_slot, (value,), value in ("ely", "12", "sunday")) for value in ("ely", "12", "sunday", "yes", "dontcare")),
    *((is_text, (value,), value == "pizza hut") for value in ("pizza hut", "12", "09:15", "Sunday", "yes", "9 pm")),
    (hint_at_dialogue, ("mul484.json", pl.Series(["MUL0484"])), "did you mean MUL0484?"),
    (hint_at_dialogue, ("x", pl.Series(["MUL0484"])), "there is 1 dialogue, such as MUL0484"),
    *((lambda name: pl.select(canonical_dialogue(pl.lit(name))).item(), (name,), canonical) for name, canonical in (
        ("pmul4234.json", "PMUL4234"), ("mul0484", "MUL0484"), ("1_00000", "1_00000"), ("my.json", "my.json"),
    )),
    (are_multiwoz, (pl.Series(["PMUL4234", "multiwoz24-test-0"]),), True),
    (are_multiwoz, (pl.Series(["PMUL4234", "1_00000"]),), False),
    (lambda slots: slot_total(slots, is_multiwoz=True), (["bus-day"],), (35, "multiwoz-35")),
    (lambda slots: slot_total(slots, is_multiwoz=False), (["a-b", "a-c"],), (2, "gold")),
    (split_pair, ("hotel-name-alpha-milton",), ("hotel-name", "alpha-milton")),
    (split_pair, ("hotel-book people-3",), ("hotel-book people", "3")),
    (split_pair, ("north",), None),
    (merged_spellings, ([("hotel-book day", False)],), {"hotel-book day": False}),
    (merged_spellings, ([("hotel-book people", False), ("hotel-book people", True)],), {"hotel-book people": None}),
    (mwzeval.normalise, ("attraction-name", "Christ College"), "christ's college"),
    (mwzeval.normalise, ("train-leaveat", "after 5 pm"), "17:00"),
    (lambda text: str(Matcher.parse(text)), ("levenshtein:least=0.955",), "levenshtein:least=0.955"),
    (lambda text: str(Matcher.parse(text)), ("levenshtein",), "levenshtein:least=0.9"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "wanted"), EXAMPLES)
def test_an_example(function: Any, arguments: tuple[Any, ...], wanted: Any) -> None:
    assert function(*arguments) == wanted


def test_an_exact_sum_has_no_order() -> None:
    table = pl.DataFrame({"ratio": [0.1, None, 0.2, 0.3]})
    total = exact_sum(pl.col("ratio"))
    assert table.select(total).item() == table.reverse().select(total).item()
