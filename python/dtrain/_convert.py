"""Converts parts of messages to plain values; `_from_messages`, which the build generates, makes results of them."""

from __future__ import annotations

import datetime
import math
from typing import Any

from google.protobuf.message import Message

from .errors import Diagnostic
from .results import Value
from .v1 import control_pb2, model_pb2

_PREFIXES = ("TRIAL_", "EXPERIMENT_", "CAUSE_")


def word(enum: Any, number: int) -> str | None:
    """Returns "running" for TRIAL_RUNNING; None if unspecified, the number as text if this client is older."""
    if number == 0:
        return None
    if number not in enum.values():
        return str(number)
    name: str = enum.Name(number)
    prefix = next((one for one in _PREFIXES if name.startswith(one)), "")
    return name[len(prefix):].lower()


def number(value: float) -> float | None:
    """Returns None for NaN and the infinities."""
    return value if math.isfinite(value) else None


def unless_negative(value: float) -> float | None:
    """Returns None for a negative number, NaN and infinity."""
    return None if value < 0 else number(value)


def time(wall_ms: int) -> datetime.datetime | None:
    """Returns the time in UTC of milliseconds since 1970; None for 0."""
    return datetime.datetime.fromtimestamp(wall_ms / 1000, datetime.timezone.utc) if wall_ms else None


def value(message: model_pb2.Value) -> Value:
    """Returns the value of a parameter with the type that the experiment file has."""
    kind = message.WhichOneof("kind")
    if kind is None:
        return None
    return list(message.numbers.values) if kind == "numbers" else getattr(message, kind)


def assignments(messages: Any) -> dict[str, Value]:
    """Returns parameters by their paths."""
    return {one.path: value(one.value) for one in messages}


def labels(messages: Any) -> dict[str, str]:
    """Returns labels by their keys."""
    return {one.key: one.value for one in messages}


def diagnostic(message: control_pb2.Diagnostic) -> Diagnostic:
    """Returns an error or a warning about a file; a line or column of 0 becomes None."""
    return Diagnostic(message.severity, message.file, message.line or None, message.column or None,
                      message.path, message.code, message.message, message.hint, message.source_line)


def fields(message: Any) -> dict[str, Any]:
    """Returns every single field by its name, also those with their default; messages within as dicts."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        content = getattr(message, field.name)
        if field.message_type is None:
            single = isinstance(content, (str, bytes, bool, int, float))
            found[field.name] = content if single else list(content)
        elif isinstance(content, Message):
            found[field.name] = fields(content)
        elif field.message_type.name == "Label":
            found[field.name] = labels(content)
        else:
            found[field.name] = [fields(one) for one in content]
    return found


def swept(message: model_pb2.Parameter) -> list[Value] | dict[str, Value]:
    """Returns the values of a parameter, or the range that they are drawn from."""
    if not message.HasField("range"):
        return [value(one) for one in message.values]
    of = message.range
    found: dict[str, Value] = {"min": of.min, "max": of.max, "scale": of.scale or "linear"}
    if of.HasField("normal"):
        log = of.scale == "log"
        found["median" if log else "mean"] = of.normal.centre
        found["factor" if log else "std"] = of.normal.spread
    return {**found, "step": of.step} if of.step else found


# Sections without a meaning for a program, though the message has fields for them.
_OF_MODELS = ("data", "model", "train", "optimizer", "schedule", "precision", "parallel", "eval", "logging")


def configuration(base: model_pb2.Spec) -> dict[str, Any]:
    """Returns the fields of trials, without those that have no meaning for a program."""
    found = fields(base)
    if base.command or base.run:
        found = {name: content for name, content in found.items() if name not in _OF_MODELS}
        found["checkpoint"].pop("every", None)
        found["stop"].pop("nonfinite", None)
    return found
