"""What was said: for the formats that hold it, each turn's utterances.

Conventions: `system` is what the system said before the user's turn, as the file has it; where it said nothing, or the
file does not know, it is empty or None. Only what is asked for here is looked at: states are the readers' business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from dstbench.readers import convlab, icdst, jsonl, multiwoz, sgd, simpletod, text_states, tsv, woz

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dstbench.readers.source import Source

#: Dialogue and turn as the file spells them, what the system said before, what the user said.
Said: TypeAlias = "tuple[str, int | str, str | None, str | None]"


class Spoken(msgspec.Struct):
    """A turn of either speaker."""

    speaker: str
    utterance: str = ""


class SpokenDialogue(msgspec.Struct):
    """A dialogue of SGD's or ConvLab-3's."""

    dialogue_id: str
    turns: list[Spoken]
    original_id: str | msgspec.UnsetType = msgspec.UNSET


class ConvlabTurn(msgspec.Struct):
    """A user turn of ConvLab-3's predictions, and what was said before."""

    dialogue_id: str
    utt_idx: int
    utterance: str = ""
    context: list[Spoken] = []


class LogTurn(msgspec.Struct):
    """A turn of raw MultiWOZ."""

    text: str = ""


class LogDialogue(msgspec.Struct):
    """A dialogue of raw MultiWOZ."""

    log: list[LogTurn]


class TradeTurn(msgspec.Struct):
    """A turn of TRADE's file, and of WOZ 2.0."""

    turn_idx: int
    transcript: str = ""
    system_transcript: str = ""


class TradeDialogue(msgspec.Struct):
    """A dialogue of TRADE's file, or of WOZ 2.0."""

    dialogue_idx: str | int
    dialogue: list[TradeTurn]


class T5Turn(msgspec.Struct):
    """A turn of T5DST's file."""

    user: str = ""
    system: str = ""


class T5Dialogue(msgspec.Struct):
    """A dialogue of T5DST's file."""

    dial_id: str
    turns: list[T5Turn]


class SimpletodDialogue(msgspec.Struct):
    """A dialogue of SimpleTOD's file."""

    usr: list[str]
    sys: list[str]


class IcdstTexts(msgspec.Struct):
    """All that was said up to a turn."""

    sys: list[str] = []
    usr: list[str] = []


class IcdstTurn(msgspec.Struct):
    """A turn of IC-DST."""

    ID: str
    turn_id: int
    dialog: IcdstTexts = msgspec.field(default_factory=IcdstTexts)


class LabelTurn(msgspec.Struct):
    """A turn of a DSTC2 call."""

    turn: int = msgspec.field(name="turn-index")
    transcription: str = ""


class LabelCall(msgspec.Struct):
    """A DSTC2 call."""

    session: str = msgspec.field(name="session-id")
    turns: list[LabelTurn]


class ParlaiTeacher(msgspec.Struct):
    """A turn of ParlAI, and what was said up to it."""

    dial_id: str
    turn_num: int
    text: str = ""


class ParlaiLine(msgspec.Struct):
    """A line of a ParlAI world log."""

    dialog: list[tuple[ParlaiTeacher, Any]]


class Line(msgspec.Struct):
    """A line of dstbench's own format."""

    dialogue_id: str
    turn: int
    system: str | None = None
    user: str | None = None


_DIALOGUE: Final = (None, "turn")


def _exchanges(turns: Iterable[Spoken]) -> Iterator[tuple[int, str | None, str]]:
    """(number, what the system said before, what the user said) of each user turn."""
    number, system = 0, None
    for turn in turns:
        if turn.speaker.upper() == sgd.USER:
            yield number, system, turn.utterance
            number, system = number + 1, None
        else:
            system = turn.utterance


def _sgd(source: Source) -> Iterator[Said]:
    for dialogue in sgd.dialogues_of(source, SpokenDialogue):
        for number, system, user in _exchanges(dialogue.turns):
            yield dialogue.dialogue_id, number, system, user


def _unified(source: Source) -> Iterator[Said]:
    for dialogue in source.objects(SpokenDialogue, "dialogue_id", _DIALOGUE, hint=convlab.FORMAT.hint):
        name = dialogue.dialogue_id if dialogue.original_id is msgspec.UNSET else dialogue.original_id
        for number, system, user in _exchanges(dialogue.turns):
            yield name, number, system, user


