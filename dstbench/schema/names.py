"""The names of metrics and traits as papers write them, for figures, reports and LaTeX."""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    "jga": "JGA",
    "sa": "SA",
    "rsa": "RSA",
    "aga": "AGA",
    "f1": "F1",
    "fga": "FGA",
    "gca": "GCA",
    "tla": "TLA",
    "precision": "Precision",
    "recall": "Recall",
    "iaga": "IAGA",
    "soft-jga": "Soft JGA",
    "soft-aga": "Soft AGA",
    "soft-rsa": "Soft RSA",
    "soft-gca": "Soft GCA",
    "gca-vp": "Value precision",
    "gca-vr": "Value recall",
    "gca-lp": "Label precision",
    "gca-lr": "Label recall",
    "intent": "Intent accuracy",
    "requested-f1": "Requested slots F1",
    "correct": "Correct slots",
    "wrong": "Wrong slots",
    "missed": "Missed slots",
    "over": "Over-predicted slots",
    "error-turns": "Error turns",
    "turns": "Turns",
    "wrong_turns": "Wrong turns",
    "wrong_slots_last": "Wrong slots at the end",
    "first_wrong": "First wrong turn",
    "first_failure": "First failure",
    "n_gold_max": "Gold slots",
    "mistakes": "Mistakes",
    "to_mean": "Tail orientation",
    "to_sum": "Tail orientation (sum)",
    "to_released": "Tail orientation (as released)",
    "nu_paper": "Non-uniformity",
    "nu_released": "Non-uniformity (as released)",
    "rating": "Rating",
}
# The fewer of these, the better.
_ERRORS: Final = ("wrong", "missed", "over", "error-turns")
# The papers' letters for parameters.
_LETTERS: Final = {"lam": "λ", "alpha": "α"}  # noqa: RUF001 (a Greek letter)


def name_of(metric: str) -> str:
    """The name of a metric, in its notation, or of a trait; a metric of the user's own is called what they call it.

    >>> name_of("jga"), name_of("fga:lam=0.25"), name_of("to_mean"), name_of("polite")
    ('JGA', 'FGA (λ = 0.25)', 'Tail orientation', 'polite')
    """
    notation, *parameters = metric.split(":")
    name = _NAMES.get(notation, notation)
    pairs = (parameter.partition("=") for parameter in parameters)
    shown = ", ".join(f"{_LETTERS.get(key, key)} = {value}" for key, _, value in pairs)
    return f"{name} ({shown})" if shown else name


def sign_of(metric: str) -> int | None:
    """1 if the higher score is the better one, -1 if the lower one is; None for metrics of the user's own.

    >>> sign_of("fga:lam=0.25"), sign_of("missed"), sign_of("polite")
    (1, -1, None)
    """
    notation = metric.partition(":")[0]
    return (-1 if notation in _ERRORS else 1) if notation in _NAMES else None
