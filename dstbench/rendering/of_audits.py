"""How audits of a dataset, and reviews of corrections, are shown: of long tables the beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.findings import least_even, seen_in_training
from dstbench.audit.search import marked
from dstbench.errors import number_of
from dstbench.metrics.base import divide
from dstbench.metrics.registry import name_of
from dstbench.rendering.of_runs import units_of
from dstbench.rendering.tables import signature_lines
from dstbench.rendering.text_tables import UNDEFINED
from dstbench.rendering.views import Layout, OwnLines, View, lines, plain
from dstbench.schema import audit
from dstbench.schema.core import Table
from dstbench.schema.kinds import text
from dstbench.typing import SlotOrder

if TYPE_CHECKING:
    import dstbench.audit as audits

# The ways of counting values: a short name of each, and in which turns a value counts.
_SHORT: Final = {"cumulative": "cum", "update": "upd", "final": "fin"}
_COUNTED_IN: Final = {
    "cumulative": "in every turn whose state holds it",
    "update": "in the turns in which it is set",
    "final": "in each dialogue's last state",
}
# How many values per slot are shown, and the order of slots, unless users say so.
_TOP: Final = 5
_SORT: Final = "slot"
_LEAST_EVEN: Final = 10  # how many of the least even slots are shown first
_SHOWN: Final = 20  # how many refused values are shown


def bias(bias: audits.Bias, *, top: int = _TOP, sort: SlotOrder = _SORT) -> Layout:
    """How evenly values are distributed, the most frequent ones per slot, and what training has of the others.

    Args:
        top: Number of values per slot that text and figures show.
        sort: Slots by name, the least even values first, or the most frequent slot first.
    """
    countings, splits = (bias.slots[name].unique(maintain_order=True).to_list() for name in ("counting", "split"))
    if not countings:
        return Layout([], ["no state has a slot"])
    counting, several = countings[0], len(splits) > 1
    keys, place = ["slot", "split"] if several else ["slot"], pl.col("slot").cast(pl.Enum(slot_order(bias, sort)))
    order = place, pl.col("split").cast(pl.Enum(splits))
    slots = bias.slots.sort(order, maintain_order=True).with_columns(
        pl.col("counting").replace_strict(_SHORT), pl.col("values", "most_frequent").first().over("slot", "split")
    )
    even = {"H1": "{h1_h0}", "H∞": "{hinf_h0}", "%": "{share}"}
    what = {"R": "{values}", "most frequent": "{most_frequent}"}
    rule, of_split = (": those with the largest share in any split", "{} ") if several else ("", "")
    overlap, cells = bias.overlap.filter(counting=counting), plain("values", **{
        "seen": "values_seen", "% seen": "share_values_seen", "n": "n", "% of n": "share_n_seen",
        "most frequent in train": "train_most_frequent", "% there": "train_share", "% here": "share",
    })  # fmt: skip
    train = next(iter(overlap["train"]), "train")
    uneven = bias.slots.filter(counting=counting).sort("share", descending=True, nulls_last=True, maintain_order=True)
    views = [
        View("How evenly values are distributed: 1, all are equally frequent; 0, there is only one",
             slots, audit.BIAS, keys, {f"{title} {{}}": text for title, text in even.items()}, "counting", what),
        View(f"Most frequent values, {counting}{rule}",
             frequent_values(bias, top).sort(place, maintain_order=True), audit.VALUES, ["slot", "value"],
             {f"{of_split}n": "{n}", f"{of_split}of": "{of}", f"{of_split}%": "{share}"}, "split"),
        View(f"Values of other splits that are in {train} too, {counting}",
             overlap.sort(order, maintain_order=True), audit.OVERLAP, keys, cells),
    ]  # fmt: skip
    notes = [
        "H1, H∞: H1/H0 and H∞/H0, with H0 = log R; R: distinct values; %: share of the most frequent value",
        *(f"{_SHORT[name]}, {name}: a value counts {_COUNTED_IN[name]}" for name in countings),
        "n: how often a value is counted (0: never, or less often than --least); of: any value of its slot",
    ]
    no_train = "no split is called train: --train NAME names the one to compare the others with"
    least = View("Least even slots", uneven, audit.BIAS, keys, {**even, **what}).head(_LEAST_EVEN)
    first = [least] if (top, sort) == (_TOP, _SORT) else []  # else the tables of which they are about
    return Layout(
        views, lines((no_train, several and overlap.is_empty())),
        [*least_even(uneven), *seen_in_training(bias.overlap)], "bias", (), None, first, notes,
        rest="all slots, ways of counting, the most frequent values",
    )  # fmt: skip


def slot_order(bias: audits.Bias, sort: SlotOrder) -> list[str]:
    """The slots, by name, entropy (the least even first, undefined last) or turns (the most first).

    Those of their first counting and first split (the training set, if it has the slot).
    """
    slots = bias.slots.filter(pl.col("counting") == pl.col("counting").first()).unique("slot", keep="first")
    by = {"slot": [], "entropy": [pl.col("h1_h0")], "turns": [-pl.col("n").cast(pl.Int64)]}
    return slots.sort(*by[sort], "slot", nulls_last=True)["slot"].to_list()


def frequent_values(bias: audits.Bias, top: int) -> pl.DataFrame:
    """(slot, value, split, n, of, share): the `top` values of each slot by their largest share in any split.

    With their counts, by the first counting, in every split, and those `of` all the slot's values there.
    """
    counting, key = pl.col("counting") == pl.col("counting").first(), ["slot", "value", "split"]
    values = bias.values.filter(counting)
    sums = bias.slots.filter(counting).select("split", "slot", of="n")
    shown = values.group_by("slot", "value").agg(pl.col("share").max())
    shown = shown.sort("slot", "share", "value", descending=[False, True, False]).drop("share")
    shown = shown.group_by("slot", maintain_order=True).head(top)
    every = shown.join(sums.select("split").unique(maintain_order=True), how="cross", maintain_order="left_right")
    every = every.join(sums, on=["slot", "split"], how="left", maintain_order="left")
    every = every.join(values.select(*key, "n"), on=key, how="left", maintain_order="left")
    every = every.with_columns(pl.col("n", "of").fill_null(0))
    return every.select(*key, "n", "of", share=divide(pl.col("n"), pl.col("of")))


def differences(differences: audits.Differences, *, top: int = 20) -> Layout:
    """The differences between two versions, by domain and slot, and the most frequent changes.

    Args:
        top: Number of changes that text shows.
    """
    versions, changes = differences.versions, differences.changes
    before, after = versions.select("before", "after").row(0)
    sizes = pl.concat(
        versions.select(
            of=pl.lit(unit), both=unit, before=f"{unit}_before", after=f"{unit}_after", changed=f"changed_{unit}",
            share=f"share_{unit}",
        )
        for unit in ("dialogues", "turns")
    )  # fmt: skip
    renamed = {"": "of", "in both": "both", f"only in {before}": "before", f"only in {after}": "after"}
    whole = {**plain(**renamed, differ="changed"), "%": "{share:share}"}
    everything = versions.with_columns(domain=pl.lit("all")).select(differences.domains.columns)
    # How many dialogues and turns differ in each domain and slot, a column per split and one of the whole.
    of_splits = differences.splits
    if of_splits.height:
        of_splits = split_rows(differences).with_columns(name=pl.coalesce("slot", "domain", pl.lit("all")))
        names = of_splits.filter(split="all").select("name").sort(pl.col("name") == "all", "name")["name"].to_list()
        of_splits = of_splits.sort(pl.col("name").cast(pl.Enum(names)), maintain_order=True)
    views = [
        View(f"From {before} to {after}", sizes, cells=whole),
        View("By domain: dialogues and turns with it, and those that differ in it; changed slots of turns by kind",
             pl.concat([differences.domains, everything]), audit.DIFFERENT_DOMAINS, ["domain"], _CHANGED),
        View("By slot: the same, of dialogues and turns with its domain",
             differences.slots, audit.DIFFERENT_SLOTS, ["slot"], _CHANGED),
        *(View(f"{unit.capitalize()} that differ, of those with the domain, by split", of_splits,
               audit.DIFFERENT_SPLITS, ["name"], {"{}": f"{{changed_{unit}}}", "{} %": f"{{share_{unit}}}"}, "split")
          for unit in ("dialogues", "turns")),
        View("Most frequent changes", changes.with_columns(pl.col("kind").str.replace("_", " ")), audit.CHANGES,
             ["slot", "before", "after", "kind"], plain("turns", "dialogues")).head(top),
    ]  # fmt: skip
    notes = ["shares in percent; kinds: see `dstbench audit diff --help`; --format csv or json lists every change"]
    views = views if changes.height else views[:1]
    return Layout(views, notes, (), "diff", views[:2][-1:], ["shares in percent"])


_CHANGED: Final = {
    "dialogues": "{dialogues}", "differ": "{changed_dialogues}", "%": "{share_dialogues}",
    "turns": "{turns}", "differ ": "{changed_turns}", "% ": "{share_turns}",
    **{kind.removeprefix("moved_"): f"{{{kind}}}" for kind in audit.KINDS},
}  # fmt: skip


def split_rows(differences: audits.Differences) -> pl.DataFrame:
    """`DIFFERENT_SPLITS`, followed by the rows of the whole dataset, as those of a split ``all``."""
    whole = pl.concat([differences.versions, differences.domains, differences.slots], how="diagonal_relaxed")
    rows = pl.concat([differences.splits, whole.with_columns(split=pl.lit("all"))], how="diagonal_relaxed")
    return audit.DIFFERENT_SPLITS.conform(rows)


def version_scores(scored: audits.VersionScores) -> Layout:
    """Scores with the versions side by side, and the turns in which each slot is wrong."""
    with_exact = scored.models["exact"].is_not_null().any()
    runs = pl.col("runs").cast(pl.String).unique(maintain_order=True).str.join(", ")  # where versions have not the same
    models = scored.models.with_columns(
        runs.over("metric", "model"), version=pl.format("{} (n={})", "version", "dialogues")
    )
    several = ": mean ± standard deviation over runs" if scored.models["runs"].max() != 1 else ""
    exact = {"{} exact": "{exact} ±{exact_sd}"} if with_exact else {}
    metrics = scored.models["metric"].unique(maintain_order=True)
    of = f"{name_of(metrics[0])} on" if len(metrics) == 1 else "Scores on"
    scores = View(f"{{}}{several}", models, _VERSIONS, ["model", "runs"], {"{}": "{value} ±{sd}", **exact},
                  "version", split="metric", caption=f"{of} versions of the dataset{several}.",
                  heads={"model": "model", "runs": "runs"})  # fmt: skip
    errors = {"{}": "{error_turns} ±{sd}", "% of {}": "{share}"}
    title = "{}: turns in which a slot is wrong, and their share"
    names = pl.Enum(scored.slots["model"].unique(maintain_order=True))
    slots = scored.slots.sort(pl.col("model").cast(names), "slot", maintain_order=True)
    wrong = View(title, slots, audit.VERSION_SLOTS, ["slot"], errors, "version", split="model")
    units = f"{units_of(scored.runs)}; n: dialogues, the same on every version"
    if with_exact:
        units += "; exact: with exact matching, in addition to the convention's"
    turns = scored.runs.select("version", "turns").unique(maintain_order=True)
    if turns["turns"].n_unique() > 1:
        sizes = ", ".join(f"{version} {n:,}" for version, n in turns.iter_rows())
        units += f"; turns of these dialogues, which versions divide differently: {sizes}"
    signatures = signature_lines(scored.runs.with_columns(run=pl.format("{} on {}", "run", "version")))
    return Layout([scores, wrong], [units], (), "versions", signatures=signatures)


_VERSIONS: Final = Table(**{**audit.VERSION_MODELS.columns, "runs": text("")})


def replacement(replacement: audits.Replacement, *, kept: bool = False) -> Layout:
    """What has been replaced, by slot, and the first values that were not, by reason."""
    by_slot = replacement.replaced.group_by("slot").agg(
        pl.col("dialogue", "value", "new").n_unique(), pl.col("states").sum()
    )
    is_said = pl.col("reason") != "not said"
    unsaid, ordinary = replacement.refused.filter(~is_said), replacement.refused.filter(is_said)
    fate = f"{'Kept as they were' if kept else 'Left out'}: {unsaid['dialogue'].n_unique():,} dialogues with a value"
    words = ordinary.group_by("slot", "value").agg(pl.col("dialogue").n_unique(), pl.col("said", "annotated").first())
    refused = [
        View(f"{fate} that nobody says word for word; turn: the first with that value", unsaid, None, (),
             plain("dialogue", "turn", "slot", "value")),
        View("Not replaced, as they are ordinary words; said, annotated: in dialogues of training and data",
             words.sort("slot", "value"), None, ["slot", "value"], plain("said", "annotated", dialogues="dialogue")),
    ]  # fmt: skip
    views = [
        View("Replaced by slot: dialogues, distinct values before and after, states of turns", by_slot.sort("slot"),
             None, ["slot"], plain(dialogues="dialogue", values="value", new="new", states="states")),
        *(view._replace(rows=view.rows.head(_SHOWN)) for view in refused),
    ]  # fmt: skip
    notes = ["only states and utterances are changed: dialogue acts, spans and goals are as before"]
    if more := sum(max(0, view.rows.height - _SHOWN) for view in refused):
        notes.insert(0, f"{more:,} more such values: --manifest FILE lists all")
    return Layout(views, notes, (), "replacement")


def memorisation(memorisation: audits.Memorisation) -> Layout:
    """Predicted values that nobody has said, by run and slot."""
    runs = memorisation.runs
    run = ["run"] if runs["run"].n_unique() > 1 else []
    counted = {**plain("n", "searched", "ungrounded"), "% ungrounded": "{rate}"}
    in_train, frequent = {}, {}
    notes = [
        "n: slots of turns; searched: those with values other than yes, no, dontcare",
        "ungrounded: those of them whose value neither user nor system has said so far",
    ]
    if runs["in_train"].is_not_null().any():
        in_train, frequent = {"in_train": "{in_train}"}, {"frequent": "{frequent}"}
        counted |= {**plain("in_train", "is_frequent"), "% frequent": "{share}"}
        meant = "ungrounded values that the slot has in training; is_frequent: its most frequent value there"
        notes.append(f"in_train: {meant}")
    where = {**plain("turns", "dialogues"), **in_train, **plain("dialogue", "turn", "gold")}
    views = [
        View("Predicted values that are wrong or over-predicted, and those that nobody has said",
             runs, audit.MEMORISED_RUNS, [*run, "kind"], counted),
        View("By slot, where there are any", memorisation.slots.filter(pl.col("ungrounded") > 0),
             audit.MEMORISED, [*run, "slot", "kind"], {**counted, **frequent}),
        View("The most frequent of them, and where each is first", memorisation.examples, audit.UNGROUNDED,
             [*run, "slot", "kind", "value"], where),
    ]  # fmt: skip
    signatures = signature_lines(runs.select("run", "signature", metric="kind"))
    return Layout(views, notes, (), "memorisation", signatures=signatures)


def contradictions(contradictions: audits.Contradictions, *, top: int = 20) -> Layout:
    """Gold values that contradict the database or were never said, by slot and the first of each kind.

    Args:
        top: Number of values of each kind that text shows.
    """
    slots, values = contradictions.slots, contradictions.values
    doubtful = slots.filter((pl.col("contradicting").fill_null(0) > 0) | (pl.col("unsaid") > 0))
    compared = {"checked": "{checked}", "differ": "{contradicting}", "% differ": "{rate_contradicting}"}
    notes = [
        "checked: values whose entity is in the database; differ: those of them with another value there",
        "searched: values other than yes, no, dontcare",
        "unsaid: those of them that nobody has said by that turn, in any spelling; a paraphrase counts as unsaid",
    ]
    if slots["checked"].null_count() == slots.height:
        compared = {}
        notes[0] = "--database FOLDER compares values with the entity that gold names"
    cells = {**compared, **plain("searched", "unsaid"), "% unsaid": "{rate_unsaid}"}
    counts = [f"{slots[name].sum():,} {name}" for name in [*["checked"] * bool(compared), "searched"]]
    found = [] if doubtful.height else [f"nothing is doubtful; gold values: {', '.join(counts)}"]
    where = ("dialogue", "turn", "turns")
    views = [
        View("Gold values that are doubtful, counted once per dialogue", doubtful, audit.DOUBTFUL_SLOTS, ["slot"],
             cells),
        View("Values that contradict the database", values.filter(kind="database"), audit.DOUBTFUL, ["slot"],
             plain("value", "name", "database", *where)).head(top),
        View("Values that nobody has said", values.filter(kind="unsaid"), audit.DOUBTFUL, ["slot"],
             plain("value", *where)).head(top),
    ]  # fmt: skip
    return Layout(views, notes, found, "contradictions")


def inconsistency(inconsistency: audits.Inconsistency, *, pairs: int = 3) -> Layout:
    """What is missing in a dataset: in how many dialogues, of which slots, said by whom, and pairs that show it."""
    s = inconsistency.summary.row(0, named=True)
    legend = (
        "By slot: annotated, and missing, where the value is said; late: gold has it later in the dialogue\n"
        "%: share missing; user's, system's: where the user, or only the system, says the value\n"
        "by system: share of the missing that only the system says"
    )
    speakers = ["user", "system"]
    said = inconsistency.shares.pivot("speaker", on_columns=speakers, index="slot", values=["rate", "share"])
    rates = inconsistency.rates.join(said, on="slot", how="left", maintain_order="left")
    shares = {"%": "{rate}", "user's": "{rate_user:share}", "system's": "{rate_system:share}"}
    shares["by system"] = "{share_system:share}"
    cells = {**plain("annotated", "missing"), **shares, "late": "{late}"}
    of_slots = View(OwnLines(legend), rates, audit.RATES, ["slot"], cells)
    if not s["missing"]:
        nothing = f"no annotation is missing in {number_of(s['dialogues'], 'dialogue')}"
        return Layout([of_slots], [nothing], (), "inconsistency")
    where = " and ".join(
        f"{s[f'{name}_changed']:,} of {s[name]:,} {name} ({100 * s[f'{name}_changed'] / s[name]:.1f} %)"
        for name in ("dialogues", "turns")
    )
    who = f"said by the user {s['user']:,}, by the system only {s['system']:,}; {s['late']:,} come late"
    title = (
        f"Annotations are missing in {where}\n"
        "Dialogues that lack one (% of those with the domain); slots that lack none are left out"
    )
    # Dialogues by slot, domain and in all, by split (Qian et al. 2021, Table 1).
    modified = inconsistency.modified.filter(pl.col("dialogues").sum().over("domain", "slot") > 0)
    splits = modified["split"].unique()
    whole = "dialogues" if len(splits) == 1 else "all" if "all" not in splits else "all splits"
    modified = modified.with_columns(
        split=pl.col("split").fill_null(whole), slot=pl.coalesce("slot", "domain", pl.lit("total")),
        percent=(100 * pl.col("share")).round(1),
    )  # fmt: skip
    views = [
        View(OwnLines(title), modified, audit.MODIFIED, ["slot"], {"{} (%)": "{dialogues} ({percent:text})"}, "split"),
        of_slots._replace(title=OwnLines(f"Annotations missing: {s['missing']:,}; {who}\n{legend}"),
                          rows=rates.filter(pl.col("missing") > 0)),
        *(
            View(f"Alike in what is said, one annotated and one not: {slot}", pl.DataFrame({one: lines, other: others}))
            for slot, one, lines, other, others in pair_texts(inconsistency.pairs.head(pairs)).iter_rows()
        ),
    ]  # fmt: skip
    several = inconsistency.pairs.height
    below = lines("--log FILE lists each mention that gold could annotate, and why it is missing or not",
                  (f"--pairs {several} shows a pair of every slot that has one", several > pairs))  # fmt: skip
    return Layout(views, below, (), "inconsistency", (), [])


def pair_texts(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs (`PAIRS`) as texts."""
    sides: dict[str, pl.Expr] = {}
    for which in audit.OF_PAIR:
        dialogue, turn, start, end, gold = (
            pl.col(f"{which}_{name}") for name in ("dialogue", "turn", "start", "end", "gold")
        )
        lines = []
        for who in ("system", "user"):
            said = pl.col(f"{which}_{who}")
            said = pl.when(speaker=who).then(marked(said, start, end)).otherwise(said)
            lines.append(pl.format(f"{who}: {{}}", said.fill_null(UNDEFINED)))
        lines.append(pl.coalesce(pl.format("gold: {} = {}", "slot", gold), pl.lit("gold: nothing")))
        sides |= {f"{which}_turn": pl.format("{}, turn {}", dialogue, turn), f"{which}_lines": pl.concat_list(lines)}
    return pairs.select("slot", **sides)


