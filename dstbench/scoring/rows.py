"""The rows of whole dialogues: their distinct combinations, what they mean, and what each adds to its turn's counts.

Rows are sorted by (dialogue, slot, turn), so a slot's turn before is the row before. A *change* is a row whose value
differs from the row before, on one side; a slot is *listed* where the file has it, even with a value that means "not in
the state", and *seen* from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.readers.frames import IS_FRAME, requested_f1, same_intent
from dstbench.scoring.values import CELL, JUDGEMENT, C, answers_of, judge, with_answers
from dstbench.tables import collect_all

_KINDS: Final = ("correct", "wrong", "missed", "over")
#: What a row may add to the count of this name, 0 or 1.
COUNTS: Final = (
    *("n_gold", "n_pred", "n_correct", "n_union", "n_charged_again", "n_fresh_errors"),
    *(f"gca_{kind}" for kind in _KINDS),
    *(f"gca_paper_{kind}" for kind in _KINDS),
    *("n_dropped", "n_ignored"),
)
#: Whether judged rows are wrong, but would be right if gold and prediction were spelled alike.
SPELLED: Final = (C("g").is_not_null() | C("p").is_not_null()) & ~C("ok") & C("slot").is_not_null() & C("alike")

#: Whether a judged row's value, of column `g` or `p`, differs from that of the row before.
IS_NEW: Final = {
    side: pl.when("first").then(C(side).is_not_null()).otherwise(C(side).ne_missing(C(side).shift(1)))
    for side in ("g", "p")
}
#: The domain of a row's slot (`slots.domain_of`), as a dictionary column; null where there is no slot.
DOMAIN: Final = C("slot").cast(pl.String).str.splitn("-", 2).struct[0].cast(pl.Categorical).alias("domain")


@dataclass(frozen=True)
class Rows:
    """Rows of whole dialogues."""

    # The columns of `LONG`; `number`, the dialogue's number in the table, from 1; `key`, the turn's number, ascending
    # over the table; `first`, whether a row is its slot's first in the dialogue; `cell`, the index in `cells` of what
    # the row holds; of frames, what `_with_frames` adds.
    table: pl.DataFrame
    cells: pl.DataFrame  # the distinct combinations of slot, gold and prediction, with the slot's `domain`
    judgements: dict[Convention, pl.DataFrame] = field(default_factory=dict)  # what conventions say of the cells

    def of_cells(self, convention: Convention) -> pl.DataFrame:
        """The `Judgement` of each cell under a convention; computed once."""
        if convention not in self.judgements:
            self.judgements[convention] = answers_of(self.cells.select(CELL), judge(convention), JUDGEMENT)
        return self.judgements[convention]

    def judged(self, convention: Convention) -> pl.LazyFrame:
        """The rows with a column per field of `Judgement`: what their values mean under a convention; and `alike`.

        `alike` says whether gold and prediction are equal, or both not in the state, once both are in one spelling.
        """

        def are_alike(cells: pl.Series) -> pl.Series:  # called only if a query needs the column
            loosely = self.of_cells(convention.loosened())
            return loosely.select(C("ok") | (C("g").is_null() & C("p").is_null())).to_series().gather(cells)

        table = self.table.lazy().with_columns(
            *(pl.lit(column).gather(C("cell")) for column in self.of_cells(convention)),
            alike=C("cell").map_batches(are_alike, return_dtype=pl.Boolean, is_elementwise=True),
        )
        if "domain" not in self.table.columns:
            table = table.with_columns(domain=pl.lit(self.cells["domain"]).gather(C("cell")))
        if convention.over != "gold-domains":
            return table
        # By this rule alone, a row depends on other rows of its turn.
        is_scored = C("g").is_not_null().any().over("key", "domain") | C("slot").is_null()
        return (
            table.with_columns(is_scored=is_scored)
            .with_columns(
                *(pl.when("is_scored").then(name).alias(name) for name in ("p", "credit")),
                *(C(name) & C("is_scored") for name in ("ok", "p_listed")),
                ignored=C("ignored") | (C("p").is_not_null() & ~C("is_scored")),
            )
            .drop("is_scored")
        )

    def with_counts(self, convention: Convention) -> pl.LazyFrame:
        """The judged rows with `g_new`, `p_new` (see `IS_NEW`), and `COUNTS`, each a Boolean.

        The counts of GCA are those of the authors' code: A slot that was listed and now is absent has the value "none".
        A slot that is listed for the first time counts as a change, even with a value that means "not in the state". If
        both gold and prediction change, these are two events, but the prediction's is not counted as C (or W) if gold's
        was: a row adds at most 1 to each count.
        """
        rows = self.judged(convention)
        for side in "gp":
            is_listed = C(f"{side}_listed")
            rows = rows.with_columns(
                C(side).is_not_null().alias(f"{side}_is"),
                IS_NEW[side].alias(f"{side}_new"),
                pl.when(is_listed | C("first")).then(is_listed).forward_fill().alias(f"{side}_seen"),
            )
        rows = rows.with_columns(
            equal=C("ok") | ~(C("g_is") | C("p_is")),
            **{f"{side}_set": C(f"{side}_new") & C(f"{side}_is") for side in "gp"},
            **{
                f"{side}_change": C(f"{side}_seen") & (C(f"{side}_new") | C("first") | ~C(f"{side}_seen").shift(1))
                for side in "gp"
            },
        )
        ok, g_is, p_is, equal, is_set = C("ok"), C("g_is"), C("p_is"), C("equal"), C("g_set") | C("p_set")
        g_change, p_change, g_seen, p_seen = C("g_change"), C("p_change"), C("g_seen"), C("p_seen")
        g_correct = g_change & pl.when(p_seen).then(equal).otherwise(~g_is)
        g_wrong = g_change & p_seen & ~equal & g_is
        # Whether slot accuracy counts a wrong value as two errors. Scripts that split ``slot-value`` at the last hyphen
        # take two values for values of different slots.
        before_hyphen = [C(side).cast(pl.String).str.extract(r"(?s)^(.*)-").fill_null("") for side in ("g", "p")]
        charged_again = {
            "once": pl.lit(value=False),
            "twice": g_is & p_is & ~ok,
            "hyphen": g_is & p_is & ~ok & (before_hyphen[0] != before_hyphen[1]).fill_null(value=False),
        }
        return rows.with_columns(
            n_gold="g_is",
            n_pred="p_is",
            n_correct="ok",
            n_union=g_is | p_is,
            n_charged_again=charged_again[convention.wrong_costs],
            n_fresh_errors=is_set & ~ok,
            n_dropped="dropped",
            n_ignored="ignored",
            gca_correct=g_correct | (p_change & pl.when(g_seen).then(equal & ~g_correct).otherwise(~p_is)),
            gca_wrong=g_wrong | (p_change & g_seen & p_is & ~equal & ~g_wrong),
            gca_missed=(g_change & ~p_seen & g_is) | (p_change & g_seen & ~p_is & ~(equal & ~g_correct)),
            gca_over=(g_change & p_seen & ~equal & ~g_is) | (p_change & ~g_seen & p_is),
            gca_paper_correct=is_set & ok,
            gca_paper_wrong=is_set & g_is & p_is & ~ok,
            gca_paper_missed=C("g_set") & ~p_is,
            gca_paper_over=C("p_set") & ~g_is,
        ).drop("g_is", "p_is", "g_seen", "p_seen", "equal", "g_set", "p_set", "g_change", "p_change")


def lay_out(long: pl.DataFrame, *, frames: bool = False) -> Rows:
    """Prepare the rows of a long table, which are of whole dialogues; `frames`: whether gold's frames count."""
    rows = _with_frames(long.lazy()) if frames else long.lazy()
    columns = rows.collect_schema().names()
    begins = C("dialogue").ne_missing(C("dialogue").shift(1))
    first = begins | C("slot").ne_missing(C("slot").shift(1)) | C("slot").is_null()
    # Most rows repeat the row before them, so only the first of equal neighbours is looked up.
    differs = first | pl.any_horizontal(C(side).ne_missing(C(side).shift(1)) for side in ("gold", "pred"))
    rows = rows.with_columns(begins=begins, first=first, differs=differs)
    heads = rows.filter("differs").select(CELL).with_row_index("at")
    heads = heads.with_columns(earliest=C("at").first().over(CELL)).with_columns(is_new=C("at") == C("earliest"))
    number = C("begins").cum_sum()
    table, of_heads, cells = collect_all(
        [
            rows.select(
                *columns,
                "first",
                number=number,
                key=number.cast(pl.UInt64) * 2**16 + C("turn"),  # one integer to group by, which is faster
                head=C("differs").cum_sum() - 1,
            ),
            heads.select(cell=(C("is_new").cum_sum() - 1).gather("earliest")),
            heads.filter("is_new").select(*CELL, is_frame=IS_FRAME).with_columns(DOMAIN),
        ]
    )
    if cells["is_frame"].any():
        return lay_out(long.filter(~IS_FRAME))
    cell = pl.lit(of_heads["cell"]).gather(C("head")).alias("cell")
    return Rows(table.select(pl.exclude("head"), cell), cells.drop("is_frame"))


