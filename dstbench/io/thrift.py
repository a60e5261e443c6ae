"""Thrift's compact protocol, in which the footer and the page headers of Parquet files are written.

Source: the specification of Apache Thrift, "Thrift compact protocol encoding". Declared sizes are checked against the
bytes that are there before anything is allocated.
"""

from __future__ import annotations

from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _, _STRUCT = range(1, 13)


def struct(data: bytes, at: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a struct by their numbers, and where the struct ends.

    Args:
        data: Bytes that hold it.
        at: Where it begins.

    Raises:
        ValueError: There is no such struct.
        IndexError: The bytes end too early.
        RecursionError: It is nested too deeply.
    """
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(data, at)
        kind = head & 15
        if kind == _I32 and (byte := data[at]) < 0x80:  # the usual case in page headers
            fields[number], at = (byte >> 1) ^ -(byte & 1), at + 1
        elif kind in (_TRUE, _FALSE):
            fields[number] = kind == _TRUE
        else:
            fields[number], at = _value(data, at, kind)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (_I16, _I32, _I64):
        return _integer(data, at)
    if kind == _BINARY:
        size, at = _varint(data, at)
        if at + size > len(data):
            raise ValueError("a text that is longer than the file")
        return data[at : at + size], at + size
    if kind == _STRUCT:
        return struct(data, at)
    if kind in (_LIST, _SET):
        head, at, items = data[at], at + 1, []
        size = head >> 4
        if size == 15:
            size, at = _varint(data, at)
        for _ in range(size):  # each takes at least a byte, so that a false size runs out of bytes
            item, at = _value(data, at, head & 15)
            items.append(item)
        return items, at
    if kind in (_TRUE, _FALSE, _BYTE):
        return data[at], at + 1
    if kind == _DOUBLE:
        return data[at : at + 8], at + 8
    raise ValueError(f"a value of an unknown type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    number, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise ValueError("an integer of more than 64 bits")
    return number, at + 1


def _integer(data: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at