def review(review: audits.Review) -> Layout:
    """The measures of a reviewed correction, and how much of the sample is right."""
    ends = {"low": "{low}", "high": "{high}"}
    of = " and ".join(f"{n:,} {group}" for group, n in review.dialogues.select("group", "of").iter_rows())
    complete = pl.col("complete") / pl.col("dialogues")
    views = [
        View(f"Estimated for the whole dataset ({of} dialogues)", review.measures, audit.REVIEW,
             ["unit", "measure"], {"% estimate": "{value}", **ends, "% in sample": "{in_sample}"}),
        View("In the sample: additions", review.additions.with_columns(pl.col("slot").fill_null("all")),
             audit.REVIEWED_ADDITIONS, ["slot"],
             {**plain("additions", "right", "wrong"), "% right": "{share}", **ends}),
        View("In the sample: dialogues", review.dialogues.with_columns(complete_share=complete),
             audit.REVIEWED_DIALOGUES, ["group"],
             {**plain("dialogues", "right", "wrong"), "% right": "{share}", "complete": "{complete}",
              "% complete": "{complete_share:share}"}),
    ]  # fmt: skip
    unsaid = lines(("recall and f1 are undefined: `missed` is filled in for no dialogue",
                    review.measures["missed"].has_nulls()))  # fmt: skip
    notes = [
        "low, high: 95 % intervals", "in sample: each dialogue counts once, as in Table 3 of Qian et al. 2021",
        "changed: right if all additions are; unchanged: right if no annotation is missing",
        "complete: right, and no annotation is missing",
    ]  # fmt: skip
    return Layout(views, [*unsaid, *notes], (), "review", (), [*notes[:2], *unsaid])


def agreement(agreement: audits.Agreement) -> Layout:
    """The measures of a correction according to each of its readers, and how much the readers agree."""
    names = {"cohen": "Cohen's kappa", "fleiss": "Fleiss' kappa"}
    agreed = agreement.agreement.with_columns(pl.col("statistic").replace(names))
    cells = {**plain("rows", "left_out"), "% agree": "{observed}", **plain("statistic", "kappa", "low", "high")}
    views = [
        View("Review of the correction, by reader", agreement.measures, audit.READER, ["reader", "measure"],
             plain("value", "low", "high", "right", "wrong", "missed")),
        View("Agreement of the readers", agreed, audit.AGREEMENT, ["question"], cells),
    ]  # fmt: skip
    notes = lines(
        "measures in percent, with 95 % intervals, estimated for the whole dataset from "
        f"{number_of(agreement.measures['dialogues'].item(0), 'dialogue')}",
        ("recall and f1 are undefined: no dialogue has `missed` of all readers",
         agreement.measures["missed"].has_nulls()),
        "rows: answered by all readers; left_out: left empty by one or more; % agree: of pairs of readers",
        "intervals of kappa: 95 %, by a bootstrap over dialogues",
    )  # fmt: skip
    return Layout(views, notes, (), "agreement", views)
