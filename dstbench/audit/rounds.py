"""The rounds of the search for missing annotations: what a round adds is gold for the next."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dstbench.audit.corpus import Corpus, with_lists
from dstbench.audit.discussion import discuss, judge_places, names_in, on_topic, propose_places, weigh_places
from dstbench.audit.evidence import judge, propose, weigh
from dstbench.audit.places import Places
from dstbench.audit.rules import Rules
from dstbench.conventions.normalise import is_dontcare


class Method(NamedTuple):
    """How missing annotations are found: by rules, and those of the slots `compared` by similar places."""

    places: Places | None
    rules: Rules
    compared: list[str]
    support: int
    at_least: float

    def judge(self, corpus: Corpus, cells: pl.DataFrame) -> tuple[list[pl.DataFrame], pl.DataFrame]:
        """The mentions with their evidence, by rules and by similar places; and the missing ones among them.

        Mentions are judged as if gold had these `cells` (as `Corpus.cells`).
        """
        is_allowed = pl.col("slot").str.contains(self.rules.slots)
        is_compared = pl.col("slot").cast(pl.String).is_in(self.compared)
        similar = judge(corpus, cells if self.compared else cells.clear())
        similar = weigh(similar, support=self.support).with_columns(rule=pl.lit("similar"))
        proposed = propose(similar, at_least=self.at_least).with_columns(entity=None, fact=None, refused=None)
        proposed, similar = proposed.filter(is_compared, is_allowed), similar.filter(is_compared)
        if self.places is None:
            return [similar], proposed
        names = names_in(corpus, cells, self.places)
        discussion = discuss(corpus, cells, names, self.places, self.rules)
        by_rule = weigh_places(judge_places(discussion, self.places, self.rules))
        proposed = on_topic(proposed, discussion.turns.select("row", "domain", "is_topic"), corpus, self.rules)
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
    first, proposed = method.judge(corpus, cells)
    while True:
        corpus = with_lists(corpus, proposed)
        proposed = _with_duration(proposed, corpus, cells)
        if proposed.is_empty():
            return first, rounds, corpus
        rounds.append(proposed.with_columns(round=pl.lit(len(rounds) + 1)))
        new_cells = proposed.select("slot", row=pl.int_ranges("row", "until", dtype=pl.UInt32), value="written")
        new_cells = new_cells.explode("row").select("row", pl.col("slot", "value").cast(pl.Categorical))
        cells = pl.concat([cells, new_cells])
        proposed = method.judge(corpus, cells)[1]


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
