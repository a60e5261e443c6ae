"""The rounds of the search for missing annotations.

Additions change what is discussed in their dialogues, and are evidence for the others. So a round judges the dialogues
again to which the last round added something, and counts again what gold annotates in all dialogues.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import polars as pl

from dstbench.audit.corpus import Corpus, with_lists
from dstbench.audit.discussion import discuss, judge_places, names_in, on_topic, propose_places, weigh_places
from dstbench.audit.evidence import judge, propose, weigh
from dstbench.audit.places import Places
from dstbench.audit.rules import Rules
from dstbench.conventions.normalise import is_dontcare

_SIMILAR: Final = pl.lit("similar")
_ROW: Final = pl.col("row")


class Judged(NamedTuple):
    """The mentions as judged within their own dialogues.

    Attributes:
        similar: What `evidence.judge` returns.
        of_places: What the rules need: what `names_in` and `judge_places` return, and (row, domain, is_topic) of
            `Discussion.turns`. Empty without places.
    """

    similar: pl.DataFrame
    of_places: tuple[pl.DataFrame, ...]


class Method(NamedTuple):
    """How missing annotations are found: by rules, and those of the slots `compared` by similar places."""

    places: Places | None
    rules: Rules
    compared: list[str]
    support: int
    at_least: float

    def judge(self, corpus: Corpus, cells: pl.DataFrame) -> Judged:
        """All mentions, judged as if gold had these `cells` (as `Corpus.cells`)."""
        if self.places is None:
            return Judged(judge(corpus, cells), ())
        return self._judge(corpus, cells, self.places, names_in(corpus, cells, self.places))

    def judge_again(self, corpus: Corpus, cells: pl.DataFrame, before: Judged, changed: pl.Series) -> Judged:
        """What `judge` returns, given its result `before` cells were added in the `changed` rows and after them."""
        if self.places is not None:
            # A name that gold now has more often may no longer be a common word, in any dialogue.
            names, same = names_in(corpus, cells, self.places), ["mention", "domain", "value", "entity"]
            old = before.of_places[0]
            differ = names.join(old, on=same, how="anti"), old.join(names, on=same, how="anti")
            changed = pl.concat([changed, *(mentions["row"] for mentions in differ)])
        talks = corpus.turns.filter(_ROW.is_in(changed.implode()))["talk"]
        rows = corpus.turns.filter(pl.col("talk").is_in(talks.implode()))["row"]
        is_again = _ROW.is_in(rows.implode())
        corpus, cells = corpus.only(rows), cells.filter(is_again)
        if self.places is None:
            again = self.judge(corpus, cells)
        else:
            places = replace(self.places, mentions=self.places.mentions.filter(is_again))
            again = self._judge(corpus, cells, places, names.filter(is_again))
        similar, *of_places = (
            pl.concat([old.filter(~is_again), new])
            for old, new in zip((before.similar, *before.of_places), (again.similar, *again.of_places), strict=True)
        )
        return Judged(similar, tuple(of_places))

    def _judge(self, corpus: Corpus, cells: pl.DataFrame, places: Places, names: pl.DataFrame) -> Judged:
        discussion = discuss(corpus, cells, names, places, self.rules)
        topics = discussion.turns.select("row", "domain", "is_topic")
        return Judged(judge(corpus, cells), (names, judge_places(discussion, places, self.rules), topics))

    def propose(self, judged: Judged, corpus: Corpus) -> tuple[list[pl.DataFrame], pl.DataFrame]:
        """The mentions with their evidence, by rules and by similar places; and the missing ones among them."""
        is_similar = pl.col("slot").cast(pl.String).is_in(self.compared)
        is_allowed = pl.col("slot").str.contains(self.rules.slots)
        similar = weigh(judged.similar, support=self.support).with_columns(rule=_SIMILAR)
        proposed = propose(similar, at_least=self.at_least).with_columns(entity=None, fact=None, refused=None)
        proposed = proposed.filter(is_similar, is_allowed)
        similar = similar.filter(is_similar)
        if not judged.of_places:
            return [similar], proposed
        _, by_rule, topics = judged.of_places
        by_rule = weigh_places(by_rule)
        proposed = on_topic(proposed, topics, corpus, self.rules)
        proposed = pl.concat([propose_places(by_rule, self.rules), proposed], how="diagonal_relaxed")
        proposed = proposed.unique(["row", "slot"], keep="first", maintain_order=True)
        return [by_rule, similar], proposed.filter(is_allowed)


def search(corpus: Corpus, method: Method) -> tuple[list[pl.DataFrame], list[pl.DataFrame], Corpus]:
    """Search until nothing is found.

    Returns:
        The mentions with their evidence in the first round, by rules and by similar places; the additions of each
        round, with its `round`; and the corpus with the lists of values that were added.
    """
    cells, rounds = corpus.cells, list[pl.DataFrame]()
    judged = method.judge(corpus, cells)
    first, proposed = method.propose(judged, corpus)
    while True:
        corpus = with_lists(corpus, proposed)
        proposed = _with_duration(proposed, corpus, cells)
        if proposed.is_empty():
            return first, rounds, corpus
        rounds.append(proposed.with_columns(round=pl.lit(len(rounds) + 1)))
        new_cells = proposed.select("slot", row=pl.int_ranges("row", "until", dtype=pl.UInt32), value="written")
        new_cells = new_cells.explode("row").select("row", pl.col("slot", "value").cast(pl.Categorical))
        cells = pl.concat([cells, new_cells])
        judged = method.judge_again(corpus, cells, judged, proposed["row"])
        proposed = method.propose(judged, corpus)[1]


def _with_duration(proposed: pl.DataFrame, corpus: Corpus, cells: pl.DataFrame) -> pl.DataFrame:
    """The annotations found, without those that an earlier one already implies.

    Returns:
        Rows with `written`: the value as gold writes it; `until`: the row before which the annotation ends; `later`:
        the value that gold has next in the dialogue.
    """
    turns = corpus.data_turns.with_columns(stop=pl.col("row").max().over("dialogue") + 1)
    proposed = proposed.join(turns, on="row").join(corpus.spelled, on=["slot", "value"]).sort("row")
    turns = turns.join(proposed, on="dialogue", how="semi")
    # An addition of an earlier round ends an annotation, too, but is not gold's.
    for entries, names in ((cells, {"next": "row", "then": "value"}), (corpus.cells, {"later": "value"})):
        following = entries.join(turns, on="row").with_columns(pl.col("slot").cast(pl.String))
        following = following.join(proposed, on=["dialogue", "slot"], how="semi").sort("row")
        following = following.with_columns(pl.col("value").cast(pl.String))
        proposed = proposed.join_asof(
            following.select("dialogue", "slot", "row", **names), on="row", by=["dialogue", "slot"],
            strategy="forward", allow_exact_matches=False, check_sortedness=False,
        )  # fmt: skip
    # A user who says "a hotel", and later gets a guest house annotated, meant any place to stay.
    dontcare = [value for value in proposed["then"].drop_nulls().unique() if is_dontcare(value)]
    is_other = (pl.col("then") != pl.col("written")) & ~pl.col("then").is_in(dontcare)
    is_any_kind = (pl.col("rule") == "kind") & pl.col("fact").is_null() & is_other.fill_null(False)
    proposed = proposed.filter(~is_any_kind)
    proposed = proposed.with_columns(until=pl.min_horizontal("stop", "next")).sort("dialogue", "slot", "row")
    # Between two values of gold, an added value holds until the next added one; the same value again is implied.
    gap = pl.struct("dialogue", "slot", "until")
    is_implied = (gap == gap.shift(1)) & (pl.col("written") == pl.col("written").shift(1))
    proposed = proposed.filter(~is_implied.fill_null(False))
    replaced_at = pl.when(gap == gap.shift(-1)).then(pl.col("row").shift(-1))
    return proposed.with_columns(until=pl.coalesce(replaced_at, "until")).drop(
        "stop", "next", "then", "dialogue", "turn"
    )