def _convlab(source: Source) -> Iterator[Said]:
    for turn in source.objects(ConvlabTurn, "dialogue_id", (), hint=icdst.CONVLAB.hint):
        before = turn.context[-1] if turn.context else None
        system = before.utterance if before is not None and before.speaker == "system" else None
        yield turn.dialogue_id, turn.utt_idx // 2, system, turn.utterance


def _multiwoz(source: Source) -> Iterator[Said]:
    dialogues: dict[str, LogDialogue] = source.convert(
        source.json, dict[str, LogDialogue], ("dialogue",), hint=multiwoz.FORMAT.hint
    )
    for dialogue, content in dialogues.items():
        texts = [turn.text for turn in content.log]
        for number in range(len(texts) // 2):
            yield dialogue, number, texts[2 * number - 1] if number else None, texts[2 * number]


def _trade(source: Source) -> Iterator[Said]:
    for dialogue in source.objects(TradeDialogue, "dialogue_idx", _DIALOGUE, hint=simpletod.TRADE.hint):
        for turn in dialogue.dialogue:
            yield str(dialogue.dialogue_idx), turn.turn_idx, turn.system_transcript, turn.transcript


def _t5dst(source: Source) -> Iterator[Said]:
    for dialogue in source.objects(T5Dialogue, "dial_id", _DIALOGUE, hint=simpletod.T5DST.hint):
        for number, turn in enumerate(dialogue.turns):
            yield dialogue.dial_id, number, turn.system if number else None, turn.user  # at first it says "none"


def _simpletod(source: Source) -> Iterator[Said]:
    dialogues: dict[str, SimpletodDialogue] = source.convert(
        source.json, dict[str, SimpletodDialogue], ("dialogue", None, "turn"), hint=simpletod.SIMPLETOD.hint
    )
    for dialogue, content in dialogues.items():
        for number, user in enumerate(content.usr):
            yield dialogue, number, content.sys[number - 1] if 0 < number <= len(content.sys) else None, user


def _tsv(source: Source) -> Iterator[Said]:
    table, _ = tsv.table(source, tsv.STAR if tsv.sniff_star(source) else tsv.SUMBT)
    return table.select(*tsv.KEYS, "System Response", "User Utterance").iter_rows()


def _woz_tsv(source: Source) -> Iterator[Said]:
    for dialogue, turn, user, system, *_ in woz.lines(source):
        yield dialogue, turn, system, user


def _labels(source: Source) -> Iterator[Said]:
    call: LabelCall = source.convert(source.json, LabelCall, _DIALOGUE, hint=woz.LABELS.hint)
    for turn in call.turns:
        yield call.session, turn.turn, None, turn.transcription


def _icdst(source: Source) -> Iterator[Said]:
    for turn in source.objects(IcdstTurn, "ID", (), hint=icdst.ICDST.hint):
        system, user = ((said[-1] if said else None) for said in (turn.dialog.sys, turn.dialog.usr))
        yield turn.ID, turn.turn_id, system, user


def _parlai(source: Source) -> Iterator[Said]:
    for _, line in text_states.lines(source, text_states.PARLAI, ParlaiLine):
        for teacher, _ in line.dialog:
            # "<user> … <system> … <user> …": alternately who and what, after what stands before the first of them.
            said = [word.strip() for word in re.split(r"<(user|system)>", teacher.text)[1:]]
            user = said[-1] if said[-2:-1] == ["user"] else None
            system = said[-3] if user is not None and said[-4:-3] == ["system"] else None
            yield teacher.dial_id, teacher.turn_num, system, user


def _jsonl(source: Source) -> Iterator[Said]:
    for place, item in jsonl.items(source):
        line: Line = source.convert(item, Line, (), place=f"{place}: ", hint=jsonl.FORMAT.hint)
        yield line.dialogue_id, line.turn, line.system, line.user


#: The formats that hold utterances, by name.
UTTERANCES: Final[dict[str, Callable[[Source], Iterator[Said]]]] = {
    "jsonl": _jsonl,
    "multiwoz": _multiwoz,
    "sgd": _sgd,
    "convlab": _convlab,
    "convlab-gold": _unified,
    "trade-gold": _trade,
    "t5dst-gold": _t5dst,
    "simpletod-gold": _simpletod,
    "star-tsv": _tsv,
    "sumbt-tsv": _tsv,
    "woz": _trade,
    "woz-tsv": _woz_tsv,
    "dstc2-gold": _labels,
    "icdst": _icdst,
    "parlai": _parlai,
}