def _with_frames(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of a long table, with their `domain`, in which rows of gold's frames count as rows without a slot."""
    mark = C("pred").filter(C("slot").is_null()).drop_nulls().first().over("dialogue", "turn")
    rows = rows.with_columns(DOMAIN, is_frame=IS_FRAME, mark=mark)
    in_gold = C("is_frame") & C("gold").is_not_null()
    rows = rows.with_columns(
        frame=pl.when(in_gold).then("gold"), predicted=pl.when(in_gold & C("mark").is_null()).then("pred")
    )

    def compare(gold: str | None, pred: str | None) -> tuple[bool | None, float | None]:
        if gold is None:
            return None, None
        return pred is not None and same_intent(gold, pred), requested_f1(gold, pred)

    answers = {"right_intent": pl.Boolean(), "requested_f1": pl.Float64()}
    return (
        with_answers(rows, compare, ("frame", "predicted"), answers)
        .with_columns(
            requested_f1=pl.when(C("mark").is_null()).then("requested_f1").otherwise(C("requested_f1") * 0),
            slot=pl.when(~C("is_frame")).then("slot"),
            gold=pl.when(~C("is_frame")).then("gold"),
            pred=pl.when(~C("is_frame")).then("pred").when(in_gold).then("mark"),
            is_frame=in_gold,
        )
        .drop("mark", "frame", "predicted")
    )
