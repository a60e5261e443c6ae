"""Shapes of files as msgspec's types, and the same shapes with the states left as text.

Making a Python object of every slot and value takes several times as long as parsing. So the parts of a shape that are
marked with `AS_TEXT` are not decoded with the file; `state_texts` splits the states of all turns at once.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec

from dstbench.readers.json_stream import may_repeat_keys

T = TypeVar("T")


class Unusual(Exception):  # noqa: N818 (no error: the file is decoded, which shows whether there is one)
    """A state that was left as text has another shape, a slot twice, or a value that is not a string."""


#: Marks the type of a state.
AS_TEXT: Final = "as text"
#: A state {slot: value}.
FlatState: TypeAlias = Annotated[dict[str, str], AS_TEXT]
#: A state {domain: {slot: value}}.
NestedState: TypeAlias = Annotated[dict[str, dict[str, str]], AS_TEXT]
#: A state [``domain-slot-value``].
PairsState: TypeAlias = Annotated[list[str], AS_TEXT]

_UNIONS: Final = (UnionType, Union)  # the second, if a part is marked
#: Number of entries that show which keys objects have.
FEW: Final = 20
_MOST_KEYS: Final = 100  # objects with more keys do not have fields, but ids as keys
#: The names of types in msgspec's messages and in ours.
_TYPES: Final = {
    "str": "a string",
    "object": "an object",
    "array": "a list",
    "str | array": "a string or a list",
    "array` of length": "a list of length",
    "int": "an integer",
}


def with_texts(shape: Any, samples: Iterable[Any]) -> Any:
    """The shape with states as ``msgspec.Raw``, and with any further keys that objects have.

    What is decoded as this type has all keys of the file (see `decode_whole`).

    Args:
        shape: A type, in msgspec's sense.
        samples: Some decoded values of this place in the file, which show the other keys.

    Raises:
        Unusual: There is no such shape.
    """
    origin, inner = get_origin(shape), get_args(shape)
    if origin is Annotated:
        return msgspec.Raw if AS_TEXT in inner else shape
    if origin in _UNIONS:
        return reduce(or_, [with_texts(kind, samples) for kind in inner])
    if origin is dict:
        return dict[str, with_texts(inner[1], [item for s in samples if isinstance(s, dict) for item in s.values()])]  # type: ignore[misc] # a type made at run time
    if origin is list:
        return list[with_texts(inner[0], [item for s in samples if isinstance(s, list) for item in s])]  # type: ignore[misc] # likewise
    if origin is tuple:
        lists = [s for s in samples if isinstance(s, list) and len(s) == len(inner)]
        return tuple[tuple(with_texts(kind, [s[at] for s in lists]) for at, kind in enumerate(inner))]  # type: ignore[misc] # likewise
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        return _struct_with_texts(shape, [s for s in samples if isinstance(s, dict)])
    return shape


def _struct_with_texts(shape: type[msgspec.Struct], samples: list[dict[str, Any]]) -> type[msgspec.Struct]:
    own = {field.encode_name: field for field in msgspec.structs.fields(shape)}
    fields: list[Any] = []
    for key, field in own.items():
        kind = with_texts(field.type, [s[key] for s in samples if key in s])
        options = {name: getattr(field, name) for name in ("default", "default_factory")}
        fields.append((field.name, kind, msgspec.field(name=key, **options)))
    others = [] if shape.__struct_config__.forbid_unknown_fields else dict.fromkeys(key for s in samples for key in s)
    for number, key in enumerate(key for key in others if key not in own):
        if number < _MOST_KEYS:
            fields.append((f"_other{number}", Any, msgspec.field(name=key, default=msgspec.UNSET)))
    try:
        return msgspec.defstruct(shape.__name__, fields, bases=(shape,), omit_defaults=True, gc=False, kw_only=True)
    except (TypeError, ValueError):  # a key that msgspec does not take
        raise Unusual from None


def decode_whole(data: bytes, shape: Any, *, lines: bool = False) -> Any:
    """A document as this type, without the loss of any key.

    Args:
        data: JSON, or JSON Lines.
        shape: A type that keeps all keys; of JSON Lines, that of their list.
        lines: Whether it is JSON Lines.

    Raises:
        Unusual: An object may have a key twice, or a key that its type does not have.
        msgspec.DecodeError: The document is of another type.
    """
    decode = msgspec.json.Decoder(get_args(shape)[0] if lines else shape).decode
    # Not `decode_lines`: it accepts two values in one line, and one value over two lines.
    document = [decode(line) for line in io.BytesIO(data) if not line.isspace()] if lines else decode(data)
    if may_repeat_keys(data, document):
        raise Unusual
    return document


def text_of(part: Any) -> bytes:
    """The text of a part of a state, whether it was decoded or not."""
    return bytes(part) if isinstance(part, msgspec.Raw) else msgspec.json.encode(part)


def check(parts: Iterable[Any], shape: Any) -> None:
    """Check parts of a file that are not read, which may be texts: `Unusual` if one is not of this type."""
    parts_of([*{text_of(part) for part in parts}], shape)


def parts_of(texts: Sequence[bytes], shape: type[T]) -> list[T]:
    """Parts of states, decoded.

    Raises:
        Unusual: A text is not of this type, or has a key twice.
    """
    data = b"[%b]" % b",".join(texts)
    try:
        with suppress(Unusual):  # also keys that the first texts do not have
            samples = [msgspec.json.decode(text) for text in texts[:FEW]]
            return decode_whole(data, with_texts(list[shape], [samples]))  # type: ignore[valid-type,no-any-return] # a type made at run time
        content = msgspec.json.decode(data)
        if not may_repeat_keys(data, content):
            return msgspec.convert(content, list[shape])  # type: ignore[valid-type] # likewise
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    raise Unusual


def first_misfit(value: Any, shape: Any, reason: str, path: tuple[Any, ...] = ()) -> tuple[tuple[Any, ...], Any, str]:
    """The innermost place at which `value` is not of type `shape`: its keys, the value there, and why."""
    if get_origin(shape) is Annotated:
        shape = get_args(shape)[0]
    if get_origin(shape) in _UNIONS:  # an optional field
        shape = next(kind for kind in get_args(shape) if kind is not msgspec.UnsetType)
        return first_misfit(value, shape, reason, path)
    children: list[tuple[Any, Any, Any]] = []
    if get_origin(shape) is dict and isinstance(value, dict):
        children = [(key, item, get_args(shape)[1]) for key, item in value.items()]
    elif get_origin(shape) is list and isinstance(value, list):
        children = [(i, item, get_args(shape)[0]) for i, item in enumerate(value)]
    elif get_origin(shape) is tuple and isinstance(value, list) and len(value) == len(get_args(shape)):
        children = list(zip(range(len(value)), value, get_args(shape), strict=True))
    elif isinstance(shape, type) and issubclass(shape, msgspec.Struct) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
        children = [(name, value[name], kind) for name, kind in fields.items() if name in value]
    for key, item, kind in children:
        try:
            msgspec.convert(item, kind)
        except msgspec.ValidationError as error:
            return first_misfit(item, kind, str(error), (*path, key))
    reason = reason.partition(" - at ")[0].partition(", got ")[0]
    if reason.startswith("Object missing required field"):
        reason = f"no {reason.rpartition(' ')[2]} here"
    elif reason.startswith("Object contains unknown field"):
        reason = f"unexpected key {reason.rpartition(' ')[2]} here"
    elif get_origin(shape) is Literal:
        reason = f"expected {' or '.join(get_args(shape))}"
    for kind, name in _TYPES.items():
        reason = reason.replace(f"Expected `{kind}`", f"expected {name}")
    return path, value, reason.replace("`", "")
