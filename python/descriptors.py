"""Reads messages, their fields and their comments from the descriptors that protoc writes.

Reads the wire format itself, so that the build needs no protobuf package for Python. The numbers are those of
google/protobuf/descriptor.proto.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Union

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_REPEATED = 3
_TYPES = {1: "float", 2: "float", 3: "int", 4: "int", 5: "int", 6: "fixed64", 8: "bool", 9: "str", 11: "message",
          12: "bytes", 13: "int", 14: "enum", 17: "int", 18: "int"}


@dataclass(frozen=True)
class Field:
    name: str
    kind: str
    """float, int, fixed64, bool, str, message, enum or bytes."""
    repeated: bool
    type_name: str
    """The name of the message or enum, without its package; else empty."""
    comment: str


@dataclass(frozen=True)
class Message:
    fields: dict[str, Field]
    comment: str


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _entries(data: bytes) -> Iterator[tuple[int, Union[int, bytes]]]:
    """Yields the number and the value of each field of a message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}[wire]
        yield key >> 3, data[at:at + size]
        at += size


def _all(data: bytes, number: int) -> list[bytes]:
    return [value for found, value in _entries(data) if found == number and isinstance(value, bytes)]


def _text(data: bytes, number: int) -> str:
    return next((one.decode() for one in _all(data, number)), "")


def _integer(data: bytes, number: int) -> int:
    return next((value for found, value in _entries(data) if found == number and isinstance(value, int)), 0)


def _comments(file: bytes) -> dict[tuple[int, ...], str]:
    """Returns the comment of each declaration, before it or behind it, by its path in the descriptor."""
    found = {}
    for info in _all(file, 9):
        for location in _all(info, 1):
            path, at = [], 0
            packed = b"".join(_all(location, 1))
            while at < len(packed):
                number, at = _varint(packed, at)
                path.append(number)
            text = " ".join((_text(location, 3) + " " + _text(location, 4)).split())
            if text:
                found[tuple(path)] = text
    return found


def _add(messages: dict[str, Message], message: bytes, prefix: str, path: tuple[int, ...],
         comments: dict[tuple[int, ...], str]) -> None:
    fields = {}
    for index, field in enumerate(_all(message, 2)):
        name = _text(field, 1)
        fields[name] = Field(name, _TYPES[_integer(field, 5)], _integer(field, 4) == _REPEATED,
                             _text(field, 6).removeprefix(".dtrain.v1."), comments.get((*path, 2, index), ""))
    name = prefix + _text(message, 1)
    messages[name] = Message(fields, comments.get(path, ""))
    for index, nested in enumerate(_all(message, 3)):
        _add(messages, nested, name + ".", (*path, 3, index), comments)


def read(descriptors: bytes) -> dict[str, Message]:
    """Returns the messages of a FileDescriptorSet by their names, "ReadLogsResponse" or "LogLineChunk.LogChunk"."""
    messages: dict[str, Message] = {}
    for file in _all(descriptors, 1):
        comments = _comments(file)
        for index, message in enumerate(_all(file, 4)):
            _add(messages, message, "", (4, index), comments)
    return messages
