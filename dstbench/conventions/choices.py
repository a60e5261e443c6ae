"""The choices that make a convention, each declared once: its values, its default, and what they mean.

Everything else is derived from the fields of `Choices`: the command line's options and their help, the words of
`dstbench signature`, the defaults that a signature omits, the attributes of `Convention` and the check of their values.

``--help`` loads this module, so it imports nothing heavy. Types are read at run time, so no annotation is a string.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, Literal, get_args

from dstbench.conventions.files import Schema, Table
from dstbench.typing import Dontcare, Fuzzy, Missing, Multi


def _choice(default: Any, meaning: str, values: str, *, option: str | None = "", signed: bool = True) -> Any:
    """A choice; option: the field's name if empty, None: it has none; signed: it can change a score."""
    words = {"meaning": meaning, "values": values, "option": option, "signed": signed}
    return field(default=default, metadata=words)


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)  # slow to make; `Convention` makes its own
class Choices:
    """The fields of `Convention`, in the order in which signatures name them; defaults are those of ``verbatim``."""

    name: str = _choice("verbatim.1", "the profile", "its name and version", option=None)
    slots: str | None = _choice(
        None,
        "the slots that are scored",
        "a set of `ls slots`, or the schema's categorical or non-categorical ones; default: all, or all of the "
        "schema; they also fix T of slot accuracy",
    )
    outside: Literal["scored", "dropped"] = _choice(
        "scored",
        "how gold's slots outside the scored ones count",
        "like the others (scored), and so do predictions of them in the same turns, so that no turn is right "
        "because they are ignored; or not at all (dropped), and a turn whose gold has no values of other slots is "
        "not scored",
    )
    booking: Literal["mapped", "as-written"] = _choice(
        "mapped",
        "what booking slots are called",
        "`hotel-day` is `hotel-book day` (mapped); or they are two slots if gold has one name and the predictions "
        "have the other (as-written)",
    )
    absent: tuple[str, ...] = _choice(
        ("none", ""), "the literals that mean absent", "the slot is not in the state", option=None
    )
    none: Literal["drop", "drop-gold", "drop-pred", "keep"] = _choice(
        "drop",
        "on which sides the literals that mean absent are dropped",
        "`none` and the empty string, in most profiles; where they are kept, they are values",
    )
    dontcare: Dontcare = _choice(
        "keep",
        "what dontcare is",
        "a value (keep), dropped on both sides (drop) or on one, or its slot is not scored in turns where gold has "
        "it (skip)",
    )
    gold_steps: tuple[str, ...] = _choice(
        (), "how gold values are normalised", "steps of `ls steps` in order, joined by commas; - for none"
    )
    pred_steps: tuple[str, ...] = _choice((), "how predicted values are normalised", "steps, as for gold values")
    typos: Table | None = _choice(
        None, "the typo table", "right spellings with their variants, a JSON file, for the step `typos`"
    )
    multi: Multi = _choice(
        "literal",
        "what alternatives mean",
        "a|b is one string (literal); the first counts (first); any gold one may be predicted (any), or be among "
        "those predicted (overlap); both sides list the same (all); or by the schema, the first of a categorical "
        "slot, any of another (by-kind)",
    )
    match: str = _choice(
        "exact",
        "how values are matched",
        "exact, levenshtein, partial, token-sort or contain, with a threshold as in levenshtein:above=0.9",
    )
    labels: Table | None = _choice(
        None,
        "the label map",
        "variants that are accepted for a gold value, a JSON file; TripPy's configuration is accepted, too",
        option="label-map",
    )
    fuzzy: Fuzzy = _choice(
        "text", "which values are matched fuzzily", "text only, or also numbers, times, days and booleans (all)"
    )
    schema: Schema | None = _choice(
        None,
        "the schema",
        "schema.json of the dataset; only its slots are scored, and categorical ones matched exactly",
    )
    seen: Schema | None = _choice(
        None, "the schema of the training set", "a schema.json; its services are the seen ones of --by seen"
    )
    over: Literal["count", "free", "gold-domains"] = _choice(
        "count",
        "how predicted slots that gold lacks count",
        "as errors (count), not at all (free), or as errors in domains that gold's state has (gold-domains)",
    )
    wrong_costs: Literal["once", "twice", "hyphen"] = _choice(
        "once",
        "how many slots a wrong value costs",
        "in SA and RSA one (once), two (twice), or two if it has a hyphen, as in scripts that split "
        "domain-slot-value at the last hyphen (hyphen)",
    )
    turns: Literal["all", "gold", "pred", "last"] = _choice(
        "all",
        "which turns are scored",
        "all, those with a gold state, those with a predicted state, or the last of each dialogue",
    )
    unit: Literal["turn", "frame"] = _choice(
        "turn", "what a score is a mean over", "turns, or the domains (services) of turns"
    )
    domain_turns: Literal["gold", "either", "dialogue", "frames"] = _choice(
        "gold",
        "which turns count for a domain",
        "those in which gold has a slot of it (gold), or gold or the prediction (either); all turns of dialogues "
        "whose gold ever has one (dialogue, as in TRADE's zero-shot scores); or those in which gold has a frame "
        "of it (frames, as in SGD; the same as gold for files without frames)",
    )
    missing: Missing = _choice(
        "error",
        "how turns without a prediction are treated",
        "an error (default of most profiles), wrong, an empty state, or left out (intersect)",
        option=None,
        signed=False,
    )  # how runs are read: an option of its own, and signed as it was done
    metrics: str | None = _choice(None, "the metrics", "those computed if none are named", option=None, signed=False)
    title: str = _choice(
        "values compared as written", "the title", "a description in one line", option=None, signed=False
    )


#: The choices by field name.
CHOICES: Final[Mapping[str, Field[Any]]] = {choice.name: choice for choice in fields(Choices)}
#: The choices that are part of signatures, by their key there.
SIGNED: Final[Mapping[str, Field[Any]]] = {
    "profile" if name == "name" else name.replace("_", "-"): choice
    for name, choice in CHOICES.items()
    if choice.metadata["signed"]
}


def description(choice: Field[Any]) -> str:
    """What a choice means and what its values mean, as a sentence."""
    text = f"{choice.metadata['meaning']}: {choice.metadata['values']}."
    return text[0].upper() + text[1:]


def file_type(choice: Field[Any]) -> type[Table | Schema] | None:
    """The class that reads the file named by a choice; None if the choice names no file."""
    return next((kind for kind in get_args(choice.type) if kind in (Table, Schema)), None)
