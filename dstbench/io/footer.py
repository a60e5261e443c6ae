"""What the footer of a Parquet file declares, read without PyArrow, which takes as long to import as Polars."""

from __future__ import annotations

from typing import Any, NamedTuple

# Types of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _TEXT, _LISTS, _MAP, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 11, 12


class Declared(NamedTuple):
    """What the columns of a row group declare, in sum.

    Attributes:
        unpacked: Bytes of the pages when unpacked.
        values: Number of values.
    """

    unpacked: int
    values: int


def declared(footer: bytes) -> list[Declared]:
    """What a footer declares of each row group.

    Args:
        footer: A file's metadata, as Thrift's compact protocol writes it.

    Raises:
        ValueError: The bytes are no such metadata.
    """
    try:
        groups = [[chunk[3] for chunk in group[1]] for group in _Reader(footer).value(_STRUCT)[4]]  # of columns
        if any(chunk[number] < 0 for group in groups for chunk in group for number in (5, 6)):
            raise LookupError("a negative number of values or bytes")
        return [Declared(sum(chunk[6] for chunk in group), sum(chunk[5] for chunk in group)) for group in groups]
    except (LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"its footer cannot be read: {error}") from None


class _Reader:
    """Values one after the other; structs are dictionaries by the numbers of their fields."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            number = self._varint()
            return (number >> 1) ^ -(number & 1)
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind in (_DOUBLE, _TEXT):
            length = 8 if kind == _DOUBLE else self._varint()
            self._at += length
            if self._at > len(self._content):
                raise LookupError("it is cut off")
            return None
        if kind in _LISTS:
            size, of = divmod(self._byte(), 16)
            return [self.value(of) for _ in range(self._varint() if size == 15 else size)]
        if kind == _MAP:
            kinds = divmod(self._byte(), 16) if (size := self._varint()) else (0, 0)
            return [(self.value(kinds[0]), self.value(kinds[1])) for _ in range(size)]
        if kind != _STRUCT:
            raise LookupError(f"no type {kind}")
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            delta, of = divmod(head, 16)
            field = field + delta if delta else self.value(_INTEGERS[0])
            fields[field] = None if of in (_TRUE, _FALSE) else self.value(of)
        return fields

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
        return number | byte << shift
